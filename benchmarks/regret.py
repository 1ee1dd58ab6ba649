"""How near the adaptive search comes to the instance limit, and how far classical designs stay from it.

Every row is one cell: region, dimension, condition number, distance of the minimum, budget. The figure is the mean over
fresh seeds of regret · T / σ² divided by V*, with its standard error; V* is the instance limit for d ≤ 10 and its
closed-form upper bound beyond (the same on the ball). Beside it, where the minimum is inside, the same for the regret
that least squares has with the points measured to first order, ½ tr(A⁻¹ G (ΦᵀΦ)⁻¹ Gᵀ) for unit noise: few runs tell it
precisely, for the noise has no part in it but through the choice of points. ``python benchmarks/regret.py --help``.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import json
import math
import zlib
from collections.abc import Callable
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from contest.provenance import made_by

from paraboloid import Ball, Box, Estimate, Experiment, Result, Status, instance_limit, problems, run, theory
from paraboloid.algorithms import adaptive
from paraboloid.core import Domain, Matrix, Procedure, Shape, Vector, measure
from paraboloid.numerics import features, minimise_on_ball, n_terms, vector_to_matrix
from paraboloid.numerics.saddle import lowest_in_box

NOISES: dict[str, problems.Noise] = {
    "gaussian": problems.Gaussian(),
    "t(3)": problems.StudentT(3.0),
    "t(2.5)": problems.StudentT(2.5),
    "skewed": problems.LogNormal(1.0),
    "unequal": problems.Heteroscedastic(),
}


STEP = 0.5  # of a central difference, which is exact for quadratics whatever the step


@dataclass(frozen=True)
class Cell:
    """One row of a table."""

    shape: str
    d: int
    condition: float
    rho: float
    T: int
    noise: str = "gaussian"
    method: str = "adaptive"


class Instance:
    """A random instance of a cell: A with random eigenvectors and λ_min = 10, a minimum at distance ρ."""

    def __init__(self, cell: Cell, seed: int) -> None:
        rng = np.random.default_rng([seed, cell.d])
        Q, _ = np.linalg.qr(rng.standard_normal((cell.d, cell.d)))
        self.hessian: Matrix = (Q * np.geomspace(10 * cell.condition, 10, cell.d)) @ Q.T
        direction = rng.standard_normal(cell.d)
        size = np.linalg.norm(direction) if cell.shape == "ball" else np.abs(direction).max()
        self.minimiser: Vector = cell.rho * direction / size
        self.noise = NOISES[cell.noise]
        self.information = np.zeros((n_terms(cell.d), n_terms(cell.d)))  # of all points measured so far

    def measure(self, points: Matrix, repeats: int, rng: np.random.Generator) -> Matrix:
        """Return noisy values."""
        phi = features(points)
        self.information += repeats * phi.T @ phi
        away = points - self.minimiser
        values = np.sum((away @ self.hessian) * away, axis=1) / 2
        return np.stack([f + self.noise.draw(x, repeats, rng) for f, x in zip(values, points, strict=True)])

    def regret(self, x: Vector) -> float:
        """Return f(x) - min f."""
        away = x - self.minimiser
        return float(away @ self.hessian @ away) / 2

    def expected_regret(self) -> float:
        """Return the mean regret that least squares has with the points measured, to first order, at unit noise."""
        steps = STEP * np.eye(self.minimiser.size)
        slopes = (features(self.minimiser + steps) - features(self.minimiser - steps)) / (2 * STEP)
        covariance = slopes @ np.linalg.solve(self.information, slopes.T)
        return float(np.trace(np.linalg.solve(self.hessian, covariance))) / 2


def one_shot(points: Matrix, shape: Shape) -> Procedure:
    """Return a classical one-shot design: measure the points, least squares, the minimum of the fit on the region."""
    d = points.shape[1]
    y = yield from measure(Experiment(points, 1))
    theta = np.linalg.lstsq(features(points), y.means, rcond=None)[0].astype(np.float64)
    H, b = vector_to_matrix(theta[d + 1 :], d), theta[1 : d + 1]
    x = minimise_on_ball(H, b) if shape is Shape.BALL else lowest_in_box(H, b)
    return Result(Estimate(x), Status.BUDGET_SPENT)


def random_design(cell: Cell, seed: int) -> Procedure:
    """Return uniform random points of the region with least squares."""
    rng = np.random.default_rng([seed, 1])
    if cell.shape == "box":
        return one_shot(rng.uniform(-1, 1, (cell.T, cell.d)), Shape.BOX)
    points = rng.standard_normal((cell.T, cell.d))
    radius = rng.uniform(0, 1, (cell.T, 1)) ** (1 / cell.d)
    return one_shot(points / np.linalg.norm(points, axis=1, keepdims=True) * radius, Shape.BALL)


def central_composite(cell: Cell, seed: int) -> Procedure:
    """Return a central composite design: axial points, corners (random ones where there are too many), centre."""
    rng = np.random.default_rng([seed, 2])
    d = cell.d
    reach = 1.0 if cell.shape == "box" else 1 / math.sqrt(d)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * d)).reshape(d, -1).T if d <= 6 else None
    if corners is None or len(corners) > max(1, cell.T - 2 * d - 1):
        corners = np.where(rng.random((max(1, cell.T - 2 * d - 1), d)) < 0.5, -1.0, 1.0)
    base = np.vstack([np.eye(d), -np.eye(d), reach * corners, np.zeros((1, d))])
    order = np.resize(np.arange(len(base)), cell.T)
    return one_shot(base[order], Shape.BOX if cell.shape == "box" else Shape.BALL)


def search(cell: Cell, seed: int) -> Procedure:
    """Return the adaptive search."""
    return adaptive(domain_of(cell), budget=cell.T, seed=seed)


METHODS: dict[str, Callable[[Cell, int], Procedure]] = {
    "adaptive": search,
    "random": random_design,
    "central composite": central_composite,
}


def domain_of(cell: Cell) -> Domain:
    """Return the cell's region."""
    return Ball(np.zeros(cell.d)) if cell.shape == "ball" else Box([(-1, 1)] * cell.d)


