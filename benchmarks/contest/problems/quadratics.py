"""Exact quadratics on [-1, 1]^d or the unit ball: random axes, least curvature 10, unit noise (as in regret.py)."""

import numpy as np

from contest.problem import Problem, cube
from paraboloid import problems
from paraboloid.core import Matrix, Vector

NOISES: dict[str, problems.Noise] = {
    "gauss": problems.Gaussian(),
    "t3": problems.StudentT(3.0),
    "skew": problems.LogNormal(1.0),
    "unequal": problems.Heteroscedastic(),
}


def build(d: int, condition: float, reach: float, noise: str, seed: int, *, is_ball: bool = False) -> Problem:
    """Return a quadratic with its minimum at ``reach`` from the centre (max-norm on the box) and the named noise."""
    rng = np.random.default_rng([seed, d])
    axes, _ = np.linalg.qr(rng.standard_normal((d, d)))
    hessian = (axes * np.geomspace(10 * condition, 10, d)) @ axes.T
    direction = rng.standard_normal(d)
    size = np.linalg.norm(direction) if is_ball else np.abs(direction).max()
    minimiser = reach * direction / size

    def truth(points: Matrix) -> Vector:
        away = points - minimiser
        return np.asarray(np.sum((away @ hessian) * away, axis=1)) / 2

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        values, n = truth(points), len(points)
        if noise == "unequal":  # the deviation of `Heteroscedastic`, for all points in one call
            deviation = 0.2 + 0.8 * np.minimum(1.0, np.linalg.norm(points, axis=1))
            return np.asarray(values + deviation * rng.standard_normal(n))
        return np.asarray(values + NOISES[noise].draw(np.zeros(d), n, rng))

    def regret(x: Vector) -> float:
        return float(truth(x[None, :])[0])

    name = f"{'ball' if is_ball else 'quad'}_d{d}_c{condition:g}_r{reach:g}_{noise}"
    return Problem(name, *cube(d, -1.0, 1.0), measure, regret, is_ball=is_ball, hessian=hessian, minimiser=minimiser)
