"""Local and direct searches: Py-BOBYQA, SciPy's, noisyopt's, and SimOpt's ASTRO-DF.

They start in the centre and answer what they answer; one that is stopped by the budget answers the best it had seen.
SciPy's know nothing of noise: the expert (``+``) gives them means of several measurements, a first step of 0.3 of the
range, and begins again at the answer while there is budget.
"""

from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

from contest.solvers.adapter import Answer, BudgetSpentError, Meter, Solver, global_seed, package
from paraboloid.core import Vector

POINTS_PER_KNOB = {"bobyqa": 20, "nelder-mead": 40, "powell": 40, "cobyqa": 5, "differential-evolution": 80}
"""The expert's means: so many that this many points for each knob can be tried (chosen on tuning seeds)."""
METHODS = {
    "nelder-mead": "Nelder-Mead",
    "powell": "Powell",
    "cobyqa": "COBYQA",
    "differential-evolution": "differential-evolution",
}


def bobyqa(points_per_knob: int | None, meter: Meter, seed: int) -> Answer:
    """Return the answer of Py-BOBYQA with noise on, from the centre, radius 0.3 of the range at first.

    The expert gives it means, as its manual advises for noise.
    """
    n_means = n_in_mean(meter, points_per_knob)
    with global_seed(seed):  # Py-BOBYQA draws from numpy's global generator
        found = package("pybobyqa").solve(
            meter.measure_one,
            np.zeros(meter.d),
            bounds=(-np.ones(meter.d), np.ones(meter.d)),
            maxfun=meter.budget,
            rhobeg=0.6,
            objfun_has_noise=True,
            nsamples=(lambda *_: n_means) if n_means > 1 else None,
            do_logging=False,
        )
    if found.x is None:
        raise RuntimeError(f"Py-BOBYQA gave no answer: {found.msg}")
    return Answer(np.clip(found.x, -1.0, 1.0), {"flag": int(found.flag)})


class _Watched:
    """Means of a few measurements; remembers the lowest, for when the budget ends a search from outside."""

    def __init__(self, meter: Meter, n_means: int) -> None:
        self.meter, self.n, self.best = meter, n_means, (np.inf, np.zeros(meter.d))

    def __call__(self, z: Vector) -> float:
        if self.meter.left < self.n:
            raise BudgetSpentError("no whole mean is left")
        value = self.meter.mean_at(z, self.n)
        if value < self.best[0]:
            self.best = value, np.array(z, dtype=float)
        return value


def _search(method: str, function: _Watched, start: Vector, *, is_expert: bool, seed: int) -> Vector:
    d, most = start.size, function.meter.left // function.n
    bounds: Any = [(-1.0, 1.0)] * d
    options: dict[str, Any] = {"maxfev": most}
    search: Any = optimize.minimize  # with a method that is named at run time, no overload of its types can be chosen
    if method == "differential-evolution":
        rounds = max(1, most // (15 * d) - 1)
        return np.asarray(optimize.differential_evolution(function, bounds, maxiter=rounds, rng=seed, polish=False).x)
    if is_expert:
        simplex = np.vstack([start, start + 0.6 * np.where(start > 0.4, -1.0, 1.0) * np.eye(d)])
        special: dict[str, dict[str, Any]] = {
            "Nelder-Mead": {"initial_simplex": simplex, "adaptive": d > 4},
            "Powell": {"direc": 0.6 * np.eye(d)},
            "COBYQA": {"initial_tr_radius": 0.6, "final_tr_radius": 1e-3},
        }
        options |= special[method]
    found = search(function, start, method=method, bounds=bounds, options=options)
    return np.asarray(found.x, dtype=float)


def n_in_mean(meter: Meter, points_per_knob: int | None) -> int:
    """Return how many measurements make a mean, if so many points for each knob are to be tried."""
    return 1 if points_per_knob is None else max(1, meter.budget // (points_per_knob * meter.d))


def scipy(method: str, points_per_knob: int | None, meter: Meter, seed: int) -> Answer:
    """Return the answer of a search of SciPy; with a number of points for each knob, as an expert would use it."""
    n_means, is_expert = n_in_mean(meter, points_per_knob), points_per_knob is not None
    function, x = _Watched(meter, n_means), np.zeros(meter.d)
    with global_seed(seed):
        try:
            x = _search(method, function, x, is_expert=is_expert, seed=seed)
            while is_expert and meter.left >= n_means * (2 * meter.d + 2):
                x = _search(method, function, x, is_expert=is_expert, seed=seed + 1)
        except BudgetSpentError:
            x = function.best[1]
    return Answer(np.clip(x, -1.0, 1.0), {"left": meter.left})


def noisyopt_compass(first_n: int, step: float, meter: Meter, seed: int) -> Answer:
    """Return the place of noisyopt's compass search with adaptive averaging when the budget ends."""
    place = [np.zeros(meter.d)]
    with global_seed(seed):
        try:
            found = package("noisyopt").minimizeCompass(
                meter.measure_one,
                np.zeros(meter.d),
                bounds=[[-1.0, 1.0]] * meter.d,
                deltainit=step,
                funcNinit=first_n,
                paired=False,
                callback=lambda x: place.append(np.array(x)),
            )
            place.append(np.asarray(found.x))
        except BudgetSpentError:
            pass
    return Answer(place[-1])


def noisyopt_spsa(meter: Meter, seed: int) -> Answer:
    """Return the last place of noisyopt's SPSA with its own gains (a = c = 1)."""
    place = [np.zeros(meter.d)]
    with global_seed(seed):
        try:
            package("noisyopt").minimizeSPSA(
                meter.measure_one,
                np.zeros(meter.d),
                bounds=[[-1.0, 1.0]] * meter.d,
                niter=meter.budget // 2,
                paired=False,
                callback=lambda x: place.append(np.array(x)),
            )
        except BudgetSpentError:  # it measures once more at the end
            pass
    return Answer(place[-1] if np.all(np.isfinite(place[-1])) else place[0])


SOLVERS: dict[str, Solver] = {
    "bobyqa": partial(bobyqa, None),
    "bobyqa+": partial(bobyqa, POINTS_PER_KNOB["bobyqa"]),
    **{name: partial(scipy, method, None) for name, method in METHODS.items()},
    **{f"{name}+": partial(scipy, method, POINTS_PER_KNOB[name]) for name, method in METHODS.items()},
    "noisyopt-compass": partial(noisyopt_compass, 30, 1.0),
    "noisyopt-compass+": partial(noisyopt_compass, 3, 0.5),
    "noisyopt-spsa": noisyopt_spsa,
}
