"""Whether the adaptive search keeps its promises: coverage of its bounds, accuracy on demand, heavy and skewed tails.

``coverage``: how often the regret bound and the intervals held, at 50, 90, 95 and 99 %, for T = 3p and 10p and five
noises. ``accuracy``: with ``eps=``, how often the regret was below it, and the measurements against an oracle that
knows the Hessian's and the noise's effect and needs as many as make the 95 % quantile of its regret equal to eps.
``tails``: mean regret · T / σ² over V* where the noise has heavy tails, or a skew and a variance that change over the
domain. Run with ``python benchmarks/promises.py --help``.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import json
from collections.abc import Callable, Iterator
from concurrent.futures import as_completed
from dataclasses import replace
from typing import Any

import numpy as np
from contest.provenance import made_by
from regret import NOISES, Cell, Instance, domain_of, run_cell, search

from paraboloid import instance_limit, problems, run
from paraboloid.algorithms import adaptive, conclude
from paraboloid.core import Evidence, Experiment, Matrix, Measurements
from paraboloid.design.closed_form import closed_form_design
from paraboloid.numerics import features, gradient_map, n_terms

LEVELS = (0.5, 0.9, 0.95, 0.99)
Row = dict[str, Any]

NOISES["skew that changes"] = problems.VaryingSkew([1.0, 0.5])


class _Noted:
    """A log that keeps the evidence."""

    def __init__(self, cell: Cell) -> None:
        self.domain = domain_of(cell)
        self.evidence = Evidence.empty(cell.d)

    def requested(self, experiment: Experiment) -> None:
        """Do nothing: only what was measured counts."""

    def measured(self, experiment: Experiment, measurements: Measurements) -> None:
        """Keep the measurements."""
        self.evidence = self.evidence.with_measurements(self.domain.to_unit(experiment.points), measurements)


def coverage(cell: Cell, seeds: list[int]) -> Row:
    """Return the shares of bounds and intervals that held, level by level."""
    held, inside, ratio = [], [], []
    for seed in seeds:
        instance, log = Instance(cell, seed), _Noted(cell)
        run.simulate(search(cell, seed), instance, rng=np.random.default_rng([seed, cell.T]), log=log)
        results = [conclude(log.evidence, domain_of(cell), confidence=level) for level in LEVELS]
        regret = instance.regret(results[0].x)
        certificates = [result.certificate for result in results]
        held.append([c is not None and regret <= c.regret_bound for c in certificates])
        inside.append(
            [
                np.mean((c.x_ci[:, 0] <= instance.minimiser) & (instance.minimiser <= c.x_ci[:, 1]))
                for c in certificates
                if c is not None
            ]
        )
        bound = certificates[2].regret_bound if certificates[2] is not None else np.inf
        ratio.append((bound, regret))
    bounds, regrets = np.array(ratio).T
    found: Row = {"runs": len(seeds), "bound/regret": float(np.median(bounds) / np.median(regrets))}
    for k, level in enumerate(LEVELS):
        found[f"bound {level:.0%}"] = float(np.mean([row[k] for row in held]))
        found[f"x {level:.0%}"] = float(np.mean([row[k] for row in inside]))
    return found


def accuracy(cell: Cell, seeds: list[int]) -> Row:
    """Return how often ``eps`` was kept, and the measurements it took over the oracle's."""
    kept, used = [], []
    for seed in seeds:
        instance = Instance(cell, seed)
        eps = oracle_quantile(cell, instance) / cell.T  # so that the oracle needs just T
        result = run.simulate(
            adaptive(domain_of(cell), eps=eps, seed=seed), instance, rng=np.random.default_rng([seed, cell.T])
        )
        kept.append(instance.regret(result.x) <= eps)
        used.append(result.n_measurements / cell.T)
    low, high = np.quantile(used, (0.25, 0.75))
    return {
        "runs": len(seeds),
        "kept": float(np.mean(kept)),
        "used/oracle": float(np.median(used)),
        "quartiles": f"{low:.2f} to {high:.2f}",
    }