def run_cell(cell: Cell, seeds: list[int]) -> list[dict[str, Any]]:
    """Return regret · T over V* for each seed, and whether the claimed bound and intervals held.

    Each cell has noise of its own, else an unlucky seed shows in all of them; methods meet the same in a cell.
    """
    rows = []
    own = zlib.crc32(repr(replace(cell, method="")).encode())
    for seed in seeds:
        instance = Instance(cell, seed)
        arguments = instance.hessian, instance.minimiser, domain_of(cell)
        limit = instance_limit(*arguments) if cell.d <= 10 else theory.instance_limit_bounds(*arguments)[1]
        result = run.simulate(METHODS[cell.method](cell, seed), instance, rng=[seed, own])  # type: ignore[arg-type]
        regret = instance.regret(result.x)
        row = {"seed": seed, "ratio": regret * cell.T / limit, "regret": regret}
        if cell.rho < 1 and cell.T >= 2 * n_terms(cell.d):  # else the edge, or the prior, has a part in it
            row["expected"] = instance.expected_regret() * cell.T / limit
        if result.certificate is not None:
            c = result.certificate
            inside = (c.x_ci[:, 0] <= instance.minimiser) & (instance.minimiser <= c.x_ci[:, 1])
            row |= {"bound": c.regret_bound, "held": regret <= c.regret_bound, "inside": float(inside.mean())}
        rows.append(row)
    return rows


def limit_cells(dimensions: list[int]) -> list[Cell]:
    """Return the cells of the first table: budgets from 3p on."""
    cells = []
    for shape, rhos in (("ball", (0.0, 0.3, 0.5, 0.7, 0.9)), ("box", (0.3, 0.8, 1.0))):
        for d in dimensions:
            for condition in (1.0, 100.0, 1e4):
                cells += [Cell(shape, d, condition, rho, m * n_terms(d)) for rho in rhos for m in (3, 10)]
    return cells


