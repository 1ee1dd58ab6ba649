"""How many jobs travel together: cheap ones in bundles, so that their way costs less than their work."""

import math
import statistics
from collections import deque
from collections.abc import Sequence

from paraboloid.run.worker import Job

__all__ = ["GRAIN", "Pace"]

GRAIN = 0.25
"""Seconds of work that a bundle should hold: many times what its way through a cluster takes."""


class Pace:
    """What a measurement takes, learnt from those that were made.

    What is measured never depends on it: a job has its own noise and its own summary in whatever bundle it travels.
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[int, float]] = deque(maxlen=15)  # measurements of a job, seconds for each

    def observe(self, n_measurements: int, seconds: float) -> None:
        """Learn from a job."""
        self._recent.append((n_measurements, seconds / n_measurements))

    def seconds(self, n_measurements: int, *, each: int | None = None) -> float | None:
        """Return what so many measurements, in jobs of ``each``, are expected to take, or None if it is not known.

        A small job says nothing about one that is more than 16 times as large: most of its time may be the call's.
        """
        size = n_measurements if each is None else each
        rates = [rate for n, rate in self._recent if 16 * n >= size]
        # The median: one job that met a busy moment of its worker says nothing about the others.
        return statistics.median(rates) * n_measurements if rates else None

    def bundle(self, waiting: Sequence[Job], capacity: int, at_work: int) -> int:
        """Return how many of the waiting jobs to send together, so that all workers end at about the same time.

        ``at_work`` is the number of measurements that are on their way.
        """
        size = waiting[0].n_measurements
        each = self.seconds(size)
        if each is None or each >= GRAIN:
            return 1
        n = at_work + sum(job.n_measurements for job in waiting)
        total = self.seconds(n, each=size) or 0.0
        n_bundles = capacity * max(1, round(total / capacity / GRAIN)) if total > GRAIN / 25 else 1
        return math.ceil(n / n_bundles / size)
