"""Theorem 2: the regret at a finite budget, over both regimes, with kinks where k* says.

The method is the one of the upper bound in Appendix C: Algorithm 1 on the Hessian cut to its k* largest eigenvalues
("only estimating the first k* entries of x₀"). Its regret is taken at the worst of a few minimisers.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from paraboloid import problems
from paraboloid.algorithms import hessian_dependent
from paraboloid.core import Matrix, Vector
from paraboloid.reproduction.figures import band, tidy
from paraboloid.reproduction.ratios import Cell, Ratio, measure_ratios, short
from paraboloid.reproduction.workbench import Claim, Findings, Row, Size, Workbench
from paraboloid.theory import effective_rank, finite_budget_rate, hard_instance, regime_thresholds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["theorem_2"]

EIGENVALUES = np.array([1.0, 0.05, 0.002])
HESSIAN = np.diag(EIGENVALUES)
LOWEST, HIGHEST = 1 / 8, 2.0
"""What the regret over the rate must lie between: the weak bound's constant; Algorithm 1's ½ at T well above 2d + 1,
up to 5/3 at the smallest T of all."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The regret at the worst minimiser for one T, and the rate of Theorem 2."""

    T: int
    n_runs: int
    k_star: int
    rate: float
    regret: float
    low: float
    high: float
    minimiser: str


def theorem_2(bench: Workbench) -> Findings:
    """Measure the regret of the cut Algorithm 1 against the rate of Theorem 2."""
    cells = [cell for T in _budgets(bench.size) for cell in _cells(T, bench.size)]
    ratios = measure_ratios(bench, cells)
    worst = [_worst([r for r in ratios if r.T == T]) for T in _budgets(bench.size)]
    constants = [w.regret / w.rate for w in worst]
    low, high = min(constants), max(constants)
    settled = [w.regret / w.rate for w in worst if w.T >= 100] or constants
    return Findings(
        title="Theorem 2: the regret at a finite budget",
        headline=f"regret/rate between {short(low)} and {short(high)} for T = {worst[0].T}..{worst[-1].T:,}",
        expected=_EXPECTED,
        seen=_seen(worst, low, high, settled),
        claims=(
            Claim(
                f"regret/rate stays between {LOWEST:g} and {HIGHEST:g} over both regimes",
                LOWEST <= low and high <= HIGHEST,
            ),
        ),
        rows=tuple(_row(w) for w in worst),
        size=(10.5, 4.2),
        draw=functools.partial(_draw, worst),
    )


_EXPECTED = (
    "With λ = (1, 0.05, 0.002) the thresholds (Σ λ_k^-½)(Σ λ_k^-3/2) on T (the product, see the errata) are "
    f"{', '.join(f'{threshold:,.0f}' for threshold in regime_thresholds(HESSIAN))} for k* = 1, 2, 3. Between them the "
    "minimax regret is of the order (Σ_{k≤k*} λ_k^-½)²/T + λ_{k*+1}: it falls like 1/T, flattens near λ_{k*+1} because "
    "one more direction cannot be resolved yet, and falls again past the next threshold (the rate itself steps up a "
    "little there, which a constant factor hides). Estimating the first k* entries only must lie within constant "
    "factors of it: at least the weak bound's ⅛, and about ½ from Algorithm 1, up to T/(2(T - 2d - 1)) when T is "
    "close to 2d + 1 = 7."
)


def _budgets(size: Size) -> list[int]:
    if size is Size.TINY:
        return [10, 1000]
    highest = size.choose(0, 6, 7)
    around = [int(c * t) for t in regime_thresholds(HESSIAN)[1:] for c in (0.8, 1.02)]
    return sorted({*np.geomspace(10, 10**highest, 3 * highest - 2).round().astype(int).tolist(), *around})


def _cut(k: int) -> Matrix:
    """Return the Hessian with only its k largest eigenvalues."""
    return np.diag(np.where(np.arange(EIGENVALUES.size) < k, EIGENVALUES, 0.0))


def _minimisers(T: int) -> dict[str, Vector]:
    """Return the minimisers that are tried at this T; e_j is the j-th eigenvector."""
    k = effective_rank(HESSIAN, T)
    chosen = {
        f"hard instance of the first {k}": hard_instance(_cut(k), T),
        f"e_{k}": np.eye(3)[k - 1],
        "0": np.zeros(3),
    }
    if k < EIGENVALUES.size:
        chosen[f"e_{k + 1}"] = np.eye(3)[k]
        chosen[f"(e_{k} + e_{k + 1})/√2"] = (np.eye(3)[k - 1] + np.eye(3)[k]) / np.sqrt(2)
    return chosen


