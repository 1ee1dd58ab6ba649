"""Every solver by name, behind one adapter."""

import importlib.metadata

from contest.solvers import ours, rivals
from contest.solvers.adapter import Solver

__all__ = ["NAMES", "TOO_SLOW_ABOVE", "load_package", "named_solver", "version_of"]

_RIVALS: dict[str, Solver] = {
    "cma": rivals.cma_mean,
    "bobyqa": rivals.bobyqa,
    "tpe": rivals.tpe,
    "one-shot": rivals.one_shot,
}
_MODULES = {"cma": "cma", "bobyqa": "pybobyqa", "tpe": "optuna"}
_PACKAGES = {"cma": "cma", "bobyqa": "Py-BOBYQA", "tpe": "optuna", "one-shot": "numpy"}
NAMES = ("paraboloid", *_RIVALS)
TOO_SLOW_ABOVE = {"tpe": 1000}
"""Budgets above which a solver is left out unless asked for: TPE's own time grows with the square of the budget."""


def named_solver(name: str) -> Solver:
    """Return a solver by name; ``paraboloid:...`` is a variant of ours (see `contest.solvers.ours`)."""
    head, _, rest = name.partition(":")
    if head == "paraboloid":
        return ours.variant(rest)
    if name not in _RIVALS:
        raise KeyError(f"no solver is called {name!r}; there are {', '.join(NAMES)}, and paraboloid:NAME=VALUE,...")
    return _RIVALS[name]


def load_package(name: str) -> None:
    """Import what a solver needs, so that the first run is not timed with it."""
    if name in _MODULES:
        rivals.package(_MODULES[name])


def version_of(name: str) -> str:
    """Return the package and version behind a solver."""
    package = _PACKAGES.get(name, "paraboloid")
    return f"{package} {importlib.metadata.version(package)}"
