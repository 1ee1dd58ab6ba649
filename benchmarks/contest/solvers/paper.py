"""The paper's own algorithms (Yu et al., NeurIPS 2023), on the unit ball; their theorems ask for noise of variance 1.

``paper-told`` is Algorithm 1 and is told the true Hessian: no rival, but what knowing it would buy.
"""

from collections.abc import Callable
from functools import cache

import numpy as np

from contest.solvers.adapter import Answer, Meter, Solver
from paraboloid import algorithms, numerics, run
from paraboloid.algorithms.universal import smallest_budget as _smallest_budget
from paraboloid.core import Matrix, Procedure


class _Measured:
    """A meter as the simulator wants it: values (n, repeats) at points; the meter has its own noise."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def measure(self, points: Matrix, repeats: int, rng: np.random.Generator) -> Matrix:
        """Return the values of all repeats."""
        return self._meter.measure(np.repeat(points, repeats, axis=0)).reshape(len(points), repeats)


def _solver(procedure: Callable[[Meter], Procedure]) -> Solver:
    def solve(meter: Meter, seed: int) -> Answer:
        return Answer(np.asarray(run.simulate(procedure(meter), _Measured(meter), rng=seed).x))

    return solve


def _told(meter: Meter) -> Procedure:
    if meter.told_hessian is None:
        raise ValueError("Algorithm 1 is about quadratics whose Hessian is known")
    return algorithms.hessian_dependent(meter.told_hessian, meter.budget)


@cache
def smallest_budget(d: int) -> int:
    """Return the least T that the universal algorithm can be run with."""
    return _smallest_budget(d)


SOLVERS: dict[str, Solver] = {
    "paper-told": _solver(_told),
    "paper": _solver(lambda meter: algorithms.universal(meter.d, meter.budget)),
    "paper+": _solver(lambda meter: algorithms.universal(meter.d, meter.budget, truncation=numerics.CENTRED)),
}
