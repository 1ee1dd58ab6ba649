"""Two small problems of SimOpt, written from its published descriptions: CNTNEWS-1 and PARAMESTI-1.

CNTNEWS-1: a newsvendor buys at 5, sells at 9, salvages at 1; demand is Burr XII (c = 2, k = 20); the knob is the order.
PARAMESTI-1: the log-likelihood of one draw of a pair of gamma variables at parameters x; the truth is (2, 5). Both are
maximised in SimOpt; here the sign is turned. SimOpt leaves the order unbounded above, the box here is [0.01, 2].
`python benchmarks/smooth.py verify` compares both with the package.
"""

import math

import numpy as np
from scipy import integrate, special

from contest.problem import Problem, cube
from paraboloid.core import Matrix, Vector

BUY, SELL, SALVAGE, BURR_C, BURR_K = 5.0, 9.0, 1.0, 2.0, 20.0
TRUE_GAMMA = (2.0, 5.0)


def newsvendor_loss(points: Matrix, demand: Vector) -> Vector:
    """Return minus the profit of orders (n, 1) at given demands (n,)."""
    order = points[:, 0]
    sold = np.minimum(order, demand)
    return np.asarray(BUY * order - SELL * sold - SALVAGE * (order - sold))


def burr_demand(n: int, rng: np.random.Generator) -> Vector:
    """Return Burr XII demands."""
    return np.asarray((rng.random(n) ** (-1 / BURR_K) - 1) ** (1 / BURR_C))


def _mean_loss(order: float) -> float:
    missed, _ = integrate.quad(lambda q: (1 + q**BURR_C) ** -BURR_K, 0.0, order)  # E min(order, demand)
    return BUY * order - SELL * missed - SALVAGE * (order - missed)


def build_newsvendor(seed: int) -> Problem:
    """Return CNTNEWS-1; it is the same for every seed."""
    share = (SELL - BUY) / (SELL - SALVAGE)  # the best order is this quantile of the demand
    best = ((1 - share) ** (-1 / BURR_K) - 1) ** (1 / BURR_C)
    least = _mean_loss(best)

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        return newsvendor_loss(points, burr_demand(len(points), rng))

    return Problem("simopt_cntnews1", *cube(1, 0.01, 2.0), measure, lambda x: max(0.0, _mean_loss(float(x[0])) - least))


def gamma_loss(points: Matrix, y1: Vector, y2: Vector) -> Vector:
    """Return minus the log-likelihood at parameters (n, 2) of pairs y1, y2."""
    first, second = points.T
    logs = (first * y2 - 1) * np.log(y1) + (second - 1) * np.log(y2)
    return np.asarray(y1 + y2 - logs + special.gammaln(first * y2) + special.gammaln(second))


def gamma_pairs(n: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return draws of the pair at the true parameters."""
    y2 = rng.gamma(TRUE_GAMMA[1], size=n)
    return rng.gamma(TRUE_GAMMA[0] * y2), y2


def _gamma_regret(x: Vector) -> float:
    """Return the mean loss above the least one: a divergence, one integral over y2 and one closed form."""
    a, b = TRUE_GAMMA

    def at(y: float) -> float:
        weight = math.exp((b - 1) * math.log(y) - y - special.gammaln(b))
        moved = (a - float(x[0])) * y * special.digamma(a * y)
        return weight * (special.gammaln(float(x[0]) * y) - special.gammaln(a * y) + moved)

    inner, _ = integrate.quad(at, 1e-12, 60.0, limit=200)
    outer = special.gammaln(float(x[1])) - special.gammaln(b) - (float(x[1]) - b) * special.digamma(b)
    return max(0.0, float(inner + outer))


def build_gamma(seed: int) -> Problem:
    """Return PARAMESTI-1; it is the same for every seed."""

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        return gamma_loss(points, *gamma_pairs(len(points), rng))

    return Problem("simopt_paramesti1", *cube(2, 0.1, 10.0), measure, _gamma_regret)
