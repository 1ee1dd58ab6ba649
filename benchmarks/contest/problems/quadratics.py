"""Exact quadratics on [-1, 1]^d: random axes, least curvature 10, unit noise (as in benchmarks/regret.py)."""

import numpy as np

from contest.problem import Problem, cube
from paraboloid import problems
from paraboloid.core import Matrix, Vector

NOISES: dict[str, problems.Noise] = {
    "gauss": problems.Gaussian(),
    "t3": problems.StudentT(3.0),
    "unequal": problems.Heteroscedastic(),
}


def build(d: int, condition: float, reach: float, noise: str, seed: int) -> Problem:
    """Return a quadratic whose minimum lies at max-norm ``reach`` from the centre, with the named noise."""
    rng = np.random.default_rng([seed, d])
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    hessian = (axes * np.geomspace(10 * condition, 10, d)) @ axes.T
    direction = rng.standard_normal(d)
    minimiser = reach * direction / np.abs(direction).max()

    def truth(points: Matrix) -> Vector:
        away = points - minimiser
        return np.asarray(np.sum((away @ hessian) * away, axis=1)) / 2

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        values = truth(points)
        if noise == "gauss":  # one call for all points; the others depend on the point
            return values + rng.standard_normal(len(points))
        return np.asarray(values + [NOISES[noise].draw(x, 1, rng)[0] for x in points])

    name = f"quad_d{d}_c{condition:g}_r{reach:g}_{noise}"
    return Problem(name, *cube(d, -1.0, 1.0), measure, lambda x: float(truth(x[None, :])[0]))
