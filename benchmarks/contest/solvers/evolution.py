"""Evolution strategies: cma (mean as answer, noise handling, large population) and nevergrad's."""

from functools import partial
from typing import Any

import numpy as np

from contest.solvers.adapter import Answer, BudgetSpentError, Meter, Solver, global_seed, package

_NEVER = 10**9
_NO_EARLY_END = {"tolfun": 0, "tolx": 0, "tolfunhist": 0, "tolflatfitness": _NEVER, "tolstagnation": _NEVER}
"""Noise would feign convergence."""


def _strategy(meter: Meter, seed: int, population: int | None = None) -> Any:
    options = {"verbose": -9, "seed": seed + 1, "bounds": [-1, 1], **_NO_EARLY_END}
    if population is not None:
        options["popsize"] = population
    return package("cma").CMAEvolutionStrategy(np.zeros(meter.d), 0.6, options)


def _mean_of(strategy: Any) -> Answer:
    return Answer(np.clip(strategy.result.xfavorite, -1.0, 1.0))


def cma_mean(growth: float, meter: Meter, seed: int) -> Answer:
    """Return the mean of CMA-ES: start in the centre, step 0.3 of the range, population ``growth`` times the default.

    A population is never larger than a tenth of the budget allows: ten generations are the least that can adapt.
    """
    default = 4 + int(3 * np.log(meter.d))
    population = None if growth == 1 else max(default, min(int(growth * default), meter.budget // 10))
    strategy = _strategy(meter, seed, population)
    while meter.left >= strategy.popsize:
        points = strategy.ask()
        strategy.tell(points, meter.measure(np.array(points)).tolist())
    return _mean_of(strategy)


def cma_noise(meter: Meter, seed: int) -> Answer:
    """Return the mean of CMA-ES with the noise handling of Hansen et al. (2009), up to 30 evaluations a point."""
    with global_seed(seed):
        strategy = _strategy(meter, seed)
        handler = package("cma").NoiseHandler(meter.d, maxevals=[1, 1, 30])
        mean = np.zeros(meter.d)
        try:
            while meter.left > 0:
                points, values = strategy.ask_and_eval(meter.measure_one, evaluations=handler.evaluations)
                strategy.tell(points, values)
                mean = np.array(strategy.result.xfavorite)
                strategy.sigma *= handler(points, values, meter.measure_one, strategy.ask)
        except BudgetSpentError:  # in the middle of a generation
            pass
    return Answer(np.clip(mean, -1.0, 1.0))


def nevergrad(name: str, is_noisy_told: bool, meter: Meter, seed: int) -> Answer:
    """Return what one of nevergrad's optimisers recommends; an expert tells it that the function is noisy."""
    ng = package("nevergrad")
    with global_seed(seed):
        knobs = ng.p.Array(shape=(meter.d,)).set_bounds(-1.0, 1.0)
        knobs.random_state = np.random.RandomState(seed % 2**32)
        if is_noisy_told:
            knobs.function.deterministic = False
        optimiser = ng.optimizers.registry[name](parametrization=knobs, budget=meter.budget, num_workers=1)
        for _ in range(meter.budget):
            asked = optimiser.ask()
            optimiser.tell(asked, meter.measure_one(asked.value))
        return Answer(np.asarray(optimiser.provide_recommendation().value, dtype=float))


SOLVERS: dict[str, Solver] = {
    "cma": partial(cma_mean, 1.0),
    "cma-large": partial(cma_mean, 2.0),
    "cma-noise": cma_noise,
    "ngopt": partial(nevergrad, "NGOpt", False),
    "ngopt+": partial(nevergrad, "NGOpt", True),
    "tbpsa": partial(nevergrad, "TBPSA", True),
    "noisy-1+1": partial(nevergrad, "OptimisticNoisyOnePlusOne", True),
}
