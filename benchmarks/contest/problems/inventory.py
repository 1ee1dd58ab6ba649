"""SimOpt's SSCONT-1: mean cost per day of an (s, S) inventory with exponential demand and Poisson lead times.

The knobs are s and S - s. Written from SimOpt's published description: demand mean 100, lead mean 6 days, back-order 4,
holding 1, fixed 36, variable 2; 20 days of warm-up, then 100 days. SimOpt leaves both unbounded above and starts at
(600, 600); the box here is [100, 1500] x [10, 1000].
"""

from functools import cache

import numpy as np
import numpy.typing as npt

from contest.problem import Problem
from contest.truth import lowest_found
from paraboloid.core import Matrix, Vector

DEMAND, LEAD, BACKORDER, HOLDING, FIXED, VARIABLE = 100.0, 6.0, 4.0, 1.0, 36.0, 2.0
WARM_UP, DAYS = 20, 100
LOWS, HIGHS = np.array([100.0, 10.0]), np.array([1500.0, 1000.0])
N_TRUTH = 40_000
LEAST = 517.3499973933509
"""Minimum of the mean over the fixed demands and leads, by ``python benchmarks/smooth.py minima``."""

Leads = npt.NDArray[np.int64]


def simulate(points: Matrix, demands: Matrix, leads: Leads) -> Vector:
    """Return the mean cost per day for each row of (s, S - s), given its demands and the leads by day of order."""
    n, periods = demands.shape
    s, top = points[:, 0], points[:, 0] + points[:, 1]
    arriving = np.zeros((n, periods + 1))  # the last column takes what would come after the end
    stock, outstanding, cost, rows = s.copy(), np.zeros(n), np.zeros(n), np.arange(n)
    for day in range(periods):
        end = stock - demands[:, day]
        position = end + outstanding
        order = np.where(position < s, top - position, 0.0)
        arrives = np.minimum(day + 1 + leads[:, day], periods)
        arriving[rows, arrives] += order
        if day >= WARM_UP:
            short = np.clip(-end, 0.0, demands[:, day])  # of today's demand
            cost += BACKORDER * short + HOLDING * np.maximum(end, 0.0) + VARIABLE * order + FIXED * (order > 0)
        came = arriving[:, day + 1] if day + 1 < periods else 0.0
        outstanding = outstanding + order - came
        stock = end + came
    return np.asarray(cost / DAYS)


def _draw(n: int, rng: np.random.Generator) -> tuple[Matrix, Leads]:
    shape = (n, WARM_UP + DAYS)
    return DEMAND * rng.standard_exponential(shape), rng.poisson(LEAD, shape)


def measure(points: Matrix, rng: np.random.Generator) -> Vector:
    """Return one simulated value for each point."""
    return simulate(points, *_draw(len(points), rng))


@cache
def _common() -> tuple[Matrix, Leads]:
    return _draw(N_TRUTH, np.random.default_rng(20_230_102))


def truth(x: Vector) -> float:
    """Return the mean cost over 40,000 common random numbers."""
    return float(simulate(np.tile(x, (N_TRUTH, 1)), *_common()).mean())


def find_least() -> float:
    """Return the least mean over the common random numbers, by three local searches."""
    starts = np.array([[600.0, 100.0], [600.0, 400.0], [500.0, 200.0]])
    options = {"xatol": 0.05, "fatol": 1e-6}
    return lowest_found(truth, starts, (LOWS, HIGHS), method="Nelder-Mead", options=options)[0]


def build(seed: int) -> Problem:
    """Return the problem; it is the same for every seed."""
    return Problem("simopt_sscont1", LOWS, HIGHS, measure, lambda x: truth(x) - LEAST)
