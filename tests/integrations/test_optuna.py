"""`QuadraticSampler` and `recommend` with the real Optuna: its studies, its SQLite storage, several processes."""

import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from paraboloid import UsageError
from paraboloid.integrations.optuna import KEY, QuadraticSampler, recommend, result_of

optuna.logging.set_verbosity(optuna.logging.WARNING)
SPACE: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-4, 1e-1, log=True),
    "x": FloatDistribution(-1.0, 3.0),
}
BEST = {"rate": 1e-2, "x": 0.5}


def exact(trial: Trial) -> float:
    """Without noise, so that the minimum is found to rounding; quadratic in log(rate)."""
    u, x = np.log10(trial.suggest_float("rate", 1e-4, 1e-1, log=True)) + 2, trial.suggest_float("x", -1, 3) - 0.5
    return float(u**2 + 2 * x**2 + u * x + 4)


def noisy(seed: int) -> Callable[[Trial], float]:
    noise = np.random.default_rng(seed)
    return lambda trial: exact(trial) + float(noise.standard_normal())


def searched(
    objective: Callable[[Trial], float] = exact, n_trials: int = 25, *, seed: int = 0, **given: Any
) -> tuple[Study, QuadraticSampler]:
    sampler = QuadraticSampler(seed=seed, **given)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=n_trials, catch=(LookupError,))
    return study, sampler


def assert_best(found: dict[str, float]) -> None:
    assert list(found) == ["rate", "x"]
    assert found == pytest.approx(BEST, rel=1e-5)


def test_the_minimum_of_a_quadratic_is_found_to_rounding_on_linear_and_log_scales() -> None:
    study, sampler = searched()
    assert_best(sampler.recommend(study))
    assert recommend(study) == sampler.recommend(study)


def test_maximising_is_the_mirror_image() -> None:
    study = optuna.create_study(direction="maximize", sampler=QuadraticSampler(seed=0))
    study.optimize(lambda trial: -exact(trial), n_trials=25)
    assert [trial.params for trial in study.trials] == [trial.params for trial in searched()[0].trials]
    assert_best(recommend(study))
    assert result_of(study).fun == pytest.approx(-4.0)


def test_the_recommendation_is_the_models_minimum_and_no_trial() -> None:
    study, sampler = searched(noisy(1), 60)
    found = sampler.recommend(study)
    assert found not in [trial.params for trial in study.trials]
    result = result_of(study)
    assert dict(zip(["rate", "x"], result.x.tolist(), strict=True)) == found
    assert result.nfev == 60
    assert result.fun != study.best_value
    assert (
        abs(result.fun - 4) < 6 * result.fun_se
    )  # t with 54 degrees: false once in 10⁶ times and more; luck is no part


def test_the_whole_answer_writes_a_report(tmp_path: Path) -> None:
    written = result_of(searched(noisy(2), 30)[0]).report(tmp_path / "study.html")
    assert "rate" in written.read_text(encoding="utf-8")


def test_points_are_planned_a_round_at_a_time() -> None:
    firsts: list[int] = []

    def look(study: Study, _: object) -> None:
        kept = study._storage.get_study_system_attrs(study._study_id).get(KEY)
        if kept is not None and kept["first"] not in firsts:
            firsts.append(kept["first"])

    study = optuna.create_study(sampler=QuadraticSampler(seed=0))
    study.optimize(noisy(3), n_trials=60, callbacks=[look])
    # After one independent trial the first look is filled up to 2d + 1 = 5; then each round is half of what was taken.
    assert firsts == [1, 5, 7, 10, 15, 22, 33, 49]


def test_a_new_sampler_goes_on_where_the_old_one_was(tmp_path: Path) -> None:
    whole, _ = searched(exact, 30)
    storage = f"sqlite:///{tmp_path / 'trials.db'}"
    for n_trials in (12, 18):
        study = optuna.create_study(
            storage=storage, study_name="resumed", load_if_exists=True, sampler=QuadraticSampler(seed=0)
        )
        study.optimize(exact, n_trials=n_trials)
    assert [trial.params for trial in study.trials] == [trial.params for trial in whole.trials]


WORKER = """
import sys, time, warnings
import optuna
from paraboloid.integrations.optuna import QuadraticSampler
from tests.integrations.test_optuna import exact

def slowly(trial):
    value = exact(trial)
    time.sleep(0.02)
    return value

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.load_study(study_name="shared", storage=sys.argv[1], sampler=QuadraticSampler(seed=0))
study.optimize(slowly, n_trials=20)
"""


