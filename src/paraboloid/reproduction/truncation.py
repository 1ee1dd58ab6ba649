"""Truncated against plain means in the tails (Appendix D).

With finite variance alone a plain mean has polynomial tails; the truncated mean has exponential ones, at the price of a
small bias. As printed the interval is centred at zero, which is harmless while the signal is small, and fatal when
it is not; the centred sibling clips around a median of means.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from paraboloid.core import Matrix, Vector
from paraboloid.numerics import AS_PRINTED
from paraboloid.problems import Noise, StudentT, TwoPoint
from paraboloid.reproduction.figures import band, tidy
from paraboloid.reproduction.ratios import short
from paraboloid.reproduction.workbench import Claim, Findings, Row, Workbench
from paraboloid.theory import truncation_tail_bound

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["truncation"]

N_VALUES = 400
HALF_WIDTH = AS_PRINTED.half_width(N_VALUES)  # m = 20
BLOCK = 500
"""Means that are computed at once."""

KINDS = ("plain mean", "truncated, as printed", "truncated, centred")
DEVIATIONS = np.geomspace(0.02, 6.0, 32)
TINY_CHANCE = 1e-3
"""Where the estimates are compared: the error that is exceeded with this chance."""


@dataclass(frozen=True, slots=True)
class Case:
    """A noise and the mean that is to be estimated under it."""

    name: str
    noise: Noise
    mean: float


CASES = (
    Case("two-point, one in 10⁴, mean 0", TwoPoint(1e-4), 0.0),
    Case("Student t(2.1), mean 0", StudentT(2.1), 0.0),
    Case("Student t(2.1), mean 1.1 m", StudentT(2.1), 1.1 * HALF_WIDTH),
)


def truncation(bench: Workbench) -> Findings:
    """Measure how often each mean errs by more than z."""
    n_blocks = bench.size.choose(1, 160, 2000)
    counts = bench.map(exceedances, [(case,) for case in CASES for _ in range(n_blocks)])
    totals = np.array(counts).reshape(len(CASES), n_blocks, len(KINDS), DEVIATIONS.size).sum(axis=1)
    n_means = n_blocks * BLOCK
    rows = tuple(row for case, total in zip(CASES, totals, strict=True) for row in _rows(case, total, n_means))
    quantiles = _quantiles(totals, n_means)
    student = quantiles[1]
    return Findings(
        title="Truncation against the plain mean in the tails",
        headline=f"t(2.1), exceeded 1 in 1000: plain {short(student[0], 2)}, truncated {short(student[1], 2)}, "
        f"centred {short(student[2], 2)}",
        expected=_EXPECTED,
        seen=_seen(quantiles, n_means),
        claims=(
            Claim("no truncated mean exceeds its tail bound (mean 0; centred everywhere)", _bound_holds(rows)),
            Claim(
                "Student t(2.1), mean 0: the plain mean's tail lies above the truncation bound far out",
                any(r["plain mean"] > r["bound"] for r in rows if r["case"] == CASES[1].name),  # type: ignore[operator]
            ),
        ),
        rows=rows,
        size=(11.5, 4.2),
        draw=functools.partial(_draw, rows, n_means),
    )


_EXPECTED = (
    f"Means of n = {N_VALUES} values, truncated to ±m with m = n^½ = {HALF_WIDTH:g}. Proposition D.1: whatever the "
    "noise, the chance that the truncated mean errs by z is at most 2 exp(n/m(m - |E X|) - zn/m), exponential in z. "
    "The plain mean has no such promise: under Student t(2.1) its tail falls like z^-2.1, and under rare large "
    "values it jumps. The printed interval is centred at zero, so with a mean of 1.1 m it clips the signal itself, "
    "and the proposition, which asks for m > |E X|, says nothing; clipped around a median of means the estimate "
    "keeps the bound of mean 0."
)


def exceedances(case: Case, seed: np.random.SeedSequence) -> Matrix:
    """Return for each kind of mean how many of `BLOCK` means err by more than each deviation."""
    rng = np.random.default_rng(seed)
    values = case.mean + case.noise.draw(np.zeros(1), BLOCK * N_VALUES, rng).reshape(BLOCK, N_VALUES)
    centres = medians_of_means(values)[:, None]
    means = (
        values.mean(axis=1),
        np.clip(values, -HALF_WIDTH, HALF_WIDTH).mean(axis=1),
        np.clip(values, centres - HALF_WIDTH, centres + HALF_WIDTH).mean(axis=1),
    )
    errors = np.abs(np.stack(means) - case.mean)
    exceeded: Matrix = (errors[:, :, None] > DEVIATIONS).sum(axis=1).astype(np.float64)
    return exceeded


def medians_of_means(values: Matrix) -> Vector:
    """Return `paraboloid.numerics.median_of_means` of each row, all rows at once."""
    n = values.shape[1]
    n_groups = min(n, int(np.ceil(8 * np.log(n))))
    sizes = np.array([group.size for group in np.array_split(np.arange(n), n_groups)])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    medians: Vector = np.median(np.add.reduceat(values, starts, axis=1) / sizes, axis=1)
    return medians


def _bound(mean: float, z: float) -> float:
    return truncation_tail_bound(np.ones(N_VALUES), mean, HALF_WIDTH, z * N_VALUES)


def _rows(case: Case, counts: Matrix, n_means: int) -> list[Row]:
    rows = []
    for j, z in enumerate(DEVIATIONS):
        row: Row = {"case": case.name, "n_means": n_means, "deviation": float(z), "bound": _bound(0.0, float(z))}
        for kind, count in zip(KINDS, counts[:, j], strict=True):
            low, high = _binomial_interval(float(count), n_means)
            row |= {kind: float(count) / n_means, f"{kind} low": low, f"{kind} high": high}
        rows.append(row)
    return rows


def _binomial_interval(count: float, n: int) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) 95 % interval of a chance."""
    low = float(special.betaincinv(count, n - count + 1, 0.025)) if count > 0 else 0.0
    high = float(special.betaincinv(count + 1, n - count, 0.975)) if count < n else 1.0
    return low, high


