"""Measures whole experiments: here, or side by side on a crew; the same numbers whatever the number of workers."""

import logging
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from paraboloid.core import Counts, Experiment, Measurements, Vector
from paraboloid.run.block import Objective, Tally, cut, merge, with_values
from paraboloid.run.errors import too_many_failures
from paraboloid.run.parallel import FAILED_AFTER, MOST_FAILED, Crew
from paraboloid.run.worker import Job, accepts_rng, generator_of

__all__ = ["Measurer"]

logger = logging.getLogger("paraboloid")

KEEP = 2**16
"""Single values are kept in experiments of at most so many measurements, or where an algorithm needs them."""

SINGLE = 2**10
"""Experiments of at most so many measurements, of a function that takes one setting, have a job for each of them."""

CALLS, BLOCKS = 2**9, 2**6
"""Larger ones are cut into at most so many jobs of single calls, or of vectorized ones: few enough to be cheap, enough
for many workers. The cut must not depend on the number of workers, for each job has its own stream of noise."""

FEWEST, ENOUGH, LARGEST = 2**4, 2**16, 2**20
"""A vectorized job has at least ENOUGH measurements, so that its call and its way (some 0.2 ms) cost less than they do,
unless there were then fewer than FEWEST jobs for the workers; and at most LARGEST."""


class Measurer:
    """Measures the experiments of a procedure with the user's function, and counts what failed and why.

    Parameters
    ----------
    fun, executor, timeout, seed, vectorized
        As for `Crew`.
    sign
        -1 turns every value round, so that a maximum is a minimum.

    Examples
    --------
    >>> from paraboloid.core import Experiment
    >>> with Measurer(lambda x: x[0] ** 2) as measurer:
    ...     measurements = measurer.measure(Experiment([[1.0], [2.0]], [1, 3]))
    >>> measurements.means, measurements.counts, measurer.n_calls
    (array([1., 4.]), array([1, 3]), 4)
    """

    def __init__(
        self,
        fun: Objective,
        executor: Any = None,
        *,
        timeout: float | None = None,
        seed: int = 0,
        vectorized: bool = False,
        sign: float = 1.0,
    ) -> None:
        self._fun, self._vectorized, self.sign = fun, vectorized, sign
        # Failures are judged after whole experiments, so that the order of answers has no say in it.
        self._crew = Crew(
            fun, executor, timeout=timeout, seed=seed, most_failed=None, vectorized=vectorized, bundles=True
        )
        self._is_here, self._takes_rng, self._seed = executor is None, accepts_rng(fun), seed
        self._tally: Tally | None = None
        self._parts: dict[int, tuple[Counts, Measurements]] = {}
        self._n_jobs = 0
        self.n_calls = 0
        self.n_failures = 0
        self.last_failure = ""

    def __enter__(self) -> "Measurer":
        return self

    def __exit__(self, *_: object) -> None:
        self._crew.close()

    def measure(self, experiment: Experiment) -> Measurements:
        """Return the measurements of an experiment."""
        self._tally, self._parts = None, {}
        keep = experiment.needs_values or experiment.n_measurements <= KEEP
        is_single = not self._vectorized and experiment.n_measurements <= SINGLE
        if self._is_here and (is_single or not self._takes_rng):
            self._tally = Tally(experiment.points, experiment.repeats, keep_values=keep)
            if self._takes_rng:
                self._tally.measure_singly(self._fun, self._generators())
            else:
                self._tally.measure(self._fun, {}, vectorized=self._vectorized)
        else:
            self._side_by_side(experiment, keep=keep)
        return self.so_far(experiment)

    def so_far(self, experiment: Experiment) -> Measurements:
        """Return what was measured of an experiment that may have been interrupted; it is counted once."""
        if self._tally is not None:
            measurements = self._tally.measurements()
            if self._tally.reason:
                self.last_failure = self._tally.reason
                logger.warning("%s measurements failed, the last %s", measurements.n_failures, self.last_failure)
        else:
            measurements = _joined(experiment.n_points, [self._parts[trial] for trial in sorted(self._parts)])
        self._tally, self._parts = None, {}
        self.n_failures += measurements.n_failures
        self.n_calls += measurements.n_measurements + measurements.n_failures
        return measurements if self.sign > 0 else _turned(measurements)

    def check_failures(self, *, nothing_else: bool = False) -> None:
        """Raise if so many measurements failed that going on would waste the rest."""
        if nothing_else or (self.n_calls >= FAILED_AFTER and self.n_failures > MOST_FAILED * self.n_calls):
            raise too_many_failures(self.n_failures, self.n_calls, self.last_failure)

    def _generators(self) -> Iterator[np.random.Generator]:
        """Yield the generators of the next calls: those that a crew would give to jobs of one measurement."""
        while True:
            self._n_jobs += 1
            yield generator_of(self._seed, self._n_jobs - 1)

    def _side_by_side(self, experiment: Experiment, *, keep: bool) -> None:
        n = experiment.n_measurements
        size = _block_size(n) if self._vectorized else 1 if n <= SINGLE else math.ceil(n / CALLS)
        where: dict[int, Counts] = {}
        jobs = []
        for trial, (first, counts) in enumerate(cut(experiment.repeats, size), start=self._n_jobs):
            where[trial] = np.arange(first, first + len(counts))
            jobs.append(Job(trial, experiment.points[where[trial]], repeats=counts, keep_values=keep))
        self._n_jobs += len(jobs)
        self._crew.submit(*jobs)
        for outcome in self._crew.completed():
            self._parts[outcome.job.trial] = where[outcome.job.trial], outcome.measurements
            self.last_failure = outcome.reason or self.last_failure


def _block_size(n: int) -> int:
    """Return how many of n measurements make a vectorized job.

    >>> [_block_size(n) for n in (12, 1600, 200_000, 10**6, 10**7)]
    [1, 100, 12500, 62500, 156250]
    """
    return min(LARGEST, max(math.ceil(n / BLOCKS), min(ENOUGH, math.ceil(n / FEWEST))))


def _joined(n_points: int, parts: list[tuple[Counts, Measurements]]) -> Measurements:
    """Return the measurements of all parts, with single values if every part has them."""
    if len(parts) == 1:
        return merge(n_points, parts)
    whole = merge(n_points, parts)
    if any(part.values is None and part.n_measurements for _, part in parts):
        return whole
    kept: list[tuple[Counts, Vector]] = []
    for index, part in parts:
        for k, row in zip(index, part.values or (), strict=False):
            kept.append((np.full(len(row), k), row))
    return with_values(whole, kept)


def _turned(given: Measurements) -> Measurements:
    values = None if given.values is None else tuple(-row for row in given.values)
    return Measurements(given.counts, -given.means, given.scatter, values, given.failures, given.precision)
