"""The README's table and picture: regret against the number of measurements, beside the paper's and a classical way.

d = 2, A with eigenvalues 100 and 10 and random eigenvectors, |x₀| = 0.3, unit Gaussian noise, the unit ball. The
figure is the mean over seeds of regret · T, divided by ½(Tr A^-½)², with its standard error. Run with
``make comparison``.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from contest.provenance import made_by
from regret import Cell, Instance, random_design

from paraboloid import Ball, algorithms, numerics, run, theory
from paraboloid.core import Procedure

METHODS = {
    "Algorithm 1 (is told the Hessian)": "#777777",
    "adaptive (ours, knows nothing)": "#0072B2",
    "random design + least squares": "#E69F00",
    "universal, clipped around a robust centre": "#009E73",
    "universal, as printed in the paper": "#D55E00",
}
Row = dict[str, Any]
BUDGETS = (30, 100, 1000, 10_000, 100_000, 1_000_000)
CELL = Cell("ball", 2, 10.0, 0.3, 0)


def procedure(method: str, instance: Instance, T: int, seed: int) -> Procedure:
    """Return a fresh procedure of a method."""
    if method.startswith("Algorithm 1"):
        return algorithms.hessian_dependent(instance.hessian, T)
    if method.startswith("adaptive"):
        return algorithms.adaptive(Ball(np.zeros(2)), budget=T, seed=seed)
    if method.startswith("random"):
        return random_design(Cell("ball", 2, 10.0, 0.3, T), seed)
    truncation = numerics.AS_PRINTED if "printed" in method else numerics.CENTRED
    return algorithms.universal(2, T, truncation=truncation)


def ratios(method: str, T: int, seeds: list[int]) -> list[float]:
    """Return regret · T over the limit of Theorem 1 for each seed."""
    found = []
    for seed in seeds:
        instance = Instance(CELL, seed)
        result = run.simulate(procedure(method, instance, T, seed), instance, rng=seed)
        found.append(instance.regret(result.x) * T / theory.minimax_limit(instance.hessian))
    return found


def limits(seeds: list[int]) -> tuple[float, float]:
    """Return the bounds of V* over the limit of Theorem 1, averaged over the instances."""
    rows = []
    for seed in seeds:
        instance = Instance(CELL, seed)
        bounds = theory.instance_limit_bounds(instance.hessian, instance.minimiser, Ball(np.zeros(2)))
        rows.append(np.array(bounds) / theory.minimax_limit(instance.hessian))
    low, high = np.mean(rows, axis=0)
    return float(low), float(high)


def measure_all(n_seeds: int, first_seed: int) -> list[Row]:
    """Return a row for each method and budget, and with each the instance limit and the version that was measured."""
    rows: list[Row] = []
    low, high = limits(list(range(first_seed, first_seed + n_seeds)))
    version = {"limit_low": low, "limit_high": high, **made_by()}
    with run.process_pool() as pool, run.progress_bar("comparison", len(METHODS) * len(BUDGETS)) as advance:
        for method in METHODS:
            for T in BUDGETS:
                n = n_seeds if T < 1_000_000 else max(20, n_seeds // 4)
                if method.startswith("random") and T > 100_000:
                    advance(1)  # one row of the design matrix per measurement
                    continue
                blocks = np.array_split(np.arange(first_seed, first_seed + n), 16)
                try:
                    parts = pool.map(ratios, [method] * 16, [T] * 16, [[int(s) for s in block] for block in blocks])
                    values = np.array([value for part in parts for value in part])
                except ValueError:  # the budget is too small for this method
                    advance(1)
                    continue
                error = float(values.std(ddof=1) / n**0.5)
                mean = float(values.mean())
                rows.append({"method": method, "T": T, "seeds": n, "mean": mean, "error": error, **version})
                advance(1)
    return rows


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table, methods down, budgets across."""
    lines = ["| method | " + " | ".join(f"T = {T:,}" for T in BUDGETS) + " |", "|---" * (1 + len(BUDGETS)) + "|"]
    for method in METHODS:
        cells = []
        for T in BUDGETS:
            row = next((row for row in rows if row["method"] == method and row["T"] == T), None)
            cells.append("" if row is None else f"{row['mean']:.3g} ± {row['error']:.2g}")
        lines.append(f"| {method} | " + " | ".join(cells) + " |")
    low, high = (f"{rows[0][name]:.3g}" for name in ("limit_low", "limit_high"))
    limit = low if low == high else f"{low} to {high}"
    lines.append(
        f"| *instance limit V\\**: the best design without the Hessian | {limit} |" + "  |" * (len(BUDGETS) - 1)
    )
    return "\n".join(lines)


def draw(rows: list[Row], path: Path) -> None:
    """Write the picture."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "paraboloid"})
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for method, colour in METHODS.items():
        mine = [row for row in rows if row["method"] == method]
        T, mean = [row["T"] for row in mine], [row["mean"] for row in mine]
        axes.errorbar(T, mean, yerr=[2 * row["error"] for row in mine], color=colour, marker="o", label=method)
    axes.axhline(
        rows[0]["limit_low"], color="black", linestyle="--", label="instance limit: the best design without the Hessian"
    )
    axes.axhline(1, color="black", linestyle=":", label="limit of Theorem 1: the best possible with it")
    axes.set(xscale="log", yscale="log", xlabel="measurements T", ylabel="mean regret x T, limit of Theorem 1 = 1")
    figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def main() -> None:
    """Measure, print the table, write picture and results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="runs per cell (default 200)")
    parser.add_argument("--first-seed", type=int, default=20_000)
    parser.add_argument("--picture", type=Path, default=Path("docs/figures/comparison.png"))
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/comparison.jsonl"))
    arguments = parser.parse_args()
    rows = measure_all(arguments.seeds, arguments.first_seed)
    print(table(rows))
    draw(rows, arguments.picture)
    arguments.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
