"""Somebody else's workers: any executor with ``submit``, or a function that makes one (again, when it breaks)."""

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from typing import Any

from paraboloid.core import UsageError
from paraboloid.run.block import Objective
from paraboloid.run.errors import ExecutorLost
from paraboloid.run.pickling import pickled
from paraboloid.run.worker import Call, Job, Parcel, answer

__all__ = ["BorrowedExecutor"]

logger = logging.getLogger("paraboloid")

Key = tuple[int, int]
EVERY_ONE_HANGS = "every one of its workers hangs in a measurement that took too long"
WORKS_BY_CODE = ("distributed", "dask", "loky")  # these pickle by cloudpickle


class BorrowedExecutor:
    """An executor that measures; ``post`` is told of everything that happens, from other threads."""

    def __init__(
        self, fun: Objective, given: Any, call: Call, post: Callable[[tuple[Any, ...]], None], *, one_each: bool
    ) -> None:
        self._fun, self._call, self._post = fun, call, post
        self._one_each = one_each  # start no more than there are workers, so that a job begins when it is started
        self._factory: Callable[[], Any] | None = None if hasattr(given, "submit") else given
        self._futures: dict[Key, tuple[int, Future[Parcel]]] = {}
        self._places: dict[Key, str] = {}  # Dask's addresses of the workers that began
        self._stuck: Counter[str] = Counter()  # and how many of their threads hang
        self._hung: set[Future[Parcel]] = set()
        self._generation = 0
        self._asked: tuple[float, int] | None = None  # when, and how many workers there were
        self._given: Any = None
        self._take(given if self._factory is None else given())

    def _take(self, executor: Any) -> None:
        if not hasattr(executor, "submit"):
            raise UsageError(
                f"executor must have submit(function, *arguments), be a number of processes, or be a function that "
                f"makes an executor; got {executor!r}."
            )
        family = type(executor).__module__.split(".")[0]
        if isinstance(executor, ProcessPoolExecutor) or family in (*WORKS_BY_CODE, "mpi4py"):
            pickled(self._fun, sends_code=family in WORKS_BY_CODE)
        self._given, self._asked = executor, None
        # A Dask client takes functions for pure unless told; through its executor it gives futures as others do.
        is_client = hasattr(executor, "get_executor")
        self._executor = executor.get_executor(pure=False) if is_client else executor
        self._client = executor if is_client else getattr(executor, "_client", None)
        if not hasattr(self._client, "subscribe_topic"):
            self._client = None
        if self._client is not None:
            self._client.subscribe_topic(self._call.crew, self._began)

    def _began(self, event: tuple[Any, tuple[int, int, str, str]]) -> None:
        trial, attempt, worker, address = event[1]
        self._places[trial, attempt] = address
        self._post(("began", (trial, attempt), worker))

    @property
    def is_exact(self) -> bool:
        """Whether a job that is started begins at once; a Dask worker says itself when it begins."""
        return self._client is None

    @property
    def capacity(self) -> int | None:
        """Number of measurements that can run side by side, if it is known."""
        if self._client is not None:
            now = time.monotonic()
            if self._asked is None or now > self._asked[0] + 5.0:  # asking takes a way to the scheduler and back
                try:
                    self._asked = now, sum(self._client.nthreads().values())
                except OSError:  # the scheduler does not answer; if it is lost, the futures say so
                    self._asked = now, 0 if self._asked is None else self._asked[1]
            return self._asked[1]
        workers = getattr(self._executor, "_max_workers", None)
        return workers if isinstance(workers, int) else None

    def has_room(self, *, at_once: bool) -> bool:
        """Tell whether more may be started; ``at_once`` says that it need not wait until others are finished."""
        capacity = self.capacity
        if capacity is None:
            return True
        if not self._one_each or self._client is not None:
            return at_once or len(self._futures) < 2 * max(1, capacity)  # one at work, one on its way
        if len(self._hung) >= capacity:
            self._lose(EVERY_ONE_HANGS, None)
        return len(self._futures) + len(self._hung) < capacity

    def start(self, jobs: tuple[Job, ...]) -> bool:
        """Submit jobs; False if the executor had to be made anew first."""
        key = jobs[0].key
        try:
            future = self._executor.submit(answer, self._fun, Parcel(jobs), self._call, **self._away_from_stuck())
        except (BrokenExecutor, RuntimeError) as error:  # broken, or shut down
            self._lose(f"it takes no more work ({type(error).__name__}: {error})", error)
            return False
        self._futures[key] = self._generation, future
        future.add_done_callback(lambda done: self._done(key, done))
        return True

    def _done(self, key: Key, future: "Future[Parcel]") -> None:
        _, current = self._futures.get(key, (0, future))
        if current is future:  # else it was recalled, and another has its place
            self._post(("done", key, future))

    def _away_from_stuck(self) -> dict[str, Any]:
        """Return what keeps work from Dask workers all of whose threads hang: Dask takes them for idle."""
        if not self._stuck or self._client is None:
            return {}
        threads: dict[str, int] = self._client.nthreads()
        free = [address for address, n in threads.items() if self._stuck[address] < n]
        if threads and not free:
            self._lose(EVERY_ONE_HANGS, None)
            return {}
        return {"workers": free} if free else {}

    def settle(self, key: Key, future: "Future[Parcel]") -> bool:
        """Let finished jobs go; False if their worker died, or the whole executor did."""
        generation, _ = self._futures.pop(key)
        self._places.pop(key, None)
        error = CancelledError("cancelled by another") if future.cancelled() else future.exception()
        if not isinstance(error, BrokenExecutor | CancelledError):
            return True
        if generation == self._generation:  # the first of its generation to tell
            self._lose(f"{type(error).__name__}: {error}", error)
        return False

    def end(self, key: Key) -> str:
        """Give up a job that took too long."""
        _, future = self._futures.pop(key)
        if self._client is not None:
            future.cancel()
            self._stuck[self._places.pop(key)] += 1
            return "it was cancelled; its thread on the Dask worker gets no more work"
        if future.cancel():
            return "it was cancelled"
        self._hung.add(future)
        future.add_done_callback(self._hung.discard)
        return "its worker cannot be ended from here, and is busy until it returns; with workers= it would be ended"

    def recall(self) -> list[Key]:
        """Take back what Dask may have put behind a job that hangs: all that has not begun."""
        keys = [key for key in self._futures if key not in self._places] if self._client is not None else []
        for key in keys:
            _, future = self._futures.pop(key)
            self._futures[key] = self._generation, Future()  # so that its end is not taken for the job's
            future.cancel()
            del self._futures[key]
        return keys

    def close(self) -> None:
        """Cancel what has not begun. An executor that was made for us is shut down."""
        is_idle = not self._futures and not self._hung
        for _, future in self._futures.values():
            future.cancel()
        self._futures.clear()
        self._let_go(wait=is_idle)

    def _let_go(self, *, wait: bool) -> None:
        if self._client is not None:
            self._client.unsubscribe_topic(self._call.crew)
        if self._factory is None:
            return
        if hasattr(self._given, "get_executor"):
            self._given.close()  # of a Dask client, shutdown would end the whole cluster
        else:
            self._given.shutdown(wait=wait)

    def _lose(self, reason: str, cause: BaseException | None) -> None:
        """Make the executor anew, or say that it cannot be done."""
        if self._factory is None:
            raise ExecutorLost(
                f"the executor was lost: {reason}. What was measured is kept. Give a function that makes an executor, "
                f"such as lambda: ProcessPoolExecutor(4), or a number of processes: it is then made anew."
            ) from cause
        logger.warning("the executor was lost (%s) and is made anew", reason)
        self._let_go(wait=False)
        self._generation += 1
        self._hung.clear()
        self._stuck.clear()
        self._take(self._factory())
