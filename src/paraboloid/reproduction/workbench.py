"""What every experiment is given and what it gives back: a workbench with size, seed and workers; findings."""

import enum
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from paraboloid import run
from paraboloid.core import Procedure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Claim", "Findings", "Row", "Size", "Workbench"]

V = TypeVar("V")
Row: TypeAlias = dict[str, str | int | float]
"""One line of an experiment's table."""

MEASUREMENTS_PER_TICK = 100_000
"""A run moves the progress bar by about its time: one tick, and one more for each of so many measurements."""


class Size(enum.Enum):
    """How much is simulated: a few seconds for tests, minutes, or half an hour."""

    TINY = "tiny"
    QUICK = "quick"
    FULL = "full"

    def choose(self, tiny: V, quick: V, full: V) -> V:
        """Return the one of three values that is meant for this size.

        >>> Size.QUICK.choose(1, 10, 100)
        10
        """
        return {Size.TINY: tiny, Size.QUICK: quick, Size.FULL: full}[self]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence that the numbers either bear out or not."""

    sentence: str
    held: bool


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """What an experiment found.

    Parameters
    ----------
    title
        One line.
    headline
        The result in a few words, for the table on the terminal.
    expected, seen
        What the paper promises, and what the numbers say; plain text, paragraphs parted by an empty line.
    claims
        Sentences that were checked against the numbers.
    rows
        All numbers, one dictionary for each line of the table, with equal keys.
    size
        Width and height of the figure in inches.
    draw
        Draws them onto an empty figure.
    """

    title: str
    headline: str
    expected: str
    seen: str
    claims: tuple[Claim, ...]
    rows: tuple[Row, ...]
    size: tuple[float, float]
    draw: "Callable[[Figure], None]"


@dataclass(frozen=True, slots=True, eq=False)
class Workbench:
    """Where an experiment is done: its name and size, its own seed, and workers.

    Parameters
    ----------
    name
        Shown beside the progress bar.
    size
        See `Size`.
    seed
        Root of all randomness of the experiment.
    executor
        Where to simulate; in this process if None.
    """

    name: str
    size: Size
    seed: np.random.SeedSequence
    executor: Executor | None = None

    def child(self, index: int) -> np.random.SeedSequence:
        """Return the seed of the experiment's part number ``index``, the same whatever the order of the parts."""
        return np.random.SeedSequence(self.seed.entropy, spawn_key=(*self.seed.spawn_key, index))

    def simulate_all(self, jobs: "Sequence[Job]") -> list[run.Runs]:
        """Return the runs of every job, in order, under one progress bar."""
        ticks = [1 + job.budget // MEASUREMENTS_PER_TICK for job in jobs]
        results = []
        total = sum(job.n_runs * tick for job, tick in zip(jobs, ticks, strict=True))
        with run.progress_bar(self.name, total=total) as advance:
            for index, (job, tick) in enumerate(zip(jobs, ticks, strict=True)):
                results.append(
                    run.simulate_many(
                        job.make_procedure,
                        job.problem,
                        n_runs=job.n_runs,
                        rng=self.child(index),
                        executor=self.executor,
                        advance=lambda done, tick=tick: advance(done * tick),  # type: ignore[misc]  # bound per job
                    )
                )
        return results

    def map(self, function: Callable[..., V], arguments: Iterable[tuple[object, ...]]) -> list[V]:
        """Return ``function(*argument, seed)`` for every argument, in order, under one progress bar."""
        calls = [(*argument, self.child(index)) for index, argument in enumerate(arguments)]
        results = []
        with run.progress_bar(self.name, total=len(calls)) as advance:
            if self.executor is None:
                for call in calls:
                    results.append(function(*call))
                    advance(1)
                return results
            futures = [self.executor.submit(function, *call) for call in calls]
            try:
                for future in futures:
                    results.append(future.result())
                    advance(1)
            finally:
                for future in futures:
                    future.cancel()
        return results


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Many runs of one algorithm on one problem; ``budget`` is what one run may measure."""

    make_procedure: Callable[[], Procedure]
    problem: run.ScoredProblem
    budget: int
    n_runs: int
