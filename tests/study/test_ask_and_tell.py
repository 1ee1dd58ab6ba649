"""Asking and telling in good order: rounds, budgets, stragglers, and the same study after every reopening."""

import importlib.util
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import paraboloid
from paraboloid import Ball, Study, TrialState, UsageError
from tests.study.support import BEST, BOX, block, kinds, make, measure, same_answer, yield_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def test_a_whole_study_finds_the_best_setting(path: Path) -> None:
    with make(path, budget=60, confidence=0.9999) as study:  # one false alarm in 10⁴ seeds
        while trials := study.ask():
            measure(study, trials)
        result = study.recommend()
        status = study.status()
    assert (status.phase, status.is_finished, status.left, status.n_measurements) == ("BUDGET_SPENT", True, 0, 60)
    assert status.n_rounds <= 8
    assert result.success and result.stop_reason == "BUDGET_SPENT"
    for k, name in enumerate(BOX.names):
        assert result.x_ci[k, 0] <= BEST[name] <= result.x_ci[k, 1]
    assert result.regret_bound >= 0.01 * (result.x[0] - 180) ** 2 + 0.02 * (result.x[1] - 35) ** 2


def test_the_answer_has_every_field_that_minimize_returns(path: Path) -> None:
    with make(path) as study:
        while trials := study.ask(5):
            measure(study, trials)
        mine = study.recommend()
    theirs = paraboloid.maximize(lambda x: yield_of(dict(zip(BOX.names, x, strict=True)), 1), BOX, budget=40, rng=0)
    assert set(theirs) <= set(mine)


@pytest.mark.parametrize("n", [1, 3, 7, 40])
def test_the_budget_is_handed_out_to_the_last_measurement_and_no_more(path: Path, n: int) -> None:
    asked = []
    with make(path) as study:
        while trials := study.ask(n):
            assert len(trials) <= n
            asked += trials  # nothing is told at all: asking never waits
        assert study.ask() == []
        assert (
            study.status().message
            == "The budget of 40 measurements is handed out; 40 of its trials are not answered yet."
        )
    assert [trial.id for trial in asked] == list(range(1, 41))
    assert all(BOX.knobs[0].low <= trial.x["temperature"] <= BOX.knobs[0].high for trial in asked)


@pytest.mark.parametrize("batch", [1, 4, 7])
def test_a_batch_is_respected_exactly(path: Path, batch: int) -> None:
    with make(path, batch=batch, budget=15) as study:
        while trials := study.ask(2):
            measure(study, trials)
        sizes = np.bincount([trial.round for trial in study.trials()])[1:].tolist()
    whole, rest = divmod(15, batch)
    assert sizes == [batch] * whole + ([rest] if rest else [])


def test_resuming_goes_on_with_the_same_points_as_no_interruption(tmp_path: Path) -> None:
    with make(tmp_path / "whole.db") as whole:
        while trials := whole.ask(3):
            measure(whole, trials)
        expected = [(trial.id, dict(trial.x)) for trial in whole.trials()]
        answer = whole.recommend()
    while True:
        with make(tmp_path / "pieces.db") as pieces:
            trials = pieces.ask(3)
            measure(pieces, trials)
            if not trials:
                assert [(trial.id, dict(trial.x)) for trial in pieces.trials()] == expected
                assert same_answer(pieces.recommend(), answer)
                return


def test_no_point_comes_twice_because_of_a_resume(path: Path) -> None:
    seen: set[int] = set()
    for _ in range(12):
        with make(path) as study:
            trials = study.ask(2)
            assert not seen & {trial.id for trial in trials}
            seen |= {trial.id for trial in trials}
            measure(study, trials)
    assert kinds(path).count("planned") == Study.read(path).status().n_rounds


def test_the_order_of_answers_does_not_change_the_answer(tmp_path: Path) -> None:
    answers = []
    for name, turn in (("forwards", 1), ("backwards", -1)):
        with make(tmp_path / f"{name}.db", batch=20) as study:
            while trials := study.ask(20):
                measure(study, trials[::turn])
            answers.append(study.recommend())
    assert same_answer(*answers)


