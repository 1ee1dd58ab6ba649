"""What a solver is given: a box and a meter that measures, counts, and times what is not the solver's own."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from contest.problem import Problem
from paraboloid.core import Matrix, Vector


class BudgetSpentError(Exception):
    """A solver asked for more measurements than it may take."""


class Meter:
    """Measures a problem in unit coordinates [-1, 1]^d; counts and times the measurements."""

    def __init__(self, problem: Problem, budget: int, rng: np.random.Generator) -> None:
        self.d, self.budget, self.taken, self.seconds = problem.d, budget, 0, 0.0
        self._problem, self._rng = problem, rng
        self._centre, self._half = (problem.lows + problem.highs) / 2, (problem.highs - problem.lows) / 2

    @property
    def left(self) -> int:
        """Measurements that may still be taken."""
        return self.budget - self.taken

    def in_knobs(self, z: Matrix) -> Matrix:
        """Return points in the problem's own units, held inside the box against rounding."""
        return np.clip(self._centre + self._half * z, self._problem.lows, self._problem.highs)

    def measure(self, z: Matrix) -> Vector:
        """Return one noisy value for each row of unit coordinates, shape (n,)."""
        if len(z) > self.left:
            raise BudgetSpentError(f"{len(z)} more measurements were asked for, {self.left} of {self.budget} are left.")
        started = time.process_time()
        values = self._problem.measure(self.in_knobs(np.asarray(z, dtype=float)), self._rng)
        self.taken += len(z)
        self.seconds += time.process_time() - started
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A recommended point in unit coordinates, and what else the solver says (numbers, words), for the log."""

    z: Vector
    says: dict[str, float | int | str | bool | None] = field(default_factory=dict)


Solver = Callable[[Meter, int], Answer]
"""Takes a meter (its box is [-1, 1]^d, its budget is the number of measurements) and a seed."""
