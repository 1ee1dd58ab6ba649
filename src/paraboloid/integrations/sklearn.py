"""A search over continuous hyper-parameters in the manner of scikit-learn, with random splits as the noise.

A score on one random split of the data is a noisy measurement of the mean over all splits, and that mean is what is
looked for. A grid measures every setting on the same few splits and takes the luckiest of them; here every measurement
draws a split of its own, a quadratic is fitted to all of them, and the answer is its maximum, with what is known of it.
"""

import copy
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from paraboloid.core import Box, Knob, UsageError
from paraboloid.minimise import maximize
from paraboloid.run import TooManyFailures

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.metrics import check_scoring
    from sklearn.utils import check_random_state, get_tags, indexable
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted

    from paraboloid.integrations.splits import LARGEST_SEED, Measurer, Task, choose_splitter, named
except ImportError as error:
    raise ImportError(
        "paraboloid.integrations.sklearn needs scikit-learn 1.6 or newer, which is an extra: "
        "pip install 'paraboloid[sklearn]'."
    ) from error

__all__ = ["NoisySearchCV"]

Range = tuple[float, float] | tuple[float, float, str]


def _has(name: str) -> Callable[["NoisySearchCV"], bool]:
    """Return the check by which `available_if` tells whether the refitted estimator has a method."""

    def check(search: "NoisySearchCV") -> bool:
        if not search.refit:
            raise AttributeError(
                f"{name} needs an estimator that is fitted to all data, and refit=False was given. Fit one with "
                f"best_params_, or give refit=True."
            )
        getattr(getattr(search, "best_estimator_", search.estimator), name)  # its AttributeError is the answer
        return True

    return check


def _handed_on(name: str) -> Any:
    """Return a method that is the refitted estimator's own, there if it has one."""

    def method(self: "NoisySearchCV", X: Any) -> Any:  # noqa: N803 - the name by which scikit-learn calls data
        check_is_fitted(self)
        return getattr(self.best_estimator_, name)(X)

    method.__name__, method.__qualname__ = name, f"NoisySearchCV.{name}"
    method.__doc__ = f"Return what ``best_estimator_.{name}(X)`` returns."
    return available_if(_has(name))(method)


