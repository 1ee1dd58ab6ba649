"""What `NoisySearchCV` measures: the score of a setting on random splits of the data, side by side by joblib.

Fits, scores and the routing of metadata are scikit-learn's own `cross_validate`; nothing of it is done here anew.
"""

import copy
import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from sklearn.base import clone
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit, cross_validate
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from paraboloid.core import Box, Matrix, UsageError, Vector

__all__ = ["LARGEST_SEED", "Measurer", "Task", "choose_splitter", "named"]

TEST_SHARE = 0.2  # of the samples, as in scikit-learn's five folds
LARGEST_SEED = 2**31 - 1
Split = tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One measurement: the score on each of its splits, seconds, and why there is none."""

    scores: Sequence[float]
    fit_time: float
    score_time: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """What every measurement has in common; a class and no closure, since it travels to worker processes."""

    estimator: Any
    X: Any
    y: Any
    scorer: Any
    params: dict[str, Any]
    is_raised: bool

    def measured(self, setting: dict[str, float], splits: list[Split]) -> _Outcome:
        """Return what a setting scores on splits; an error is an outcome unless it is to be raised."""
        try:
            return self._validated(setting, splits)
        except UsageError:
            raise
        except Exception as error:
            if self.is_raised:
                raise
            return _Outcome([np.nan] * len(splits), np.nan, np.nan, f"{type(error).__name__}: {error}")

    def _validated(self, setting: dict[str, float], splits: list[Split]) -> _Outcome:
        # ``error_score="raise"``, whatever was given: `cross_validate` knows penalties only, `measured` failures.
        found = cross_validate(
            clone(self.estimator).set_params(**setting),
            self.X,
            self.y,
            scoring=self.scorer,
            cv=splits,
            params=self.params,
            error_score="raise",
        )
        if "test_score" not in found:
            raise UsageError("scoring must return one number, got a dictionary. Choose one score, or weigh them.")
        scores = np.asarray(found["test_score"], dtype=np.float64)
        reason = "" if np.all(np.isfinite(scores)) else f"the score is {scores[~np.isfinite(scores)][0]}"
        return _Outcome(scores.tolist(), float(np.mean(found["fit_time"])), float(np.mean(found["score_time"])), reason)


@dataclass(slots=True)
class Measurer:
    """Measures the settings of a round side by side, and keeps what was measured.

    What `paraboloid.maximize` calls may not raise: there an exception is a failed measurement. An error that must reach
    the user is kept in ``error``, and nothing more is measured.
    """

    task: Task
    box: Box
    splitter: Any
    for_splitter: dict[str, Any]
    random: Any
    n_jobs: int | None
    error: Exception | None = None
    settings: list[dict[str, float]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    outcomes: list[_Outcome] = field(default_factory=list)

    def __call__(self, settings: Matrix) -> Vector:
        """Return a mean score for each setting, NaN where there is none."""
        if self.error is not None:
            return np.full(len(settings), np.nan)
        try:
            new = self._outcomes([named(self.box, setting) for setting in settings])
        except Exception as error:
            self.error = error
            return np.full(len(settings), np.nan)
        return np.array([_mean(outcome) for outcome in new])

    def _outcomes(self, settings: list[dict[str, float]]) -> list[_Outcome]:
        # The splits are drawn here and in order, so that they do not depend on the number of jobs.
        seeds = [int(self.random.randint(LARGEST_SEED)) for _ in settings]
        pairs: Iterable[tuple[dict[str, float], list[Split]]] = zip(settings, map(self._splits, seeds), strict=True)
        new = Parallel(n_jobs=self.n_jobs)(delayed(self.task.measured)(setting, splits) for setting, splits in pairs)
        self.rounds += [self.rounds[-1] + 1 if self.rounds else 1] * len(new)
        self.settings += settings
        self.seeds += seeds
        self.outcomes += new
        return list(new)

    def _splits(self, seed: int) -> list[Split]:
        splitter = copy.copy(self.splitter)
        splitter.random_state = seed
        return list(splitter.split(self.task.X, self.task.y, **self.for_splitter))

    def stop_at_an_error(self, _: OptimizeResult) -> None:
        """End the search if there is an error to raise; called after each round."""
        if self.error is not None:
            raise StopIteration

    def raise_if_all_failed(self) -> None:
        """Raise the error of a measurement, repeated here with its whole traceback, if nothing at all worked.

        Then the data or the arguments are at fault, and the error is what scikit-learn's users know.
        """
        if len(self.failures) == len(self.outcomes):
            task = replace(self.task, is_raised=True)
            task.measured(self.settings[0], self._splits(self.seeds[0]))

    @property
    def n_splits(self) -> int:
        """How many splits one measurement takes."""
        return len(self.outcomes[0].scores)

    @property
    def failures(self) -> list[str]:
        """Why measurements failed, in their order."""
        return [outcome.error for outcome in self.outcomes if outcome.error]

    def table(self) -> dict[str, Any]:
        """Return all measurements as a dictionary of arrays, named as in scikit-learn's searches."""
        scores = np.array([outcome.scores for outcome in self.outcomes])
        means = np.array([_mean(outcome) for outcome in self.outcomes])
        ranked = np.where(np.isnan(means), -np.inf, means)
        table: dict[str, Any] = {"params": np.array(self.settings, dtype=object)}
        table |= {f"param_{name}": np.array([setting[name] for setting in self.settings]) for name in self.box.names}
        table |= {f"split{k}_test_score": scores[:, k] for k in range(self.n_splits)}
        return table | {
            "mean_test_score": means,
            "std_test_score": np.where(np.isnan(means), np.nan, scores.std(axis=1)),
            "rank_test_score": 1 + np.array([int(np.sum(ranked > score)) for score in ranked]),
            "mean_fit_time": np.array([outcome.fit_time for outcome in self.outcomes]),
            "mean_score_time": np.array([outcome.score_time for outcome in self.outcomes]),
            "round": np.array(self.rounds),
            "split_random_state": np.array(self.seeds),
            "error": np.array([outcome.error for outcome in self.outcomes], dtype=object),
        }


def _mean(outcome: _Outcome) -> float:
    return float("nan") if outcome.error else float(np.mean(outcome.scores))


def named(box: Box, x: Vector) -> dict[str, float]:
    """Return a setting by the names of its hyper-parameters."""
    return dict(zip(box.names, x.tolist(), strict=True))


def choose_splitter(cv: Any, y: Any, X: Any, is_classification: bool) -> Any:  # noqa: N803
    """Return what draws the splits of one measurement from a ``random_state``."""
    is_stratified = is_classification and y is not None and type_of_target(y) in ("binary", "multiclass")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n < 2:
        raise UsageError(f"the data must be split into two parts, got n_samples={n}. Give two samples at least.")
    if cv is None:
        n_test = math.ceil(TEST_SHARE * n)
        if not is_stratified:
            return ShuffleSplit(1, test_size=n_test)
        return StratifiedShuffleSplit(1, test_size=max(n_test, len(np.unique(y))))  # one of each class at least
    if isinstance(cv, numbers.Integral) and not isinstance(cv, bool):
        return (StratifiedKFold if is_stratified else KFold)(int(cv), shuffle=True)
    if not (hasattr(cv, "split") and hasattr(cv, "random_state") and getattr(cv, "shuffle", True)):
        raise UsageError(
            f"cv must draw its splits at random, got {cv!r}. Each measurement draws its own: give a number of folds, "
            f"or a splitter with a random_state such as ShuffleSplit(1), KFold(5, shuffle=True), GroupShuffleSplit(1)."
        )
    return cv
