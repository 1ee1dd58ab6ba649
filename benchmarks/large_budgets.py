"""Do more measurements give better answers? Eight shapes of two knobs that are no quadratics, T = 10³ to 10⁷.

`python benchmarks/large_budgets.py` prints mean and worst regret over some runs for each shape and T. On a smooth shape
regret should fall from column to column; on a kink it may stop at what a smooth model cannot follow. It must not
rise by more than chance.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from contest.provenance import made_by

from paraboloid import minimize
from paraboloid.core import Matrix, Vector

SQUARE = [(-1.0, 1.0), (-1.0, 1.0)]
GRID = np.stack(np.meshgrid(*[np.linspace(-1, 1, 2001)] * 2), axis=-1).reshape(-1, 2)


@dataclass(frozen=True, slots=True)
class Shape:
    """A response and the standard deviation of its measurements."""

    name: str
    sigma: float
    value: Callable[[Matrix], Vector]


def rosenbrock(x: Matrix) -> Vector:
    """Return the heights of a curved valley, at most some 3600."""
    a, b = 2 * x[:, 0], 2 * x[:, 1]
    return np.asarray(100 * (b - a**2) ** 2 + (1 - a) ** 2)


SHAPES = (
    Shape("curved valley (Rosenbrock)", 10.0, rosenbrock),
    Shape("exponential on one side", 1.0, lambda x: np.sum(np.exp(3 * x) - 3 * x, axis=1)),
    Shape("quartic", 1.0, lambda x: np.sum(10 * (x - 0.3) ** 4 + 0.5 * (x - 0.3) ** 2, axis=1)),
    Shape("logarithm of cosh", 1.0, lambda x: np.sum(np.log(np.cosh(6 * (x - [0.4, -0.3]))), axis=1)),
    Shape("cosine", 1.0, lambda x: np.sum(1 - np.cos(3 * (x - 0.2)), axis=1)),
    Shape("two basins", 0.5, lambda x: 10 * (x[:, 0] ** 2 - 0.36) ** 2 + 0.3 * x[:, 0] + x[:, 1] ** 2),
    Shape("wall, 1/(x + 1.05)", 1.0, lambda x: 1 / (x[:, 0] + 1.05) + 2 * x[:, 0] + x[:, 1] ** 2),
    Shape("kink, abs(x)", 0.5, lambda x: np.sum(np.abs(x - [0.3, -0.2]), axis=1)),
)


def regrets(shape: Shape, budget: int, seeds: range) -> Vector:
    """Return the true regret of each run, against the least value on a fine grid."""
    least = float(shape.value(GRID).min())

    def measure(x: Matrix, rng: np.random.Generator) -> Vector:
        return np.asarray(shape.value(x) + shape.sigma * rng.standard_normal(len(x)))

    answers = [minimize(measure, SQUARE, budget=budget, rng=seed, vectorized=True).x for seed in seeds]
    return np.array([max(float(shape.value(x[None, :])[0]) - least, 0.0) for x in answers])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8, help="runs of each cell")
    parser.add_argument("--first-seed", type=int, default=50_000)
    parser.add_argument("--powers", type=int, nargs="+", default=[3, 4, 5, 6, 7], help="T = 10 to these powers")
    parser.add_argument("--output", type=Path, help="write JSON lines here")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    rows, version = [], made_by()
    for shape in SHAPES:
        for power in options.powers:
            found = regrets(shape, 10**power, seeds)
            rows.append(
                {"shape": shape.name, "sigma": shape.sigma, "T": 10**power, "regrets": found.tolist(), **version}
            )
            print(f"{shape.name}, T = 10^{power}: mean {found.mean():.1e}, worst {found.max():.1e}", flush=True)
    if options.output:
        options.output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
