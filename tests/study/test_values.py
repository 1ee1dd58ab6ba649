"""Whatever is told: numbers of every kind count, everything else is a failure with its reason, and nothing is lost."""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraboloid import Measurements, Study, TrialState, UsageError
from paraboloid.algorithms import conclude
from paraboloid.study import Answer
from tests.study.support import BOX, block, make, measure, yield_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


NO_VALUES: list[Any] = [
    *(float("nan"), None, "12.3", 1 + 2j, True, np.bool_(False), float("inf"), -np.inf, Decimal("sNaN"), 10**400),
    *([], [[1.0, 2.0]], np.zeros((2, 2)), {"value": 1.0}, object, [None, "x"], np.array([np.nan]), b"1"),
]


@pytest.mark.parametrize("value", NO_VALUES, ids=repr)
def test_what_is_no_number_fails_the_trial_and_never_enters_the_model(path: Path, value: Any) -> None:  # C1, C2
    with make(path) as study:
        measure(study, study.ask(8))
        before = study.recommend()
        (trial,) = study.ask()
        told = study.tell(trial.id, value)
        assert told.state is TrialState.FAILED and told.value is None and told.failures == 1
        assert "temperature = " in told.reason and "time = " in told.reason
        after = study.recommend()
        assert after.nfail == 1 and np.array_equal(after.x, before.x) and after.fun == before.fun
        assert study.status().counts["FAILED"] == 1
    with Study.read(path) as study:
        assert study.trial(trial.id).reason == told.reason


@pytest.mark.parametrize(
    "value", [3, np.float32(3), np.int64(3), np.array(3.0), Decimal(3), Fraction(3), 3.0], ids=repr
)
def test_every_kind_of_number_counts(path: Path, value: Any) -> None:  # C3
    with make(path) as study:
        assert study.tell(study.ask()[0], value).value == 3.0


def test_replicates_are_counted_one_by_one_and_failed_ones_among_them_too(path: Path) -> None:
    with make(path) as study:
        trial = study.tell(study.ask(1, repeats=4)[0].id, [1.0, 2.0, float("nan"), 6.0])
        assert (trial.count, trial.value, trial.scatter, trial.failures) == (3, 3.0, 14.0, 1)
        assert trial.values == (1.0, 2.0, 6.0)
        assert study.status().n_measurements == 3 and study.status().n_failures == 1


def test_a_large_offset_costs_no_digits(path: Path) -> None:  # C10
    with make(path) as study:
        trial = study.tell(study.ask(1, repeats=3)[0].id, [1e9, 1e9 + 1, 1e9 + 2])
        assert trial.scatter == 2.0


def test_standard_errors_weigh_and_bad_ones_are_refused(path: Path) -> None:  # C7
    with make(path) as study:
        trials = study.ask(4)
        for bad in (0, -1.0, float("nan"), float("inf"), "1", True, [1.0, 2.0]):
            with pytest.raises(UsageError, match=r"sem|standard error"):
                study.tell(trials[0].id, 1.0, sem=bad)
        assert study.trial(trials[0].id).state is TrialState.RUNNING
        assert study.tell(trials[0].id, 1.0, sem=0.5).sem == 0.5
        told = study.tell(trials[1].id, [1.0, 4.0], sem=[1.0, 0.5])  # weights 1 and 4
        assert told.value == pytest.approx(17 / 5, rel=1e-15) and told.sem == pytest.approx(5**-0.5, rel=1e-15)
        evidence = study._state.evidence()
        assert sorted(evidence.precision) == pytest.approx([4.0, 5.0], rel=1e-15)


def test_a_block_that_failed_altogether_and_one_of_two_points_are_failures(path: Path) -> None:
    with make(path) as study:
        first, second = study.ask(2, repeats=5)
        told = study.tell(first, block(0, 0.0, 0.0, failures=5))
        assert told.state is TrialState.FAILED and told.failures == 5
        assert study.tell(second, Measurements.from_values([[0.0], [1.0]])).state is TrialState.FAILED


