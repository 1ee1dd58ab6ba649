"""What looking for other shapes costs where the function is a quadratic, and how often one is taken for another shape.

The search as it is and the same with ``smooth=False``, on the same instances with the same seeds: exact quadratics of
condition 1 to 1000 with the minimum at 0 to 0.9, ball and box by turns, at T = 3p, 10p and 1000. Two ratios, with
standard errors: of mean regrets (each over V* of its instance), which the noise of single runs blurs; and of those that
the measured points give to first order, ½ tr(A⁻¹ G (ΦᵀΦ)⁻¹ Gᵀ), in which the noise has no part. Then the share of runs
that end with the verdict "not quadratic", under three kinds of noise. ``python benchmarks/no_loss.py --help``.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import itertools
import json
from concurrent.futures import as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from contest.provenance import made_by
from regret import Cell, Instance, domain_of

from paraboloid import instance_limit, run
from paraboloid.algorithms import adaptive
from paraboloid.core import Vector
from paraboloid.numerics import n_terms

CONDITIONS, DISTANCES = (1.0, 10.0, 100.0, 1000.0), (0.0, 0.3, 0.6, 0.9)
NOISES = ("gaussian", "t(3)", "unequal")
Row = dict[str, Any]
AT_ONCE = 10  # runs that a process makes before it reports


@dataclass(frozen=True)
class Pair:
    """Regret over V*, and expected regret over V*, with the look for other shapes and without; and its verdict."""

    regret: tuple[float, float]
    expected: tuple[float, float]
    is_false_alarm: bool


def run_pairs(d: int, T: int, noise: str, seeds: list[int], *, alone: bool) -> list[Pair]:
    """Return runs at instances that go through all conditions and distances; ``alone`` leaves the second search out."""
    corners = list(itertools.product(CONDITIONS, DISTANCES, ("ball", "box")))
    pairs = []
    for seed in seeds:
        condition, rho, shape = corners[seed % len(corners)]
        cell = Cell(shape, d, condition, rho, T, noise=noise)
        found = []
        for smooth in (True,) if alone else (True, False):
            instance = Instance(cell, seed)
            noise_of_run = np.random.default_rng([seed, T])
            result = run.simulate(
                adaptive(domain_of(cell), budget=T, seed=seed, smooth=smooth), instance, rng=noise_of_run
            )
            is_quadratic = result.certificate is None or result.certificate.is_quadratic
            limit = instance_limit(instance.hessian, instance.minimiser, domain_of(cell)) / T
            found.append((instance.regret(result.x) / limit, instance.expected_regret() / limit, is_quadratic))
        (ours, expected, is_quadratic), (plain, plain_expected, _) = found[0], found[-1]
        pairs.append(Pair((ours, plain), (expected, plain_expected), not is_quadratic))
    return pairs


def ratio_of_means(values: Vector) -> tuple[float, float]:
    """Return the ratio of the means of two columns of pairs, and its standard error."""
    many, one = values[:, 0], values[:, 1]
    ratio = float(many.mean() / one.mean())
    return ratio, float(np.std(many - ratio * one, ddof=1) / len(one) ** 0.5 / one.mean())


def interval(count: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, in per cent."""
    z, p = 1.96, count / n
    middle, half = (p + z * z / (2 * n)), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    return 100 * max(0.0, middle - half) / (1 + z * z / n), 100 * (middle + half) / (1 + z * z / n)


def row_of(cell: tuple[int, str, int, str], pairs: list[Pair]) -> Row:
    """Return all runs of one d, T and noise: regret and expected regret with the look and without, and false alarms."""
    d, budget, T, noise = cell
    numbers = [[float(f"{value:.5g}") for value in (*pair.regret, *pair.expected)] for pair in pairs]
    alarms = sum(pair.is_false_alarm for pair in pairs)
    return {"d": d, "budget": budget, "T": T, "noise": noise, "false_alarms": alarms, "runs": numbers}


def report(rows: list[Row]) -> str:
    """Return both tables in Markdown."""
    lines = ["| d | T | runs | ratio of mean regrets | ratio of expected regrets |", "|---|---|---|---|---|"]
    everything = []
    for row in sorted(rows, key=lambda row: (row["d"], row["T"])):
        if row["noise"] == "gaussian":
            runs = np.array(row["runs"])
            everything.append(runs)
            lines.append(f"| {row['d']} | {row['budget']} | {len(runs)} | {_ratios(runs)} |")
    if everything:
        runs = np.vstack(everything)
        lines.append(f"| all | all | {len(runs)} | {_ratios(runs)} |")
    lines += ["", "| noise | runs | 'not quadratic', per cent (95 % interval) |", "|---|---|---|"]
    for noise in NOISES:
        mine = [row for row in rows if row["noise"] == noise]
        if mine:
            n, alarms = sum(len(row["runs"]) for row in mine), sum(row["false_alarms"] for row in mine)
            low, high = interval(alarms, n)
            lines.append(f"| {noise} | {n} | {100 * alarms / n:.2f} ({low:.2f} to {high:.2f}) |")
    return "\n".join(lines)


def _ratios(rows: Vector) -> str:
    return " | ".join("{:.3f} ± {:.3f}".format(*ratio_of_means(rows[:, k : k + 2])) for k in (0, 2))


def main() -> None:
    """Run all cells over processes and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--budgets", nargs="+", default=["3p", "10p", "1000"], help="numbers, or multiples of p")
    parser.add_argument("--noises", nargs="+", default=list(NOISES), choices=NOISES)
    parser.add_argument("--seeds", type=int, default=640, help="runs for each d, T and noise (default 640)")
    parser.add_argument("--first-seed", type=int, default=80_000, help="scored seeds start here; tune on others")
    parser.add_argument("--output", type=Path, help="write the runs here, a line for each d, T and noise")
    given = parser.parse_args()
    cells = []
    for d, name, noise in itertools.product(given.dimensions, given.budgets, given.noises):
        T = int(float(name[:-1]) * n_terms(d)) if name.endswith("p") else int(name)
        cells.append((d, name, T, noise))
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    pairs: dict[tuple[int, str, int, str], list[Pair]] = {cell: [] for cell in cells}
    with run.process_pool() as pool, run.progress_bar("no loss", len(cells) * given.seeds) as advance:
        futures = {}
        for cell, start in itertools.product(cells, range(0, given.seeds, AT_ONCE)):
            d, _, T, noise = cell
            some = list(seeds[start : start + AT_ONCE])
            futures[pool.submit(run_pairs, d, T, noise, some, alone=noise != "gaussian")] = cell
        for future in as_completed(futures):
            pairs[futures[future]] += future.result()
            advance(AT_ONCE)
    rows = [row_of(cell, found) for cell, found in pairs.items()]
    print(report(rows))
    if given.output:
        version = made_by()
        given.output.write_text("".join(json.dumps(row | version) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
