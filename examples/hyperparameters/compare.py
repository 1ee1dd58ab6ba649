"""Tune a support vector machine on the diabetes data with searches of 100 fits each, and score their answers.

Run ``python examples/hyperparameters/compare.py --seeds 20``; it takes some minutes and prints a table. What an answer
is worth is the mean R² over 40 shuffles into five folds that no search has seen, the same for all answers. That is also
compared with the score that each search promises.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from paraboloid.integrations.sklearn import NoisySearchCV

LOW, HIGH = {"svr__C": 1.0, "svr__gamma": 1e-4}, {"svr__C": 1000.0, "svr__gamma": 1e-1}
MODEL = make_pipeline(StandardScaler(), SVR())


def ours(seed: int) -> Any:
    """Return 100 measurements on splits of their own."""
    space = {name: (LOW[name], HIGH[name], "log") for name in LOW}
    return NoisySearchCV(MODEL, space, n_iter=100, random_state=seed)


def ours_by_folds(seed: int) -> Any:
    """Return 20 measurements, each the mean of five shuffled folds of its own."""
    return ours(seed).set_params(n_iter=20, cv=5)


def at_random(seed: int) -> Any:
    """Return 20 random settings on the same five folds."""
    distributions = {name: loguniform(LOW[name], HIGH[name]) for name in LOW}
    folds = KFold(5, shuffle=True, random_state=seed)
    return RandomizedSearchCV(MODEL, distributions, n_iter=20, cv=folds, random_state=seed)


def on_a_grid(seed: int) -> Any:
    """Return a grid of 4 by 5 settings on the same five folds."""
    grid = {name: np.geomspace(LOW[name], HIGH[name], n) for name, n in zip(LOW, (4, 5), strict=True)}
    return GridSearchCV(MODEL, grid, cv=KFold(5, shuffle=True, random_state=seed))


SEARCHES: dict[str, Callable[[int], Any]] = {
    "NoisySearchCV(n_iter=100)": ours,
    "NoisySearchCV(n_iter=20, cv=5)": ours_by_folds,
    "RandomizedSearchCV(n_iter=20, cv=5)": at_random,
    "GridSearchCV, 4 by 5, cv=5": on_a_grid,
}


def scored(make: Callable[[int], Any], seed: int, repeats: int) -> tuple[float, float]:
    """Return what a search promises, and what its answer is worth."""
    X, y = load_diabetes(return_X_y=True)
    search = make(seed).fit(X, y)
    answer = clone(MODEL).set_params(**search.best_params_)
    # Means of five folds scatter by 0.01 from shuffle to shuffle, so that 40 know the truth to 0.002.
    further = RepeatedKFold(n_splits=5, n_repeats=repeats, random_state=10**6)
    return float(search.best_score_), float(cross_val_score(answer, X, y, cv=further).mean())


def scatter(repeats: int) -> tuple[float, float]:
    """Return by how much one split scatters at a good setting, and the mean of five folds."""
    X, y = load_diabetes(return_X_y=True)
    model = clone(MODEL).set_params(svr__C=150, svr__gamma=0.0065)
    splits = ShuffleSplit(5 * repeats, test_size=0.2, random_state=3)
    shuffles = [KFold(5, shuffle=True, random_state=seed) for seed in range(repeats)]
    one = cross_val_score(model, X, y, cv=splits)
    five = [cross_val_score(model, X, y, cv=folds).mean() for folds in shuffles]
    return float(np.std(one, ddof=1)), float(np.std(five, ddof=1))


def main() -> None:
    """Print a row for each search: means over seeds, each with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how often each search is run")
    parser.add_argument("--repeats", type=int, default=40, help="shuffles by which an answer is scored")
    given = parser.parse_args()
    n = given.seeds
    print("| search | R² promised | R² of the answer | promised less true, scatter |\n|---|---|---|---|")
    for name, make in SEARCHES.items():
        promised, true = np.array([scored(make, seed, given.repeats) for seed in range(n)]).T
        shown = [f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(n):.4f}" for values in (promised, true)]
        print(f"| {name} | {shown[0]} | {shown[1]} | {np.std(promised - true, ddof=1):.4f} |", flush=True)
    print("\nOne split scatters by {:.4f}, the mean of five folds by {:.4f}.".format(*scatter(max(2, given.repeats))))


if __name__ == "__main__":
    main()