def test_censored_readings_are_kept_and_not_used_as_values(path: Path) -> None:  # C9
    with make(path) as study:
        measure(study, study.ask(8))
        before = study.recommend()
        (trial,) = study.ask()
        told = study.tell(trial.id, 99.9, state="censored", note="detector full")
        assert (told.state, told.value, told.note) == (TrialState.CENSORED, 99.9, "detector full")
        assert np.array_equal(study.recommend().x, before.x)
        status = study.status()
        assert status.n_measurements == 8 and any("censored" in warning for warning in status.warnings)
        assert status.left == 40 - study._state.charged and study._state.charged >= 9
        with pytest.raises(UsageError, match="needs a value"):
            study.tell(study.ask()[0].id, None, state="CENSORED")


def test_failed_and_abandoned_without_a_value(path: Path) -> None:
    with make(path) as study:
        first, second, third = study.ask(3)
        assert study.tell(first.id, state="FAILED", note="spilled").state is TrialState.FAILED
        assert study.tell(first.id, state="FAILED").failures == 1  # the same again
        assert study.abandon(second.id).state is TrialState.ABANDONED
        for wrong in ("RUNNING", "WAITING", "lost", 3):
            with pytest.raises(UsageError, match="COMPLETE"):
                study.tell(third.id, state=wrong)  # type: ignore[arg-type]  # what a user may type


def test_a_failed_trial_may_be_retried_and_an_abandoned_one_never_comes_back(path: Path) -> None:
    with make(path, budget=5) as study:
        trials = study.ask(5)
        study.tell(trials[0].id, float("nan"))
        study.abandon(trials[1].id)
        assert study.ask() == []
        with pytest.raises(UsageError, match="budget has 0"):
            study.retry(trials[0].id)
        study.extend(6)
        study.retry(trials[0].id)
        with pytest.raises(UsageError, match="ABANDONED"):
            study.retry(trials[1].id)
        (again,) = study.ask(3)
        assert (again.id, again.x, again.attempt) == (trials[0].id, trials[0].x, 2)
        told = study.tell(again.id, 1.0)
        assert (told.state, told.failures) == (TrialState.COMPLETE, 1)
        with pytest.raises(UsageError, match="abandoned"):
            study.tell(trials[1].id, 1.0)
        assert study.tell(trials[1].id, 1.0, replace=True).state is TrialState.COMPLETE


def test_places_that_fail_are_known_to_the_design(path: Path) -> None:  # D5
    with make(path, budget=60) as study:
        while trials := study.ask(5):
            for trial in trials:
                is_bad = trial.x["temperature"] > 200 and trial.x["time"] > 50
                study.tell(trial.id, float("nan") if is_bad else yield_of(trial.x, trial.id))
        evidence = study._state.evidence()
        assert evidence.n_attempts == 60 and evidence.failures.sum() == study.recommend().nfail


# -- telling twice: E4, corrections, duplicates ------------------------------------------------------------------------


def test_the_same_value_twice_is_one_and_another_value_is_an_error(path: Path) -> None:  # E4
    with make(path) as study:
        (trial,) = study.ask()
        study.tell(trial.id, [1.0, 2.0])
        events = study.status().events
        assert study.tell(trial.id, [1.0, 2.0], note="again").value == 1.5
        assert study.status().events == events
        for other in (1.0, [2.0, 1.0, 0.0], float("nan")):
            with pytest.raises(UsageError, match="replace=True"):
                study.tell(trial.id, other)
        with pytest.raises(UsageError, match="replace=True"):
            study.tell(trial.id, [1.0, 2.0], x={"time": 21.0})
        assert study.status().events == events


