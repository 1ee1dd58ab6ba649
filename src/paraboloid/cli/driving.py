"""The work of ``paraboloid run``: a study is asked, a crew measures, the study is told; in a thread of its own.

The main thread only looks on, so that it hears signals at once and a slow terminal holds up nothing. No exception is
ever thrown into the middle of a write.
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from paraboloid.core import Measurements
from paraboloid.run import Crew, Job, Outcome
from paraboloid.store import StorageFull, StudyBusy
from paraboloid.study import Study, Trial

__all__ = ["Drive"]

CHEAP = 0.2
"""Seconds between outcomes below which the next trials are at hand before a worker is free for them.

Telling and asking take some 10 ms; what is at hand is measured even after Ctrl-C, so that it must not take long.
"""
PAUSE = 5.0
"""Seconds between tries to write to a file that is locked or full."""
NOTE = 4000
"""Characters of a failure that are kept."""


class Drive:
    """Measures a study to its end, or until it is told to stop.

    Parameters
    ----------
    study
        Open for writing.
    hire
        Makes the crew, in the thread that uses it.
    repeats
        Measurements in each trial.
    keeps_spare
        Whether as many trials as there are workers wait for workers to come: on a cluster, they come at any time.
    say
        Takes what a person should know.
    """

    def __init__(
        self,
        study: Study,
        hire: Callable[[], AbstractContextManager[Crew]],
        *,
        repeats: int = 1,
        keeps_spare: bool = False,
        say: Callable[[str], None] = print,
    ) -> None:
        self._study, self._hire, self._repeats, self._say = study, hire, repeats, say
        self._keeps_spare = keeps_spare
        self._is_stopping = threading.Event()
        self._is_done = threading.Event()
        self._is_over = False  # what comes now was cut off by us, and is no answer
        self._thread = threading.Thread(target=self._work, name="paraboloid-drive", daemon=True)
        self._out: dict[int, Trial] = {}
        self._seconds = 0.0
        self.crew: Crew | None = None
        self.error: BaseException | None = None
        self.n_told = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Hand out nothing more; what is being measured is still taken."""
        self._is_stopping.set()

    def abort(self) -> None:
        """Take nothing more, either: what is being measured is about to be ended, and comes back another time."""
        self._is_over = True
        self._is_stopping.set()

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; tell whether all is done."""
        return self._is_done.wait(seconds)

    @property
    def n_out(self) -> int:
        """Number of trials that are being measured, or are about to be."""
        return len(self._out)

    def _work(self) -> None:
        try:
            with self._hire() as crew:
                self.crew = crew
                self._feed(crew)
                for outcome in crew.completed():
                    if self._is_over:
                        return
                    crew.submit()  # nothing new: whoever is free takes what waits, before we are busy with the file
                    self._tell(outcome)
                    self._feed(crew)
        except BaseException as error:  # handed to the main thread, which decides
            self.error = error
        finally:
            self._is_done.set()

    def _feed(self, crew: Crew) -> None:
        """Ask for as many trials as there are free workers."""
        if self._is_stopping.is_set():
            return
        capacity = max(1, crew.capacity or 1)
        is_cheap = 0 < self.n_told and self._seconds < CHEAP * capacity * self.n_told
        wanted = capacity * (2 if is_cheap or self._keeps_spare else 1) - len(self._out)
        if wanted < 1:
            return
        trials: list[Trial] = self._patiently(lambda: self._study.ask(wanted, repeats=self._repeats))
        jobs = []
        for trial in trials:
            self._out[trial.id] = trial
            jobs.append(
                Job(
                    trial.id,
                    list(trial.x.values()),
                    repeats=trial.repeats,
                    attempt=trial.attempt,
                    keep_values=trial.repeats == 1 or trial.needs_values,
                )
            )
        crew.submit(*jobs)

    def _tell(self, outcome: Outcome) -> None:
        trial = self._out[outcome.job.trial]
        told = _answer(outcome, needs_values=trial.needs_values)
        self._patiently(lambda: self._study.tell(trial.id, attempt=trial.attempt, **told))
        del self._out[trial.id]
        self._seconds += outcome.seconds
        self.n_told += 1

    def _patiently(self, work: Callable[[], Any]) -> Any:
        """Do the work; while the file is locked or the disk is full try again: a measured value is never dropped."""
        while True:
            try:
                return work()
            except (StudyBusy, StorageFull) as error:
                self._say(f"{error} Trying again.")
                if self._is_stopping.wait(PAUSE):
                    time.sleep(PAUSE)
                    return work()


def _answer(outcome: Outcome, *, needs_values: bool = False) -> dict[str, Any]:
    """Return what the study is told of an outcome."""
    note = "\n".join(filter(None, [outcome.reason, outcome.traceback]))
    kept = note if len(note) <= NOTE else f"{note[: NOTE // 2]}\n...\n{note[-NOTE // 2 :]}"
    remark = {"note": kept} if kept else {}
    if outcome.has_failed:
        return {"value": outcome.reason.splitlines()[0][:300] if outcome.reason else None, "state": "FAILED", **remark}
    if outcome.job.n_measurements == 1:
        return {"value": outcome.value, "sem": outcome.sem, **remark}
    m = outcome.measurements
    if needs_values and m.values is not None:
        return {"value": [*m.values[0].tolist(), *[math.nan] * m.n_failures], **remark}
    block = Measurements(m.counts, m.means, m.scatter, failures=m.failures)
    return {"value": block, "sem": outcome.sem, **remark}
