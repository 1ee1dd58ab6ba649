"""How the experts' settings were chosen: on tuning seeds from 500 on, never on the scored ones (from 30,000 on).

For each solver with settings to choose, every candidate is run on the same problems and seeds; the one with the least
geometric mean of its regret, relative to the best candidate of the cell, is the expert's. ``python
benchmarks/everything.py tune`` prints the table; the chosen values stand in `contest.solvers`.
"""

import itertools
import zlib
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from contest.problems import named_problem
from contest.solvers import classical, evolution, gradient, local
from contest.solvers.adapter import Meter, Solver

SEEDS = range(500, 504)
BUDGETS = (200, 1000)
PROBLEMS = (
    "quad_d2_c10_r0.5_gauss",
    "quad_d5_c100_r0.5_gauss",
    "quad_d10_c10_r0.5_t3",
    "ball_d5_c100_r0.5_gauss",
    "bbobnoisy_f107_d5",
    "bbobnoisy_f101_d5",
    "rosen_d2",
    "cosh_d5",
    "periodic_d3",
    "vqe_tfim6_d8",
)
FLOOR = 1e-8
"""COCO's target: below it two answers are equally good."""


def _gains(is_spsa: bool) -> Iterator[tuple[str, Solver]]:
    alphas, gammas = ((0.602, 1.0), (0.101,)) if is_spsa else ((0.602, 1.0), (0.101, 0.25))
    grid = itertools.product(alphas, gammas, (0.1, 0.2, 0.4), (0.1, 0.3, 0.6), (False, True))
    for alpha, gamma, first_step, c, is_averaged in grid:
        gains = gradient.Gains(alpha=alpha, gamma=gamma, first_step=first_step, c=c, is_averaged=is_averaged)
        yield str(gains), partial(gradient.descend, is_spsa, gains)


def candidates() -> dict[str, list[tuple[str, Solver]]]:
    """Return, for each expert, the settings to choose from."""
    points = (5, 10, 20, 40, 80)
    return {
        "spsa+": list(_gains(is_spsa=True)),
        "kiefer-wolfowitz+": list(_gains(is_spsa=False)),
        "sequential+": [(f"width {w}", partial(classical.sequential, w)) for w in (0.3, 0.45, 0.6, 0.8)],
        "cma-large": [(f"{growth} times", partial(evolution.cma_mean, growth)) for growth in (2.0, 5.0, 10.0)],
        "bobyqa+": [(f"{n} points", partial(local.bobyqa, n)) for n in points],
        **{
            f"{name}+": [(f"{n} points", partial(local.scipy, method, n)) for n in points]
            for name, method in local.METHODS.items()
        },
        "noisyopt-compass+": [
            (f"{n} at first, step {step}", partial(local.noisyopt_compass, n, step))
            for n in (3, 5, 10, 20)
            for step in (0.25, 0.5)
        ],
    }


def regret_of(solver: Solver, problem: str, T: int, seed: int) -> float:
    """Return the regret of one run; a run that fails has that of the centre."""
    made = named_problem(problem, seed)
    meter = Meter(made, T, np.random.default_rng([seed, T, zlib.crc32(problem.encode())]))
    try:
        z = solver(meter, seed).z
    except Exception:  # whatever a solver does with a bad setting is its result
        z = np.zeros(meter.d)
    return max(FLOOR, made.regret(meter.in_knobs(z[None, :])[0]))


def scores(of: list[tuple[str, Solver]]) -> list[tuple[float, str]]:
    """Return (geometric mean of median regret over the best candidate's, setting), the best first."""
    cells = list(itertools.product(PROBLEMS, BUDGETS))
    medians = np.array(
        [[np.median([regret_of(solver, name, T, seed) for seed in SEEDS]) for name, T in cells] for _, solver in of]
    )
    relative = np.exp(np.log(medians / medians.min(axis=0)).mean(axis=1))
    return sorted(zip(relative.tolist(), [text for text, _ in of], strict=True))


def report(names: Iterable[str] = ()) -> Iterator[str]:
    """Yield, for each expert, its three best settings."""
    for name, of in candidates().items():
        if not names or name in names:
            best = "; ".join(f"{text}: {score:.2f}" for score, text in scores(of)[:3])
            yield f"{name}: {best}"
