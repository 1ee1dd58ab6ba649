"""What a measurement is worth: the weight W of the expected regret, given what is known of the instance.

To leading order the regret of the fitted minimiser is ½ gᵀKg with g = G(z)(θ̂ - θ) the error of the gradient there, and
K the inverse Hessian along the directions that are free to move (the others are held by the edge of the region).
Averaged over the uncertainty of z it is ½ (θ̂-θ)ᵀW(θ̂-θ) with

    W = GᵀKG + [tr(K E_a S E_b)],  S the covariance of z, its trace capped.

The second term makes a design learn all of H while z is uncertain.
"""

import numpy as np

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics import QuadraticFit, gradient_map, trace_form

__all__ = ["free_inverse", "regret_weight"]

PINNED = 2.0  # standard deviations of its multiplier by which an edge must hold the minimiser (BOX.md, untuned)


def free_inverse(fit: QuadraticFit, shape: Shape) -> Matrix:
    """Return K: the inverse Hessian on the directions in which the minimiser is free, zero on the others.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> bool(np.isclose(free_inverse(fit, Shape.BOX)[0, 0] * fit.hessian[0, 0], 1))
    True
    """
    z, H = fit.minimiser, fit.hessian
    gradient = fit.linear + H @ z
    G = gradient_map(z)
    if shape is Shape.BOX:
        deviation = np.sqrt(np.maximum(np.einsum("ip,ip->i", G @ fit.covariance, G), 0.0))
        return _free_in_box(H, z, -gradient * np.sign(z) > PINNED * deviation)
    norm = float(np.linalg.norm(z))
    if norm < 1 - 1e-9:
        return _inverse(H)
    u = z / norm
    multiplier = -float(gradient @ u)
    if multiplier <= PINNED * float(np.sqrt(abs(float(u @ G @ fit.covariance @ G.T @ u)))):
        return _inverse(H)
    across = np.eye(z.size) - np.outer(u, u)
    # On the sphere the edge itself bends by the multiplier; along u nothing is free to move.
    size = float(np.trace(H)) / z.size + multiplier  # along u anything will do that is of the same order
    bent = across @ (H + multiplier * np.eye(z.size)) @ across + size * np.outer(u, u)
    K: Matrix = across @ np.linalg.inv(bent) @ across
    return K


def _inverse(H: Matrix) -> Matrix:
    return np.asarray(np.linalg.inv(H), dtype=np.float64)


def _free_in_box(H: Matrix, z: Vector, held: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Matrix:
    free = ~(held & (np.abs(z) >= 1 - 1e-9))
    K = np.zeros_like(H)
    if free.any():
        K[np.ix_(free, free)] = np.linalg.inv(H[np.ix_(free, free)])
    return K


def regret_weight(fit: QuadraticFit, shape: Shape) -> Matrix:
    """Return W, shape (p, p): expected regret is ½ tr(W Cov θ̂).

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> regret_weight(fit, Shape.BOX).shape
    (3, 3)
    """
    d = fit.minimiser.size
    K = free_inverse(fit, shape)
    if not K.any():  # every direction is held by the edge: what is left to learn is whether that is so
        K = _inverse(fit.hessian)
    G = gradient_map(fit.minimiser)
    W = G.T @ K @ G
    spread = K @ G @ fit.covariance @ G.T @ K
    cap = 1.0 if shape is Shape.BALL else d / 3
    spread *= min(1.0, cap / max(float(np.trace(spread)), 1e-300))
    W[d + 1 :, d + 1 :] += trace_form(K, (spread + spread.T) / 2)
    return (W + W.T) / 2