def test_unknown_and_foreign_trials_and_closed_studies_are_errors(tmp_path: Path) -> None:  # E4
    with make(tmp_path / "a.db") as study, make(tmp_path / "b.db") as other:
        (trial,), (foreign,) = study.ask(), other.ask()
        for wrong in (999, 0, -1, 1.0, "1", True, foreign):
            with pytest.raises(UsageError, match=r"trial|id must be"):
                study.tell(wrong, 1.0)  # type: ignore[arg-type]  # what a user may type
    for use in (lambda: study.tell(trial.id, 1.0), study.ask, study.status, study.recommend, study.stop):
        with pytest.raises(UsageError, match="closed"):
            use()
    study.close()  # closing twice does nothing


def test_a_correction_counts_and_both_values_stay_in_the_log(path: Path) -> None:
    with make(path) as study:
        measure(study, study.ask(5))
        clean = study.recommend()
        right = study.trial(2).value
        study.tell(2, 1e6, replace=True, note="typing error")
        assert not np.array_equal(study.recommend().x, clean.x)
        study.tell(2, right, replace=True)
        assert np.array_equal(study.recommend().x, clean.x)
        assert study.tell(2, right, replace=True).value == right
        events = study.history(2)
    assert [event.kind for event in events] == ["asked", "told", "corrected", "corrected"]
    assert [event.payload.get("value") for event in events[1:]] == [right, 1e6, right]


def test_a_value_can_be_withdrawn_and_a_mistaken_failure_corrected(path: Path) -> None:
    with make(path) as study:
        (trial,) = study.ask()
        study.tell(trial.id, 5.0)
        assert study.tell(trial.id, state="FAILED", replace=True).state is TrialState.FAILED
        assert study.status().n_measurements == 0 and study.status().n_failures == 1
        study.tell(trial.id, 5.0, replace=True)
        assert study.status().n_measurements == 1 and study.status().n_failures == 0


def test_the_twin_of_a_trial_that_was_handed_out_twice_is_a_duplicate(path: Path) -> None:  # A14, promise 7
    with make(path) as study:
        (trial,) = study.ask()
        study.retry(trial.id)
        (twin,) = study.ask()
        assert (twin.id, twin.x, twin.attempt) == (trial.id, trial.x, 2)
        assert study.status().possible_extra_runs == 1
        study.tell(trial.id, 1.0)
        told = study.tell(trial.id, 2.0)
        assert (told.value, told.duplicates, told.attempt) == (1.0, 1, 2)
        assert study.tell(trial.id, 2.0).duplicates == 1  # the twin's client tells again
        assert study.status().n_measurements == 1 and study.status().possible_extra_runs == 0
        with pytest.raises(UsageError, match="replace=True"):
            study.tell(trial.id, 3.0)


def test_with_the_attempt_told_the_order_of_twins_does_not_matter(path: Path) -> None:
    with make(path) as study:
        (trial,) = study.ask()
        study.retry(trial.id)
        study.ask()
        study.tell(trial.id, 2.0, attempt=2)
        assert study.tell(trial.id, 1.0, attempt=1).duplicates == 1
        with pytest.raises(UsageError, match="replace=True"):
            study.tell(trial.id, 3.0, attempt=2)
        assert study.trial(trial.id).value == 2.0


# -- executed settings and old data: E5 --------------------------------------------------------------------------------


def test_an_executed_setting_is_used_and_outside_the_bounds_never_recommended(path: Path) -> None:  # E5, D4
    with make(path, budget=60) as study:
        while trials := study.ask(5):
            for trial in trials:
                x = {"temperature": float(round(trial.x["temperature"])), "time": trial.x["time"]}
                study.tell(trial.id, yield_of(x, trial.id), x={"temperature": x["temperature"]})
        moved = [trial for trial in study.trials() if trial.executed is not None]
        assert moved and all(t.executed["temperature"] == round(t.x["temperature"]) for t in moved if t.executed)
        with pytest.warns(UserWarning, match="outside the bounds"):
            study.tell(None, 1000.0, x={"temperature": 400.0, "time": 35.0})
        result = study.recommend()
        z = BOX.to_unit(np.array([result.x, result.x_best_observed]))
        assert np.all(np.abs(z) <= 1)
        assert study._state.evidence().points.max() > 1
        assert any("outside the bounds" in warning for warning in study.status().warnings)


