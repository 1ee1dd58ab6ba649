"""Cross-validated support-vector regression on scikit-learn's diabetes data: log10 of C, gamma and epsilon.

One measurement is the squared error, relative to the variance of the target, on a random fifth of the rows after
training on the rest. The truth is the mean over 200 fixed splits.
"""

import importlib
import warnings
from functools import cache
from typing import Any

import numpy as np

from contest.problem import Problem
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

LOWS, HIGHS = np.array([-2.0, -4.0, -3.0]), np.array([3.0, 1.0, 0.5])
N_TRUTH = 200
LEAST = 0.4968058824286548
"""Least mean over the fixed splits, by ``python benchmarks/smooth.py minima``."""


@cache
def _data() -> tuple[Matrix, Vector]:
    X, y = importlib.import_module("sklearn.datasets").load_diabetes(return_X_y=True)
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0)), np.asarray((y - y.mean()) / y.std())


def split_error(x: Vector, rng: np.random.Generator) -> float:
    """Return the error of one random split at the setting x."""
    X, y = _data()
    order = rng.permutation(len(y))
    held, used = order[: len(y) // 5], order[len(y) // 5 :]
    svr: Any = importlib.import_module("sklearn.svm").SVR(
        C=10 ** x[0], gamma=10 ** x[1], epsilon=10 ** x[2], max_iter=20_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a fit that ends early is part of the problem
        return float(np.mean((svr.fit(X[used], y[used]).predict(X[held]) - y[held]) ** 2))


def measure(points: Matrix, rng: np.random.Generator) -> Vector:
    """Return one error for each point."""
    return np.array([split_error(x, rng) for x in points])


def truth(x: Vector, n: int = N_TRUTH) -> float:
    """Return the mean error over the first n fixed splits."""
    return float(np.mean([split_error(x, np.random.default_rng([20_230_103, i])) for i in range(n)]))


def build(seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    return Problem("svr_diabetes_d3", LOWS, HIGHS, measure, lambda x: truth(x) - LEAST)


def find_least() -> float:
    """Return the least mean over all fixed splits: the best of a grid on 10 splits, then a local search."""
    axes = [np.linspace(low, high, 8) for low, high in zip(LOWS, HIGHS, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 3)
    best = grid[np.argsort([truth(x, 10) for x in grid])[:3]]
    options = {"xatol": 0.01, "fatol": 1e-5, "maxfev": 70}
    return lowest_found(truth, best, (LOWS, HIGHS), method="Nelder-Mead", options=options)[0]
