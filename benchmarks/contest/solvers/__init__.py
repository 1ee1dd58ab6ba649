"""Every solver by name, behind one adapter. A name that ends in ``+`` is set as a fair expert would set it."""

import importlib.metadata
import math
from dataclasses import dataclass

from contest.solvers import astro, bayesian, classical, evolution, gradient, local, ours, paper
from contest.solvers.adapter import Solver, package

__all__ = [
    "FAMILIES",
    "FROM_CENTRE",
    "NAMES",
    "TOLD",
    "fits",
    "load_package",
    "named_solver",
    "slow_above",
    "version_of",
]


@dataclass(frozen=True, slots=True)
class Family:
    """Solvers that come from one package."""

    solvers: dict[str, Solver]
    distribution: str
    module: str


def _of(solvers: dict[str, Solver], *names: str) -> dict[str, Solver]:
    return {name: solvers[name] for name in names}


FAMILIES = (
    Family(paper.SOLVERS, "paraboloid", "paraboloid"),
    Family(classical.SOLVERS, "numpy", "numpy"),
    Family(gradient.SOLVERS, "numpy", "numpy"),
    Family(_of(evolution.SOLVERS, "cma", "cma-large", "cma-noise"), "cma", "cma"),
    Family(_of(evolution.SOLVERS, "ngopt", "ngopt+", "tbpsa", "noisy-1+1"), "nevergrad", "nevergrad"),
    Family(_of(bayesian.SOLVERS, "tpe", "tpe+", "optuna-cmaes", "optuna-gp"), "optuna", "optuna"),
    Family(_of(bayesian.SOLVERS, "skopt"), "scikit-optimize", "skopt"),
    Family(_of(bayesian.SOLVERS, "botorch"), "botorch", "botorch"),
    Family(_of(local.SOLVERS, "bobyqa", "bobyqa+"), "Py-BOBYQA", "pybobyqa"),
    Family(
        {name: solver for name, solver in local.SOLVERS.items() if not name.startswith(("bobyqa", "noisyopt"))},
        "scipy",
        "scipy.optimize",
    ),
    Family(
        _of(local.SOLVERS, "noisyopt-compass", "noisyopt-compass+", "noisyopt-spsa"),
        "noisyopt",
        "noisyopt",
    ),
    Family(astro.SOLVERS, "simoptlib", "simopt.solvers.astrodf"),
)
_FAMILY = {name: family for family in FAMILIES for name in family.solvers}
NAMES = ("paraboloid", *_FAMILY)
TOLD = {"paper-told"}
"""Solvers that are told what nobody else knows: shown, never ranked."""
FROM_CENTRE = {
    *gradient.SOLVERS,
    *local.SOLVERS,
    *evolution.SOLVERS,
    *astro.SOLVERS,
    *("sequential", "sequential+", "optuna-cmaes"),
} - {"differential-evolution", "differential-evolution+"}
"""Solvers that begin in the centre: where the minimum lies there they begin at the answer, and are not ranked."""
_SLOW_ABOVE = {"tpe": 1000, "tpe+": 1000, "optuna-gp": 100, "skopt": 60, "botorch": 100}
"""Budgets above which a solver is left out unless asked for: its time grows with the square or cube of the budget."""
_LEAST_KNOBS = {"box-behnken": 3, "optuna-cmaes": 2, "cma": 2, "cma-large": 2, "cma-noise": 2}
"""Box-Behnken designs exist from three knobs on; cma does not search along a line."""
_ONLY_QUADRATIC = {"paper-told", "paper", "paper+"}
"""The paper's algorithms assume a quadratic with noise of unit variance, in the units that it comes in."""


def named_solver(name: str) -> Solver:
    """Return a solver by name; ``paraboloid:...`` is a variant of ours (see `contest.solvers.ours`)."""
    head, _, rest = name.partition(":")
    if head == "paraboloid":
        return ours.variant(rest)
    if name not in _FAMILY:
        raise KeyError(f"no solver is called {name!r}; there are {', '.join(NAMES)}, and paraboloid:NAME=VALUE,...")
    return _FAMILY[name].solvers[name]


def slow_above(name: str) -> float:
    """Return the budget above which a solver is left out unless asked for."""
    return _SLOW_ABOVE.get(name, math.inf)


def fits(name: str, d: int, T: int, *, is_quadratic: bool) -> bool:
    """Return whether a solver is made for problems and budgets of this kind."""
    if name in {"paper", "paper+"} and T < paper.smallest_budget(d):
        return False
    return d >= _LEAST_KNOBS.get(name, 1) and (is_quadratic or name not in _ONLY_QUADRATIC)


def load_package(name: str) -> None:
    """Import what a solver needs, so that the first run is not timed with it."""
    if name in _FAMILY:
        package(_FAMILY[name].module)


def version_of(name: str) -> str:
    """Return the package and version behind a solver."""
    distribution = _FAMILY[name].distribution if name in _FAMILY else "paraboloid"
    return f"{distribution} {importlib.metadata.version(distribution)}"
