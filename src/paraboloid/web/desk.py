"""The desk at which people enter results: one study, many browsers, each value once.

Every form carries the version of the answer that it was made from: the number of the last event that changed it, 0
while there was none. A form whose version is still right is taken. One whose version has passed is a double click, the
back button, a sheet that lay open, a second person, or a form sent again after the server was killed: if it says what
the study knows already, all is well; if it says something else, nobody's value is overwritten, and both are shown.
"""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from paraboloid.core import UsageError
from paraboloid.store import Event
from paraboloid.study import Study, Trial, TrialState
from paraboloid.study.outcome import Answer
from paraboloid.study.sheet_columns import SheetKnob, knobs_of
from paraboloid.web.typed import Typed, answer_of, uses_commas

__all__ = ["Asked", "Deed", "Desk"]

MOST_ASKED = 500
"""Trials that one press of a button hands out at most."""
MOST_ROWS = 200
"""Trials on the page of the sheet."""
CHANGES = ("told", "corrected", "retried")
"""Events that change the answer of a trial."""
OPEN = (TrialState.WAITING, TrialState.RUNNING)


@dataclass(frozen=True, slots=True)
class Deed:
    """What became of what was typed about a trial.

    Parameters
    ----------
    typed
        What was typed.
    kind
        "told", "corrected", "same" (told before), "conflict" (it has another answer by now) or "refused".
    message
        What a person must know of the last two.
    """

    typed: Typed
    kind: str
    message: str = ""

    @property
    def is_done(self) -> bool:
        """Whether the study holds what was typed."""
        return self.kind not in ("conflict", "refused")


@dataclass(frozen=True, slots=True)
class Asked:
    """What became of a wish for more trials: how many were handed out, or why none was."""

    count: int
    message: str = ""


class Desk:
    """Serves one study, open for writing, to any number of threads.

    Trials of a process that is gone are handed out again at once, under their old numbers: they stay on the sheet.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.knobs: tuple[SheetKnob, ...] = knobs_of(study.domain)
        self._lock = threading.Lock()
        self._take_back()

    def _take_back(self) -> None:
        lost = {trial.id for trial in self.study.status().running if trial.is_lost}
        for _ in lost:
            # They come first, one by one: where an algorithm wants one no more, no others are handed out in its place.
            if not any(trial.id in lost for trial in self.study.ask(1)):
                return

    # -- looking -----------------------------------------------------------------------------------------------------

    def sheet(self) -> list[Trial]:
        """Return the trials of the rounds that are being measured, or of the last one; open ones first if too many."""
        handed = [trial for trial in self.study.trials() if trial.attempt and trial.round]
        rounds = {trial.round for trial in handed if trial.state is TrialState.RUNNING}
        rounds = rounds or {max((trial.round for trial in handed), default=0)}
        rows = [trial for trial in handed if trial.round in rounds and trial.state is not TrialState.WAITING]
        if len(rows) > MOST_ROWS:
            rows = sorted(rows, key=lambda trial: trial.state is not TrialState.RUNNING)[:MOST_ROWS]
        return sorted(rows, key=lambda trial: trial.id)

    def version(self, number: int) -> int:
        """Return the last event that changed the answer of a trial, 0 if none did."""
        return _version(self.study.history(number))

    def handed_out(self) -> int:
        """Return how many trials were handed out so far."""
        return sum(1 for trial in self.study.trials() if trial.attempt and trial.round)

    # -- doing -------------------------------------------------------------------------------------------------------

    def save(self, rows: Sequence[Typed]) -> list[Deed]:
        """Take what was typed: all rows that can be taken, in one transaction; return what became of each."""
        commas = uses_commas(text for typed in rows for text in (*typed.values, typed.sem, *typed.settings.values()))
        with self._lock:
            judged = [self._judged(typed, commas) for typed in rows]
            self.study.tell_all([answer for _, answer in judged if answer is not None])
        return [deed for deed, _ in judged]

    def _judged(self, typed: Typed, commas: bool) -> tuple[Deed, Answer | None]:
        """Return what a row does, and the answer to be told if it is to be told one."""
        try:
            trial = self.study.trial(typed.trial)
            replace = trial.state not in OPEN
            answer = answer_of(typed, trial, self.knobs, commas=commas, replace=replace)
            (kind,) = self.study.tell_all([answer], dry_run=True)
        except UsageError as error:
            return Deed(typed, "refused", _bare(str(error))), None
        if kind == "same":
            return Deed(typed, "same"), None
        if typed.version != self.version(typed.trial):
            return Deed(typed, "conflict", "Somebody has entered another result since this form was opened."), None
        return Deed(typed, kind), answer

    def ask(self, count: int | None, seen: int) -> Asked:
        """Hand out so many trials, or the rest of a round, if still so many are handed out as the asker has seen."""
        if count is not None and not 1 <= count <= MOST_ASKED:
            raise UsageError(f"ask for 1 to {MOST_ASKED} points, got {count}.")
        with self._lock:
            if seen != self.handed_out():
                return Asked(0, "Points were handed out since this page was opened: they are on the sheet below.")
            trials = self.study.ask(count or 1)
            rest = 0 if count else len(self.study.trials(TrialState.WAITING))
            if rest:
                trials += self.study.ask(min(rest, MOST_ASKED))
        return Asked(len(trials), "" if trials else f"There is nothing to hand out. {self.study.status().message}")

    def again(self, number: int, version: int) -> bool:
        """Hand a failed trial out again, if it is as the asker has seen it; tell whether it is out now."""
        with self._lock:
            trial = self.study.trial(number)
            if version == self.version(number) and trial.state not in OPEN:
                self.study.retry(number)
                self.study.ask(1)  # it has waited longest, so that it is the one
            return self.study.trial(number).state is TrialState.RUNNING


def _version(events: Sequence[Event]) -> int:
    return max((event.sequence for event in events if event.kind in CHANGES), default=0)


def _bare(message: str) -> str:
    """Return a message of the study without the words for programmers."""
    return (
        message.removeprefix("answer 1 of 1: ")
        .removesuffix(" Nothing was taken.")
        .replace("replace=True", "a correction")
    )
