"""What runs on a worker: one job, its randomness, and the words by which it says that it has begun."""

import inspect
import multiprocessing
import os
import pickle
import random
import signal
import socket
import sys
import threading
import time
import uuid
from dataclasses import dataclass
from typing import Any

import numpy as np

from paraboloid.core import Counts, Matrix, UsageError, frozen_array
from paraboloid.run.block import Block, Objective, measure_block

__all__ = [
    "Call",
    "Job",
    "Parcel",
    "Report",
    "accepts_rng",
    "answer",
    "answer_here",
    "end_process",
    "generator_of",
    "greet",
    "this_process",
]

_LOADED = uuid.uuid4().hex  # a spawned process loads this module anew; a forked one has another process id


def this_process() -> tuple[str, int]:
    """Return what tells this process from every other one, forked or on another machine alike."""
    return _LOADED, os.getpid()


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One piece of work for a worker: a trial, its setting and how often to measure there.

    Parameters
    ----------
    trial
        Number of the trial; with ``attempt`` it makes the call unique and seeds its noise.
    points
        One setting (d,), or several (k, d); kept as (k, d).
    repeats
        How often to measure at each, one number or shape (k,).
    attempt
        1 for the first; a job that is resubmitted because its worker died has the next.
    keep_values
        Whether the single values come back, too, and not their summary alone.

    Examples
    --------
    >>> job = Job(7, [0.5, 1.0], repeats=3)
    >>> job.key, job.points.shape, job.n_measurements
    ((7, 1), (1, 2), 3)
    """

    trial: int
    points: Matrix
    repeats: Counts
    attempt: int
    keep_values: bool

    def __init__(
        self, trial: int, points: Any, *, repeats: Any = 1, attempt: int = 1, keep_values: bool = True
    ) -> None:
        where = frozen_array("points", np.atleast_2d(np.asarray(points, dtype=np.float64)), 2)
        counts = np.broadcast_to(np.asarray(repeats), (len(where),))
        if not np.issubdtype(counts.dtype, np.integer) or np.any(counts < 1):
            raise UsageError(f"repeats of trial {trial} must be whole numbers of at least 1, got {repeats!r}.")
        if trial < 0 or attempt < 1:
            raise UsageError(f"trial must be at least 0 and attempt at least 1, got {trial} and {attempt}.")
        object.__setattr__(self, "trial", int(trial))
        object.__setattr__(self, "points", where)
        object.__setattr__(self, "repeats", counts.astype(np.int64))
        object.__setattr__(self, "attempt", int(attempt))
        object.__setattr__(self, "keep_values", bool(keep_values))

    @property
    def key(self) -> tuple[int, int]:
        """Trial and attempt: no two calls have the same."""
        return self.trial, self.attempt

    @property
    def n_measurements(self) -> int:
        """Number of single measurements."""
        return int(self.repeats.sum())

    def again(self) -> "Job":
        """Return the next attempt of the same job."""
        return Job(
            self.trial,
            self.points,
            repeats=self.repeats,
            attempt=self.attempt + 1,
            keep_values=self.keep_values,
        )


@dataclass(frozen=True, slots=True)
class Call:
    """How a crew has its function called; ``crew`` is unique, so that no executor takes two crews' calls for one."""

    crew: str
    seed: int
    home: tuple[str, int]
    takes_rng: bool
    vectorized: bool


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What comes back from a worker."""

    block: Block
    seconds: float
    worker: str


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Jobs or reports that travel as one piece: Dask sends each of their arrays by itself otherwise, which is slow.

    >>> len(pickle.dumps(Parcel((Job(7, [0.5, 1.0]),)), protocol=5, buffer_callback=lambda piece: 1 / 0)) > 100
    True
    """

    contents: tuple[Any, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpacked, (pickle.dumps(self.contents, protocol=pickle.HIGHEST_PROTOCOL),)


def _unpacked(contents: bytes) -> Parcel:
    return Parcel(pickle.loads(contents))


def accepts_rng(fun: Objective) -> bool:
    """Tell whether a function names a parameter ``rng`` that can be given by keyword.

    >>> accepts_rng(lambda x, rng: 0.0), accepts_rng(lambda x, **more: 0.0)
    (True, False)
    """
    try:
        parameter = inspect.signature(fun).parameters.get("rng")
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def answer(fun: Objective, jobs: Parcel, call: Call) -> Parcel:
    """Measure jobs where this is called, one after another, and report on each."""
    worker = f"{socket.gethostname()}:{os.getpid()}:{threading.current_thread().name}"
    _announce(call.crew, jobs.contents[0], worker)
    return Parcel(tuple(_answer_one(fun, job, call, worker) for job in jobs.contents))


def generator_of(seed: int, trial: int, attempt: int = 1) -> np.random.Generator:
    """Return the generator that the function is given in an attempt at a trial, wherever that is.

    >>> bool(generator_of(1, 7).random() == generator_of(1, 7).random() != generator_of(1, 7, attempt=2).random())
    True
    """
    return np.random.default_rng([seed, trial, attempt])


def _answer_one(fun: Objective, job: Job, call: Call, worker: str) -> Report:
    key = [call.seed, job.trial, job.attempt]
    if this_process() != call.home:
        # Forked workers inherit one state of the global generators, and would draw the same noise. In the caller's own
        # process, threads included, the global generators are the caller's, and are left alone.
        np.random.seed(np.random.SeedSequence(key).generate_state(8))
        random.seed(repr(key))
    rng = generator_of(call.seed, job.trial, job.attempt) if call.takes_rng else None
    start = time.perf_counter()
    block = measure_block(
        fun, job.points, job.repeats, rng=rng, vectorized=call.vectorized, keep_values=job.keep_values
    )
    return Report(block, time.perf_counter() - start, worker)


def _announce(topic: str, job: Job, worker: str) -> None:
    """Tell the crew that its work begins, on a Dask worker: Dask lets it begin again elsewhere without asking."""
    distributed = sys.modules.get("distributed")  # loaded wherever there is a Dask worker; never loaded by us
    if distributed is None:
        return
    try:
        here = distributed.get_worker()
    except ValueError:  # this is no Dask worker
        return
    here.log_event(topic, [job.trial, job.attempt, worker, here.address])


_fun: Objective | None = None  # of the one crew that owns this worker process


def greet(pickled: bytes) -> tuple[int, str]:
    """Take the function in a worker process of our own; return its process id, and what went wrong if anything did."""
    global _fun
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to every process of a terminal; the parent decides
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)  # a group of its own: what the function starts can be ended together with the worker
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        _fun = pickle.loads(pickled)
    except Exception as error:
        return os.getpid(), f"{type(error).__name__}: {error}"
    return os.getpid(), ""


def _leave_with_parent() -> None:
    """End this worker when its parent is gone, kill -9 included; a pool's worker would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        end_process(os.getpid())


def end_process(pid: int) -> None:
    """Kill a worker process and all that it has started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)  # Windows: this ends the process at once
    except (ProcessLookupError, PermissionError):
        return  # it is gone already


def answer_here(jobs: Parcel, call: Call) -> Parcel:
    """Measure jobs with the function this process was greeted with."""
    assert _fun is not None
    return answer(_fun, jobs, call)
