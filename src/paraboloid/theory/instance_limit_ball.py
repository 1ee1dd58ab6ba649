"""The instance limit on the ball: equal bounds for |x₀| ≤ ½ and |x₀| ≥ 1/√2, within 3.4 % of each other between.

**Below**, a field with a free unit vector f. Its Jacobian at x₀ = ρu is J = κ(I - uuᵀ) + (αu + βf)uᵀ.
**Above**, the equator design: pairs across u, and one design for the slope along u + Nm. The best tilt m gives the best
f too. Symbols in `instance_limit_tilt`; RRᵀ = A⁻¹ with any ``root`` R. Proofs in docs/instance-limit.md.
"""

import numpy as np

from paraboloid.core import Matrix, Vector
from paraboloid.theory.instance_limit_tilt import axis_complement, ball_slopes, equator_tilt, line_terms

__all__ = ["ball_bounds", "ball_field_slopes"]

NEGLIGIBLE = 1e-15
"""V* changes relatively by less than 5ρ near the centre: a smaller ρ is below rounding."""


def ball_bounds(root: Matrix, z: Vector) -> tuple[float, float]:
    """Return a lower and an upper bound of V* on the unit ball.

    >>> import numpy as np
    >>> lower, upper = ball_bounds(np.eye(2), np.array([0.5, 0.0]))  # κ = 2/√3 and η = 2: ½(2/√3 + 2)²
    >>> round(lower, 6), round(upper, 6)
    (4.976068, 4.976068)
    """
    rho = min(1.0, float(np.linalg.norm(z)))
    if rho < NEGLIGIBLE:
        limit = _trace_norm(root) ** 2 / 2
        return limit, limit
    u = z / np.linalg.norm(z)
    C = root @ root.T
    kappa, alpha, beta = ball_slopes(rho)
    m = equator_tilt(C, u, rho, lambda _: (beta, alpha, kappa))
    lower = _field_value(root, u, rho, m)
    if 0.5 < rho < np.sqrt(0.5):  # elsewhere the line's deviation is that of the field, and so is the best tilt
        m = equator_tilt(C, u, rho)
        lower = max(lower, _oblique_value(root, u, rho, m))
    return lower, max(lower, _tilted_value(root, u, rho, m))


def ball_field_slopes(rho: float) -> tuple[float, float]:
    """Return (κ, η), the slopes at ρu across and along u of the field with f = u.

    >>> ball_field_slopes(0.8)
    (1.6, 3.2)
    """
    kappa, alpha, beta = ball_slopes(rho)
    return kappa, alpha + beta


def _field_value(root: Matrix, u: Vector, rho: float, m: Vector) -> float:
    """Return ½‖J C^½‖₁² for the f that belongs to the tilt m; every f gives a valid lower bound."""
    kappa, alpha, beta = ball_slopes(rho)
    f = kappa * (axis_complement(u) @ m) + alpha * u
    f = f / np.linalg.norm(f)
    return _trace_norm(kappa * root + np.outer((alpha - kappa) * u + beta * f, root.T @ u)) ** 2 / 2


def _oblique_value(root: Matrix, u: Vector, rho: float, m: Vector) -> float:
    """Return ½‖J C^½‖₁² for q(x) = 2(e·x)x - e, e half way between u and the line; every e is valid."""
    line = u + axis_complement(u) @ m
    e = u + line / np.linalg.norm(line)
    e = e / np.linalg.norm(e)
    return _trace_norm(2 * rho * (np.outer(u, root.T @ e) + float(e @ u) * root)) ** 2 / 2


def _tilted_value(root: Matrix, u: Vector, rho: float, m: Vector) -> float:
    """Return the value of the equator design with the tilt m."""
    along = root.T @ u
    o, a, c = line_terms(rho, float(m @ m))
    line = np.linalg.norm(along) * (o + np.sqrt(a**2 + c**2 * float(m @ m)))
    if m.size == 0:
        return float(line) ** 2 / 2
    pairs = ball_slopes(rho)[0] * _trace_norm(axis_complement(u).T @ root - np.outer(m, along))
    return float(pairs + line) ** 2 / 2


def _trace_norm(matrix: Matrix) -> float:
    """Return the sum of the singular values; squaring the matrix instead would lose the small ones."""
    return float(np.sum(np.linalg.svd(matrix, compute_uv=False)))
