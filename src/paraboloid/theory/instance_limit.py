"""The instance limit V* in closed form: bounds from below (a dual field) and from above (an explicit design).

V*(A, x₀, D) = min over designs ξ on D of ½ tr(A⁻¹ G M(ξ)⁻¹ Gᵀ): what the best method that does not know the Hessian A
can reach for this very instance, times σ²/n. G maps the coefficients of a quadratic to its gradient at x₀.

**Below.** For every quadratic vector field q with |q| ≤ 1 on D, V* ≥ ½ |∇q(x₀) A^-½|² in the trace norm. On the ball we
take the better of a field about the axis u = x₀/|x₀| and one about an oblique axis, on the box a separable one; all are
proved in docs/instance-limit.md.
**Above.** On the ball the equator design: pairs across the axis and one line through x₀. On the box mirrored sign
vectors x₀ ± r·s with the best correlation E ssᵀ (an elliptope problem, solved by a fixed point).

==================  ======================  ============================================================
symbol              code                    meaning
==================  ======================  ============================================================
A, C = A⁻¹          ``hessian``, ``C``      Hessian and its inverse in unit coordinates, (d, d)
x₀ = ρu             ``z``                   minimiser in unit coordinates, (d,)
κ, η                ``kappa``, ``eta``      slopes of the field at x₀ across and along u
==================  ======================  ============================================================
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import optimize

from paraboloid.core import Domain, Knob, Matrix, Shape, UsageError, Vector, as_domain, check_hessian, frozen_array

__all__ = ["elliptope_minimum", "instance_limit_bounds"]


def instance_limit_bounds(
    hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain | Sequence[Knob | Sequence[float]]
) -> tuple[float, float]:
    """Return a lower and an upper bound of V*, in closed form, for any dimension.

    Parameters
    ----------
    hessian
        A, positive definite, in knob units.
    minimiser
        x₀, inside the domain, in knob units.
    domain
        A `Ball`, a `Box`, or (low, high) pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Ball
    >>> instance_limit_bounds(np.diag([1.0, 0.25]), [0.0, 0.0], Ball([0.0, 0.0]))  # ½(1 + 2)², exact at the centre
    (4.5, 4.5)
    """
    where = as_domain(domain)
    A, z = unit_instance(hessian, minimiser, where)
    return _ball_bounds(A, z) if where.shape is Shape.BALL else _box_bounds(A, z)


def unit_instance(hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain) -> tuple[Matrix, Vector]:
    """Return Hessian and minimiser in unit coordinates, once they are known to be an instance.

    >>> from paraboloid.core import Box
    >>> unit_instance([[2.0]], [3.0], Box([(0, 4)]))
    (array([[8.]]), array([0.5]))
    """
    A = check_hessian(hessian)
    x = frozen_array("minimiser", minimiser, 1)
    if not A.shape[0] == x.size == domain.dimension:
        raise UsageError(
            f"hessian ({A.shape[0]} rows), minimiser ({x.size} entries) and domain ({domain.dimension} knobs) "
            f"must have the same dimension."
        )
    jacobian = domain.unit_jacobian()
    unit_A, z = jacobian.T @ A @ jacobian, domain.to_unit(x)
    eigenvalues = np.linalg.eigvalsh(unit_A)
    if eigenvalues[0] <= 0:
        raise UsageError(
            f"the instance limit needs a positive definite Hessian, got an eigenvalue {eigenvalues[0]:.3g}."
        )
    size = float(np.linalg.norm(z) if domain.shape is Shape.BALL else np.abs(z).max())
    if size > 1 + 1e-9:
        raise UsageError(f"minimiser {x} lies outside the domain; the instance limit is for a minimum inside.")
    return unit_A, z


def _root_trace(matrix: Matrix) -> float:
    """Return tr(matrix^½) of a symmetric positive semidefinite matrix."""
    return float(np.sum(np.sqrt(np.maximum(np.linalg.eigvalsh(matrix), 0.0))))


# --- the ball ---------------------------------------------------------------------------------------------------------


def _ball_bounds(A: Matrix, z: Vector) -> tuple[float, float]:
    C: Matrix = np.linalg.inv(A).astype(np.float64)
    rho = min(1.0, float(np.linalg.norm(z)))
    if rho < 1e-12:
        limit = _root_trace(C) ** 2 / 2
        return limit, limit
    u = z / np.linalg.norm(z)
    kappa, eta = ball_field_slopes(rho)
    D = kappa * (np.eye(z.size) - np.outer(u, u)) + eta * np.outer(u, u)
    lower = max(_root_trace(D @ C @ D), _oblique_field_bound(C, z)) ** 2 / 2
    return lower, max(lower, equator_value(C, u, rho)[0])


def _oblique_field_bound(C: Matrix, z: Vector, steps: int = 20) -> float:
    """Return the trace norm of ∇q(x₀) C^½ for the best field q(x) = 2(e·x)x - e, e a unit vector.

    |q|² = 1 - 4(e·x)²(1 - |x|²) ≤ 1 on the ball for every e. Two steps in turn, neither of which lowers the bound: the
    best rotation for this e, and the best e for this rotation.
    """
    eigenvalues, Q = np.linalg.eigh(C)
    root = (Q * np.sqrt(np.maximum(eigenvalues, 0.0))) @ Q.T
    best = 0.0
    for start in (z, Q[:, -1]):
        e = start / np.linalg.norm(start)
        for _ in range(steps):
            X, sizes, Yt = np.linalg.svd(2 * (np.outer(z, e) + float(e @ z) * np.eye(z.size)) @ root)
            K = root @ Yt.T @ X.T
            best = max(best, float(sizes.sum()))
            e = K @ z + float(np.trace(K)) * z
            e = e / np.linalg.norm(e)
    return best


def ball_field_slopes(rho: float) -> tuple[float, float]:
    """Return (κ, η), the slopes at distance ρ from the centre of the field that bounds V* from below on the ball."""
    kappa = 1 / np.sqrt(1 - rho**2) if rho <= np.sqrt(0.5) else 2 * rho
    eta = 1 / (1 - rho) if rho <= 0.5 else 4 * rho
    return float(kappa), float(eta)


def equator_value(C: Matrix, u: Vector, rho: float) -> tuple[float, float]:
    """Return (V, μ): the value of the equator design and the tilt μ of its line that makes it smallest."""
    kappa, _ = ball_field_slopes(rho)
    N = axis_complement(u)
    along = float(u @ C @ u)
    across = N.T @ C @ u

    def value(mu: float) -> float:
        m = mu * across / along
        tilted = N.T - np.outer(m, u)
        pairs = kappa * _root_trace(tilted @ C @ tilted.T) if m.size else 0.0
        return float((pairs + np.sqrt(along * line_variance(rho, m) * (1 + float(m @ m)))) ** 2) / 2

    found = optimize.minimize_scalar(value, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-3})
    return float(found.fun), float(found.x)


def axis_complement(u: Vector) -> Matrix:
    """Return an orthonormal basis of the space across the unit vector u, shape (d, d - 1), by a reflection."""
    v = u.copy()
    v[0] += np.copysign(1.0, u[0])
    reflection = np.eye(u.size) - 2 * np.outer(v, v) / float(v @ v)
    return reflection[:, 1:]


def line_variance(rho: float, m: Vector) -> float:
    """Return v, the variance of the slope at x₀ from the optimal design on the line through x₀ along u + Nm."""
    a, h = line_geometry(rho, m)
    return float((h - a) ** -2 if a <= h / 2 else 16 * a**2 / h**4)


def line_geometry(rho: float, m: Vector) -> tuple[float, float]:
    """Return (a, h): x₀'s distance from the middle of its chord along u + Nm, and half the chord."""
    a = rho / np.sqrt(1 + float(m @ m))
    return float(a), float(np.sqrt(max(0.0, 1 - rho**2 + a**2)))