def test_a_free_worker_is_never_idle_while_others_are_slow(path: Path) -> None:
    with make(path, budget=60) as study:
        stragglers = study.ask(8)
        for _ in range(20):
            trials = study.ask(1)
            assert len(trials) == 1
            measure(study, trials)
        open_points = [tuple(trial.x.values()) for trial in stragglers]
        planned_later = [tuple(trial.x.values()) for trial in study.trials() if trial.round > 2]
        assert planned_later and len(set(planned_later) - set(open_points)) > 0
        measure(study, stragglers)
        assert study.status().n_measurements == 28


def test_blocks_of_repeats_are_handed_out_and_told_as_a_summary(path: Path) -> None:
    rng = np.random.default_rng(3)
    with make(path, budget=10_500) as study:
        while trials := study.ask(4, repeats=1000):
            for trial in trials:
                values = yield_of(trial.x, 0) + rng.standard_normal(trial.repeats)
                study.tell(trial, block(values.size, values.mean(), values.var() * values.size))
        repeats = [trial.repeats for trial in study.trials()]
        result = study.recommend()
        assert study.status().n_measurements == sum(repeats) == 10_500
    assert sorted(set(repeats)) == [500, 1000] and repeats.count(500) == 1
    assert abs(result.sigma - 1) < 0.05  # 10,500 values: the standard deviation of s is 0.007


def test_settings_of_an_existing_study_are_checked_and_the_budget_can_be_raised(path: Path) -> None:
    make(path).close()
    for wrong in ({"budget": 50}, {"maximize": False}, {"rng": 1}, {"confidence": 0.9}, {"eps": 1.0}, {"batch": 3}):
        with pytest.raises(UsageError, match=next(iter(wrong)).replace("rng", "seed")):
            make(path, **wrong)
    with pytest.raises(UsageError, match="domain"):
        Study.open(path, [(0, 1)])
    with Study.open(path) as study:  # nothing given: goes on as it was made
        study.ask(40)
        assert study.ask() == []
        study.extend(45)
        assert len(study.ask(10)) == 5
        with pytest.raises(UsageError, match="only be raised"):
            study.extend(44)
    with make(path, budget=45) as study:
        assert study.status().budget == 45


def test_a_missing_study_needs_a_domain_and_an_existing_one_can_be_refused(path: Path) -> None:
    with pytest.raises(UsageError, match="Give domain="):
        Study.open(path)
    with pytest.raises(UsageError, match="no study"):
        Study.read(path)
    assert not path.exists()
    make(path).close()
    with pytest.raises(UsageError, match="exists"):
        Study.open(path, BOX, if_exists="error")
    with pytest.raises(UsageError, match="if_exists"):
        Study.open(path, BOX, if_exists="overwrite")  # type: ignore[arg-type]  # what a user may type


@pytest.mark.parametrize("option", [{"budget": 0}, {"budget": 1.5}, {"eps": 0.0}, {"confidence": 1.0}, {"batch": 0}])
def test_a_bad_setting_makes_no_file(path: Path, option: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(option))):
        make(path, **option)
    assert list(path.parent.iterdir()) == []


def test_stop_hands_out_nothing_more_and_takes_late_values(path: Path) -> None:
    with make(path) as study:
        trials = study.ask(6)
        measure(study, trials[:5])
        study.stop("The shift ends.")
        assert study.ask() == []
        measure(study, trials[5:])
    with make(path) as study:
        assert study.ask() == []
        status = study.status()
        assert (status.phase, status.n_measurements) == ("STOPPED", 6) and "shift" in status.message
        assert study.recommend().stop_reason == "STOPPED"
        study.extend()
        assert len(study.ask()) == 1


def test_an_accuracy_ends_the_study_and_says_so(path: Path) -> None:
    with make(path, budget=None, eps=0.5) as study:
        while trials := study.ask(10):
            measure(study, trials)
        status = study.status()
        assert status.phase == "ACCURACY_REACHED" and status.estimate is not None
        assert status.estimate["regret_bound"] <= 0.5
        assert study.recommend().success
        study.extend(eps=status.estimate["regret_bound"] / 10)
        assert study.ask(1)


