"""How many jobs travel together: cheap ones in bundles, so that their way costs less than their work."""

import math
import statistics
from collections import deque
from collections.abc import Sequence

from paraboloid.run.worker import Job

__all__ = ["GRAIN", "Pace"]

GRAIN, LEAST = 1.0, 0.03
"""Seconds of work that a bundle should hold, many times what its way through a cluster takes; and that it must hold.

Towards the end of a round bundles become smaller, down to LEAST, so that no worker is long at work when all others have
nothing to do.
"""

ALONE = 0.03
"""Seconds of work that are not worth the way to a second worker."""


class Pace:
    """What a measurement takes, learnt from those that were made.

    What is measured never depends on it: a job has its own noise and its own summary in whatever bundle it travels.
    """

    def __init__(self) -> None:
        self._recent: deque[tuple[int, float]] = deque(maxlen=15)  # measurements of a job, seconds for each

    def observe(self, n_measurements: int, seconds: float) -> None:
        """Learn from a job."""
        self._recent.append((n_measurements, seconds / n_measurements))

    def seconds(self, n_measurements: int) -> float | None:
        """Return what a job of so many measurements is expected to take, or None if it is not known.

        A small job says nothing about one that is more than 16 times as large: most of its time may be the call's.
        """
        rates = [rate for n, rate in self._recent if 16 * n >= n_measurements]
        # The median: one job that met a busy moment of its worker says nothing about the others.
        return statistics.median(rates) * n_measurements if rates else None

    def bundle(self, waiting: Sequence[Job], capacity: int) -> int:
        """Return how many of the waiting jobs to send together, so that all workers end at about the same time.

        Half of what is left, shared by all workers, goes next: what one of them takes longer, others make up for.

        >>> pace = Pace()
        >>> pace.observe(1000, 0.01)
        >>> jobs = [Job(trial, [0.0], repeats=1000) for trial in range(64)]
        >>> [pace.bundle(jobs[:n], 2) for n in (64, 32, 8, 1)]
        [16, 8, 3, 1]
        """
        size = waiting[0].n_measurements
        each = self.seconds(size)
        if each is None or each >= GRAIN:
            return 1
        if each * len(waiting) <= ALONE:
            return len(waiting)
        share = math.ceil(len(waiting) / (2 * capacity))
        return min(len(waiting), max(math.ceil(LEAST / each), min(math.ceil(GRAIN / each), share)))
