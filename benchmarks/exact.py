"""Functions without any noise that are no paraboloids: what is left of the regret, beside Py-BOBYQA's.

A deterministic simulation is not what this search is made for, and is often what it is given. Median of a few seeds, of
which Py-BOBYQA, run from the centre, needs none. ``python benchmarks/exact.py``, where `Py-BOBYQA` is installed
(the environment of ``make bench``); one to two minutes.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import json
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from contest.provenance import made_by

from paraboloid import minimize, run
from paraboloid.core import Vector

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pybobyqa


def rosenbrock(x: Vector) -> float:
    """Return Rosenbrock's valley over [-2, 2]."""
    u = 2 * x
    return float(np.sum(100 * (u[1:] - u[:-1] ** 2) ** 2 + (1 - u[:-1]) ** 2))


def cosh(x: Vector) -> float:
    """Return a sum of cosh about 0.3."""
    return float(np.sum(np.cosh(3 * (x - 0.3)) - 1))


def quartic(x: Vector) -> float:
    """Return a sum of squares and fourth powers about -0.2."""
    return float(np.sum((x + 0.2) ** 2 + 5 * (x + 0.2) ** 4))


def logistic(x: Vector) -> float:
    """Return a sum of logistic losses of both signs about 0.3."""
    u = 4 * (x - 0.3)
    return float(np.sum(np.logaddexp(0, u) + np.logaddexp(0, -u) - 2 * np.log(2)))


def rippled(x: Vector) -> float:
    """Return a bowl of condition 100 with ripples that are finer the nearer the minimum, as COCO's."""
    u = 5 * (x - 0.3)
    size = np.log(np.maximum(np.abs(u), 1e-300))
    fast, slow = np.where(u > 0, 10.0, 5.5), np.where(u > 0, 7.9, 3.1)
    bent = np.exp(size + 0.049 * (np.sin(fast * size) + np.sin(slow * size)))
    return float(np.sum(bent**2 * np.geomspace(1, 100, len(x))))


CELLS: list[tuple[Callable[[Vector], float], int]] = [
    (rosenbrock, 2),
    (rosenbrock, 5),
    (cosh, 5),
    (quartic, 5),
    (logistic, 3),
    (rippled, 2),
]


def ours(fun: Callable[[Vector], float], d: int, T: int, seed: int) -> float:
    """Return the regret of the search; every function is zero at its minimum."""
    return fun(minimize(fun, [(-1, 1)] * d, budget=T, rng=seed).x)


def theirs(fun: Callable[[Vector], float], d: int, T: int) -> float:
    """Return the regret of Py-BOBYQA with the noise off, from the centre."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pybobyqa.solve(
            fun, np.zeros(d), bounds=(-np.ones(d), np.ones(d)), maxfun=T, rhobeg=0.3, do_logging=False
        )
    return float(found.f)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=7, help="runs per cell (default 7)")
    parser.add_argument("--first-seed", type=int, default=50_000, help="tuning used 0 to 5")
    parser.add_argument("--budgets", type=int, nargs="+", default=[200, 1000], help="measurements")
    parser.add_argument("--output", type=Path, help="write JSON lines here")
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    print("| function | d | T | ours, median | worst | Py-BOBYQA |\n|---|---|---|---|---|---|")
    with run.process_pool(None) as pool:
        for fun, d in CELLS:
            for T in chosen.budgets:
                left = list(pool.map(partial(ours, fun, d, T), seeds))
                rows.append({"function": fun.__name__, "d": d, "T": T, "ours": left, "theirs": theirs(fun, d, T)})
                words = f"{np.median(left):.2g} | {max(left):.2g} | {rows[-1]['theirs']:.2g}"
                print(f"| {fun.__name__} | {d} | {T} | {words} |", flush=True)
    if chosen.output:
        version = made_by()
        chosen.output.write_text("".join(json.dumps(row | version) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