def _cells(T: int, size: Size) -> list[Cell]:
    full = 2000 if T < 10**5 else 400 if T < 10**6 else 60
    n_runs = size.choose(8, 200 if T < 10**5 else 60, full)
    make = functools.partial(hessian_dependent, _cut(effective_rank(HESSIAN, T)), T)
    return [
        Cell("Algorithm 1 on the cut Hessian", "Gaussian", name, problems.NoisyQuadratic(HESSIAN, x), T, n_runs, make)
        for name, x in _minimisers(T).items()
    ]


def _worst(ratios: list[Ratio]) -> Worst:
    r = max(ratios, key=lambda r: r.regret)
    unit = r.regret / r.ratio
    return Worst(
        T=r.T,
        n_runs=r.n_runs,
        k_star=effective_rank(HESSIAN, r.T),
        rate=finite_budget_rate(HESSIAN, r.T),
        regret=r.regret,
        low=r.low * unit,
        high=r.high * unit,
        minimiser=r.minimiser,
    )


def _row(w: Worst) -> Row:
    return {
        "T": w.T,
        "k_star": w.k_star,
        "n_runs": w.n_runs,
        "worst_minimiser": w.minimiser,
        "regret": w.regret,
        "low": w.low,
        "high": w.high,
        "rate": w.rate,
        "regret_over_rate": w.regret / w.rate,
    }


def _seen(worst: list[Worst], low: float, high: float, settled: list[float]) -> str:
    where = max(worst, key=lambda w: w.regret / w.rate)
    lines = [
        f"Over T = {worst[0].T} to {worst[-1].T:,}, while the regret falls by a factor of "
        f"{short(worst[0].regret / worst[-1].regret)}, regret/rate stays between {short(low)} and {short(high)} "
        f"(the largest at T = {where.T}); from T = 100 on between {short(min(settled))} and {short(max(settled))}."
    ]
    for k in sorted({w.k_star for w in worst}):
        regime = [w for w in worst if w.k_star == k]
        lines.append(
            f"With k* = {k} (T = {regime[0].T:,} to {regime[-1].T:,}) the regret goes from {short(regime[0].regret)} "
            f"to {short(regime[-1].regret)}; the worst minimiser at its end is {regime[-1].minimiser}."
        )
    return " ".join(lines)


def _draw(worst: list[Worst], figure: "Figure") -> None:
    left, right = figure.subplots(1, 2, width_ratios=[1.3, 1])
    T = [w.T for w in worst]
    grid = np.unique(np.geomspace(T[0], T[-1], 400).astype(int))
    left.plot(grid, [finite_budget_rate(HESSIAN, int(t)) for t in grid], color="black", label="rate of Theorem 2")
    for axes, unit in ((left, np.ones(len(worst))), (right, np.array([w.rate for w in worst]))):
        band(
            axes,
            T,
            np.array([w.regret for w in worst]) / unit,
            low=np.array([w.low for w in worst]) / unit,
            high=np.array([w.high for w in worst]) / unit,
            label="regret of the cut Algorithm 1, worst x₀",
            index=0,
        )
        for k, threshold in enumerate(regime_thresholds(HESSIAN)[1:], start=2):
            axes.axvline(threshold, color="grey", linewidth=1, linestyle="--")
            axes.text(threshold, 0.98, f" k* = {k}", color="0.3", va="top", transform=axes.get_xaxis_transform())
    for level in EIGENVALUES[1:]:
        left.axhline(level / 2, color="grey", linewidth=0.7, linestyle=":")
        left.text(T[0], level / 2, f"½·{level:g}", color="0.3", fontsize=7, va="bottom")
    tidy(left, title="Regret against T (band: 95 %)", x="budget T", y="expected regret")
    left.legend(loc="lower left")
    right.axhspan(LOWEST, HIGHEST, color="grey", alpha=0.12, linewidth=0, label=f"{LOWEST:g} to {HIGHEST:g}")
    right.set_ylim(0.1, 2.3)
    tidy(right, title="Regret over rate: two constants", x="budget T", y="regret / rate")
    right.legend(loc="lower left")
