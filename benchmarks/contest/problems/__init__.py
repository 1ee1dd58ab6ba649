"""Every problem by name, and groups of names. A name and a seed make an instance."""

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache, partial

from contest.problem import Problem
from contest.problems import (
    bbob_noisy,
    bowls,
    circuit,
    controller,
    inventory,
    network,
    quadratics,
    regression,
    rosenbrock,
    simopt_small,
    unlisted,
)

__all__ = ["BUILDERS", "GROUPS", "chosen_names", "kind_of", "named_problem"]

Builder = Callable[[int], Problem]

_BBOB: dict[str, Builder] = {
    f"bbobnoisy_f{function}_d{d}": partial(bbob_noisy.build, function, d)
    for function in bbob_noisy.FUNCTIONS
    for d in (2, 5, 10)
}
_LISTED: dict[str, Builder] = {
    "rosen_d2": partial(rosenbrock.build, 2),
    "rosen_d5": partial(rosenbrock.build, 5),
    "cosh_d5": partial(bowls.build_cosh, 5),
    "quart_d5": partial(bowls.build_quartic, 5),
    "logis_d5": partial(bowls.build_logistic, 5),
    "vqe_tfim6_d8": circuit.build,
    "simopt_san1": network.build,
    "simopt_sscont1": inventory.build,
    "simopt_cntnews1": simopt_small.build_newsvendor,
    "simopt_paramesti1": simopt_small.build_gamma,
    "pendulum_d3": controller.build,
    "svr_diabetes_d3": regression.build,
    **_BBOB,
}
_UNLISTED: dict[str, Builder] = {
    "basins_d2": partial(unlisted.build_basins, 2),
    "periodic_d3": partial(unlisted.build_periodic, 3),
    "kinks_d3": partial(unlisted.build_kinks, 3),
    "edge_d4": partial(unlisted.build_edge, 4),
    "dose_d3": partial(unlisted.build_dose, 3),
    "skewed_d3": partial(bowls.build_skewed, 3),
}
_QUADRATICS: dict[str, Builder] = {
    f"{region}_d{d}_c{condition:g}_r{reach:g}_{noise}": partial(
        quadratics.build, d, condition, reach, noise, is_ball=region == "ball"
    )
    for region in ("quad", "ball")
    for d in (2, 5, 10, 20)
    for condition in (1.0, 10.0, 100.0, 1000.0, 10_000.0)
    for reach in (0.0, 0.5, 0.9)
    for noise in quadratics.NOISES
}
BUILDERS: dict[str, Builder] = {**_LISTED, **_UNLISTED, **_QUADRATICS}
GROUPS = {
    "listed": tuple(_LISTED),
    "unlisted": tuple(_UNLISTED),
    "quadratics": tuple(_QUADRATICS),
    "smooth": (*_LISTED, *_UNLISTED),
    "all": tuple(BUILDERS),
}


def chosen_names(wanted: list[str]) -> list[str]:
    """Return the names that groups, names and patterns such as ``quad_d5_*`` stand for, each once.

    Raises
    ------
    KeyError
        If one of them stands for nothing.
    """
    found: dict[str, None] = {}
    for word in wanted:
        names = GROUPS.get(word) or tuple(name for name in BUILDERS if fnmatchcase(name, word))
        if not names:
            raise KeyError(
                f"no problem is called {word!r}; there are the groups {', '.join(GROUPS)}, and patterns (*)."
            )
        found |= dict.fromkeys(names)
    return list(found)


def named_problem(name: str, seed: int) -> Problem:
    """Return the instance of a problem that belongs to a seed."""
    return BUILDERS[name](seed)


@cache
def kind_of(name: str) -> tuple[int, bool]:
    """Return the number of knobs of a problem, and whether it is an exact quadratic."""
    problem = named_problem(name, 0)
    return problem.d, problem.hessian is not None
