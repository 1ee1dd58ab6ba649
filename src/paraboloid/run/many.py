"""Many simulated runs, over processes if wanted: the same numbers whatever the number of workers."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, SupportsIndex

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from paraboloid.core import Matrix, Procedure, Vector, check_budget
from paraboloid.run.simulate import Simulable, simulate

__all__ = ["Runs", "ScoredProblem", "process_pool", "progress_bar", "simulate_many"]

BATCHES = 64
"""Runs travel to workers in about this many batches: few enough to be cheap, many enough for a smooth bar."""


class ScoredProblem(Simulable, Protocol):
    """A simulated problem that knows how good an answer is."""

    def regret(self, x: Vector) -> float:
        """Return f(x) minus the least value of f."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """What many simulated runs gave, one row per run.

    Parameters
    ----------
    x
        Answers, shape (n, d).
    regrets
        Their exact regrets, shape (n,).
    n_measurements
        Measurements taken in each run, shape (n,).
    """

    x: Matrix
    regrets: Vector
    n_measurements: npt.NDArray[np.int64]

    def mean_regret(self) -> tuple[float, float]:
        """Return the mean regret and its standard error."""
        n = self.regrets.size
        error = float(np.std(self.regrets, ddof=1)) / n**0.5 if n > 1 else float("inf")
        return float(np.mean(self.regrets)), error


def simulate_many(
    make_procedure: Callable[[], Procedure],
    problem: ScoredProblem,
    *,
    n_runs: SupportsIndex,
    rng: int | np.random.SeedSequence,
    executor: Executor | None = None,
    advance: Callable[[int], None] | None = None,
) -> Runs:
    """Simulate ``n_runs`` independent runs and return what they gave, in order.

    Run number i draws its noise from the i-th child of the seed, so the numbers do not depend on the executor.

    Parameters
    ----------
    make_procedure
        Builds a fresh procedure for each run; ``functools.partial(hessian_dependent, A, T)``, say. It must be
        picklable if the executor uses processes.
    problem
        Gives noisy values and exact regrets.
    executor
        Where to run, for example `process_pool`; in this process if not given.
    advance
        Called with the number of runs that were finished since it was last called.

    Examples
    --------
    >>> import functools
    >>> import numpy as np
    >>> from paraboloid import algorithms, problems, run, theory
    >>> problem = problems.NoisyQuadratic(np.diag([1.0, 0.25]), [0.0, 0.0])
    >>> make = functools.partial(algorithms.hessian_dependent, problem.hessian, 1000)
    >>> mean, error = run.simulate_many(make, problem, n_runs=400, rng=0).mean_regret()
    >>> bool(abs(mean * 1000 / theory.minimax_limit(problem.hessian) - 1) < 0.25)
    True
    """
    n = check_budget(n_runs, smallest=1, what_for="simulating many runs")
    root = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
    batches = [[int(i) for i in batch] for batch in np.array_split(np.arange(n), min(n, BATCHES)) if batch.size]
    parts: list[Runs | None] = [None] * len(batches)
    for index, part in _parts(make_procedure, problem, root, batches, executor):
        parts[index] = part
        if advance is not None:
            advance(len(batches[index]))
    done = [part for part in parts if part is not None]
    return Runs(
        np.concatenate([part.x for part in done]),
        np.concatenate([part.regrets for part in done]),
        np.concatenate([part.n_measurements for part in done]),
    )


def _parts(
    make_procedure: Callable[[], Procedure],
    problem: ScoredProblem,
    root: np.random.SeedSequence,
    batches: Sequence[Sequence[int]],
    executor: Executor | None,
) -> Iterator[tuple[int, Runs]]:
    """Yield (index of batch, its runs) as batches finish; on Ctrl-C what has not begun is cancelled."""
    if executor is None:
        for index, batch in enumerate(batches):
            yield index, _run_batch(make_procedure, problem, root, batch)
        return
    futures: dict[Future[Runs], int] = {
        executor.submit(_run_batch, make_procedure, problem, root, batch): index for index, batch in enumerate(batches)
    }
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _run_batch(
    make_procedure: Callable[[], Procedure],
    problem: ScoredProblem,
    root: np.random.SeedSequence,
    batch: Sequence[int],
) -> Runs:
    results = [simulate(make_procedure(), problem, rng=_child(root, index)) for index in batch]
    return Runs(
        np.stack([result.x for result in results]),
        np.array([problem.regret(result.x) for result in results]),
        np.array([result.n_measurements for result in results], dtype=np.int64),
    )


def _child(root: np.random.SeedSequence, index: int) -> np.random.SeedSequence:
    """Return the child that ``root.spawn`` would give at ``index``, without changing ``root``."""
    return np.random.SeedSequence(root.entropy, spawn_key=(*root.spawn_key, index), pool_size=root.pool_size)


@contextmanager
def process_pool(workers: int | None = None) -> Iterator[ProcessPoolExecutor]:
    """Give a pool of fresh processes, by default one for each core this process may use.

    >>> with process_pool(1) as pool:
    ...     pool.submit(abs, -3).result()
    3
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    context = multiprocessing.get_context("spawn")  # a forked child may inherit a lock of another thread
    with ProcessPoolExecutor(workers or cores, context, _prepare_worker) as pool:
        yield pool


def _prepare_worker() -> None:
    """Leave Ctrl-C, which a terminal sends to all processes, to the parent; and leave with it, however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when its parent is gone, kill -9 included; a pool's worker would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Callable[[int], None]]:
    """Give a function that advances a progress bar on standard error; without a terminal nothing is shown.

    >>> with progress_bar("measuring", total=10) as advance:
    ...     advance(10)
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(description, total=total)
        yield lambda done: progress.advance(task, done)
