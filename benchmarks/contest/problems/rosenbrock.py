"""Rosenbrock's curved valley on [-2, 2]^d with normal noise."""

import numpy as np

from contest.problem import Problem, cube, with_gaussian_noise
from paraboloid.core import Matrix, Vector

SIGMA = 10.0
"""The middle half of the values spans some 700 (d = 2) to 1,500 (d = 5)."""


def rosenbrock(points: Matrix) -> Vector:
    """Return Σ 100 (x_{i+1} - x_i²)² + (1 - x_i)², zero at (1, ..., 1)."""
    left, right = points[:, :-1], points[:, 1:]
    return np.asarray(np.sum(100 * (right - left**2) ** 2 + (1 - left) ** 2, axis=1))


def build(d: int, seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    return with_gaussian_noise(f"rosen_d{d}", cube(d, -2.0, 2.0), rosenbrock, least=0.0, sigma=SIGMA)
