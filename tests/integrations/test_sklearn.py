"""`NoisySearchCV` with the real scikit-learn: its data, its estimators, its splitters, its scorers."""

import pickle
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.decomposition import KernelPCA
from sklearn.exceptions import FitFailedWarning, NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from paraboloid import UsageError
from paraboloid.integrations.sklearn import NoisySearchCV
from paraboloid.run import TooManyFailures
from tests.report.reading import check

Array = npt.NDArray[Any]
X, Y = load_diabetes(return_X_y=True)
ALPHA: dict[str, Any] = {"alpha": (1e-3, 10, "log")}
BOWL: dict[str, Any] = {"a": (-1.0, 2.0), "b": (0.01, 100.0, "log")}
MOST_ERRORS = 5.3  # standard errors; a normal value is further off once in 10⁷


class Bowl(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator whose mean score over all splits is known: a paraboloid; the split is the only noise."""

    def __init__(self, a: float = 0.0, b: float = 1.0, forbidden: float = np.inf, is_signalling: bool = False) -> None:
        self.a, self.b, self.forbidden, self.is_signalling = a, b, forbidden, is_signalling

    def fit(self, X: Array, y: Array, sample_weight: Array | None = None) -> "Bowl":
        if self.is_signalling:
            signal.raise_signal(signal.SIGINT)
        if self.a > self.forbidden:
            raise RuntimeError(f"a is beyond {self.forbidden}")
        if sample_weight is not None and len(sample_weight) != len(X):
            raise ValueError("weights were not split")
        self.weights_ = sample_weight
        return self

    def predict(self, X: Array) -> Array:
        return np.zeros(len(X))

    def score(self, X: Array, y: Array, sample_weight: Array | None = None) -> float:
        weighs = 0.0 if sample_weight is None else 10.0
        return float(3 + weighs - (self.a - 0.5) ** 2 - np.log10(self.b / 10) ** 2 + np.mean(y))


def searched(estimator: Any = None, space: Any = None, *data: Any, **given: Any) -> NoisySearchCV:
    search = NoisySearchCV(
        Ridge() if estimator is None else estimator, ALPHA if space is None else space, **{"random_state": 0, **given}
    )
    return search.fit(*(data or (X, Y)))


def test_without_noise_the_best_of_a_paraboloid_is_found_to_rounding() -> None:
    search = searched(Bowl(), BOWL, np.zeros((40, 1)), np.zeros(40), n_iter=20)
    assert search.best_params_ == {"a": pytest.approx(0.5, abs=1e-6), "b": pytest.approx(10, rel=1e-6)}
    assert search.best_score_ == pytest.approx(3, abs=1e-6)
    assert search.best_estimator_.get_params() == {**Bowl().get_params(), **search.best_params_}


def test_the_best_score_is_the_expected_one_within_its_error_and_no_measured_one() -> None:
    y = np.random.default_rng(5).standard_normal(50)
    search = searched(Bowl(), BOWL, np.zeros((50, 1)), y, n_iter=80)
    # The mean of the test targets over all splits is the mean of all targets; see `Bowl.score`.
    best = 3 + y.mean()
    assert 0 < search.best_score_se_ < 0.3  # one measurement: y.std() / √10 = 0.3
    assert abs(search.best_score_ - best) < MOST_ERRORS * search.best_score_se_
    assert search.best_score_ not in search.cv_results_["mean_test_score"]
    assert search.result_.fun == search.best_score_
    assert search.result_.nfev == 80


def test_support_vectors_on_the_diabetes_data_are_tuned() -> None:
    model = make_pipeline(StandardScaler(), SVR())
    space = {"svr__C": (1, 1000, "log"), "svr__gamma": (1e-4, 1e-1, "log")}
    search = searched(model, space, X, Y, n_iter=80)
    splits = ShuffleSplit(60, test_size=0.2, random_state=1)
    tuned = cross_val_score(clone(model).set_params(**search.best_params_), X, Y, cv=splits)
    plain = cross_val_score(model, X, Y, cv=splits)
    gain = tuned - plain
    assert gain.mean() > MOST_ERRORS * gain.std() / np.sqrt(60)
    # What is promised is the mean over splits; the error of 60 further ones comes on top.
    assert abs(tuned.mean() - search.best_score_) < MOST_ERRORS * np.hypot(search.best_score_se_, tuned.std() / 60**0.5)
    assert search.score(X, Y) == pytest.approx(search.best_estimator_.score(X, Y))


@pytest.mark.parametrize(
    ("estimator", "space", "cv", "splitter", "data"),
    [
        (Ridge(), ALPHA, None, ShuffleSplit(1, test_size=89), (X, Y)),
        (Ridge(), ALPHA, 3, KFold(3, shuffle=True), (X, Y)),
        (Ridge(), ALPHA, RepeatedKFold(n_splits=2, n_repeats=2), RepeatedKFold(n_splits=2, n_repeats=2), (X, Y)),
        (SVC(), {"C": (0.1, 10, "log")}, None, StratifiedShuffleSplit(1, test_size=30), load_iris(return_X_y=True)),
        (SVC(), {"C": (0.1, 10, "log")}, 2, StratifiedKFold(2, shuffle=True), load_iris(return_X_y=True)),
    ],
    ids=["split", "folds", "repeated", "classifier", "classifier-folds"],
)
def test_every_measurement_can_be_repeated_from_the_table_with_scikit_learn_alone(
    estimator: Any, space: Any, cv: Any, splitter: Any, data: Any
) -> None:
    search = searched(estimator, space, *data, n_iter=8, cv=cv, scoring=None)
    table = search.cv_results_
    assert len(set(table["split_random_state"])) == 8
    assert search.n_splits_ == splitter.get_n_splits()
    for row in range(8):
        splitter.random_state = int(table["split_random_state"][row])
        scores = cross_val_score(clone(estimator).set_params(**table["params"][row]), *data, cv=splitter)
        assert [table[f"split{k}_test_score"][row] for k in range(search.n_splits_)] == pytest.approx(scores)
        assert table["mean_test_score"][row] == pytest.approx(scores.mean())
        assert table["std_test_score"][row] == pytest.approx(scores.std())
    assert getattr(cv, "random_state", None) is None  # the user's splitter is left as it was


def test_groups_stay_on_one_side() -> None:
    groups = np.arange(len(Y)) // 30
    search = NoisySearchCV(Ridge(), ALPHA, n_iter=4, cv=GroupShuffleSplit(1, test_size=0.3), random_state=0)
    search.fit(X, Y, groups=groups)
    for row in range(4):
        seed = int(search.cv_results_["split_random_state"][row])
        ((train, test),) = GroupShuffleSplit(1, test_size=0.3, random_state=seed).split(X, Y, groups)
        assert not set(groups[train]) & set(groups[test])
        model = Ridge(**search.cv_results_["params"][row]).fit(X[train], Y[train])
        assert search.cv_results_["mean_test_score"][row] == pytest.approx(model.score(X[test], Y[test]))


def test_the_answer_depends_on_the_seed_and_not_on_the_number_of_jobs() -> None:
    one, two = searched(n_iter=12), searched(n_iter=12, n_jobs=2)
    assert one.best_params_ == two.best_params_
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert one.fit(X, Y).best_params_ == two.best_params_
    assert searched(n_iter=12, random_state=1).best_params_ != one.best_params_
    assert searched(n_iter=12, random_state=np.random.RandomState(0)).best_params_ == one.best_params_


def test_the_table_is_one_for_a_data_frame_with_a_row_for_each_measurement() -> None:
    table = pd.DataFrame(searched(n_iter=9).cv_results_)
    assert len(table) == 9
    assert {"params", "param_alpha", "mean_test_score", "std_test_score", "rank_test_score", "round"} <= set(table)
    assert table.sort_values("rank_test_score")["mean_test_score"].is_monotonic_decreasing
    assert table["round"].is_monotonic_increasing and table["round"].iloc[0] == 1
    assert (table["mean_fit_time"] > 0).all() and (table["error"] == "").all()
    assert [setting["alpha"] for setting in table["params"]] == table["param_alpha"].tolist()


def test_a_failed_fit_is_counted_and_bends_nothing() -> None:
    with pytest.warns(FitFailedWarning, match="of 40 measurements failed, the last one with RuntimeError: a is beyond"):
        search = searched(Bowl(forbidden=1.4), BOWL, np.zeros((40, 1)), np.zeros(40), n_iter=40)
    table, failed = search.cv_results_, search.cv_results_["param_a"] > 1.4
    assert failed.any()
    np.testing.assert_array_equal(np.isnan(table["mean_test_score"]), failed)
    assert all(text == "RuntimeError: a is beyond 1.4" for text in table["error"][failed])
    assert set(table["rank_test_score"][failed]) == {1 + np.sum(~failed)}
    assert search.result_.nfail == failed.sum()
    assert search.best_params_["a"] == pytest.approx(0.5, abs=1e-6)  # exact: no penalty came in


def test_a_score_that_is_no_number_is_a_failed_measurement() -> None:
    def scorer(model: Bowl, X: Array, y: Array) -> float:
        return np.nan if model.a > 1.4 else model.score(X, y)

    with pytest.warns(FitFailedWarning, match="the score is nan"):
        search = searched(Bowl(), BOWL, np.zeros((40, 1)), np.zeros(40), n_iter=40, scoring=scorer)
    assert search.result_.nfail == np.isnan(search.cv_results_["mean_test_score"]).sum() > 0


def test_errors_are_raised_if_that_is_asked_for_and_if_nothing_works() -> None:
    for given in ({"error_score": "raise", "forbidden": 1.4}, {"error_score": np.nan, "forbidden": -5.0}):
        model = Bowl(forbidden=given.pop("forbidden"))  # type: ignore[arg-type]
        with pytest.raises(RuntimeError, match=f"^a is beyond {model.forbidden}$"):
            searched(model, BOWL, X, Y, **given)
    with pytest.raises(TooManyFailures, match=r"measurements failed, the last one with RuntimeError: a is beyond -0.9"):
        searched(Bowl(forbidden=-0.9), BOWL, X, Y)


def test_ctrl_c_ends_the_search_as_it_ends_those_of_scikit_learn() -> None:
    with pytest.raises(KeyboardInterrupt):
        searched(Bowl(is_signalling=True), BOWL)
    calls: list[int] = []

    def scorer(model: Bowl, X: Array, y: Array) -> float:
        calls.append(1)
        if len(calls) == 20:
            signal.raise_signal(signal.SIGINT)
        return model.score(X, y)

    with pytest.raises(KeyboardInterrupt):  # also where a part is measured already
        searched(Bowl(), BOWL, n_iter=50, scoring=scorer)
    assert len(calls) == 20


def test_the_search_ends_early_when_the_answer_is_near_enough() -> None:
    search = searched(Bowl(), BOWL, np.zeros((40, 1)), np.random.default_rng(1).normal(size=40), n_iter=500, eps=0.5)
    assert search.result_.stop_reason == "ACCURACY_REACHED"
    assert len(search.cv_results_["mean_test_score"]) == search.result_.nfev < 500
    assert search.result_.regret_bound <= 0.5


def test_the_whole_answer_can_be_read_and_reported(tmp_path: Path) -> None:
    search = searched(n_iter=30)
    assert "alpha" in str(search.result_)
    search.result_.report(tmp_path / "alpha.html")
    assert "alpha" in check((tmp_path / "alpha.html").read_text(encoding="utf-8")).text


def test_a_classifier_stays_one() -> None:
    features, classes = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    space: dict[str, Any] = {"logisticregression__C": (1e-3, 1e2, "log")}
    search = NoisySearchCV(model, space, n_iter=12, scoring="roc_auc", random_state=0)
    assert is_classifier(search) and not is_regressor(search)
    assert not hasattr(search, "classes_") and not hasattr(search, "n_features_in_") and hasattr(search, "predict")
    with pytest.raises(NotFittedError):
        search.predict(features)
    search.fit(features, classes)
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 30
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        expected = getattr(search.best_estimator_, method)(features[:5])
        np.testing.assert_array_equal(getattr(search, method)(features[:5]), expected)
    assert not hasattr(search, "transform")
    assert 0.97 < search.score(features, classes) <= 1.0  # the area under the curve, as asked; an accuracy is 0.98


def test_estimators_without_targets_are_searched_too() -> None:
    density = NoisySearchCV(KernelDensity(), {"bandwidth": (0.01, 1, "log")}, n_iter=12, random_state=0).fit(X)
    assert density.score_samples(X[:3]).shape == (3,)

    def rebuilt(model: KernelPCA, X: Array, y: object = None) -> float:
        return -float(np.mean((model.inverse_transform(model.transform(X)) - X) ** 2))

    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True)
    pca = NoisySearchCV(model, {"gamma": (0.1, 100, "log")}, n_iter=8, scoring=rebuilt, random_state=0).fit(X)
    np.testing.assert_array_equal(pca.transform(X[:4]), pca.best_estimator_.transform(X[:4]))
    assert pca.inverse_transform(pca.transform(X[:4])).shape == (4, 10)


def test_without_refit_there_are_parameters_but_nothing_predicts() -> None:
    search = searched(n_iter=6, refit=False)
    assert search.best_params_["alpha"] > 0
    for name in ("predict", "classes_", "n_features_in_", "best_estimator_"):
        assert not hasattr(search, name)
    with pytest.raises(AttributeError, match="refit=False"):
        search.score(X, Y)
    again = searched(n_iter=6).set_params(refit=False, n_iter=np.int64(5), cv=np.int64(2)).fit(X, Y)
    assert not hasattr(again, "best_estimator_") and not hasattr(again, "n_features_in_")
    assert again.n_splits_ == 2


def test_it_is_cloned_pickled_set_and_nested_as_every_estimator_is() -> None:
    search = searched(n_iter=6)
    again = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    assert again.result_.forecast(10) == search.result_.forecast(10)
    assert str(again.result_) == str(search.result_)
    bare = clone(search).set_params(estimator__fit_intercept=False, n_iter=5)
    assert not hasattr(bare, "best_params_")
    assert bare.get_params()["estimator__fit_intercept"] is False
    scores = cross_val_score(make_pipeline(StandardScaler(), bare), X, Y, cv=2)
    assert scores.shape == (2,) and np.all(np.isfinite(scores))


def test_names_of_features_are_kept() -> None:
    frame = load_diabetes(as_frame=True)
    search = searched(Ridge(), ALPHA, frame.data, frame.target, n_iter=5)
    assert search.feature_names_in_.tolist() == frame.feature_names


def test_weights_go_to_the_fits_where_metadata_are_not_routed() -> None:
    weights = np.linspace(1, 2, len(Y))
    search = NoisySearchCV(Bowl(), BOWL, n_iter=5, random_state=0).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.weights_, weights)
    assert search.best_score_ < 3 + Y.mean() + 5
    with pytest.raises(UsageError, match="score was given sample_weight"):
        search.score(X, Y, sample_weight=weights)


def test_metadata_are_routed_as_they_are_requested() -> None:
    weights, groups = np.linspace(1, 2, len(Y)), np.arange(len(Y)) // 30
    with sklearn.config_context(enable_metadata_routing=True):
        model = Bowl().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        given: dict[str, Any] = {"n_iter": 20, "random_state": 0}
        search = NoisySearchCV(model, BOWL, cv=GroupShuffleSplit(1), **given)
        search.fit(X, Y, sample_weight=weights, groups=groups)
        np.testing.assert_array_equal(search.best_estimator_.weights_, weights)
        plain = NoisySearchCV(Bowl(), BOWL, cv=GroupShuffleSplit(1), **given).fit(X, Y, groups=groups)
        # The score adds 10 if it is given weights, and the splits are the same.
        difference = search.cv_results_["mean_test_score"][:3] - plain.cv_results_["mean_test_score"][:3]
        assert difference == pytest.approx(10)
        assert search.score(X, Y, sample_weight=weights) == pytest.approx(13 + Y.mean(), abs=30)
        with pytest.raises(UnsetMetadataPassedError):
            NoisySearchCV(Bowl(), BOWL, **given).fit(X, Y, sample_weight=weights)
        scorer = make_scorer(mean_absolute_error, greater_is_better=False).set_score_request(sample_weight=True)
        nested = cross_validate(
            NoisySearchCV(Ridge().set_fit_request(sample_weight=True), ALPHA, scoring=scorer, n_iter=3),
            X,
            Y,
            cv=2,
            params={"sample_weight": weights},
            error_score="raise",
        )
        assert np.all(np.isfinite(nested["test_score"]))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"space": {}}, "space must be a dictionary"),
        ({"space": [(0, 1)]}, "space must be a dictionary"),
        ({"space": {"alpha": (1, 2, 3)}}, r"range of 'alpha' must be \(low, high\)"),
        ({"space": {"alpha": [0.1, 1, 10, 100]}}, r"range of 'alpha' must be \(low, high\)"),
        ({"space": {"alpha": (0, 1, "log")}}, "log scale and needs low > 0"),
        ({"space": {"alpha": (2, 1)}}, "low < high"),
        ({"space": {"beta": (1, 2)}}, "Invalid parameter 'beta' for estimator Ridge"),
        ({"estimator": object()}, "must have a method fit"),
        ({"scoring": ["r2", "neg_mean_squared_error"]}, "scoring must be one score"),
        ({"scoring": lambda *_: {"a": 1.0, "b": 2.0}}, "scoring must return one number, got a dictionary"),
        ({"error_score": -1.0}, "error_score must be NaN or 'raise', got -1.0"),
        ({"error_score": "rise"}, "error_score must be NaN or 'raise', got 'rise'"),
        ({"cv": KFold(5)}, "cv must draw its splits at random"),
        ({"cv": LeaveOneOut()}, "cv must draw its splits at random"),
        ({"cv": [([0, 1], [2, 3])]}, "cv must draw its splits at random"),
        ({"cv": True}, "cv must draw its splits at random"),
        ({"n_iter": 0}, "budget"),
        ({"eps": -1.0}, "eps"),
    ],
)
def test_what_cannot_work_is_refused_in_words(given: dict[str, Any], message: str) -> None:
    made = {"estimator": Ridge(), "space": ALPHA, "n_iter": 5, **given}
    with pytest.raises(ValueError, match=message):
        NoisySearchCV(made.pop("estimator"), made.pop("space"), **made).fit(X, Y)


def test_data_that_cannot_be_split_are_refused() -> None:
    with pytest.raises(UsageError, match="n_samples=1"):
        searched(Ridge(), ALPHA, X[:1], Y[:1])
    with pytest.raises(UsageError, match="requires y to be passed"):
        searched(Ridge(), ALPHA, X, None)


def test_without_the_extra_the_error_says_what_to_install() -> None:
    script = """
import sys
sys.modules["sklearn"] = None
try:
    import paraboloid.integrations.sklearn
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "pip install 'paraboloid[sklearn]'" in ran.stdout