def oracle_quantile(cell: Cell, instance: Instance) -> float:
    """Return the 95 % quantile of regret · T of the best design and least squares, by simulation of its normal law."""
    C, z = np.linalg.inv(instance.hessian).astype(np.float64), instance.minimiser
    rng = np.random.default_rng(0)
    points, weights = closed_form_design(domain_of(cell).shape, C, z, 20 * n_terms(cell.d), rng)
    phi, G = features(points), gradient_map(z)
    M: Matrix = (phi.T * weights) @ phi
    root = np.linalg.cholesky(C)
    covariance = root.T @ G @ np.linalg.pinv(M, rcond=1e-11, hermitian=True) @ G.T @ root
    eigenvalues = np.maximum(np.linalg.eigvalsh(covariance), 0.0)
    # On the box the closed form may be above V*: the oracle has V*.
    eigenvalues *= 2 * instance_limit(instance.hessian, z, domain_of(cell)) / eigenvalues.sum()
    draws = rng.standard_normal((20_000, cell.d)) ** 2 @ eigenvalues / 2
    return float(np.quantile(draws, 0.95))


def tails(cell: Cell, seeds: list[int]) -> Row:
    """Return the mean of regret · T over V* with its standard error."""
    ratios = np.array([row["ratio"] for row in run_cell(cell, seeds)])
    return {"runs": len(seeds), "ratio to V*": ratios.mean(), "error": ratios.std(ddof=1) / len(ratios) ** 0.5}


def coverage_cells() -> Iterator[Cell]:
    """Yield the cells of the table of coverage."""
    for noise in ("gaussian", "t(3)", "skewed", "unequal"):
        for d in (2, 5):
            for m in (3, 10):
                yield from (Cell(shape, d, 100.0, 0.5, m * n_terms(d), noise=noise) for shape in ("ball", "box"))


def accuracy_cells() -> Iterator[Cell]:
    """Yield the cells of the table of accuracy: budgets of the oracle."""
    for shape in ("ball", "box"):
        for d in (2, 5):
            for m in (5, 10, 30, 100):
                yield from (Cell(shape, d, condition, 0.5, m * n_terms(d)) for condition in (10.0, 1000.0))


def tails_cells() -> Iterator[Cell]:
    """Yield the cells of the table of tails."""
    for noise in ("gaussian", "t(2.5)", "skewed", "unequal"):
        yield from (Cell("ball", 5, 100.0, 0.3, T, noise=noise) for T in (1000, 10_000))
    for T in (300, 3000, 30_000, 300_000, 1_000_000):
        yield Cell("ball", 2, 10.0, 0.5, T, noise="skew that changes")


TABLES: dict[str, tuple[Callable[[Cell, list[int]], Row], Callable[[], Iterator[Cell]]]] = {
    "coverage": (coverage, coverage_cells),
    "accuracy": (accuracy, accuracy_cells),
    "tails": (tails, tails_cells),
}


def main() -> None:
    """Measure one table over processes and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted(TABLES), help="which table to measure")
    parser.add_argument("--seeds", type=int, default=200, help="runs per cell (default 200)")
    parser.add_argument("--first-seed", type=int, default=30_000, help="scored seeds start here; tuning used others")
    parser.add_argument("--workers", type=int, help="processes (default: one for each core)")
    parser.add_argument("--output", help="append JSON lines here")
    arguments = parser.parse_args()
    (measure, cells), version = TABLES[arguments.table], made_by()
    todo = list(cells())
    seeds = list(range(arguments.first_seed, arguments.first_seed + arguments.seeds))
    with run.process_pool(arguments.workers) as pool, run.progress_bar(arguments.table, len(todo)) as advance:
        futures = {pool.submit(measure, replace(cell), seeds): cell for cell in todo}
        for k, future in enumerate(as_completed(futures)):
            cell, found = futures[future], future.result()
            where = {"region": cell.shape, "d": cell.d, "condition": f"{cell.condition:g}", "T": cell.T}
            row = where | {"noise": cell.noise} | found
            if k == 0:
                print("| " + " | ".join(row) + " |\n" + "|---" * len(row) + "|")
            cells_of_row = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()]
            print("| " + " | ".join(cells_of_row) + " |", flush=True)
            if arguments.output:
                with open(arguments.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row | {"rho": cell.rho} | version) + "\n")
            advance(1)


if __name__ == "__main__":
    main()
