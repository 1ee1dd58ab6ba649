"""Parallel and distributed measuring: a crew of workers that measure jobs, in any order, each counted once.

Execution is at least once: a job whose worker died runs again, as its next attempt; only one attempt counts. What is
measured depends on the jobs alone (docs/parallel.md): their noise is keyed by seed, trial and attempt, not by worker.
"""

import itertools
import logging
import queue
import time
import traceback
import uuid
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol

import numpy as np

from paraboloid.core import Measurements, ParaboloidError, UsageError
from paraboloid.run.block import Objective
from paraboloid.run.borrowed import BorrowedExecutor
from paraboloid.run.errors import too_many_failures
from paraboloid.run.pace import GRAIN, Pace
from paraboloid.run.pickling import pickled
from paraboloid.run.processes import WorkerProcesses
from paraboloid.run.worker import Call, Job, Parcel, Report, accepts_rng, answer, this_process

__all__ = ["Crew", "Outcome"]

logger = logging.getLogger("paraboloid")

Key = tuple[int, int]
MOST_FAILED = 0.5  # share of failed measurements above which a run stops, once there are FAILED_AFTER
FAILED_AFTER = 5
MOST_TOGETHER = 4096  # jobs that travel in one bundle at most


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What became of a job.

    Parameters
    ----------
    job
        The job, with the attempt that counts.
    measurements
        What was measured at each of its points; failures are counted there.
    reason, traceback
        Why the last of its failed measurements failed, and where; empty if none did.
    seconds
        How long the worker took; how long was waited, if it did not answer.
    worker
        Host, process and thread that measured; empty if it is not known.
    n_runs
        How often the job was begun, as far as is known: more than once if a worker died.

    Examples
    --------
    >>> with Crew(lambda x: x[0] ** 2) as crew:
    ...     crew.submit(Job(0, [3.0]))
    ...     outcome = next(crew.completed())
    >>> outcome.value, outcome.has_failed, outcome.n_runs
    (9.0, False, 1)
    """

    job: Job
    measurements: Measurements
    reason: str = ""
    traceback: str = ""
    seconds: float = 0.0
    worker: str = ""
    n_runs: int = 1

    @property
    def has_failed(self) -> bool:
        """Whether not one measurement of the job gave a value."""
        return self.measurements.n_measurements == 0

    @property
    def value(self) -> float | None:
        """The mean at the first point, or None where there is none."""
        return float(self.measurements.means[0]) if self.measurements.counts[0] else None

    @property
    def sem(self) -> float | None:
        """The standard error that the function gave with that value, if it gave one."""
        precision = self.measurements.precision
        return None if precision is None or not precision[0] else float(precision[0] ** -0.5)


class Staff(Protocol):
    """Those who measure: `WorkerProcesses` or a `BorrowedExecutor`."""

    @property
    def capacity(self) -> int | None: ...
    @property
    def is_exact(self) -> bool: ...
    def has_room(self, *, at_once: bool) -> bool: ...
    def start(self, jobs: tuple[Job, ...]) -> bool: ...
    def settle(self, key: Key, future: "Future[Parcel]") -> bool: ...
    def end(self, key: Key) -> str: ...
    def recall(self) -> list[Key]: ...
    def close(self) -> None: ...


@dataclass(slots=True, eq=False)
class _Progress:
    """A job at work."""

    job: Job
    started: float
    begun: float | None  # by the monotonic clock; None until a Dask worker says so
    n_runs: int
    worker: str = ""


class Crew:
    """Workers that measure a function: submit jobs, and take the outcomes as they are completed, in any order.

    Parameters
    ----------
    fun
        Measures once at a setting, or with ``vectorized`` at settings (n, d). If it names a parameter ``rng``, it is
        given ``numpy.random.default_rng([seed, trial, attempt])``.
    executor
        A number of worker processes; or anything with ``submit(function, *arguments)`` that returns a future: a thread
        or process pool, loky, an MPI pool, a Dask client; or a function that makes such an executor, called again when
        the executor breaks; or None, to measure in this process when outcomes are asked for.
    timeout
        Seconds that one call may take; then the measurement has failed. A worker process of our own is ended.
    retries
        How often a job is submitted again because its worker died. A function that raises is not called again.
    seed
        Of the noise that comes from ``rng``, and from the global generators of other processes.
    most_failed, failed_after
        The share of failed measurements above which `completed` raises `TooManyFailures`, once there are so many
        measurements; None never raises.
    bundles
        Whether jobs that take less than a second may travel together: the way costs less, but no outcome
        comes before all of its bundle are there, and they are lost together. Values do not depend on it.

    Work goes on while `completed` is iterated; jobs that are waiting are not started in between.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> def measure(x, rng):
    ...     return x[0] + rng.standard_normal()
    >>> with ThreadPoolExecutor(2) as threads, Crew(measure, threads, seed=1) as crew:
    ...     for trial in range(6):
    ...         crew.submit(Job(trial, [0.5]))
    ...     values = {outcome.job.trial: outcome.value for outcome in crew.completed()}
    >>> sorted(values), len(set(values.values()))
    ([0, 1, 2, 3, 4, 5], 6)
    """

    def __init__(
        self,
        fun: Objective,
        executor: Any = None,
        *,
        timeout: float | None = None,
        retries: int = 2,
        seed: int = 0,
        most_failed: float | None = MOST_FAILED,
        failed_after: int = FAILED_AFTER,
        vectorized: bool = False,
        bundles: bool = False,
    ) -> None:
        if not callable(fun):
            raise UsageError(f"fun must be a function of a setting x, got {fun!r}.")
        if timeout is not None and not timeout > 0:
            raise UsageError(f"timeout must be a number of seconds above 0, got {timeout!r}.")
        if timeout is not None and executor is None:
            raise UsageError("a measurement in this process cannot be ended: with timeout=, give workers= as well.")
        self._fun, self._timeout, self._retries = fun, timeout, retries
        self._most_failed, self._failed_after = most_failed, failed_after
        self._bundles = bundles and timeout is None and retries > 0  # else one job pays for another
        name = f"paraboloid-{uuid.uuid4().hex}"
        self._call = Call(name, seed, this_process(), accepts_rng(fun), vectorized)
        self._waiting: deque[_Progress] = deque()
        self._working: dict[Key, list[_Progress]] = {}  # by the key of the first of a bundle
        self._pace = Pace()
        self._last_attempt: dict[int, int] = {}
        self._open: set[int] = set()  # trials without an outcome
        self._is_alone = False
        self._events: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self._is_closed = False
        self.n_measurements = 0
        self.n_failures = 0
        self.last_failure = ""
        self._staff = self._hire(executor)

    def _hire(self, executor: Any) -> Staff | None:
        if executor is None:
            return None
        if isinstance(executor, int | np.integer) and not isinstance(executor, bool):
            if executor < 1:
                raise UsageError(f"there must be at least 1 worker process, got {executor}.")
            return WorkerProcesses(pickled(self._fun), int(executor), self._call, self._post)
        if not hasattr(executor, "submit") and not callable(executor):
            raise UsageError(f"executor must have submit(function, *arguments), or be a number, got {executor!r}.")
        return BorrowedExecutor(self._fun, executor, self._call, self._post, one_each=self._timeout is not None)

    def __enter__(self) -> "Crew":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def capacity(self) -> int | None:
        """Number of measurements that can run side by side, or None if the executor does not say."""
        return 1 if self._staff is None else self._staff.capacity

    @property
    def process_ids(self) -> list[int]:
        """Process ids of the workers, of worker processes of our own; empty for other executors."""
        return self._staff.process_ids if isinstance(self._staff, WorkerProcesses) else []

    @property
    def unfinished(self) -> list[Job]:
        """Jobs that were submitted and have no outcome yet."""
        working = (progress for bundle in self._working.values() for progress in bundle)
        return [progress.job for progress in (*working, *self._waiting)]

    def submit(self, *jobs: Job) -> None:
        """Have jobs measured. No (trial, attempt) may have been submitted before."""
        if self._is_closed:
            raise UsageError("the crew was closed and takes no more jobs; make another.")
        for job in jobs:
            if job.attempt <= self._last_attempt.get(job.trial, 0):
                raise UsageError(
                    f"attempt {job.attempt} of trial {job.trial} was submitted before, and no call is made twice. "
                    f"Give the next attempt, or another trial."
                )
            if job.trial in self._open:
                raise UsageError(f"trial {job.trial} is still being measured; wait for its outcome.")
            self._last_attempt[job.trial] = job.attempt
            self._open.add(job.trial)
            self._waiting.append(_Progress(job, 0.0, None, 0))
        self._start_waiting()

    def completed(self) -> Iterator[Outcome]:
        """Yield outcomes as they come, until no job is left; more may be submitted meanwhile."""
        while self._waiting or self._working:
            if self._staff is None:
                yield self._count(self._measure_here(self._waiting.popleft()))
                self.check_failures()
                continue
            self._start_waiting()
            for outcome in self._happened():
                yield self._count(outcome)
                self.check_failures()  # only now: whoever asks has this outcome in any case

    def check_failures(self) -> None:
        """Raise `TooManyFailures` if so many measurements failed that going on would waste the rest."""
        n = self.n_measurements + self.n_failures
        if self._most_failed is not None and n >= self._failed_after and self.n_failures > self._most_failed * n:
            raise too_many_failures(self.n_failures, n, self.last_failure)

    def close(self) -> None:
        """Cancel what is unfinished; results that still come are ignored. Worker processes of our own are ended."""
        if not self._is_closed:
            self._is_closed = True
            self._waiting.clear()
            self._working.clear()
            if self._staff is not None:
                self._staff.close()

    def _post(self, event: tuple[Any, ...]) -> None:
        if self._is_closed:
            logger.debug("ignored after the end: %s of %s", event[0], event[1])
        else:
            self._events.put(event)

    def _start_waiting(self) -> None:
        while self._staff is not None and self._waiting and not self._is_alone:
            head = self._waiting[0]
            expected = self._pace.seconds(head.job.n_measurements)
            is_dear = expected is not None and expected >= GRAIN
            if not self._staff.has_room(at_once=is_dear or not self._bundles):
                return
            # A job that was lost as often as it may be takes its last try alone: if a borrowed executor breaks again,
            # this job has done it, and no other pays for it. Of our own processes we know whose worker died.
            is_suspect = 0 < self._retries <= head.n_runs and isinstance(self._staff, BorrowedExecutor)
            if is_suspect and self._working:
                return
            bundle = [self._waiting.popleft() for _ in range(self._bundle_size())]
            if not self._staff.start(tuple(progress.job for progress in bundle)):  # nothing has begun: no attempt
                self._waiting.extendleft(reversed(bundle))
                continue
            now = time.monotonic()
            for progress in bundle:
                progress.started, progress.begun = now, now if self._staff.is_exact else None
                progress.n_runs += 1
            self._working[head.job.key] = bundle
            self._is_alone = is_suspect

    def _bundle_size(self) -> int:
        """Return how many of the waiting jobs go together: one, unless they are cheap and nothing has befallen them."""
        if not self._bundles:
            return 1
        capacity = self.capacity
        fresh = list(
            itertools.takewhile(lambda progress: progress.n_runs == 0, itertools.islice(self._waiting, MOST_TOGETHER))
        )
        if not capacity or not fresh:
            return 1
        return self._pace.bundle([progress.job for progress in fresh], capacity)

    def _happened(self) -> Iterator[Outcome]:
        """Wait for something to happen, and yield the outcomes that it brings."""
        try:
            event = self._events.get(timeout=self._patience())
        except queue.Empty:
            yield from self._give_up_late_ones()
            return
        kind, key = event[0], event[1]
        if kind == "ready":
            assert isinstance(self._staff, WorkerProcesses)
            self._staff.ready(key, event[2])
        elif key not in self._working:
            logger.info("trial %s, attempt %s has ended already: what came late or twice is ignored", *key)
        elif kind == "began":
            self._begun(self._working[key], worker=event[2])
        else:
            yield from self._finished(key, event[2])

    @staticmethod
    def _begun(bundle: list[_Progress], *, worker: str) -> None:
        for progress in bundle:
            if progress.begun is not None:
                progress.n_runs += 1
                logger.warning(
                    "trial %s runs again, at %s: its worker %s died", progress.job.trial, worker, progress.worker
                )
            progress.begun, progress.worker = time.monotonic(), worker

    def _finished(self, key: Key, future: "Future[Parcel]") -> Iterator[Outcome]:
        assert self._staff is not None
        is_well = self._staff.settle(key, future)
        bundle = self._leave(key)
        if not is_well:
            yield from filter(None, [self._lost(progress) for progress in bundle])
            return
        error = future.exception()
        if isinstance(error, ParaboloidError | KeyboardInterrupt):
            raise error
        if error is not None:
            text = "".join(traceback.format_exception(error))
            yield from [self._failed(progress, f"{type(error).__name__}: {error}", text) for progress in bundle]
            return
        for progress, report in zip(bundle, future.result().contents, strict=True):
            self._pace.observe(progress.job.n_measurements, report.seconds)
            yield self._outcome(progress, report)

    def _leave(self, key: Key) -> list[_Progress]:
        self._is_alone = False
        return self._working.pop(key)

    def _lost(self, progress: _Progress) -> Outcome | None:
        """Submit a job again whose worker died, unless that happened too often."""
        job = progress.job
        if progress.n_runs > self._retries:
            return self._failed(progress, f"its worker died, {progress.n_runs} times in all")
        logger.warning("the worker of trial %s, attempt %s died; the trial is submitted again", *job.key)
        progress.job = job.again()
        self._last_attempt[job.trial] = progress.job.attempt
        self._waiting.append(progress)
        return None

    def _patience(self) -> float | None:
        """Return how long to wait at most until some job has taken too long."""
        if self._timeout is None:
            return None
        ends = [end for end, _ in self._deadlines()]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _deadlines(self) -> list[tuple[float, _Progress]]:
        working = [bundle[0] for bundle in self._working.values()]  # with a timeout, nothing travels together
        return [(work.begun + self._allowed(work.job), work) for work in working if work.begun is not None]

    def _allowed(self, job: Job) -> float:
        assert self._timeout is not None
        return self._timeout * (1 if self._call.vectorized else job.n_measurements)

    def _give_up_late_ones(self) -> Iterator[Outcome]:
        assert self._staff is not None
        now = time.monotonic()
        late = [progress for end, progress in self._deadlines() if now >= end]
        for progress in late:
            self._leave(progress.job.key)
            done = self._staff.end(progress.job.key)
            yield self._failed(progress, f"took longer than {self._allowed(progress.job):g} s; {done}")
        for key in self._staff.recall() if late else []:
            bundle = self._leave(key)
            for progress in bundle:
                progress.n_runs -= 1  # it has not begun
            self._waiting.extend(bundle)

    def _measure_here(self, progress: _Progress) -> Outcome:
        progress.n_runs = 1
        return self._outcome(progress, answer(self._fun, Parcel((progress.job,)), self._call).contents[0])

    @staticmethod
    def _outcome(progress: _Progress, report: Report) -> Outcome:
        block = report.block
        return Outcome(
            progress.job,
            block.measurements,
            block.reason,
            block.traceback,
            report.seconds,
            report.worker,
            progress.n_runs,
        )

    @staticmethod
    def _failed(progress: _Progress, reason: str, trace: str = "") -> Outcome:
        job, zeros = progress.job, np.zeros(len(progress.job.repeats))
        nothing = Measurements(zeros.astype(np.int64), zeros, zeros, failures=job.repeats)
        where = f"at x = {np.array2string(job.points[0], precision=6)}: {reason}"
        seconds = time.monotonic() - progress.started
        return Outcome(job, nothing, where, trace, seconds, progress.worker, progress.n_runs)

    def _count(self, outcome: Outcome) -> Outcome:
        self._open.discard(outcome.job.trial)
        self.n_measurements += outcome.measurements.n_measurements
        self.n_failures += outcome.measurements.n_failures
        if outcome.reason:
            self.last_failure = outcome.reason
            logger.warning("measurement failed %s", outcome.reason)
        return outcome
