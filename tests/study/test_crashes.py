"""Processes that die at the worst moment: nothing acknowledged is lost, nothing counts twice, and the study goes on."""

import json
import os
import random
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from scipy.optimize import OptimizeResult

from paraboloid import Study, TrialState
from paraboloid.store import Event, EventLog
from tests.store.support import kill, start, wait_for
from tests.study.crashing import (
    BUDGET,
    ask_and_hang,
    fork_with_a_study,
    interrupt_at_any_moment,
    interrupted_study,
    tell_and_hang,
    work_until_killed,
)
from tests.study.support import make, measure, same_answer, yield_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def test_what_a_killed_process_was_measuring_comes_back_with_the_same_id_and_setting(path: Path) -> None:  # A1, A2
    process = start(ask_and_hang, path, 1)
    asked = json.loads(wait_for(path.with_name("said"), "\n"))
    with Study.read(path) as reader:
        out = reader.status().running
        assert [(trial.id, trial.attempt, trial.is_lost, trial.pid) for trial in out] == [
            (2, 1, False, process.pid),
            (3, 1, False, process.pid),
        ]
        assert all(0 <= trial.age < 60 for trial in out)
    kill(process)
    with make(path) as study:
        assert [trial.is_lost for trial in study.status().running] == [True, True]
        again = study.ask(3)
        assert [[trial.id, dict(trial.x)] for trial in again[:2]] == asked[1:]
        assert [trial.attempt for trial in again] == [2, 2, 1]
        status = study.status()
        assert status.possible_extra_runs == 2  # two measurements may have been made and never told
        assert study._state.charged == 5  # the pilot's five: coming back costs no budget
        measure(study, again)
        assert study.status().n_measurements == 4


def test_a_client_that_never_heard_the_acknowledgement_tells_again(path: Path) -> None:  # A3
    process = start(tell_and_hang, path)
    wait_for(path.with_name("said"), "told")
    kill(process)
    with make(path) as study:
        trial = study.trial(1)
        assert trial.state is TrialState.COMPLETE
        study.tell(1, yield_of(trial.x, 1))
        assert [event.kind for event in study.history(1)] == ["asked", "told"]


KILLS = 200


def test_two_hundred_random_kills_lose_nothing_and_change_nothing(path: Path) -> None:  # A4
    moments = random.Random(4)
    make(path, budget=BUDGET).close()
    for number in range(KILLS):
        said = path.with_name(f"said-{number}")
        process, begin = start(work_until_killed, path, said), time.monotonic()
        wait_for(said, "begun" if number % 2 else "opened")  # half of them may die while opening
        # In proportion to what the start took: on a busy machine everything that follows takes longer, too.
        time.sleep(max(0.2, 0.5 * (time.monotonic() - begin)) * moments.random())
        kill(process)

    acknowledged = acknowledged_values(path)
    with make(path, budget=BUDGET) as study:
        while lost := [trial for trial in study.status().running if trial.is_lost]:
            measure(study, study.ask(len(lost)))
        answer = study.recommend()
        values = {trial.id: trial.value for trial in study.trials() if trial.state is TrialState.COMPLETE}
        assert study.status().n_measurements == len(values)
    assert acknowledged.items() <= values.items()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    events = EventLog.read(path).events()
    told = [event.trial for event in events if event.kind == "told"]
    assert len(told) == len(set(told)) == len(values)
    assert not [event for event in events if event.kind in ("duplicate", "corrected")]
    # The kills hit the work: processes died between any two steps, and trials came back.
    assert sum(event.kind == "opened" for event in events) >= KILLS // 2
    assert sum(event.kind == "asked" and event.payload["attempt"] > 1 for event in events) >= KILLS // 4
    # The answer is the one of the same log without any crash: every trial planned, asked once and told in order.
    assert same_answer(uninterrupted(path, events), answer)


