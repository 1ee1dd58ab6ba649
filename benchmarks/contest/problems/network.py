"""SimOpt's SAN-1: mean longest path of a stochastic activity network plus the cost of short activities.

Thirteen activities with exponential durations of mean x_i; the value is the length of the longest path from node 1 to 9
plus Σ 1/x_i. Written from SimOpt's published description (its package pins an old numpy); SimOpt leaves x unbounded
above, the box here is [0.1, 10], the range from which it draws random solutions.
"""

from functools import cache

import numpy as np

from contest.problem import Problem, cube
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

ARCS = ((1, 2), (1, 3), (2, 3), (2, 4), (2, 6), (3, 6), (4, 5), (4, 7), (5, 6), (5, 8), (6, 9), (7, 8), (8, 9))
"""(start, end) of each activity; every arc leads to a node of a higher number."""
N_TRUTH = 50_000
LOW, HIGH = 0.1, 10.0
LEAST = 18.04334668153559
"""Minimum over the box of the mean over the fixed durations, by ``python benchmarks/smooth.py minima``."""


def longest_path(durations: Matrix) -> tuple[Vector, Matrix]:
    """Return the length of the longest path for rows of 13 durations, and which arcs lie on it, (n, 13)."""
    n = len(durations)
    length, best = np.zeros((n, 10)), np.full((n, 10), -1)
    for node in range(2, 10):
        for i, (start, end) in enumerate(ARCS):
            if end == node:
                through = length[:, start] + durations[:, i]
                is_longer = through > length[:, end]
                length[:, end] = np.where(is_longer, through, length[:, end])
                best[:, end] = np.where(is_longer, i, best[:, end])
    on_path, node_now, rows = np.zeros((n, len(ARCS))), np.full(n, 9), np.arange(n)
    starts = np.array([start for start, _ in ARCS])
    while np.any(node_now != 1):
        arc = best[rows, node_now]
        walking = node_now != 1
        on_path[rows[walking], arc[walking]] = 1.0
        node_now = np.where(walking, starts[arc], 1)
    return length[:, 9], on_path


def measure(points: Matrix, rng: np.random.Generator) -> Vector:
    """Return one simulated value for each point."""
    lengths, _ = longest_path(points * rng.standard_exponential(points.shape))
    return np.asarray(lengths + np.sum(1 / points, axis=1))


@cache
def _unit_durations() -> Matrix:
    return np.random.default_rng(20_230_101).standard_exponential((N_TRUTH, len(ARCS)))


def truth(x: Vector) -> tuple[float, Vector]:
    """Return the mean over 50,000 common random numbers at x, and its gradient."""
    length, on_path = longest_path(x * _unit_durations())
    slope = np.mean(on_path * _unit_durations(), axis=0) - 1 / x**2
    return float(length.mean() + np.sum(1 / x)), np.asarray(slope)


def find_least() -> float:
    """Return the least mean over the common random numbers, by its gradient."""
    start = np.full((1, len(ARCS)), 1.0)
    return lowest_found(truth, start, cube(len(ARCS), LOW, HIGH), jac=True, tol=1e-12)[0]


def build(seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    return Problem("simopt_san1", *cube(len(ARCS), LOW, HIGH), measure, lambda x: truth(x)[0] - LEAST)
