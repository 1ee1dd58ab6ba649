"""Worker processes of our own: each can be ended alone, and is replaced when it dies."""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from typing import Any

from paraboloid.core import UsageError
from paraboloid.run.errors import ExecutorLost
from paraboloid.run.worker import Call, Job, Parcel, answer_here, end_process, greet

__all__ = ["WorkerProcesses"]

Key = tuple[int, int]
MOST_STARTS = 3
"""A worker process that dies so often in a row before it can work will not work the next time either."""


class _Place:
    """A place for one worker process: a pool of one, so that its death is nobody else's."""

    __slots__ = ("executor", "key", "pid", "starts")

    def __init__(self) -> None:
        self.executor: ProcessPoolExecutor | None = None
        self.key: Key | None = None  # of the first of the jobs at work
        self.pid = 0  # 0 until it has greeted
        self.starts = 0


class WorkerProcesses:
    """A number of processes that measure; ``post`` is told of everything that happens, from other threads."""

    is_exact = True  # a job that is started begins at once

    def __init__(self, pickled: bytes, n: int, call: Call, post: Callable[[tuple[Any, ...]], None]) -> None:
        self._pickled, self._call, self._post = pickled, call, post
        # A forked child may inherit a lock that a thread of ours holds; a fresh process does not.
        self._context = multiprocessing.get_context("spawn")
        self._places = [_Place() for _ in range(n)]
        try:
            for place, greeting in [(place, self._start(place)) for place in self._places]:
                self._welcome(place, greeting)
        except BaseException:
            self.close()
            raise

    @property
    def capacity(self) -> int:
        """Number of worker processes."""
        return len(self._places)

    @property
    def process_ids(self) -> list[int]:
        """Their process ids, of those that are ready."""
        return [place.pid for place in self._places if place.pid]

    def has_room(self, *, at_once: bool) -> bool:
        """Tell whether a worker is free; nothing is given to one that is not."""
        return any(place.pid and place.key is None for place in self._places)

    def start(self, jobs: tuple[Job, ...]) -> bool:
        """Give jobs to a free worker; False if that worker turned out to be dead."""
        place = next(place for place in self._places if place.pid and place.key is None)
        assert place.executor is not None
        try:
            future = place.executor.submit(answer_here, Parcel(jobs), self._call)
        except BrokenExecutor:
            self._replace(place)
            return False
        place.key = jobs[0].key
        future.add_done_callback(lambda done: self._post(("done", jobs[0].key, done)))
        return True

    def settle(self, key: Key, future: "Future[Parcel]") -> bool:
        """Free the worker of finished jobs; False if the worker died of them."""
        place = self._place_of(key)
        place.key = None
        if isinstance(future.exception(), BrokenExecutor):
            self._replace(place)
            return False
        return True

    def end(self, key: Key) -> str:
        """End the worker of a job that took too long, and start another."""
        place = self._place_of(key)
        place.key = None
        self._replace(place)
        return "its worker process was ended"

    def recall(self) -> list[Key]:
        """Return nothing: no job waits behind another."""
        return []

    def ready(self, place: _Place, greeting: "Future[tuple[int, str]]") -> None:
        """Take in a worker that was started to replace another."""
        if place.executor is not None:
            self._welcome(place, greeting)

    def close(self) -> None:
        """End all; a worker that is still measuring is killed."""
        for place in self._places:
            if place.pid and place.key is not None:
                end_process(place.pid)
            if place.executor is not None:
                place.executor.shutdown(wait=place.pid > 0, cancel_futures=True)
            place.executor, place.pid, place.key = None, 0, None

    def _place_of(self, key: Key) -> _Place:
        return next(place for place in self._places if place.key == key)

    def _start(self, place: _Place) -> "Future[tuple[int, str]]":
        place.executor = ProcessPoolExecutor(1, self._context)
        place.starts += 1
        return place.executor.submit(greet, self._pickled)

    def _replace(self, place: _Place) -> None:
        assert place.executor is not None
        if place.pid:
            end_process(place.pid)
        place.executor.shutdown(wait=False, cancel_futures=True)
        place.pid = 0
        self._start(place).add_done_callback(lambda greeting: self._post(("ready", place, greeting)))

    def _welcome(self, place: _Place, greeting: "Future[tuple[int, str]]") -> None:
        try:
            pid, complaint = greeting.result()
        except BrokenExecutor as error:
            if 1 < place.starts < MOST_STARTS:  # a replacement may have bad luck; the first workers show a mistake
                self._replace(place)
                return
            raise ExecutorLost(
                "a worker process ended before it could begin. In a script, put what runs under "
                '`if __name__ == "__main__":`, for workers load the script anew; else see what the process printed.'
            ) from error
        if complaint:
            raise UsageError(
                f"a worker process cannot load the function ({complaint}). Define it in a module that workers can "
                f"import, or use threads or an executor that sends code, such as loky or Dask."
            )
        place.pid, place.starts = pid, 1