def test_two_processes_share_one_sqlite_storage(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path / 'trials.db'}"
    study = optuna.create_study(storage=storage, study_name="shared", sampler=QuadraticSampler(seed=0))
    study.ask()  # of a worker that was killed: it stays RUNNING for ever, and must not stop the others
    root = Path(__file__).parents[2]
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, storage], cwd=root) for _ in range(2)]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0]
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.COMPLETE) == 40
    assert_best(recommend(study))


def test_threads_of_one_study_work_too() -> None:
    study = optuna.create_study(sampler=QuadraticSampler(seed=0))
    study.optimize(exact, n_trials=24, n_jobs=3)
    assert_best(recommend(study))


def test_running_trials_count_as_information_that_will_come() -> None:
    study = optuna.create_study(sampler=QuadraticSampler(seed=0, search_space=dict(SPACE)))
    asked, firsts = [], []
    for _ in range(15):
        asked.append(study.ask(dict(SPACE)))
        firsts.append(study._storage.get_study_system_attrs(study._study_id)[KEY]["first"])
    assert sorted(set(firsts)) == [0, 5, 7, 10]  # though nothing is told; each round is half of what was asked
    assert len({tuple(trial.params.values()) for trial in asked}) > 5  # and not the first look three times
    for trial in asked:
        study.tell(trial, exact(trial))
    assert_best(recommend(study))


def test_no_warning_is_given_where_the_first_trial_completes_while_another_chooses() -> None:
    study = optuna.create_study(sampler=QuadraticSampler(seed=0))
    first, second = study.ask(), study.ask()
    second.suggest_float("rate", 1e-4, 1e-1, log=True)  # independent: nothing is known of the parameters
    study.tell(first, exact(first))
    second.suggest_float("x", -1, 3)  # a warning is an error here


def test_a_trial_that_begins_late_takes_a_point_of_the_round_that_is_planned_then() -> None:
    study = optuna.create_study(sampler=QuadraticSampler(seed=0, search_space=dict(SPACE)))
    late = study.ask()
    study.optimize(exact, n_trials=12)
    kept = study._storage.get_study_system_attrs(study._study_id)[KEY]
    assert kept["first"] > late.number
    params = {"rate": late.suggest_float("rate", 1e-4, 1e-1, log=True), "x": late.suggest_float("x", -1, 3)}
    assert kept == study._storage.get_study_system_attrs(study._study_id)[KEY]  # and plans none of its own
    unit = [(np.log10(params["rate"]) + 2.5) / 1.5, (params["x"] - 1) / 2]
    assert np.min(np.abs(np.array(kept["points"]) - unit).max(axis=1)) < 1e-9


def test_with_a_given_search_space_the_first_trial_is_planned() -> None:
    study, sampler = searched(search_space=dict(reversed(SPACE.items())))
    kept = [trial.params for trial in study.trials[:5]]
    again = optuna.create_study(sampler=QuadraticSampler(seed=0, search_space=dict(SPACE)))
    assert [again.ask(dict(SPACE)).params for _ in range(5)] == kept
    assert_best(sampler.recommend(study))


def mixed(trial: Trial) -> float:
    value = exact(trial) + 0 * trial.suggest_int("layers", 1, 3) + 0 * trial.suggest_float("dose", 0, 1, step=0.25)
    if trial.suggest_categorical("kind", ["plain", "sloped"]) == "sloped":
        value += 0 * trial.suggest_float("slope", 0, 1)
    return value


def test_what_is_not_continuous_in_every_trial_is_named_once_and_chosen_independently() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        study, sampler = searched(mixed, 40)
    said = sorted(str(warning.message) for warning in caught)
    expected = [
        ("dose", "a step"),
        ("kind", "not a float"),
        ("layers", "not a float"),
        ("slope", "not every completed"),
    ]
    assert len(said) == 4
    for sentence, (name, reason) in zip(said, expected, strict=True):
        assert sentence.startswith(f"parameter '{name}' is chosen by RandomSampler")
        assert reason in sentence
    assert {trial.params["layers"] for trial in study.trials} == {1, 2, 3}
    assert_best(sampler.recommend(study))


