"""Compare the problems that are written here from a description with the packages that they come from."""

import importlib
import os
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import ks_2samp

from contest.problems import bbob_noisy, named_problem

FARTHEST = 0.1
"""Greatest distance of two laws (Kolmogorov and Smirnov). The uniform model differs by 0.03 to 0.05: `cocoex` draws its
two numbers from neighbouring seeds of BBOB's old generator, and they are not independent; here they are. 4,000 draws on
each side leave an error below 0.06 in all but 1e-6 of cases."""


def _best_of(problem: object) -> np.ndarray:
    """Return the minimiser that COCO knows; it gives it away only through a file in the working folder."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            problem._best_parameter("print")  # type: ignore[attr-defined]  # a compiled class without types
            return np.atleast_1d(np.loadtxt("._bbob_problem_best_parameter.txt"))
        finally:
            os.chdir(here)


def compare_bbob_noisy(draws: int = 4000) -> list[str]:
    """Return one complaint for each function and dimension that differs from `cocoex`, and an empty list if none."""
    cocoex = importlib.import_module("cocoex")
    chosen = ",".join(str(function - 100) for function in bbob_noisy.FUNCTIONS)
    suite = cocoex.Suite("bbob-noisy", "instances:1-3", f"dimensions:2,5,10 function_indices:{chosen}")
    complaints, rng = [], np.random.default_rng(0)
    for theirs in suite:
        function, d, instance = theirs.id_function, theirs.dimension, theirs.id_instance
        ours = bbob_noisy.build(function, d, instance - 1)
        best, x = _best_of(theirs), rng.uniform(-5, 5, d)
        if ours.regret(best) > 1e-12:
            complaints.append(f"{theirs.id}: COCO's minimum {best} has regret {ours.regret(best):g} here")
        drawn = np.array([[theirs(x) for _ in range(draws)], ours.measure(np.tile(x, (draws, 1)), rng)])
        scale = ours.regret(x)  # rounded, since the Cauchy model repeats one value whose last digit may differ
        distance = float(ks_2samp(*np.round(drawn / scale, 6)).statistic)
        if distance > FARTHEST:
            complaints.append(f"{theirs.id}: the laws of the noise differ by {distance:.2g} at {x}")
        print(f"{theirs.id}: regret of COCO's minimum {ours.regret(best):.1g}, distance of the laws {distance:.3f}")
    return complaints


SIMOPT = {
    "simopt_cntnews1": ("cntnv", "CntNVMaxProfit", -1.0),
    "simopt_paramesti1": ("paramesti", "ParamEstiMaxLogLik", -1.0),
    "simopt_san1": ("san", "SANLongestPath", 1.0),
    "simopt_sscont1": ("sscont", "SSContMinCost", 1.0),
}
"""Our name: SimOpt's module, its class, and the sign that turns its value into ours."""


def compare_simopt(draws: int = 2000, places: int = 3) -> list[str]:
    """Return one complaint for each of SimOpt's problems whose values have another law here than in `simoptlib`."""
    base, generator = importlib.import_module("simopt.problem"), importlib.import_module("mrg32k3a.mrg32k3a").MRG32k3a
    complaints, rng = [], np.random.default_rng(0)
    for name, (module, kind, sign) in SIMOPT.items():
        theirs, ours = getattr(importlib.import_module(f"simopt.models.{module}"), kind)(), named_problem(name, 0)
        for place in range(places):
            x = rng.uniform(ours.lows, ours.highs)
            solution = base.Solution(tuple(x), theirs)
            streams = range(theirs.model.n_rngs)
            solution.attach_rngs([generator(s_ss_sss_index=[place, stream, 0]) for stream in streams], copy=False)
            theirs.simulate(solution, draws)
            drawn = sign * solution.objectives[:, 0], ours.measure(np.tile(x, (draws, 1)), rng)
            distance = float(ks_2samp(*drawn).statistic)
            print(f"{name} at {np.round(x, 2)}: distance of the laws {distance:.3f}")
            if distance > FARTHEST:
                complaints.append(f"{name}: the laws differ by {distance:.2g} at {x}")
    return complaints