class NoisySearchCV(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Find the continuous hyper-parameters with the best mean score over random splits of the data.

    Parameters
    ----------
    estimator
        Any estimator of scikit-learn's kind, also a pipeline.
    space
        The range of each hyper-parameter by its name, ``(low, high)`` or ``(low, high, "log")``; in a pipeline
        ``"svr__C"``. Whole numbers and categories are not for this search.
    n_iter
        How many measurements to take. One is a fit and a score on a split of its own, unless ``cv`` says more.
    eps
        Stop earlier, when the answer's mean score is within this of the best one, at 95 %.
    scoring
        One score, as scikit-learn names it or as a function; the estimator's own if not given. It is maximised.
    n_jobs
        Measurements of a round side by side, by joblib. The answer does not depend on it.
    refit
        Whether to fit the estimator with the best hyper-parameters to all data at the end.
    cv
        What one measurement is: one random split with a fifth of the data for the test if not given, the same shares
        of the classes on both sides for a classifier; a number k: the mean of k shuffled folds; or a splitter that
        takes a ``random_state``, such as ``GroupShuffleSplit(1)``: the mean of its splits. Each measurement draws its
        own.
    random_state
        Seed of the splits and of the search.
    error_score
        NaN: a fit that fails is a failed measurement, counted and never turned into a penalty. ``"raise"``: its error
        is raised.

    Attributes
    ----------
    best_params_
        Where the fitted model is greatest. It is seldom a setting that was measured.
    best_score_, best_score_se_
        The mean score over splits that the model expects there, and its standard error; never the luckiest score.
    best_estimator_, refit_time_
        The estimator fitted to all data with the best hyper-parameters, and the seconds that took; if ``refit``.
    result_
        The whole answer as `paraboloid.maximize` gives it: intervals, bound, caveats, forecast, ``report("out.html")``.
    cv_results_
        A dictionary of arrays with a row for each measurement, for a DataFrame; failed ones have NaN and their error.
    scorer_, n_splits_
        What scores, and how many splits one measurement takes.

    Notes
    -----
    ``best_score_se_`` is about other splits of these data. Other data would differ by more. ``sample_weight`` and what
    else is given to ``fit`` goes to the estimator, ``groups`` to the splitter; with scikit-learn's metadata routing
    enabled, each goes where it was requested.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = NoisySearchCV(Ridge(), {"alpha": (1e-3, 10, "log")}, n_iter=30, random_state=0).fit(X, y)
    >>> 0.002 < search.best_params_["alpha"] < 0.5, 0.4 < search.best_score_ < 0.55
    (True, True)
    >>> search.predict(X[:2]).shape, len(search.cv_results_["mean_test_score"])
    ((2,), 30)
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Range],
        *,
        n_iter: int = 50,
        eps: float | None = None,
        scoring: str | Callable[..., float] | None = None,
        n_jobs: int | None = None,
        refit: bool = True,
        cv: Any = None,
        random_state: Any = None,
        error_score: Any = np.nan,
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_iter = n_iter
        self.eps = eps
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.random_state = random_state
        self.error_score = error_score

    predict = _handed_on("predict")
    predict_proba = _handed_on("predict_proba")
    predict_log_proba = _handed_on("predict_log_proba")
    decision_function = _handed_on("decision_function")
    score_samples = _handed_on("score_samples")
    transform = _handed_on("transform")
    inverse_transform = _handed_on("inverse_transform")

    def fit(self, X: Any, y: Any = None, **params: Any) -> "NoisySearchCV":  # noqa: N803
        """Search, and fit the estimator with the answer to all data.

        Parameters
        ----------
        X, y
            The data as the estimator takes them; ``y`` may be left out where it needs none.
        params
            Further arguments of the estimator's ``fit``, and ``groups`` for the splitter.
        """
        self._check(y)
        box = _box(self.space)
        clone(self.estimator).set_params(**named(box, box.from_unit(np.zeros(box.dimension))))  # are the names right
        self.scorer_ = check_scoring(self.estimator, scoring=self.scoring)
        X, y = indexable(X, y)  # noqa: N806
        routed = self._routed(params)
        random = check_random_state(self.random_state)
        seed = int(random.randint(LARGEST_SEED))
        measurer = Measurer(
            Task(self.estimator, X, y, self.scorer_, routed.for_validation, self.error_score == "raise"),
            box,
            choose_splitter(self.cv, y, X, is_classifier(self.estimator)),
            routed.for_splitter,
            random,
            self.n_jobs,
        )
        self.result_ = _search(measurer, box, budget=self.n_iter, eps=self.eps, seed=seed)
        self.cv_results_ = measurer.table()
        self.n_splits_ = measurer.n_splits
        self.multimetric_ = False
        self.best_params_ = named(box, self.result_.x)
        self.best_score_ = float(self.result_.get("fun", np.nan))
        self.best_score_se_ = float(self.result_.get("fun_se", np.nan))
        for name in ("best_estimator_", "refit_time_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit, with other data and another answer
        if self.refit:
            self._refit(X, y, routed.for_fit)
        return self

    def _check(self, y: Any) -> None:
        """Raise for what would be found out late, or silently mean something else."""
        if not hasattr(self.estimator, "fit"):
            raise UsageError(f"estimator must have a method fit, got {self.estimator!r}.")
        if y is None and get_tags(self.estimator).target_tags.required:
            raise UsageError(f"{type(self.estimator).__name__} requires y to be passed, but the target y is None.")
        if isinstance(self.scoring, list | tuple | set | dict):
            raise UsageError(
                f"scoring must be one score, got {self.scoring!r}. The search maximises one number: choose one, or "
                f"give a function of (estimator, X, y) that weighs them."
            )
        is_nan = isinstance(self.error_score, float) and math.isnan(self.error_score)
        if not (is_nan or (isinstance(self.error_score, str) and self.error_score == "raise")):
            raise UsageError(
                f"error_score must be NaN or 'raise', got {self.error_score!r}. A failed fit is a failed measurement "
                f"here: a number in its place would bend the fitted surface."
            )

    def _routed(self, params: dict[str, Any]) -> "_Routed":
        """Return who is given what: as was requested where metadata are routed, else groups to the splitter only."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **params)
            together = {**routed.estimator.fit, **routed.scorer.score}  # `cross_validate` routes them once more
            return _Routed(dict(routed.estimator.fit), dict(routed.splitter.split), together)
        for_fit = {name: value for name, value in params.items() if name != "groups"}
        return _Routed(for_fit, {"groups": params.get("groups")}, for_fit)

    def _refit(self, X: Any, y: Any, params: dict[str, Any]) -> None:  # noqa: N803
        begin = time.perf_counter()
        best = clone(self.estimator).set_params(**self.best_params_)
        self.best_estimator_ = best.fit(X, **params) if y is None else best.fit(X, y, **params)
        self.refit_time_ = time.perf_counter() - begin
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def score(self, X: Any, y: Any = None, **params: Any) -> float:  # noqa: N803
        """Return the score of the refitted estimator on other data, by the score that was searched for."""
        _has("fit")(self)
        check_is_fitted(self)
        if params and not get_config()["enable_metadata_routing"]:
            raise UsageError(
                f"score was given {', '.join(params)}, but takes further arguments only with scikit-learn's metadata "
                f"routing: sklearn.set_config(enable_metadata_routing=True)."
            )
        routed = process_routing(self, "score", **params).scorer["score"] if params else {}
        return float(self.scorer_(self.best_estimator_, X, y, **routed))

    @property
    def n_features_in_(self) -> int:
        """Number of features of the data it was fitted to; if ``refit``."""
        return int(self._of_the_best("n_features_in_"))

    @property
    def classes_(self) -> Any:
        """The classes of a classifier; if ``refit``."""
        return self._of_the_best("classes_")

    def _of_the_best(self, name: str) -> Any:
        if not hasattr(self, "best_estimator_"):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted with refit=True.")
        return getattr(self.best_estimator_, name)

    def get_metadata_routing(self) -> Any:
        """Return who requests which metadata, as scikit-learn asks of every estimator that holds others."""
        fit_to = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
        return (
            MetadataRouter(owner=type(self).__name__)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
            .add(scorer=check_scoring(self.estimator, scoring=self.scoring), method_mapping=fit_to)
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = copy.deepcopy(inner.classifier_tags)
        tags.regressor_tags = copy.deepcopy(inner.regressor_tags)
        tags.target_tags = copy.deepcopy(inner.target_tags)
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags


@dataclass(frozen=True, slots=True)
class _Routed:
    """Further arguments of ``fit``, by who is given them; what is for the validation is for fits and scores."""

    for_fit: dict[str, Any]
    for_splitter: dict[str, Any]
    for_validation: dict[str, Any]


def _search(measurer: Measurer, box: Box, *, budget: int, eps: float | None, seed: int) -> OptimizeResult:
    """Return the answer, or raise what scikit-learn's users are used to be told."""
    options = {"budget": budget, "eps": eps, "rng": seed, "vectorized": True, "callback": measurer.stop_at_an_error}
    try:
        result = maximize(measurer, box, **options)
    except TooManyFailures as failure:
        if measurer.error is not None:
            raise measurer.error from None
        measurer.raise_if_all_failed()
        raise TooManyFailures(
            f"{len(measurer.failures)} of {len(measurer.outcomes)} measurements failed, the last one with "
            f"{measurer.failures[-1]}. Mend the estimator, choose ranges in which it works, or give "
            f"error_score='raise' to see the whole error."
        ) from failure
    if measurer.error is not None:
        raise measurer.error
    if result.stop_reason == "STOPPED":
        raise KeyboardInterrupt  # which `maximize` turns into an answer, and scikit-learn's searches do not
    if measurer.failures:
        warnings.warn(
            f"{len(measurer.failures)} of {len(measurer.outcomes)} measurements failed, the last one with "
            f"{measurer.failures[-1]}. They have no score, and no penalty; cv_results_['error'] has them all.",
            FitFailedWarning,
            stacklevel=3,
        )
    return result


def _box(space: Mapping[str, Range]) -> Box:
    """Return the space as a box of knobs."""
    if not isinstance(space, Mapping) or not space:
        raise UsageError(f"space must be a dictionary such as {{'alpha': (1e-3, 10, 'log')}}, got {space!r}.")
    return Box([_knob(name, given) for name, given in space.items()])


def _knob(name: str, given: Range) -> Knob:
    is_known = isinstance(given, tuple | list) and (len(given) == 2 or (len(given) == 3 and given[2] == "log"))
    if not is_known:
        raise UsageError(
            f"the range of {name!r} must be (low, high) or (low, high, 'log'), got {given!r}. Whole numbers and "
            f"categories are not for this search: fix them, or search for each choice."
        )
    return Knob(name, given[0], given[1], log=len(given) == 3)