def acknowledged_values(path: Path) -> dict[int, float]:
    lines = [line.split() for said in path.parent.glob("said-*") for line in said.read_text().splitlines()]
    pairs = [(int(line[0]), float(line[1])) for line in lines if len(line) == 2]
    assert len(pairs) == len(dict(pairs)) > KILLS // 4  # no value was acknowledged twice, and there were some
    return dict(pairs)


def uninterrupted(path: Path, events: list[Event]) -> OptimizeResult:
    """Return the answer of a study that got the same rounds and values in one go."""
    plain = [event for event in events if event.kind in ("planned", "told")]
    begun = [("created", None, events[0].payload), ("opened", None, events[1].payload)]
    EventLog.create(
        path.with_name("plain.db"), [*begun, *((event.kind, event.trial, event.payload) for event in plain)]
    )
    with Study.read(path.with_name("plain.db")) as study:
        return study.recommend()


def test_an_error_in_the_block_gives_the_trials_back_and_good_order_leaves_them_out(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), make(path) as study:
        (lost,) = study.ask()
        raise ZeroDivisionError
    with make(path) as study:
        (again,) = study.ask()
        assert (again.id, again.attempt) == (lost.id, 2)
    with make(path) as study:  # a person has it in the laboratory: it must not be given to another
        (other,) = study.ask()
        assert other.id != again.id and study.status().counts["RUNNING"] == 2
        measure(study, [again])


def test_a_lease_that_ends_gives_the_trial_out_again_and_a_late_value_still_counts_once(path: Path) -> None:  # A14
    with make(path) as study:
        (trial,) = study.ask(lease=0.05)
        assert study.ask()[0].id != trial.id
        time.sleep(0.1)
        assert [entry.is_lost for entry in study.status().running] == [True, False]
        (twin,) = study.ask(lease=60)
        assert (twin.id, twin.x, twin.attempt) == (trial.id, trial.x, 2)
        study.tell(trial.id, 1.0, attempt=1)  # the first worker was slow, not dead
        assert study.tell(trial.id, 1.5, attempt=2).duplicates == 1
        assert study.trial(trial.id).value == 1.0 and study.status().n_measurements == 1


def test_a_lease_goes_on_over_a_reopening(path: Path) -> None:
    with make(path) as study:
        short, long = study.ask(1, lease=0.05) + study.ask(1, lease=600.0)
    time.sleep(0.1)
    with make(path) as study:
        assert [trial.id for trial in study.ask(1)] == [short.id]
        assert long.id not in {trial.id for trial in study.ask(3)}


@pytest.mark.parametrize(
    ("number", "graceful", "is_closed"),
    [
        (signal.SIGINT, False, True),
        (signal.SIGTERM, True, True),
        (signal.SIGTERM, False, False),
        (signal.SIGHUP, False, False),
    ],
)
def test_signals_leave_a_consistent_study(
    path: Path, number: signal.Signals, graceful: bool, is_closed: bool
) -> None:  # A15
    process = start(interrupted_study, path, graceful)
    wait_for(path.with_name("said"), "begun")
    assert process.pid is not None
    os.kill(process.pid, number)
    process.join(30)
    assert not process.is_alive()
    with Study.read(path) as reader:
        assert (reader.status().holder is None) == is_closed
        told = reader.status().n_measurements
    with make(path, budget=100_000) as study:
        measure(study, study.ask(3))
        assert study.status().n_measurements == told + 3


def test_a_forked_child_is_told_to_open_its_own(path: Path) -> None:  # A16
    # A fresh process forks, since this one may have threads: with them a fork is not allowed.
    process = start(fork_with_a_study, path)
    said = wait_for(path.with_name("said"), "parent done")
    process.join(30)
    assert process.exitcode == 0
    assert "UsageError" in said and "forked" in said and "child reads 1" in said and "child writes StudyHeld" in said
    with Study.read(path) as study:
        assert study.status().n_measurements == 2


def test_ctrl_c_at_any_moment_leaves_memory_and_file_in_step(path: Path) -> None:  # A15
    process = start(interrupt_at_any_moment, path)
    process.join(120)
    assert process.exitcode == 0, "an assertion failed there, see its messages"