def test_without_budget_and_accuracy_a_study_goes_on_as_long_as_it_is_asked(path: Path) -> None:
    with make(path, budget=None) as study:
        for _ in range(30):
            measure(study, study.ask(3))
        assert study.status().n_measurements == 90 and study.status().left is None
        assert study.recommend().stop_reason == "RUNNING"


def test_the_status_is_ready_for_json_and_names_what_is_out(path: Path) -> None:
    with make(path) as study:
        study.ask(2)
        found = json.loads(json.dumps(study.status().as_dict(), allow_nan=False))
        assert [trial["id"] for trial in found["running"]] == [1, 2]
        assert found["counts"]["RUNNING"] == 2 and found["estimate"] is None and "process" in found["holder"]
        measure(study, study.trials(TrialState.RUNNING))
        found = json.loads(json.dumps(study.status().as_dict(), allow_nan=False))
        assert set(found["estimate"]["x"]) == set(BOX.names) and found["estimate"]["regret_bound"] is None
    assert Study.read(path).status().holder is None


def test_a_reader_sees_the_writer_s_progress_and_cannot_write(path: Path) -> None:
    with make(path) as study, Study.read(path) as reader:
        assert reader.status().n_measurements == 0
        measure(study, study.ask(9))
        assert reader.status().n_measurements == 9
        assert same_answer(reader.recommend(), study.recommend())
        assert [trial.as_dict() for trial in reader.trials()] == [trial.as_dict() for trial in study.trials()]
        for write in (reader.ask, reader.stop, lambda: reader.tell(1, 2.0), lambda: reader.retry(1)):
            with pytest.raises(UsageError, match=r"Study\.open"):
                write()


def test_a_ball_is_a_domain_too(path: Path) -> None:
    with Study.open(path, Ball([1.0, 2.0], 0.5), budget=20, rng=1) as study:
        while trials := study.ask(4):
            for trial in trials:
                study.tell(trial.id, (trial.x["x1"] - 1.2) ** 2 + (trial.x["x2"] - 2.1) ** 2)
    with Study.open(path, Ball([1.0, 2.0], 0.5)) as study:
        assert study.recommend().x == pytest.approx([1.2, 2.1], abs=1e-6)


def test_maximising_is_the_mirror_image_of_minimising(tmp_path: Path) -> None:  # C11
    results = []
    for sign, name in ((1.0, "up"), (-1.0, "down")):
        with make(tmp_path / name, maximize=sign > 0) as study:
            while trials := study.ask(5):
                for trial in trials:
                    study.tell(trial.id, sign * yield_of(trial.x, trial.id))
            results.append(study.recommend())
    up, down = results
    assert np.array_equal(up.x, down.x) and up.fun == -down.fun and np.array_equal(up.hess, -down.hess)


def test_many_threads_may_ask_and_tell_one_study(path: Path) -> None:
    def work(_: int) -> list[int]:
        done = []
        while trials := study.ask():
            measure(study, trials)
            done.append(trials[0].id)
        return done

    with make(path) as study, ThreadPoolExecutor(4) as pool:
        done = [number for numbers in pool.map(work, range(4)) for number in numbers]
        assert sorted(done) == list(range(1, 41)) and study.status().n_measurements == 40


def test_the_file_can_be_read_with_sqlite_alone(path: Path) -> None:
    with make(path) as study:
        measure(study, study.ask(2))
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT trial, round, x, last, answer FROM trials ORDER BY trial").fetchall()
    settings = dict(connection.execute("SELECT name, value FROM settings"))
    connection.close()
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5] and rows[0][3] == "told" and rows[4][3] is None
    assert json.loads(rows[0][4])["value"] == yield_of(dict(zip(BOX.names, json.loads(rows[0][2]), strict=True)), 1)
    assert settings["budget"] == 40


def test_a_dataframe_needs_pandas_and_says_so(path: Path) -> None:
    with make(path) as study:
        measure(study, study.ask(2))
        if importlib.util.find_spec("pandas") is None:
            with pytest.raises(UsageError, match="pip install pandas"):
                study.to_dataframe()
        else:
            assert list(study.to_dataframe()["id"]) == [1, 2, 3, 4, 5]
