"""What is run: the quick contest of ``make bench`` and the full one of ``make bench-full``.

A contest is a list of parts; each part is problems, budgets, solvers and a number of seeds. Solvers whose own time is
long run on fewer seeds (`SLOW`, `SLOWEST`): they are compared on the seeds that they share with the others.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from contest.problems import GROUPS, chosen_names, kind_of
from contest.runner import Task, is_fitting, is_too_slow, n_measurements
from contest.solvers import NAMES

FIRST_SEED = 30_000
"""Scored seeds begin here; nothing was tuned on them. Tuning seeds are 500 to 999."""
SLOW = {"bobyqa", "bobyqa+", "optuna-cmaes", "cobyqa", "cobyqa+"}
SLOWEST = {"tpe", "tpe+", "ngopt", "ngopt+", "optuna-gp", "skopt", "botorch"}
CLOSE = {"paraboloid", "paper-told", "composite", "box-behnken", "one-shot", "sphere", "sequential+"}
"""Ours and those that come near to it on quadratics: they need more seeds to be told apart."""

BBOB = tuple(name for name in GROUPS["listed"] if name.startswith("bbob"))
SIMOPT = ("simopt_san1", "simopt_sscont1", "simopt_cntnews1", "simopt_paramesti1")
APPLIED = ("vqe_tfim6_d8", "pendulum_d3")
SMOOTH = ("rosen_d2", "rosen_d5", "cosh_d5", "quart_d5", "logis_d5", *GROUPS["unlisted"])


@dataclass(frozen=True, slots=True)
class Part:
    """Problems, budgets and solvers that are run on the same number of seeds."""

    problems: tuple[str, ...]
    budgets: tuple[str, ...]
    n_close: int
    n_seeds: int
    n_slow: int
    n_slowest: int
    solvers: tuple[str, ...] = NAMES

    def seeds_of(self, solver: str) -> int:
        """Return the number of seeds of a solver."""
        if solver in SLOWEST:
            return self.n_slowest
        return self.n_slow if solver in SLOW else self.n_close if solver in CLOSE else self.n_seeds


QUICK_QUADRATICS = (
    "quad_d2_c100_r0.5_gauss",
    "quad_d5_c1_r0_gauss",
    "quad_d5_c100_r0.5_gauss",
    "quad_d5_c100_r0.5_t3",
    "quad_d5_c100_r0.5_skew",
    "quad_d5_c100_r0.5_unequal",
    "quad_d5_c10000_r0.9_gauss",
    "quad_d10_c100_r0.5_gauss",
    "ball_d2_c10_r0.9_gauss",
    "ball_d5_c100_r0.5_gauss",
    "ball_d10_c10000_r0_gauss",
)
QUICK_BBOB = (
    "bbobnoisy_f101_d5",
    "bbobnoisy_f103_d5",
    "bbobnoisy_f107_d5",
    "bbobnoisy_f108_d2",
    "bbobnoisy_f109_d5",
    "bbobnoisy_f116_d5",
    "bbobnoisy_f117_d2",
    "bbobnoisy_f118_d10",
)
_QUICK = tuple(name for name in NAMES if name not in {"optuna-gp", "skopt", "botorch"})
_FAST = tuple(name for name in NAMES if name not in SLOW | SLOWEST)
_LONG_TO_MEASURE = ("simopt_sscont1", "pendulum_d3")
_QUICK_OTHERS = tuple(n for n in (*QUICK_BBOB, *SMOOTH, *SIMOPT, *APPLIED) if n not in _LONG_TO_MEASURE)
_OF_EACH_KIND = ("paraboloid", "sequential+", "one-shot", "spsa+", "cma", "tpe", "bobyqa", "nelder-mead+")
_THIRD_PARTY = (*BBOB, *SMOOTH, *SIMOPT, *APPLIED, "svr_diabetes_d3")
_CURVES = ("quad_d5_c100_r0.5_gauss", "ball_d5_c100_r0.5_gauss")
_FULL_QUADRATICS = (
    *chosen_names([f"{region}_d*_c{c}_r*_gauss" for region in ("quad", "ball") for c in (1, 100, 10000)]),
    *chosen_names(
        [f"{region}_d5_c100_r*_{noise}" for region in ("quad", "ball") for noise in ("t3", "skew", "unequal")]
    ),
)
_CLOSE = tuple(name for name in NAMES if name in CLOSE)
_CLOSEST = ("quad_d2_c100_r0.5_gauss", "ball_d2_c10_r0.9_gauss", "quad_d5_c1_r0_gauss")
SETS: dict[str, tuple[Part, ...]] = {
    "quick": (
        Part(QUICK_QUADRATICS, ("2p",), 20, 5, 3, 3, _QUICK),
        Part(QUICK_QUADRATICS, ("10p",), 20, 5, 3, 0, _QUICK),
        Part(("quad_d2_c100_r0.5_gauss", "ball_d5_c100_r0.5_gauss"), ("2p",), 3, 3, 3, 3, ("skopt",)),
        Part(("quad_d20_c10_r0.5_gauss",), ("2p",), 5, 3, 0, 0, _QUICK),
        Part(_CURVES, ("5p", "30p", "100p"), 10, 5, 0, 0, _FAST),
        Part(_QUICK_OTHERS, ("200",), 5, 5, 3, 0, _QUICK),
        Part(_LONG_TO_MEASURE, ("200",), 3, 3, 3, 0, _QUICK),
        Part(_QUICK_OTHERS[::2], ("200",), 3, 3, 3, 3, ("tpe", "tpe+", "ngopt", "ngopt+")),
        Part(_QUICK_OTHERS, ("1000",), 4, 4, 3, 0, _QUICK),
        Part(("svr_diabetes_d3",), ("200",), 3, 3, 3, 3, _OF_EACH_KIND),
        # Where twenty runs did not decide between us and the nearest, more of both.
        Part(_CLOSEST, ("2p", "10p"), 400, 0, 0, 0, _CLOSE),
        Part(_CLOSEST[:1], ("2p",), 1600, 0, 0, 0, _CLOSE),  # with 12 measurements a few runs weigh as much as the rest
        Part(("quad_d5_c100_r0.5_t3",), ("2p", "10p"), 120, 0, 0, 0, _CLOSE),
        Part(("ball_d5_c100_r0.5_gauss",), ("5p",), 120, 0, 0, 0, _CLOSE),
    ),
    "long": (Part(_QUICK_OTHERS[::2], ("5000",), 3, 3, 0, 0, _FAST),),
    "models": (
        Part(("quad_d2_c100_r0.5_gauss", "ball_d5_c100_r0.5_gauss"), ("2p",), 3, 3, 3, 3, ("optuna-gp", "botorch")),
    ),
    "full": (
        Part(_FULL_QUADRATICS, ("2p", "10p"), 50, 20, 5, 3),
        Part(_CURVES, ("5p", "30p", "100p", "1000p"), 50, 20, 0, 0),
        Part(_THIRD_PARTY, ("50",), 10, 10, 5, 3),
        Part(_THIRD_PARTY, ("200", "1000"), 20, 20, 5, 3),
        Part(_THIRD_PARTY, ("5000",), 10, 10, 3, 0),
    ),
}
"""Two small sets stand beside the quick one in the committed results. ``long``: every second of its other problems at
T = 5000, for all but the slow solvers. ``models``: two of its quadratics for the slowest, which need torch.
"""


def tasks_of_set(name: str, first_seed: int = FIRST_SEED) -> Iterator[Task]:
    """Yield every run of a contest once, seed by seed, so that one stopped early has whole seeds."""
    parts, seen = SETS[name], set[Task]()
    for offset in range(max(max(part.n_close, part.n_seeds) for part in parts)):
        for part in parts:
            for task in _of_part(part, first_seed + offset, offset):
                if task not in seen and not is_too_slow(task) and is_fitting(task):
                    seen.add(task)
                    yield task


def _of_part(part: Part, seed: int, offset: int) -> Iterator[Task]:
    for problem in part.problems:
        d, _ = kind_of(problem)
        for T in dict.fromkeys(n_measurements(budget, d) for budget in part.budgets):
            yield from (Task(problem, T, name, seed) for name in part.solvers if offset < part.seeds_of(name))