def small_cells(dimensions: list[int]) -> list[Cell]:
    """Return the cells of the second table: small budgets, beside classical designs."""
    cells = []
    for shape in ("ball", "box"):
        for d in dimensions:
            p = n_terms(d)
            for T in sorted({2 * d + 3, max(p // 2, 2 * d + 3), p, int(1.5 * p), 2 * p}):
                cells += [Cell(shape, d, 100.0, rho, T, method=method) for rho in (0.3, 0.7) for method in METHODS]
    return cells


def noise_cells(dimensions: list[int]) -> list[Cell]:
    """Return the cells of the third table: coverage under other noises."""
    return [
        Cell(shape, d, 100.0, 0.5, m * n_terms(d), noise=noise)
        for shape in ("ball", "box")
        for d in dimensions
        for m in (3, 10)
        for noise in NOISES
    ]


TABLES = {"limit": limit_cells, "small": small_cells, "noise": noise_cells}


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return mean and standard error of the ratio, and the shares of bounds and intervals that held."""
    ratios = np.array([row["ratio"] for row in rows])
    found = {"mean": ratios.mean(), "error": ratios.std(ddof=1) / len(rows) ** 0.5, "median": np.median(ratios)}
    if "expected" in rows[0]:
        found["expected"] = np.mean([row["expected"] for row in rows])
    if "held" in rows[0]:
        found["held"] = np.mean([row["held"] for row in rows])
        found["inside"] = np.mean([row["inside"] for row in rows])
        found["bound/regret"] = np.median([row["bound"] for row in rows]) / np.median([row["regret"] for row in rows])
    return {name: float(value) for name, value in found.items()}


def main() -> None:
    """Run the cells of a table over processes and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=sorted(TABLES), help="which table to measure")
    parser.add_argument("--dimensions", type=int, nargs="+", default=[2, 5])
    parser.add_argument("--seeds", type=int, default=200, help="runs per cell (default 200)")
    parser.add_argument("--first-seed", type=int, default=10_000, help="scored seeds start here; tuning used others")
    parser.add_argument("--output", help="append JSON lines here; cells already there are not measured again")
    arguments = parser.parse_args()
    cells = TABLES[arguments.table](arguments.dimensions)
    seeds = list(range(arguments.first_seed, arguments.first_seed + arguments.seeds))
    done, version = _already(arguments.output), made_by()
    names = [
        "region",
        "d",
        "condition",
        "minimum at",
        "T/p",
        "noise",
        "method",
        "ratio to V*",
        "expected",
        "bound held",
        "x inside",
    ]
    print("| " + " | ".join([*names, "bound/regret"]) + " |\n" + "|---" * 12 + "|")
    with run.process_pool() as pool, run.progress_bar(arguments.table, len(cells)) as advance:
        futures = {pool.submit(run_cell, cell, seeds): cell for cell in cells if json.dumps(asdict(cell)) not in done}
        for future in as_completed(futures):
            cell, found = futures[future], summary(future.result())
            _print_row(cell, found)
            if arguments.output:
                with open(arguments.output, "a", encoding="utf-8") as file:
                    file.write(json.dumps({"cell": asdict(cell), "seeds": len(seeds), **found, **version}) + "\n")
            advance(1)


def _already(path: str | None) -> set[str]:
    if path is None or not os.path.exists(path):
        return set()
    with open(path, encoding="utf-8") as file:
        return {json.dumps(json.loads(line)["cell"]) for line in file}


def _print_row(cell: Cell, found: dict[str, float]) -> None:
    row = [
        cell.shape,
        cell.d,
        f"{cell.condition:g}",
        cell.rho,
        f"{cell.T / n_terms(cell.d):.2g}",
        cell.noise,
        cell.method,
    ]
    row.append(f"{found['mean']:.3g} ± {found['error']:.2g}")
    row += [f"{found[name]:.3g}" if name in found else "" for name in ("expected", "held", "inside", "bound/regret")]
    print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main()