# --- the box ----------------------------------------------------------------------------------------------------------


def _box_bounds(A: Matrix, z: Vector) -> tuple[float, float]:
    C: Matrix = np.linalg.inv(A).astype(np.float64)
    far = np.minimum(np.abs(z), 1.0)
    eta = np.where(far <= 0.5, 1 / (1 - np.minimum(far, 0.5)), 4 * far)
    lower, _, _ = elliptope_minimum(eta[:, None] * C * eta)
    _, upper, _ = mirrored_value(C, far)
    return lower / 2, max(lower / 2, upper)


def mirrored_value(C: Matrix, far: Vector) -> tuple[float, float, Matrix]:
    """Return (τ, V, S): mirrored signs about ±τx₀ with the best τ, their value and correlation.

    The effective reach of coordinate k is τ(1 - τ|a_k|); τ = 1 is exactly optimal while |x₀|_∞ ≤ ½, and τ = 1/(2a)
    where all |a_k| = a > ½.
    """
    largest = float(far.max())
    taus = [1.0] if largest <= 0.5 else [float(tau) for tau in np.append(np.linspace(0.4, 1.0, 13), 0.5 / largest)]
    best: tuple[float, float, Matrix] | None = None
    for tau in taus:
        reach = tau * (1 - tau * far)
        if reach.min() <= 0:
            continue
        B = C / np.outer(reach, reach)
        S = realised_signs(elliptope_minimum(B)[2])
        value = float(np.sum(np.linalg.inv(S) * B))
        if best is None or value / 2 < best[1]:
            best = tau, value / 2, S
    assert best is not None  # τ = ½/largest has a positive reach
    return best