def _quantiles(totals: Matrix, n_means: int) -> Matrix:
    """Return for every case and kind the least tabled deviation that is exceeded with at most `TINY_CHANCE`."""
    beyond = totals / n_means > TINY_CHANCE
    last = beyond.shape[-1] - np.argmax(beyond[..., ::-1], axis=-1)
    index = np.where(beyond.any(axis=-1), last, 0)
    return DEVIATIONS[np.minimum(index, DEVIATIONS.size - 1)]


def _bound_holds(rows: tuple[Row, ...]) -> bool:
    """Tell whether no observed frequency is above the bound by more than chance allows."""
    kinds = {CASES[0].name: KINDS[1:], CASES[1].name: KINDS[1:], CASES[2].name: KINDS[2:]}
    return all(float(row[f"{kind} low"]) <= float(row["bound"]) for row in rows for kind in kinds[str(row["case"])])


def _seen(quantiles: Matrix, n_means: int) -> str:
    parts = [
        f"{case.name}: {short(q[0], 2)} for the plain mean, {short(q[1], 2)} truncated as printed, {short(q[2], 2)} "
        "centred"
        for case, q in zip(CASES, quantiles, strict=True)
    ]
    worst = quantiles[2][1] / quantiles[2][2]
    return (
        f"From {n_means:,} means per panel, the error exceeded once in a thousand is, to the grid of the table: "
        + "; ".join(parts)
        + f". With the signal at 1.1 m the printed interval is {short(float(worst), 2)} times worse than the centred "
        "one: every value is clipped to at most m, and no number of them would mend it. The bound is far from tight "
        "near the centre, where all means are nearly Gaussian with a standard deviation of "
        f"{N_VALUES**-0.5:g}; its promise is the exponential fall far out."
    )


def _draw(rows: tuple[Row, ...], n_means: int, figure: "Figure") -> None:
    panels: list[Axes] = list(figure.subplots(1, len(CASES), sharey=True))
    for axes, case in zip(panels, CASES, strict=True):
        mine = [row for row in rows if row["case"] == case.name]
        z = np.array([float(row["deviation"]) for row in mine])
        for index, kind in enumerate(KINDS):
            seen = np.array([float(row[kind]) > 0 for row in mine])
            middle, low, high = (
                np.array([float(row[column]) for row in mine])[seen] for column in (kind, f"{kind} low", f"{kind} high")
            )
            band(axes, z[seen], middle, low=low, high=high, label=kind, index=(1, 0, 2)[index])
        axes.plot(z, [float(row["bound"]) for row in mine], color="black", linestyle="--", label="tail bound, mean 0")
        tidy(axes, title=case.name, x="error z", y="")
        axes.set_ylim(0.3 / n_means, 1.5)
    panels[0].set_ylabel("chance of an error above z (bands: 95 %)")
    panels[0].legend(loc="upper right")
