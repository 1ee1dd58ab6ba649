"""What one would use instead, each recommending in its own way: cma, Py-BOBYQA, Optuna's TPE, a one-shot quadratic.

The packages are imported when they are used, so that a contest without them needs none of them.
"""

import importlib
import warnings
from typing import Any

import numpy as np

from contest.solvers.adapter import Answer, Meter
from paraboloid.core import Vector
from paraboloid.numerics import features, vector_to_matrix
from paraboloid.numerics.saddle import lowest_in_box

_NEVER = 10**9


def package(name: str) -> Any:
    """Return an imported package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cma warns that it cannot plot
        return importlib.import_module(name)


def cma_mean(meter: Meter, seed: int) -> Answer:
    """Return the mean of CMA-ES: start in the centre, step 0.3 of the range, no early end (noise would feign one)."""
    ends = {"tolfun": 0, "tolx": 0, "tolfunhist": 0, "tolflatfitness": _NEVER, "tolstagnation": _NEVER}
    options = {"verbose": -9, "seed": seed + 1, "bounds": [-1, 1], **ends}
    strategy = package("cma").CMAEvolutionStrategy(np.zeros(meter.d), 0.6, options)
    while meter.left >= strategy.popsize:
        points = strategy.ask()
        strategy.tell(points, meter.measure(np.array(points)).tolist())
    return Answer(np.clip(strategy.result.xfavorite, -1.0, 1.0))


def bobyqa(meter: Meter, seed: int) -> Answer:
    """Return the answer of Py-BOBYQA with noise on, from the centre, radius 0.3 of the range at first."""
    pybobyqa, best = package("pybobyqa"), np.zeros(meter.d)
    state = np.random.get_state()
    np.random.seed(seed)  # Py-BOBYQA draws from numpy's global generator
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = pybobyqa.solve(
                lambda z: float(meter.measure(z[None, :])[0]),
                best,
                bounds=(-np.ones(meter.d), np.ones(meter.d)),
                maxfun=meter.budget,
                rhobeg=0.6,
                objfun_has_noise=True,
                do_logging=False,
            )
    finally:
        np.random.set_state(state)
    if found.x is None:
        raise RuntimeError(f"Py-BOBYQA gave no answer: {found.msg}")
    return Answer(np.clip(found.x, -1.0, 1.0), {"flag": int(found.flag)})


def tpe(meter: Meter, seed: int) -> Answer:
    """Return the best trial of Optuna's TPE, which is what a study recommends."""
    optuna = package("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    names = [f"x{i}" for i in range(meter.d)]

    def objective(trial: Any) -> float:
        point = np.array([trial.suggest_float(name, -1.0, 1.0) for name in names])
        return float(meter.measure(point[None, :])[0])

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=meter.budget)
    return Answer(np.array([study.best_params[name] for name in names]))


def one_shot(meter: Meter, seed: int) -> Answer:
    """Return the minimum on the box of a quadratic fitted by least squares to uniform random points."""
    points = np.random.default_rng([seed, 1]).uniform(-1, 1, (meter.budget, meter.d))
    values = meter.measure(points)
    theta: Vector = np.linalg.lstsq(features(points), values, rcond=None)[0].astype(np.float64)
    hessian = vector_to_matrix(theta[meter.d + 1 :], meter.d)
    return Answer(lowest_in_box(hessian, theta[1 : meter.d + 1]))


__all__ = ["bobyqa", "cma_mean", "one_shot", "tpe"]
