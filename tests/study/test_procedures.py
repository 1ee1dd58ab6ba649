"""Studies that follow a procedure: the same answer as by any driver, whatever happens in between."""

import json
import logging
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid import Box, Knob, Measurements, Study, UsageError, algorithms, run
from paraboloid.core import Procedure, Result
from paraboloid.study import Answer, Trial
from tests.study import procedures
from tests.study.procedures import BALL, HESSIAN, dose_value, finish, value_at, zoomed
from tests.study.support import block, kinds

KNOWN: dict[str, Any] = {"algorithm": "hessian_dependent", "arguments": {"hessian": HESSIAN}, "budget": 40, "rng": 0}
THREE: dict[str, tuple[dict[str, Any], Callable[[], Procedure]]] = {
    "hessian_dependent": (KNOWN, lambda: algorithms.hessian_dependent(HESSIAN, 40)),
    "quadratic_search": (
        {"algorithm": algorithms.quadratic_search, "arguments": {"hessian_estimate": HESSIAN}, "budget": 60},
        lambda: algorithms.quadratic_search(HESSIAN, 60),
    ),
    "universal": ({"algorithm": "universal", "budget": 400, "rng": 0}, lambda: algorithms.universal(2, 400)),
    "module:factory": ({"algorithm": procedures.centred, "budget": 400}, lambda: procedures.centred(2, 400)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def by_session(steps: Procedure, trials: list[Trial]) -> Result:
    """Return what the procedure says of the values of trials, driven without a study."""
    session = run.Session(steps)
    for number in range(1, 1 + max(trial.round for trial in trials)):
        wanted, mine = session.ask(), [trial for trial in trials if trial.round == number]
        z = BALL.to_unit(np.array([list(trial.x.values()) for trial in mine]))
        rows = [
            [t.value for t, at in zip(mine, z, strict=True) if np.allclose(at, point, atol=1e-9)]
            for point in wanted.points
        ]
        session.tell(Measurements.from_values(rows))  # type: ignore[arg-type]  # every trial has a value
    return session.result


@pytest.mark.parametrize("name", THREE)
def test_a_study_gives_the_answer_of_the_procedure(path: Path, name: str) -> None:
    options, steps = THREE[name]
    with Study.open(path, BALL, **options) as study:
        trials = finish(study, n=50)
        result, status = study.recommend(), study.status()
    expected = by_session(steps(), trials)
    assert np.allclose(result.x, BALL.from_unit(expected.x), rtol=0, atol=1e-12)
    assert (status.is_finished, status.phase, result.stop_reason) == (True, expected.status.name, expected.status.name)
    assert (status.n_measurements, status.n_rounds) == (expected.n_measurements, expected.n_rounds)
    assert expected.hessian is not None  # in knob units: the radius of the ball is 2
    assert np.allclose(result.hess, np.array(expected.hessian) / 4)


def test_a_maximum_is_the_mirror_image(tmp_path: Path) -> None:
    answers = []
    for sign in (1, -1):
        with Study.open(tmp_path / f"{sign}.db", BALL, **KNOWN, maximize=sign < 0) as study:
            finish(study, lambda trial, sign=sign: sign * value_at(trial))  # type: ignore[misc]
            answers.append(study.recommend())
    assert np.array_equal(answers[0].x, answers[1].x)
    assert np.array_equal(answers[0].hess, -answers[1].hess)


def test_blocks_give_the_answer_of_single_measurements(tmp_path: Path) -> None:
    answers = []
    for repeats in (1, 5):
        with Study.open(tmp_path / f"{repeats}.db", BALL, **KNOWN) as study:
            while trials := study.ask(4, repeats=repeats):
                assert all(trial.repeats <= repeats for trial in trials)
                for trial in trials:
                    exact = value_at(trial) * 0 + sum(trial.x.values())  # no noise: blocks cut it in other ways
                    study.tell(trial.id, block(trial.repeats, exact, 0.0))
            answers.append(study.recommend())
    assert np.allclose(answers[0].x, answers[1].x, rtol=0, atol=1e-12)
    assert answers[0].nfev == answers[1].nfev


@settings(max_examples=12)  # each some hundred commits to the disk
@given(seed=st.integers(0, 10**6))
def test_any_number_of_workers_and_reopenings_give_the_same_points_and_answer(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    folder, rng = tmp_path_factory.mktemp("any"), np.random.default_rng(seed)
    with zoomed(folder / "whole.db") as whole:
        expected = [(trial.id, dict(trial.x)) for trial in finish(whole, dose_value)]
        answer = whole.recommend().x
    out: list[Trial] = []
    study = zoomed(folder / "pieces.db")
    while (new := study.ask(int(rng.integers(1, 8)))) or out:
        out += new
        out = [out[k] for k in rng.permutation(len(out))]
        for _ in range(int(rng.integers(0, len(out) + 1))):
            trial = out.pop()
            study.tell(trial.id, dose_value(trial))
        if rng.random() < 0.4:
            study.close()
            study = zoomed(folder / "pieces.db")
    with study:
        assert [(trial.id, dict(trial.x)) for trial in study.trials()] == expected
        assert study.recommend().x == answer
        assert study.status().is_finished


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_after_anything_in_any_order_the_log_tells_what_memory_tells(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    path, rng = tmp_path_factory.mktemp("log") / "study.db", np.random.default_rng(seed)
    with zoomed(path, budget=24) as study:
        study.extend(500)
        for _ in range(40):
            deed = rng.choice(["ask", "tell", "tell", "tell", "fail", "correct", "retry", "abandon"])
            states = {"correct": "COMPLETE", "retry": "FAILED"}
            some = [] if deed == "ask" else study.trials(states.get(str(deed), "RUNNING"))
            trial = some[int(rng.integers(len(some)))] if some else None
            if deed == "ask" or trial is None:
                study.ask(int(rng.integers(1, 7)))
            elif deed in ("tell", "correct"):
                study.tell(trial.id, float(rng.normal(scale=30.0)), replace=deed == "correct")
            elif deed == "retry":
                _retry_unless_superseded(study, trial)
            elif deed == "fail" or rng.random() < 0.5:
                study.tell(trial.id, float("nan"))
            else:
                study.abandon(trial.id)
        here = study.status()
        with Study.read(path, algorithm=procedures.zoom) as view:
            there = view.status()
        assert (there.message, there.counts, there.warnings) == (here.message, here.counts, here.warnings)
        asked = [(trial.id, dict(trial.x), trial.attempt) for trial in study.ask(4)]
    shutil.copy(path, path.with_name("copy.db"))
    with zoomed(path, budget=None) as study, zoomed(path.with_name("copy.db"), budget=None) as copy:
        assert {number for number, _, _ in asked} <= {trial.id for trial in study.trials("RUNNING")}
        for opened in (study, copy):  # all that is out is answered: what comes next must be the same
            for trial in opened.trials("RUNNING"):
                opened.tell(trial.id, dose_value(trial))
        nexts = [[(trial.id, dict(trial.x), trial.round) for trial in opened.ask(9)] for opened in (study, copy)]
        assert nexts[0] == nexts[1]


def _retry_unless_superseded(study: Study, trial: Trial) -> None:
    try:
        study.retry(trial.id)
    except UsageError as error:
        assert "superseded" in str(error)


def test_asking_never_waits_and_says_what_is_missing(path: Path) -> None:
    with zoomed(path) as study:
        first = study.ask(4)
        assert study.status().message == (
            "Experiment 1 of tests.study.procedures:zoom waits for 6 of its 6 trials: 4 are out; 2 can be handed out."
        )
        rest = study.ask(100)
        assert (len(first), len(rest), study.ask(3)) == (4, 2, [])
        for trial in [*first, *rest][:-1]:
            study.tell(trial.id, dose_value(trial))
        assert study.ask(3) == []
        assert study.status().message.endswith("waits for 1 of its 6 trials: 1 are out.")
        assert study.status().phase == "RUNNING" and not study.status().is_finished
        assert np.isfinite(study.recommend().x).all() and study.recommend().stop_reason == "RUNNING"
        study.tell(rest[-1].id, dose_value(rest[-1]))
        assert len(study.ask(3)) == 3
        assert study.status().n_rounds == 2


def test_a_killed_process_loses_nothing_and_changes_nothing(tmp_path: Path) -> None:
    with zoomed(tmp_path / "whole.db") as whole:
        expected = [(trial.id, dict(trial.x), trial.value) for trial in finish(whole, dose_value)]
    path, rng = tmp_path / "killed.db", np.random.default_rng(5)
    command = [sys.executable, "-m", "tests.study.procedures", str(path)]
    n_killed = 0
    for _ in range(40):
        process = subprocess.Popen([*command, str(rng.integers(1, 5))], env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        try:
            deadline = time.monotonic() + 60
            before = _n_told(path)
            # Wait for some progress, so that the study comes to its end; then kill it in the middle of its work.
            while process.poll() is None and _n_told(path) < before + 7 and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.01))
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                n_killed += 1
            elif process.returncode == 0:
                break
        finally:
            process.kill()
            process.wait()
    assert n_killed >= 3
    with zoomed(path) as study:
        finish(study, dose_value)
        assert [(trial.id, dict(trial.x), trial.value) for trial in study.trials()] == expected


def _n_told(path: Path) -> int:
    if not path.exists():
        return 0
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10)
    try:
        (count,) = connection.execute("SELECT count(*) FROM events WHERE kind = 'told'").fetchone()
        return int(count)
    finally:
        connection.close()


# -- failures ----------------------------------------------------------------------------------------------------------


def test_a_failed_measurement_comes_back_three_times_and_again_after_reopening(path: Path) -> None:
    with zoomed(path) as study:
        bad, *good = study.ask(6)
        for trial in good:
            study.tell(trial.id, dose_value(trial))
        for attempt in (1, 2, 3):
            assert study.trial(bad.id).attempt == attempt
            study.tell(bad.id, float("nan"))
            again = study.ask(2)
            assert [trial.id for trial in again] == ([bad.id] if attempt < 3 else [])
        assert f"cannot go on without trials {bad.id}: study.retry(id)" in study.status().message
    with zoomed(path) as study:
        (again_there,) = study.ask(5)
        assert (again_there.id, again_there.attempt) == (bad.id, 4)
        study.tell(bad.id, dose_value(bad))
        assert len(study.ask(6)) == 6


def test_what_was_given_up_can_be_handed_out_by_hand_or_corrected(path: Path) -> None:
    with zoomed(path) as study:
        first, second, *rest = study.ask(6)
        for trial in rest:
            study.tell(trial.id, dose_value(trial))
        study.abandon(first.id)
        study.tell(second.id, 300.0, state="CENSORED")
        assert study.ask() == []
        assert f"without trials {first.id}, {second.id}" in study.status().message
        study.retry(second.id)
        (again,) = study.ask(3)
        study.tell(again.id, dose_value(again))
        study.tell(first.id, dose_value(first), replace=True)
        assert study.ask()[0].round == 2


def test_a_procedure_that_allows_failures_goes_on_with_them(path: Path) -> None:
    with Study.open(path, BALL, algorithm=procedures.forgiving, budget=8) as study:
        trials = study.ask(8)
        for trial in trials:
            is_upper = trial.x["flow"] > 5
            study.tell(trial.id, 1.0 if not is_upper else float("nan"))
        assert study.status().phase == "BUDGET_SPENT"
        assert study.recommend().x == pytest.approx([4.0, 50.0])  # z = -0.5: more values there
        upper = next(trial for trial in trials if trial.x["flow"] > 5)
        study.extend(9)
        study.retry(upper.id)  # what it was told before is taken back: it waits for this one
        assert study.status().phase == "RUNNING"
        (again,) = study.ask()
        study.tell(again.id, 0.5)
        assert study.status().n_failures == 4  # the failed attempt stays counted
        assert study.status().is_finished


def test_failures_count_against_the_budget_and_extending_it_goes_on(path: Path) -> None:
    with zoomed(path, budget=12) as study:
        trials = study.ask(6)
        for trial in trials:
            study.tell(trial.id, dose_value(trial) if trial is not trials[0] else None)
        (again,) = study.ask(6)
        study.tell(again.id, dose_value(again))
        assert study.ask(6) == []
        status = study.status()
        assert status.phase == "BUDGET_SPENT" and "study.extend(13) lets it go on" in status.message
        study.extend(13)
        assert len(study.ask(7)) == 6
        with pytest.raises(UsageError, match="only the adaptive search can change"):
            study.extend(eps=0.1)
    with zoomed(path, budget=None) as study:  # the procedure keeps its own budget of 12
        finish(study, dose_value)
        for trial in study.trials("RUNNING"):
            study.tell(trial.id, dose_value(trial))
        assert study.status().is_finished and study.status().n_rounds == 2


# -- corrections -------------------------------------------------------------------------------------------------------


def test_a_correction_that_changes_no_point_gives_the_answer_of_the_corrected_values(tmp_path: Path) -> None:
    with Study.open(tmp_path / "wrong.db", BALL, **KNOWN) as wrong:
        study_trials = finish(wrong, lambda trial: 99.0 if trial.id == 3 else value_at(trial))
        before = wrong.recommend().x
        wrong.tell(3, value_at(study_trials[2]), replace=True)
        mended, warned = wrong.recommend().x, wrong.status().warnings
    with Study.open(tmp_path / "right.db", BALL, **KNOWN) as right:
        finish(right)
        expected = right.recommend().x
    assert not np.allclose(before, expected)
    assert np.array_equal(mended, expected)
    assert not any("since an answer was corrected" in text for text in warned)


def test_a_correction_that_changes_the_way_supersedes_later_rounds(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, logger="paraboloid")
    with zoomed(path) as study:
        first = study.ask(6)
        lowest = min(first, key=lambda trial: trial.x["dose"])
        for trial in first:  # a typing error makes the low dose look best
            study.tell(trial.id, dose_value(trial) if trial.x != lowest.x else -100.0)
        second = study.ask(6)
        assert max(trial.x["dose"] for trial in second) < 8
        for trial in second[:4]:
            study.tell(trial.id, dose_value(trial))
        for trial in first:
            if trial.x == lowest.x:
                study.tell(trial.id, dose_value(trial), replace=True)
        (warning,) = study.status().warnings[-1:]
        assert "of rounds 2, planned before that, 4 answers stay in the log" in warning
        third = study.ask(6)
        assert "of rounds 2" in caplog.text
        assert {trial.round for trial in third} == {3} and max(trial.x["dose"] for trial in third) > 8
        assert study.trial(second[0].id).value == dose_value(second[0])  # kept
        assert {study.trial(trial.id).state.name for trial in second[4:]} == {"ABANDONED"}
        late = study.tell(second[4].id, 1.25)  # a late answer is kept as well
        assert (late.state.name, late.value) == ("COMPLETE", 1.25)
        assert study.tell(second[4].id, 1.25).state.name == "COMPLETE"
        with pytest.raises(UsageError, match="superseded"):
            study.tell(second[5].id, float("nan"))
            study.retry(second[5].id)
    assert kinds(path).count("superseded") == 1
    with zoomed(path, budget=None) as study:
        study.extend(100)
        for trial in third:
            study.tell(trial.id, dose_value(trial))
        finish(study, dose_value)
        again = study.recommend().x
    with zoomed(path.with_name("right.db"), budget=30) as study:
        finish(study, dose_value)
        right = study.recommend().x
    assert abs(again[0] - 11) < 1 and abs(again[0] - right[0]) < 1  # the same way, other noise


def test_a_correction_that_is_taken_back_uses_the_old_answers_again(path: Path) -> None:
    with zoomed(path, budget=12) as study:
        trials = finish(study, dose_value)
        answer = study.recommend().x
        study.extend(100)
        best = min(trials[:6], key=lambda trial: trial.value or 0.0)
        twins = [trial for trial in trials[:6] if trial.x == best.x]
        for trial in twins:
            study.tell(trial.id, 500.0, replace=True)
        other = study.ask(1)
        assert other[0].round == 3
        for trial in twins:
            study.tell(trial.id, dose_value(trial), replace=True)
        assert study.ask() == []
        assert study.recommend().x == answer
        assert study.status().is_finished
    with zoomed(path, budget=None) as study:
        assert study.recommend().x == answer


def test_corrections_in_one_sheet_and_one_by_one_end_alike(tmp_path: Path) -> None:
    ends = []
    for name in ("one by one", "together"):
        with zoomed(tmp_path / f"{name}.db") as study:
            for trial in study.ask(6):
                study.tell(trial.id, dose_value(trial))
            study.ask(6)
            answers = [Answer(number, float(10 * number), replace=True) for number in range(1, 7)]
            if name == "together":
                study.tell_all(answers)
            else:
                for answer in answers:
                    study.tell(answer.id, answer.value, replace=True)
            study.extend(60)
            ends.append([(trial.id, dict(trial.x)) for trial in study.ask(6)])
    assert ends[0] == ends[1]


# -- what a procedure cannot take --------------------------------------------------------------------------------------


def test_what_a_procedure_cannot_take_is_refused(path: Path) -> None:
    with Study.open(path, BALL, **KNOWN) as study:
        first, second = study.ask(2, repeats=3)
        assert (first.repeats, first.needs_values) == (3, False)
        with pytest.raises(UsageError, match="cannot use a value from elsewhere"):
            study.tell(first.id, [1.0, 2.0, 3.0], x={"flow": 5.1})
        with pytest.raises(UsageError, match="asks for just 3 measurements at trial 1, got 2"):
            study.tell(first.id, [1.0, 2.0])
        with pytest.raises(UsageError, match="takes answers to its own trials alone"):
            study.tell(None, 1.0, x=dict(first.x))
        told = study.tell(first.id, [1.0, 2.0, 3.0], x={name: v * (1 + 1e-13) for name, v in first.x.items()})
        assert told.executed is None
        failed = study.tell(second.id, [1.0, float("nan"), 3.0])
        assert failed.state.name == "FAILED" and "1 of 3 measurements failed" in failed.reason
        assert json.loads(json.dumps(study.history(second.id)[-1].payload))["values"] == [1.0, 3.0]  # kept


def test_an_algorithm_that_needs_every_value_takes_no_summary(path: Path) -> None:
    with Study.open(path, BALL, algorithm="universal", budget=400) as study:
        (trial,) = study.ask(1, repeats=4)
        assert trial.needs_values
        with pytest.raises(UsageError, match="needs every single value"):
            study.tell(trial.id, block(trial.repeats, 1.0, 0.5))
        assert study.tell(trial.id, [1.0] * trial.repeats).state.name == "COMPLETE"


def test_an_experiment_of_too_many_trials_asks_for_blocks(path: Path) -> None:
    with Study.open(path, BALL, **{**KNOWN, "budget": 1_000_000}) as study:
        with pytest.raises(UsageError, match=r"ask for blocks of them by repeats=\d+ or more"):
            study.ask()
        (trial,) = study.ask(1, repeats=1000)
        assert trial.repeats == 1000


def test_standard_errors_weight_the_answers_of_a_point(path: Path) -> None:
    with Study.open(
        path, Box([Knob("x", -1, 1)]), algorithm="hessian_dependent", arguments={"hessian": [[1.0]]}, budget=6
    ) as study:
        trials = study.ask(4)
        upper = [trial for trial in trials if trial.x["x"] > 0]
        for trial in trials:
            value, sem = (0.0, 1.0) if trial not in upper else (1.0, 0.5) if trial is upper[0] else (0.0, 1.0)
            study.tell(trial.id, value, sem=sem)
        # Weights 4 and 1 at x = 1: mean 0.8, and x = -(0.8 - 0)/2.
        assert study.recommend().x == pytest.approx([-0.4])
