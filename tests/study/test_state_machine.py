"""Anything in any order: whatever is asked, told, corrected, dropped or taken over, the promises hold (G6)."""

import gc
import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from paraboloid import Study, TrialState, UsageError
from paraboloid.store import StudyHeld, this_place, uptime
from paraboloid.study.leases import lost_trials

VALUES = st.floats(-1e6, 1e6).map(lambda value: value + 0.0)
NO_VALUES = st.sampled_from([float("nan"), float("inf"), None, "n/a", True])
PICK = st.integers(0, 10**6)
OPEN = ("WAITING", "RUNNING")


class StudyMachine(RuleBasedStateMachine):
    """A study, and beside it what a careful clerk would have written down."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="paraboloid-machine-"))
        self.path = self.folder / "study.db"
        self.states: dict[int, str] = {}
        self.values: dict[int, float] = {}
        self.failures: dict[int, int] = {}
        self.attempts: dict[int, int] = {}
        self.answers: dict[int, int] = {}
        self.lost: set[int] = set()  # handed out by an opening that did not end in good order
        self.mine: set[int] = set()  # handed out by this opening
        self.settings: dict[int, dict[str, float]] = {}
        self.turns = 0

    @initialize(budget=st.sampled_from([None, 9, 30]), batch=st.sampled_from([None, 1, 4]), seed=PICK)
    def begin(self, budget: int | None, batch: int | None, seed: int) -> None:
        self.budget = budget
        self.study = Study.open(self.path, [(0.0, 4.0)], budget=budget, batch=batch, rng=seed)

    def teardown(self) -> None:
        if hasattr(self, "study"):
            self.study.close()
        shutil.rmtree(self.folder)

    def _of(self, *states: str) -> list[int]:
        return sorted(number for number, state in self.states.items() if state in states)

    # -- asking and telling --------------------------------------------------------------------------------------------

    @rule(n=st.integers(1, 5))
    def ask(self, n: int) -> None:
        trials = self.study.ask(n)
        numbers = [trial.id for trial in trials]
        assert len(set(numbers)) == len(numbers) <= n
        for trial in trials:
            # Promise 2: what is out with somebody is given to nobody else.
            assert self.states.get(trial.id, "WAITING") == "WAITING" or trial.id in self.lost
            assert self.settings.setdefault(trial.id, dict(trial.x)) == trial.x
            assert trial.attempt == self.attempts.get(trial.id, 0) + 1
            self.attempts[trial.id] = trial.attempt
            self.states[trial.id] = "RUNNING"
            self.lost.discard(trial.id)
            self.mine.add(trial.id)
        # What was lost comes back before anything new.
        assert not self.lost or len(numbers) == n
        if len(numbers) < n:
            assert self.budget is not None and self.study._state.left == 0

    @precondition(lambda self: self._of(*OPEN))
    @rule(pick=PICK, value=VALUES)
    def tell(self, pick: int, value: float) -> None:
        number = self._of(*OPEN)[pick % len(self._of(*OPEN))]
        assert self.study.tell(number, value).value == value
        self._answered(number, "COMPLETE", value)

    @precondition(lambda self: self._of(*OPEN))
    @rule(pick=PICK, value=NO_VALUES)
    def fail(self, pick: int, value: object) -> None:
        number = self._of(*OPEN)[pick % len(self._of(*OPEN))]
        assert self.study.tell(number, value).state is TrialState.FAILED
        self._answered(number, "FAILED", None)

    def _answered(self, number: int, state: str, value: float | None) -> None:
        self.states[number] = state
        self.lost.discard(number)
        self.mine.discard(number)
        self.answers[number] = self.answers.get(number, 0) + 1
        self.attempts[number] = max(self.attempts.get(number, 0), self.answers[number])
        if value is None:
            self.failures[number] = self.failures.get(number, 0) + 1
        else:
            self.values[number] = value

    @precondition(lambda self: self._of("COMPLETE"))
    @rule(pick=PICK, other=VALUES)
    def tell_again(self, pick: int, other: float) -> None:
        number = self._of("COMPLETE")[pick % len(self._of("COMPLETE"))]
        events = self.study._state.sequence
        self.study.tell(number, self.values[number])
        assert self.study._state.sequence == events  # promise 1: once
        if other == self.values[number]:
            return
        if self.attempts[number] > self.answers[number]:  # a twin was out: its answer is kept, and does not count
            assert self.study.tell(number, other).value == self.values[number]
            self.answers[number] += self.study._state.sequence - events
        elif other not in self._duplicates(number):
            with pytest.raises(UsageError, match="replace=True"):
                self.study.tell(number, other)

    def _duplicates(self, number: int) -> list[float]:
        return [event.payload["value"] for event in self.study.history(number) if event.kind == "duplicate"]

    @precondition(lambda self: self._of("COMPLETE"))
    @rule(pick=PICK, value=VALUES)
    def correct(self, pick: int, value: float) -> None:
        number = self._of("COMPLETE")[pick % len(self._of("COMPLETE"))]
        self.study.tell(number, value, replace=True)
        self.values[number] = value

    @rule(x=st.floats(0.0, 4.0), value=VALUES)
    def import_old_data(self, x: float, value: float) -> None:
        trial = self.study.tell(None, value, x={"x1": x})
        assert trial.id not in self.states and trial.x == {"x1": x + 0.0}
        self.settings[trial.id] = dict(trial.x)
        self._answered(trial.id, "COMPLETE", value)

    @precondition(lambda self: self._of(*OPEN))
    @rule(pick=PICK)
    def abandon(self, pick: int) -> None:
        number = self._of(*OPEN)[pick % len(self._of(*OPEN))]
        self.study.abandon(number)
        self.states[number] = "ABANDONED"
        self.lost.discard(number)
        self.mine.discard(number)

    @precondition(lambda self: self._of("FAILED"))
    @rule(pick=PICK)
    def retry(self, pick: int) -> None:
        number = self._of("FAILED")[pick % len(self._of("FAILED"))]
        if self.study._state.left == 0:
            with pytest.raises(UsageError, match="budget"):
                self.study.retry(number)
        else:
            self.study.retry(number)
            self.states[number] = "WAITING"

    @rule(n=st.integers(1, 10))
    def extend(self, n: int) -> None:
        if self.budget is not None:
            self.budget += n
            self.study.extend(self.budget)

    # -- opening and closing -------------------------------------------------------------------------------------------

    @rule()
    def close_and_reopen(self) -> None:
        before = self._memory()
        self.mine = set()  # they stay with whoever took them
        self.study.close()
        self.study = Study.open(self.path)
        assert self._memory() == before

    @rule()
    def crash_and_reopen(self) -> None:
        """Drop the study as a crash would: nothing is said to the file; tests/study/test_crashes.py kills for real."""
        before = self._memory()
        self._lose()
        del self.study
        gc.collect()
        self.study = Study.open(self.path)
        assert self._memory() == before

    @rule()
    def take_over(self) -> None:
        before, old = self._memory(), self.study
        with pytest.raises(StudyHeld):
            Study.open(self.path, take_over=True)
        connection = sqlite3.connect(self.path)
        with connection:
            connection.execute("UPDATE holder SET uptime = uptime - 1000")  # as if it had hung for a while
        connection.close()
        self.study = Study.open(self.path, take_over=True)
        assert self._memory() == before
        with pytest.raises(StudyHeld):
            old.stop()
        old.close()
        self._lose()

    def _lose(self) -> None:
        self.lost |= self.mine & set(self._of("RUNNING"))
        self.mine = set()

    def _memory(self) -> tuple[object, ...]:
        """Return all that a study knows, to be compared across an opening."""
        evidence = self.study._state.evidence()
        numbers = [evidence.points, evidence.counts, evidence.means, evidence.scatter, evidence.failures]
        state = self.study._state
        return (
            [trial.as_dict() for trial in self.study.trials()],
            [array.tobytes() for array in numbers],
            (state.charged, state.rounds, state.next_id, list(state.waiting)),
        )

    # -- promises ------------------------------------------------------------------------------------------------------

    @precondition(lambda self: hasattr(self, "study"))
    @invariant()
    def every_value_counts_once(self) -> None:
        trials = {trial.id: trial for trial in self.study.trials()}
        assert {n: t.value for n, t in trials.items() if t.state is TrialState.COMPLETE} == {
            number: self.values[number] for number in self._of("COMPLETE")
        }
        for number, state in self.states.items():
            assert trials[number].state.name == state
            assert trials[number].x == self.settings[number] if number in self.settings else True
        evidence = self.study._state.evidence()
        assert evidence.n_measurements == len(self._of("COMPLETE"))
        assert evidence.failures.sum() == sum(self.failures.values())
        assert np.all(np.isfinite(evidence.means)) and np.all(np.isfinite(evidence.scatter))  # promise 4

    @precondition(lambda self: hasattr(self, "study"))
    @invariant()
    def the_budget_is_kept_and_readers_see_the_same(self) -> None:
        with Study.read(self.path) as reader:  # promise 5
            assert [t.as_dict() for t in reader.trials()] == [t.as_dict() for t in self.study.trials()]
        if self.budget is not None:
            planned = [trial for trial in self.study.trials() if trial.round > 0]
            first_runs = sum(trial.state is not TrialState.ABANDONED for trial in planned)
            assert first_runs <= self.budget
        assert set(lost_trials(self.study._state, this_place().boot, uptime())) == self.lost

    @precondition(lambda self: hasattr(self, "study"))
    @invariant()
    def the_next_round_is_a_function_of_the_log(self) -> None:
        """Promise 3: a copy that never saw this process would plan the same points."""
        self.turns += 1
        if self.turns % 10 or not self._of("COMPLETE"):  # costs two rounds of planning
            return
        for end in ("", "-wal"):
            if (self.folder / f"study.db{end}").exists():
                shutil.copyfile(self.folder / f"study.db{end}", self.folder / f"copy.db{end}")
        with Study.open(self.folder / "copy.db") as first:
            mine = [(trial.id, dict(trial.x)) for trial in first.ask(6)]
        for file in self.folder.glob("copy.db*"):
            file.unlink()
        for end in ("", "-wal"):
            if (self.folder / f"study.db{end}").exists():
                shutil.copyfile(self.folder / f"study.db{end}", self.folder / f"copy.db{end}")
        with Study.open(self.folder / "copy.db") as second:
            assert [(trial.id, dict(trial.x)) for trial in second.ask(6)] == mine
        for file in self.folder.glob("copy.db*"):
            file.unlink()


# A failing example is not made shorter: each step opens files, and the steps are readable as they are.
StudyMachine.TestCase.settings = settings(
    max_examples=14, stateful_step_count=25, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
TestStudyMachine = StudyMachine.TestCase
