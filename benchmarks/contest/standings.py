"""Who stands where: cells, margins, ranks, regret relative to the best, losses, own time and memory, profiles."""

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from contest.analysis import LEVEL, N_RESAMPLES
from contest.problems import kind_of
from contest.runner import Row
from contest.solvers import FROM_CENTRE, TOLD
from paraboloid.core import Matrix, Vector
from paraboloid.numerics import n_terms

OURS = "paraboloid"
FLOOR = 1e-8
"""COCO's target precision: below it two answers are equally good."""
LEAST_SHARED = 3
"""Seeds that two solvers must share in a cell to be compared with an interval."""
Cell = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How another solver stands to ours in one cell, on the seeds that both have."""

    cell: Cell
    other: str
    n_seeds: int
    ratio: float
    """Other's regret over ours: of the means on quadratics, of the geometric means elsewhere."""
    low: float
    high: float

    @property
    def is_behind(self) -> bool:
        """Whether the other is worse beyond the interval."""
        return self.low > 1

    @property
    def is_ahead(self) -> bool:
        """Whether the other is better beyond the interval."""
        return self.high < 1


class Standings:
    """Everything that the tables, pictures and pages need, from the rows of a contest."""

    def __init__(self, rows: list[Row]) -> None:
        last = {(row["problem"], row["T"], row["solver"], row["seed"]): row for row in rows}
        self.rows = list(last.values())
        self.regrets: dict[Cell, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        self.failed: dict[str, int] = defaultdict(int)
        self._compared: dict[Cell, list[Comparison]] = {}
        for row in self.rows:
            cell, is_failed = (row["problem"], row["T"]), "error" in row
            self.failed[row["solver"]] += is_failed
            # A run that failed has lost what doing nothing loses: infinity would hide all else, leaving out would help.
            regret = self._starts.get((row["problem"], row["seed"]), math.nan) if is_failed else float(row["regret"])
            if not math.isnan(regret):
                self.regrets[cell][row["solver"]][row["seed"]] = max(FLOOR, regret)

    @cached_property
    def _starts(self) -> dict[tuple[str, int], float]:
        return {(row["problem"], row["seed"]): row["start"] for row in self.rows if "start" in row}

    @cached_property
    def solvers(self) -> list[str]:
        """Every solver, ours first."""
        found = dict.fromkeys(row["solver"] for row in self.rows)
        return sorted(found, key=lambda name: name != OURS)

    @cached_property
    def quadratic_cells(self) -> list[Cell]:
        """Cells of exact quadratics with T ≥ 2p."""
        return sorted(
            (cell for cell in self.regrets if kind_of(cell[0])[1] and cell[1] >= 2 * n_terms(kind_of(cell[0])[0])),
            key=lambda cell: (cell[0].startswith("ball"), kind_of(cell[0])[0], cell[0], cell[1]),
        )

    @cached_property
    def other_cells(self) -> list[Cell]:
        """Cells of all other problems."""
        return sorted(cell for cell in self.regrets if not kind_of(cell[0])[1])

    def ranked_in(self, cell: Cell) -> list[str]:
        """Return the solvers of a cell that are not told the answer, and do not begin at it."""
        return [name for name in self.regrets[cell] if name not in TOLD and not begins_at_answer(name, cell[0])]

    def rivals_in(self, cell: Cell) -> list[str]:
        """Return those of them that are not ours."""
        return [name for name in self.ranked_in(cell) if name.split(":")[0] != OURS]

    def compare(self, cell: Cell, other: str) -> Comparison | None:
        """Return how another solver stands to ours, or None where they share too few seeds."""
        ours, theirs = self.regrets[cell].get(OURS, {}), self.regrets[cell].get(other, {})
        seeds = sorted(ours.keys() & theirs.keys())
        if len(seeds) < LEAST_SHARED:
            return None
        a, b = np.array([ours[seed] for seed in seeds]), np.array([theirs[seed] for seed in seeds])
        ratio, low, high = ratio_of_means(b, a) if kind_of(cell[0])[1] else ratio_of_geometric_means(b, a)
        return Comparison(cell, other, len(seeds), ratio, low, high)

    def comparisons(self, cell: Cell) -> list[Comparison]:
        """Return all comparisons in a cell, the best rival first."""
        if cell not in self._compared:
            found = [self.compare(cell, name) for name in self.rivals_in(cell)]
            self._compared[cell] = sorted((one for one in found if one is not None), key=lambda one: one.ratio)
        return self._compared[cell]

    @cached_property
    def losses(self) -> list[Comparison]:
        """Every rival that is better than ours beyond the interval, worst cells first."""
        cells = [*self.quadratic_cells, *self.other_cells]
        found = [one for cell in cells for one in self.comparisons(cell) if one.is_ahead]
        return sorted(found, key=lambda one: one.ratio)

    def medians(self, cells: list[Cell]) -> dict[Cell, dict[str, float]]:
        """Return the median regret of every ranked solver."""
        return {cell: {name: self._medians[cell, name] for name in self.ranked_in(cell)} for cell in cells}

    @cached_property
    def _medians(self) -> dict[tuple[Cell, str], float]:
        found = {(cell, name): values for cell, of in self.regrets.items() for name, values in of.items() if values}
        return {key: float(np.median(list(values.values()))) for key, values in found.items()}

    def relative(self, cells: list[Cell]) -> dict[str, list[float]]:
        """Return for each solver its median regret over the best solver's, one for each cell that it ran in."""
        found: dict[str, list[float]] = defaultdict(list)
        for scores in self.medians(cells).values():
            best = min(scores.values())
            for name, value in scores.items():
                found[name].append(value / best)
        return found

    def mean_ranks(self, cells: list[Cell]) -> dict[str, float]:
        """Return the mean over its cells of each solver's rank, 0 for the best of a cell and 1 for the worst."""
        found: dict[str, list[float]] = defaultdict(list)
        for scores in self.medians(cells).values():
            names = list(scores)
            ranks = stats.rankdata([scores[name] for name in names])
            for name, rank in zip(names, ranks, strict=True):
                found[name].append((float(rank) - 1) / max(1, len(names) - 1))
        return {name: float(np.mean(values)) for name, values in found.items()}

    def against(self, other: str, cells: list[Cell]) -> float:
        """Return the geometric mean over common cells of the other's median regret over ours."""
        medians = self.medians(cells)
        logs = [math.log(of[other] / of[OURS]) for of in medians.values() if other in of and OURS in of]
        return math.exp(float(np.mean(logs))) if logs else math.nan

    def over_limit(self, solver: str) -> list[float]:
        """Return, for each quadratic cell with Gaussian noise, the mean of regret · T / V*, V* by its upper bound."""
        found: dict[Cell, list[float]] = defaultdict(list)
        for row in self.rows:
            if row["solver"] == solver and "v_high" in row and "error" not in row and row["problem"].endswith("gauss"):
                found[row["problem"], row["T"]].append(row["regret"] * row["T"] / row["v_high"])
        cells = [cell for cell in self.quadratic_cells if cell in found and not begins_at_answer(solver, cell[0])]
        return [float(np.mean(found[cell])) for cell in cells]

    def own_milliseconds(self, solver: str, *, least_T: int = 0, most_T: int = 10**9) -> float:
        """Return the median of own CPU time per measurement."""
        times = [
            1000 * row["own_seconds"] / max(1, row["n_evals"])
            for row in self.rows
            if row["solver"] == solver and "own_seconds" in row and least_T <= row["T"] <= most_T
        ]
        return float(np.median(times)) if times else math.nan

    def peak_megabytes(self, solver: str) -> float:
        """Return the greatest growth of memory in a run; one problem loads a package when it is first measured."""
        mine = [row for row in self.rows if row["solver"] == solver and not row["problem"].startswith("svr")]
        found = [row["peak_mb"] for row in mine if row.get("peak_mb") is not None]
        return max(found, default=math.nan)

    def solved_at(self, solver: str, share: float) -> Vector:
        """Return T / (d + 1) of every run on the other problems, infinite where the regret is above share · start."""
        found = [
            row["T"] / (kind_of(row["problem"])[0] + 1)
            if "error" not in row and row["regret"] <= max(FLOOR, share * row["start"])
            else math.inf
            for row in self.rows
            if row["solver"] == solver and not kind_of(row["problem"])[1]
        ]
        return np.array(found)


def begins_at_answer(solver: str, problem: str) -> bool:
    """Return whether a solver's first point is the minimum: it would be praised for staying where it is."""
    return "_r0_" in problem and solver in FROM_CENTRE


def ratio_of_means(x: Vector, y: Vector) -> tuple[float, float, float]:
    """Return mean x / mean y with a bootstrap interval over pairs."""
    drawn = np.random.default_rng(0).integers(len(x), size=(N_RESAMPLES, len(x)))
    ratios: Matrix = x[drawn].mean(axis=1) / y[drawn].mean(axis=1)
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(x.mean() / y.mean()), float(low), float(high)


def ratio_of_geometric_means(x: Vector, y: Vector) -> tuple[float, float, float]:
    """Return the geometric mean of x / y with Student's interval for the mean of the logs of pairs."""
    logs = np.log(x / y)
    half = stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    return math.exp(logs.mean()), math.exp(logs.mean() - half), math.exp(min(700.0, logs.mean() + half))
