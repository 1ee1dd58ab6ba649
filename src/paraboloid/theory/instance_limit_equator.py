"""The equator design on the ball: pairs across the axis of x₀, and one line or cross for the slope along u + tilt.

`equator_design` is the design whose value is the upper bound of `theory.instance_limit_bounds`.
"""

import numpy as np

from paraboloid.core import Matrix, Vector
from paraboloid.theory.instance_limit_tilt import axis_complement, ball_slopes, equator_tilt

__all__ = ["equator_design", "line_design"]


def equator_design(C: Matrix, z: Vector) -> tuple[Matrix, Vector]:
    """Return points (k, d) and masses (k,) of the design whose value is the upper bound; z is not the centre.

    >>> import numpy as np
    >>> points, masses = equator_design(np.eye(2), np.array([0.4, 0.0]))
    >>> points[:, 0].round(3).tolist()  # a pair across at 0.4; a pair about 0.4 along the axis
    [0.4, 0.4, 1.0, -0.2]
    >>> masses.round(3).tolist()
    [0.198, 0.198, 0.302, 0.302]
    """
    rho = min(1.0, float(np.linalg.norm(z)))
    u = z / np.linalg.norm(z)
    N, m = axis_complement(u), equator_tilt(C, u, rho)
    line, coefficients = line_design(rho, u, N @ m)
    tilted = N.T - np.outer(m, u)
    squares, V = np.linalg.eigh(tilted @ C @ tilted.T) if m.size else (np.zeros(0), np.zeros((0, 0)))
    steps = (N @ V).T
    half = np.sqrt(0.5)
    if rho <= half:
        centres, reach = np.array([rho]), np.sqrt(1 - rho**2)
        shares = np.ones(1)
    else:  # the gradient at ρu is an affine combination of those at ±u/√2
        centres, reach, shares = np.array([half, -half]), half, np.array([rho + half, rho - half]) / (2 * rho)
    pairs = [centre * u + sign * reach * steps for centre in centres for sign in (1.0, -1.0)]
    pair_masses = ball_slopes(rho)[0] * np.sqrt(np.maximum(squares, 0.0))
    masses = [share * pair_masses / 2 for share in shares for _ in range(2)]
    line_masses = np.sqrt(float(u @ C @ u)) * np.abs(coefficients)
    total = np.concatenate([*masses, line_masses])
    return np.vstack([*pairs, line]), total / total.sum()


def line_design(rho: float, u: Vector, tilt: Vector) -> tuple[Matrix, Vector]:
    """Return points (k, d) and coefficients c (k,): Σ c_i f(x_i) is a quadratic's slope at ρu along u + tilt.

    Masses |c_i|/Σ|c| give that slope the variance (Σ|c|)².

    >>> import numpy as np
    >>> points, coefficients = line_design(0.8, np.array([1.0, 0.0]), np.zeros(2))
    >>> points[:, 0].tolist(), coefficients.round(3).tolist()  # the ends and the middle of the diameter
    ([1.0, -1.0, 0.0], [1.3, 0.3, -1.6])
    """
    size = float(np.sqrt(1 + tilt @ tilt))
    direction = (u + tilt) / size
    if 2 * rho**2 * (1 + 1 / size) < 1:
        nearer = rho / size
        reach = np.sqrt(1 - rho**2 + nearer**2) - nearer
        return rho * u + np.outer([reach, -reach], direction), size / (2 * reach) * np.array([1.0, -1.0])
    cosine, sine = float(np.linalg.norm(u + direction)) / 2, float(np.linalg.norm(u - direction)) / 2
    e = (u + direction) / (2 * cosine)
    mass = 2 * rho * cosine**2
    poles = np.array([mass + cosine, mass - cosine]) / 2
    if sine < 1e-12:  # no tilt: the diameter across e has no direction, and needs none
        return np.vstack([e, -e, 0 * e]), size * np.array([*poles, -mass])
    n = (u - direction) / (2 * sine)
    # On the diameter along n a mass with these two moments: part of it at the end, the rest at one other place.
    mean, square = sine / mass, (sine / cosine) ** 2
    place = (1 - square) / (1 - mean) - 1
    inner = (1 - mean) / (1 - place)
    return np.vstack([e, -e, n, place * n]), size * np.array([*poles, -mass * (1 - inner), -mass * inner])