@pytest.mark.parametrize("x", [{"temperature": float("nan")}, {"speed": 1.0}, {"time": "35"}, [1.0, 2.0, 3.0, None]])
def test_a_setting_that_cannot_be_is_refused(path: Path, x: Any) -> None:
    with make(path) as study:
        study.ask()
        if isinstance(x, list):
            with pytest.raises(UsageError):
                study.tell(None, 1.0, x=x[:1])  # type: ignore[arg-type]  # too short
        else:
            with pytest.raises(UsageError, match=r"knob"):
                study.tell(1, 1.0, x=x)
        assert study.trial(1).state is TrialState.RUNNING


def test_old_data_counts_costs_no_budget_and_is_known_by_its_key(path: Path) -> None:
    with make(path) as study:
        with pytest.raises(UsageError, match="old data needs its setting"):
            study.tell(None, 1.0)
        with pytest.raises(UsageError, match="knobs"):
            study.tell(None, 1.0, x={"time": 30.0})
        first = study.tell(None, 18.0, x={"temperature": 170.0, "time": 30.0}, key="notebook 3, line 1")
        again = study.tell(None, 18.0, x={"temperature": 170.0, "time": 30.0}, key="notebook 3, line 1")
        assert first.id == again.id == 1
        with pytest.raises(UsageError, match="replace=True"):
            study.tell(None, 19.0, x={"temperature": 170.0, "time": 30.0}, key="notebook 3, line 1")
        status = study.status()
        assert (status.n_measurements, status.n_old, status.left) == (1, 1, 40)
        assert study.ask()[0].id == 2
        failed = study.tell(None, None, x={"temperature": 205.0, "time": 55.0})
        assert failed.state is TrialState.FAILED and study.status().n_failures == 1
        with pytest.raises(UsageError, match="old data"):
            study.retry(failed.id)


def test_many_answers_are_taken_all_or_none(path: Path) -> None:  # F3
    with make(path) as study:
        trials = study.ask(4)
        study.tell(trials[0].id, 1.0)
        rows = [Answer(trials[0].id, 1.0), Answer(trials[1].id, 2.0), Answer(trials[2].id, None)]
        old = Answer(None, 3.0, x={"temperature": 170.0, "time": 30.0}, key="row 4")
        events = study.status().events
        for bad in (Answer(99, 1.0), Answer(trials[0].id, 7.0), rows[1], Answer(trials[3].id, 1.0, sem=-1)):
            with pytest.raises(UsageError, match=r"answer 4 of 4: .*Nothing was taken"):
                study.tell_all([*rows, bad])
        assert study.tell_all([*rows, old], dry_run=True) == ["same", "told", "told", "old"]
        assert study.status().events == events
        assert study.tell_all([*rows, old]) == ["same", "told", "told", "old"]
        assert study.tell_all([*rows, old]) == ["same", "same", "same", "same"]
        assert study.status().n_measurements == 3


def test_a_drift_withdraws_the_bound_and_says_so(tmp_path: Path) -> None:
    noise = np.random.default_rng(2)
    with Study.open(tmp_path / "study.db", [(-1, 1), (-1, 1)], budget=80, rng=0) as study:
        drifting = 0.0
        while trials := study.ask(1):
            (trial,) = trials
            x, y = trial.x.values()
            drifting += 0.05
            study.tell(trial.id, 3 * (x - 0.2) ** 2 + (y + 0.1) ** 2 + drifting + 0.3 * noise.standard_normal())
        answer = study.recommend()
    without_order = conclude(answer.subject.evidence, answer.subject.domain).certificate
    assert without_order is not None and np.isfinite(without_order.regret_bound), "or this tests nothing"
    assert np.isinf(answer.regret_bound) and np.isinf(answer.regret_bound_if_quadratic)
    assert any("drifts" in caveat for caveat in answer.caveats)