def test_the_warning_can_be_silenced_and_the_independent_sampler_chosen() -> None:
    searched(mixed, 6, warn_independent_sampling=False)  # a warning is an error here
    with pytest.warns(UserWarning, match="'layers' is chosen by TPESampler"):
        searched(
            lambda trial: exact(trial) + trial.suggest_int("layers", 1, 3), 3, independent_sampler=TPESampler(seed=0)
        )


def test_failed_infinite_and_pruned_trials_never_enter_the_model() -> None:
    def unreliable(trial: Trial) -> float:
        value = exact(trial)
        if trial.number % 5 == 2:
            raise LookupError("lost")
        if trial.number % 5 == 3:
            return float("inf")
        if trial.number % 5 == 4:
            trial.report(-1e6, 0)
            raise optuna.TrialPruned
        return value

    study, sampler = searched(unreliable, 60)
    assert_best(sampler.recommend(study))
    result = result_of(study)
    assert (result.nfev, result.nfail) == (48, 24)  # pruned ones are left out


def test_enqueued_points_are_evidence_as_any_other() -> None:
    study = optuna.create_study(sampler=QuadraticSampler(seed=0))
    for x in (-1.0, 1.0, 3.0):
        study.enqueue_trial({"x": x, "rate": 1e-3})
    study.optimize(exact, n_trials=15)
    assert study.trials[2].params == {"x": 3.0, "rate": 1e-3}
    assert_best(recommend(study))


def test_standard_errors_are_taken_from_the_user_attribute() -> None:
    def told(trial: Trial) -> float:
        is_wild = trial.number % 3 != 0  # most: else the exact ones would speak for themselves
        trial.set_user_attr("sem", 1e4 if is_wild else 1e-4)
        return exact(trial) + (100.0 if is_wild else 0.0) * (1 if trial.number % 2 else -1)

    found = recommend(searched(told, 45)[0])
    assert found == pytest.approx(BEST, rel=1e-3)  # unweighted, values off by 100 would move it by far more
    blind = optuna.create_study()
    source = searched(told, 45)[0]
    for trial in source.trials:
        blind.add_trial(
            optuna.trial.create_trial(params=trial.params, distributions=trial.distributions, value=trial.value)
        )
    assert recommend(blind) != pytest.approx(BEST, rel=1e-3)


@pytest.mark.parametrize("sem", [0.0, -1.0, "wide", float("inf")])
def test_a_standard_error_that_is_none_is_refused(sem: Any) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(exact, n_trials=3)
    study.add_trial(
        optuna.trial.create_trial(params=BEST, distributions=dict(SPACE), value=4.0, user_attrs={"sem": sem})
    )
    with pytest.raises(UsageError, match="trial 3 has the user attribute 'sem'"):
        recommend(study)


def test_a_study_without_an_answer_says_so() -> None:
    with pytest.raises(UsageError, match="nothing to recommend"):
        recommend(optuna.create_study())
    two = optuna.create_study(directions=["minimize", "maximize"], sampler=QuadraticSampler(seed=0))
    with pytest.raises(UsageError, match="2 objectives"):
        recommend(two)
    with pytest.raises(UsageError, match="2 objectives"):
        two.ask(dict(SPACE))


def test_a_search_space_of_other_things_is_refused() -> None:
    with pytest.raises(UsageError, match="got layers"):
        QuadraticSampler(search_space={**SPACE, "layers": optuna.distributions.IntDistribution(1, 3)})
    with pytest.raises(UsageError, match="got none"):
        QuadraticSampler(search_space={})


def test_a_round_fits_an_attribute_of_every_database() -> None:
    space: dict[str, BaseDistribution] = {f"knob{k:02}": FloatDistribution(-1.0, 1.0) for k in range(50)}
    study = optuna.create_study(sampler=QuadraticSampler(seed=0, search_space=dict(space)))
    study.ask(dict(space))
    kept = study._storage.get_study_system_attrs(study._study_id)[KEY]
    assert len(kept["points"]) == 80
    assert len(json.dumps(kept)) < 2**16 - 1  # MySQL's TEXT


def test_optuna_is_loaded_only_where_it_is_asked_for_and_its_absence_is_explained() -> None:
    script = """
import sys
import paraboloid.integrations
assert "optuna" not in sys.modules
sys.modules["optuna"] = None
try:
    import paraboloid.integrations.optuna
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'paraboloid[optuna]'" in ran.stdout
