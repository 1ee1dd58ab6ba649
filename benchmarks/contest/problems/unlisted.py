"""Problems that no list names, for honesty: two basins, a periodic function, kinks, a singular edge, a dose response.

The seed moves the minimum. The true minimum is found once by many starts of a local search where no formula gives it.
"""

import numpy as np

from contest.problem import Problem, Truth, cube, with_gaussian_noise
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector


def _least(truth: Truth, box: tuple[Vector, Vector], starts: int = 200) -> float:
    """Return the minimum over the box: the best of many local searches from the best of many random points."""
    rng = np.random.default_rng(0)
    points = rng.uniform(*box, (50 * starts, box[0].size))
    best = points[np.argsort(truth(points))[:starts]]
    return lowest_found(lambda x: float(truth(x[None, :])[0]), best[::10], box)[0]


def build_basins(d: int, seed: int) -> Problem:
    """Return two Gaussian wells on a slight bowl, the narrower one deeper."""
    rng = np.random.default_rng([seed, d, 11])
    deep = rng.uniform(0.2, 0.6, d) * np.where(rng.random(d) < 0.5, -1, 1)

    def truth(points: Matrix) -> Vector:
        near = np.exp(-np.sum((points - deep) ** 2, axis=1) / (2 * 0.35**2))
        far = np.exp(-np.sum((points + deep) ** 2, axis=1) / (2 * 0.5**2))
        return np.asarray(0.2 * np.sum(points**2, axis=1) - 1.0 * near - 0.7 * far)

    box = cube(d, -1.0, 1.0)
    return with_gaussian_noise(f"basins_d{d}", box, truth, least=_least(truth, box), sigma=0.1)


def build_periodic(d: int, seed: int) -> Problem:
    """Return Σ 1 - cos(phase) over one period and a half of each knob: several equal minima."""
    rng = np.random.default_rng([seed, d, 12])
    phases = rng.uniform(-np.pi, np.pi, d)

    def truth(points: Matrix) -> Vector:
        return np.asarray(np.sum(1 - np.cos(1.5 * np.pi * points - phases), axis=1))

    box = cube(d, -1.0, 1.0)
    return with_gaussian_noise(f"periodic_d{d}", box, truth, least=0.0, sigma=0.15 * d)


def build_kinks(d: int, seed: int) -> Problem:
    """Return Σ a_i |u_i| along rotated axes: steeper on one side, no curvature anywhere."""
    rng = np.random.default_rng([seed, d, 13])
    centre, axes = rng.uniform(-0.5, 0.5, d), np.linalg.qr(rng.standard_normal((d, d)))[0]
    slopes = np.geomspace(0.5, 2.0, d)

    def truth(points: Matrix) -> Vector:
        u = (points - centre) @ axes
        return np.asarray(np.sum(slopes * np.where(u > 0, u, -1.5 * u), axis=1))

    return with_gaussian_noise(f"kinks_d{d}", cube(d, -1.0, 1.0), truth, least=0.0, sigma=0.3)


def build_edge(d: int, seed: int) -> Problem:
    """Return Σ x_i + a_i / x_i on [0.05, 5]^d: a steep wall at one edge, minimum at the square roots of a."""
    rng = np.random.default_rng([seed, d, 14])
    costs = rng.uniform(0.3, 3.0, d)

    def truth(points: Matrix) -> Vector:
        return np.asarray(np.sum(points + costs / points, axis=1))

    least = float(np.sum(2 * np.sqrt(costs)))
    return with_gaussian_noise(f"edge_d{d}", cube(d, 0.05, 5.0), truth, least=least, sigma=1.0)


def build_dose(d: int, seed: int) -> Problem:
    """Return a dose response: the effect saturates exponentially, the harm grows with the square of the dose."""
    rng = np.random.default_rng([seed, d, 15])
    rates, harm = rng.uniform(2.0, 8.0, d), rng.uniform(0.1, 0.5, d)

    def truth(points: Matrix) -> Vector:
        return np.asarray(np.sum(np.exp(-rates * points) + harm * points**2, axis=1))

    box = cube(d, 0.0, 1.0)
    return with_gaussian_noise(f"dose_d{d}", box, truth, least=_least(truth, box), sigma=0.05 * d)
