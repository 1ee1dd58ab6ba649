"""Smooth, strongly convex functions that are not quadratic: sum of cosh, quartic + quadratic, logistic regression.

The seed sets where the minimum lies, the axes and the data; the box is [-1, 1]^d.
"""

import numpy as np

from contest.problem import Problem, cube, with_gaussian_noise
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

SIGMA_COSH, SIGMA_QUARTIC, SIGMA_LOGISTIC, SIGMA_SKEWED = 1.0, 0.5, 0.2, 0.3
N_ROWS, RIDGE, REACH = 40, 0.01, 4.0


def _rotation(d: int, rng: np.random.Generator) -> Matrix:
    return np.asarray(np.linalg.qr(rng.standard_normal((d, d)))[0])


def build_cosh(d: int, seed: int) -> Problem:
    """Return Σ cosh(a_i (x_i - c_i)) - 1 with rates a from 1.5 to 3."""
    rng = np.random.default_rng([seed, d, 1])
    centre, rates = rng.uniform(-0.5, 0.5, d), np.linspace(1.5, 3.0, d)

    def truth(points: Matrix) -> Vector:
        return np.asarray(np.sum(np.cosh(rates * (points - centre)) - 1, axis=1))

    return with_gaussian_noise(f"cosh_d{d}", cube(d, -1.0, 1.0), truth, least=0.0, sigma=SIGMA_COSH)


def build_skewed(d: int, seed: int) -> Problem:
    """Return Σ exp(2u_i) - 2u_i - 1, u = x - c: strongly convex, steep on one side."""
    centre = np.random.default_rng([seed, d, 4]).uniform(-0.5, 0.5, d)

    def truth(points: Matrix) -> Vector:
        u = 2 * (points - centre)
        return np.asarray(np.sum(np.expm1(u) - u, axis=1))

    return with_gaussian_noise(f"skewed_d{d}", cube(d, -1.0, 1.0), truth, least=0.0, sigma=SIGMA_SKEWED)


def build_quartic(d: int, seed: int) -> Problem:
    """Return Σ λ_i u_i²/2 + 6 u_i⁴ along rotated axes u, λ from 0.3 to 3."""
    rng = np.random.default_rng([seed, d, 2])
    centre, axes, curvatures = rng.uniform(-0.5, 0.5, d), _rotation(d, rng), np.geomspace(0.3, 3.0, d)

    def truth(points: Matrix) -> Vector:
        u = (points - centre) @ axes
        return np.asarray(np.sum(curvatures * u**2 / 2 + 6 * u**4, axis=1))

    return with_gaussian_noise(f"quart_d{d}", cube(d, -1.0, 1.0), truth, least=0.0, sigma=SIGMA_QUARTIC)


def build_logistic(d: int, seed: int) -> Problem:
    """Return the loss of a logistic regression with a little ridge, weights 4x: curved near 0, linear far away."""
    rng = np.random.default_rng([seed, d, 3])
    rows, hidden = rng.standard_normal((N_ROWS, d)), rng.uniform(-0.5, 0.5, d)
    signs = np.where(rng.random(N_ROWS) < 1 / (1 + np.exp(-REACH * rows @ hidden)), 1.0, -1.0)
    signed = REACH * rows * signs[:, None]

    def truth(points: Matrix) -> Vector:
        losses = np.logaddexp(0.0, -points @ signed.T).mean(axis=1)
        return np.asarray(losses + RIDGE * REACH**2 * np.sum(points**2, axis=1))

    box = cube(d, -1.0, 1.0)
    least, _ = lowest_found(lambda x: float(truth(x[None, :])[0]), np.zeros((1, d)), box, tol=1e-12)
    return with_gaussian_noise(f"logis_d{d}", box, truth, least=least, sigma=SIGMA_LOGISTIC)