def realised_signs(S: Matrix) -> Matrix:
    """Return the correlation of s = sign(g), g ~ N(0, sin(πS/2)): S itself where that matrix is a covariance.

    Elsewhere (d ≥ 3 only) its negative eigenvalues are clipped; not every correlation matrix is one of signs.
    """
    latent = np.sin(np.pi / 2 * S)
    eigenvalues, Q = np.linalg.eigh(latent)
    if eigenvalues[0] < 0:
        latent = (Q * np.maximum(eigenvalues, 0.0)) @ Q.T
        scale = np.sqrt(np.diag(latent))
        latent = latent / np.outer(scale, scale)
    signs: Matrix = 2 / np.pi * np.arcsin(np.clip(latent, -1.0, 1.0))
    return signs


def elliptope_minimum(B: Matrix, *, gap: float = 1e-7, steps: int = 1000) -> tuple[float, float, Matrix]:
    """Return (lower, upper, S): bounds of the least tr(B S⁻¹) over correlation matrices S, and the S of the upper one.

    At the solution S ∝ Λ^-½ Q Λ^-½ with Q = (Λ^½ B Λ^½)^½ and Λ diagonal with λ_k = Q_kk / tr Q: a fixed point. Every Λ
    of trace one gives the lower bound (tr Q)², and its S, scaled to unit diagonal, the upper.

    >>> import numpy as np
    >>> lower, upper, S = elliptope_minimum(np.diag([1.0, 4.0]))
    >>> round(lower, 6), round(upper, 6)
    (5.0, 5.0)
    """
    d = B.shape[0]
    lam = np.sqrt(np.diag(B)) / np.sum(np.sqrt(np.diag(B)))
    for _ in range(steps):
        root = np.sqrt(lam)
        eigenvalues, vectors = np.linalg.eigh(root[:, None] * B * root)
        roots = np.sqrt(np.maximum(eigenvalues, 0.0))
        Q = (vectors * roots) @ vectors.T
        lower = float(roots.sum()) ** 2
        S = Q / np.outer(root, root)
        scale = np.sqrt(np.diag(S))
        S /= np.outer(scale, scale)
        upper = float(np.trace(np.linalg.solve(S, B))) if d > 1 else float(B[0, 0])
        if upper - lower <= gap * upper:
            break
        lam = np.diag(Q) / np.trace(Q)
    return lower, upper, S
