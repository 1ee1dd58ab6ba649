"""Noisy quadratics through Optuna's API: our sampler and recommendation beside Optuna's own.

Each row is one sampler, each column one way to recommend from the same trials: Optuna's ``best_params``, the mean of
the ten best trials, and `paraboloid.integrations.optuna.recommend`. The figure is the mean regret f(x) - min f over
fresh seeds, with its standard error. Problem: [-1, 1]^d, Hessian with eigenvalues from 10 to 1 in random directions,
minimum uniform in [-0.5, 0.5]^d, unit Gaussian noise. All samplers see the same problems. Run with
``python benchmarks/optuna_samplers.py --help``; needs ``optuna``, and ``cmaes`` for its row.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # set before numpy is loaded

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable

import numpy as np
import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, RandomSampler, TPESampler
from optuna.study import Study
from optuna.trial import Trial

from paraboloid.core import Matrix, Vector
from paraboloid.integrations.optuna import QuadraticSampler, recommend

SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "QuadraticSampler": lambda seed: QuadraticSampler(seed=seed),
    "TPESampler": lambda seed: TPESampler(seed=seed),
    "CmaEsSampler": lambda seed: CmaEsSampler(seed=seed),
    "RandomSampler": lambda seed: RandomSampler(seed=seed),
}
WAYS = ("best_params", "mean of best 10", "recommend")


def problem(d: int, seed: int) -> tuple[Matrix, Vector]:
    """Return the Hessian and the minimum of problem number ``seed``."""
    rng = np.random.default_rng([seed, d])
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray((Q * np.geomspace(10.0, 1.0, d)) @ Q.T, dtype=np.float64), rng.uniform(-0.5, 0.5, d)


def answers(study: Study, names: list[str]) -> list[Vector]:
    """Return the recommended settings, in the order of ``WAYS``."""
    best = sorted(study.trials, key=lambda trial: trial.values[0])[:10]
    mean = np.mean([[trial.params[name] for name in names] for trial in best], axis=0)
    found = recommend(study)
    return [np.array([study.best_params[n] for n in names]), mean, np.array([found[n] for n in names])]


def regrets(make: Callable[[int], BaseSampler], d: int, n_trials: int, seed: int) -> tuple[list[float], float]:
    """Return the regret of each recommendation, and the seconds that the study took."""
    A, minimum = problem(d, seed)
    noise, names = np.random.default_rng([seed, d, n_trials]), [f"x{k}" for k in range(d)]

    def regret(x: Vector) -> float:
        return float((x - minimum) @ A @ (x - minimum)) / 2

    def objective(trial: Trial) -> float:
        return regret(np.array([trial.suggest_float(name, -1, 1) for name in names])) + float(noise.standard_normal())

    study = optuna.create_study(sampler=make(seed))
    begin = time.perf_counter()
    study.optimize(objective, n_trials=n_trials)
    seconds = time.perf_counter() - begin
    return [regret(x) for x in answers(study, names)], seconds


def main() -> None:
    """Print one table for each dimension and number of trials."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--trials", type=int, nargs="+", default=[50, 200])
    given = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    samplers = dict(SAMPLERS)
    if importlib.util.find_spec("cmaes") is None:
        print("CmaEsSampler is left out: it needs the package cmaes.", file=sys.stderr)
        del samplers["CmaEsSampler"]
    for d in given.dimensions:
        for n_trials in given.trials:
            print(f"\nd = {d}, {n_trials} trials, {given.seeds} seeds: mean regret ± standard error\n")
            print(f"| sampler | {' | '.join(WAYS)} | seconds a study |\n|---|{'---|' * (len(WAYS) + 1)}")
            for name, make in samplers.items():
                runs = [regrets(make, d, n_trials, seed) for seed in range(given.seeds)]
                table = np.array([found for found, _ in runs])
                spread = table.std(axis=0, ddof=1) / np.sqrt(given.seeds)
                cells = [f"{mean:.3g} ± {error:.1g}" for mean, error in zip(table.mean(axis=0), spread, strict=True)]
                print(f"| {name} | {' | '.join(cells)} | {np.mean([s for _, s in runs]):.2g} |", flush=True)


if __name__ == "__main__":
    main()
