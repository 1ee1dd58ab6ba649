"""Mean regret in units of the limit, regret·T / ½(Tr A^-½)², with its 95 % interval: what most experiments measure."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from paraboloid.core import Matrix, Procedure
from paraboloid.problems import NoisyQuadratic
from paraboloid.reproduction.workbench import Job, Row, Workbench
from paraboloid.theory import minimax_limit

__all__ = ["RATIO", "Cell", "Ratio", "measure_ratios", "rotated_hessian", "short", "table", "unit_vector"]

RATIO = "regret·T / ½(Tr $A^{-1/2}$)²"
"""How the ratio is called on an axis."""

NORMAL_95 = 1.959964
"""Half-width of a 95 % interval in standard errors."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One mean to be measured: which algorithm on which problem, with what budget, how often."""

    series: str
    noise: str
    minimiser: str
    problem: NoisyQuadratic
    T: int
    n_runs: int
    make_procedure: Callable[[], Procedure]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Mean regret of a cell as a multiple of the limit; ``low`` and ``high`` are the ends of its 95 % interval."""

    series: str
    noise: str
    minimiser: str
    T: int
    n_runs: int
    regret: float
    ratio: float
    low: float
    high: float
    distance: float

    @property
    def text(self) -> str:
        """The ratio with half the width of its interval, as in ``89.3 ± 4.1``."""
        return f"{short(self.ratio)} ± {short(self.ratio - self.low, 2)}"


def measure_ratios(bench: Workbench, cells: Sequence[Cell]) -> list[Ratio]:
    """Simulate every cell and return its ratio, in order."""
    jobs = [Job(cell.make_procedure, cell.problem, cell.T, cell.n_runs) for cell in cells]
    ratios = []
    for cell, runs in zip(cells, bench.simulate_all(jobs), strict=True):
        mean, error = runs.mean_regret()
        unit = minimax_limit(cell.problem.hessian) / cell.T
        distance = np.linalg.norm(runs.x - cell.problem.minimiser, axis=1).mean()
        ratios.append(
            Ratio(
                cell.series,
                cell.noise,
                cell.minimiser,
                cell.T,
                cell.n_runs,
                regret=mean,
                ratio=mean / unit,
                low=(mean - NORMAL_95 * error) / unit,
                high=(mean + NORMAL_95 * error) / unit,
                distance=float(distance),
            )
        )
    return ratios


def table(ratios: Sequence[Ratio]) -> tuple[Row, ...]:
    """Return the ratios as rows of a table."""
    return tuple(asdict(ratio) for ratio in ratios)


def rotated_hessian(eigenvalues: npt.ArrayLike, *, key: int = 0) -> Matrix:
    """Return Q diag(eigenvalues) Qᵀ with a random rotation Q that is the same in every reproduction."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    Q = np.linalg.qr(np.random.default_rng([values.size, key]).standard_normal((values.size, values.size))).Q
    rotated: Matrix = (Q * values) @ Q.T
    return (rotated + rotated.T) / 2


def unit_vector(dimension: int, *, key: int = 0) -> npt.NDArray[np.float64]:
    """Return a random direction that is the same in every reproduction."""
    vector = np.random.default_rng([dimension, key, 1]).standard_normal(dimension)
    return vector / np.linalg.norm(vector)


def short(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, plain where that is readable.

    >>> short(89.336), short(0.98123), short(1.9e8), short(1234.5)
    ('89.3', '0.981', '1.9e+08', '1230')
    """
    if value == 0 or not 1e-3 <= abs(value) < 1e5:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - int(np.floor(np.log10(abs(value))))
    return f"{round(value, decimals):.{max(0, decimals)}f}"
