"""What a solver is given: a region and a meter that measures, counts, and times what is not the solver's own."""

import contextlib
import importlib
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from contest.problem import Problem
from paraboloid.core import Matrix, Vector


class BudgetSpentError(Exception):
    """A solver asked for more measurements than it may take."""


class Meter:
    """Measures a problem in unit coordinates [-1, 1]^d; counts and times the measurements.

    On a ball (``is_ball``) a point of the cube outside the unit ball is measured where it meets the ball on its way to
    the centre: what one does with a solver that knows only boxes.
    """

    def __init__(self, problem: Problem, budget: int, rng: np.random.Generator) -> None:
        self.d, self.budget, self.taken, self.seconds = problem.d, budget, 0, 0.0
        self.is_ball = problem.is_ball
        self._problem, self._rng = problem, rng
        self._centre, self._half = (problem.lows + problem.highs) / 2, (problem.highs - problem.lows) / 2
        self.best: tuple[float, Vector] = (np.inf, np.zeros(problem.d))

    @property
    def left(self) -> int:
        """Measurements that may still be taken."""
        return self.budget - self.taken

    @property
    def told_hessian(self) -> Matrix | None:
        """The true Hessian in unit coordinates, only for the algorithm whose theorem is about knowing it."""
        return None if self._problem.hessian is None else self._problem.hessian * np.outer(self._half, self._half)

    def in_region(self, z: Matrix) -> Matrix:
        """Return unit coordinates held inside the cube, or inside the ball."""
        z = np.clip(np.asarray(z, dtype=float), -1.0, 1.0)
        if not self.is_ball:
            return z
        return np.asarray(z / np.maximum(1.0, np.linalg.norm(z, axis=-1, keepdims=True)))

    def in_knobs(self, z: Matrix) -> Matrix:
        """Return points in the problem's own units, held inside the region against rounding."""
        knobs = self._centre + self._half * self.in_region(z)
        return np.clip(knobs, self._problem.lows, self._problem.highs)

    def measure(self, z: Matrix) -> Vector:
        """Return one noisy value for each row of unit coordinates, shape (n,)."""
        if len(z) > self.left:
            raise BudgetSpentError(f"{len(z)} more measurements were asked for, {self.left} of {self.budget} are left.")
        started = time.process_time()
        points = np.asarray(z, dtype=float)
        values = self._problem.measure(self.in_knobs(points), self._rng)
        self.taken += len(points)
        if len(points) and values.min() < self.best[0]:
            self.best = float(values.min()), points[int(values.argmin())].copy()
        self.seconds += time.process_time() - started
        return values

    def measure_one(self, z: Vector) -> float:
        """Return one noisy value at one point."""
        return float(self.measure(np.asarray(z, dtype=float)[None, :])[0])

    def mean_at(self, z: Vector, n: int) -> float:
        """Return the mean of ``n`` measurements at one point (of fewer if fewer are left)."""
        n = max(1, min(n, self.left))
        return float(self.measure(np.tile(np.asarray(z, dtype=float), (n, 1))).mean())


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """A recommended point in unit coordinates, and what else the solver says (numbers, words), for the log."""

    z: Vector
    says: dict[str, float | int | str | bool | None] = field(default_factory=dict)


Solver = Callable[[Meter, int], Answer]
"""Takes a meter (its region is [-1, 1]^d or the unit ball, its budget the number of measurements) and a seed."""


def package(name: str) -> Any:
    """Return an imported package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cma warns that it cannot plot
        return importlib.import_module(name)


@contextlib.contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed numpy's global generator, from which some packages draw, silence their warnings, and put it back."""
    state = np.random.get_state()
    np.random.seed(seed % 2**32)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)
