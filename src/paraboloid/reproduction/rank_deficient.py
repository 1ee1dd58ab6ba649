"""Rank-deficient Hessians: the regret is small, the distance to x₀ is not.

A has rank 3 in d = 10. No measurement tells anything of x₀ along the null space, and none is needed: f does not depend
on it. Algorithm 1 knows the null space; the universal algorithm must find it with its threshold T^-0.2.
"""

import functools
from typing import TYPE_CHECKING

import numpy as np

from paraboloid import problems
from paraboloid.algorithms import hessian_dependent, universal
from paraboloid.numerics import AS_PRINTED
from paraboloid.reproduction.constants import FREE, hessian_noise, spurious_factor
from paraboloid.reproduction.figures import band, power_of_ten, ratio_band, tidy
from paraboloid.reproduction.ratios import (
    RATIO,
    Cell,
    Ratio,
    measure_ratios,
    rotated_hessian,
    short,
    table,
)
from paraboloid.reproduction.workbench import Claim, Findings, Size, Workbench

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["rank_deficient"]

D = 10
EIGENVALUES = np.r_[4.0, 2.0, 1.0, np.zeros(D - 3)]
HESSIAN = rotated_hessian(EIGENVALUES)
BASIS = np.linalg.eigh(HESSIAN).eigenvectors  # seven columns of the null space, then three of the row space
HIDDEN = BASIS[:, :7] @ np.full(7, 0.6 / 7**0.5)
"""The part of x₀ in the null space of A, of norm 0.6, which no measurement sees."""

MINIMISER = HIDDEN + BASIS[:, 7:] @ np.full(3, 0.6 / 3**0.5)
KNOWN, UNIVERSAL = "Algorithm 1", "universal, as printed"


def rank_deficient(bench: Workbench) -> Findings:
    """Measure both algorithms on a Hessian of rank 3 in dimension 10."""
    ratios = measure_ratios(bench, _cells(bench.size))
    known, found = ([r for r in ratios if r.series == name] for name in (KNOWN, UNIVERSAL))
    hidden = float(np.linalg.norm(HIDDEN))
    return Findings(
        title="Rank 3 in dimension 10: regret is small, distance is not",
        headline=f"Algorithm 1 {known[-1].text}; universal {found[-1].text} at T = {power_of_ten(found[-1].T)}",
        expected=_expected(hidden),
        seen=_seen(known, found),
        claims=(
            Claim("Algorithm 1: ratio at most 1.07 at the largest T", known[-1].ratio <= 1.07),
            Claim(
                "both: the regret falls with T while the distance to x₀ stays above its unseen part",
                all(line[-1].regret < line[0].regret and line[-1].distance >= hidden - 1e-9 for line in (known, found)),
            ),
            Claim(
                f"universal: the interval at the largest T reaches down to {FREE:g}, the constant of the limit",
                found[-1].low <= FREE,
            ),
        ),
        rows=table(ratios),
        size=(10.5, 4.2),
        draw=functools.partial(_draw, known, found),
    )


def _cells(size: Size) -> list[Cell]:
    problem = problems.NoisyQuadratic(HESSIAN, MINIMISER)
    known = size.choose({100: 8}, *2 * [{100: 400, 1000: 400, 10**4: 400, 10**5: 400, 10**6: 100}])
    found = size.choose({10**4: 8}, {10**4: 100, 10**5: 100, 10**6: 60, 10**7: 16}, {})
    if size is Size.FULL:
        known = {100: 4000, 1000: 4000, 10**4: 4000, 10**5: 2000, 10**6: 1000}
        found = {10**4: 400, 10**5: 400, 10**6: 200, 10**7: 100, 10**8: 30}
    first = [
        Cell(KNOWN, "Gaussian", "0.6 seen, 0.6 hidden", problem, T, n, functools.partial(hessian_dependent, HESSIAN, T))
        for T, n in known.items()
    ]
    second = [
        Cell(
            UNIVERSAL, "Gaussian", "0.6 seen, 0.6 hidden", problem, T, n,
            functools.partial(universal, D, T, truncation=AS_PRINTED),
        )
        for T, n in found.items()
    ]  # fmt: skip
    return [*first, *second]


def _expected(hidden: float) -> str:
    entries = (18 * D**2) ** 2.5
    edge = (2 * (D - 3)) ** 2.5 * entries
    return (
        "A has the eigenvalues 4, 2, 1 and seven zeros, randomly rotated; x₀ has a part of norm 0.6 in the row space "
        f"and one of norm {short(hidden, 1)} in the null space. The guarantee is on the regret: ratio 1 for "
        f"Algorithm 1 and, once T is large enough, at most {FREE:g} for the universal algorithm (see Theorem 3). The "
        "distance to x₀ must not become small: no measurement sees the part in the null space.\n\n"
        "Large enough is far away in d = 10. An entry of Â has a standard deviation of s = √(18d²/T₀), which stays "
        f"above the threshold T^-0.2 until T = (18d²)^(5/2) = {entries:.1e}, and the largest of the seven "
        f"eigenvalues that are only noise, about s√14, until T = {edge:.0e}. So directions of no curvature are kept, "
        "and their λ̂_k^-½ takes most of the samples. The true ones get fewer by Σ λ̂_j^-½ / Tr A^-½, so until then "
        "the ratio should be about 130 times this factor, and more while the error of Â is not small against the "
        "eigenvalues 4, 2, 1: O(1/T) still, with a larger constant."
    )


def _seen(known: list[Ratio], found: list[Ratio]) -> str:
    return (
        "Algorithm 1: "
        + "; ".join(f"{r.text} at T = {power_of_ten(r.T)} (distance {short(r.distance)})" for r in known)
        + ". The regret falls like 1/T, the distance stays.\n\nUniversal, as printed: "
        + "; ".join(
            f"{r.text} at T = {power_of_ten(r.T)} (derived {short(FREE * spurious_factor(HESSIAN, r.T))}; "
            f"mean regret {short(r.regret)}, distance {short(r.distance)}, standard deviation of Â's entries "
            f"{short(hessian_noise(D, r.T), 2)}, threshold {short(r.T**-0.2, 2)})"
            for r in found
        )
        + f". Against the {FREE:g} of the limit the last is {'worse' if found[-1].low > FREE else 'not worse'}. "
        "Spurious directions are kept at every T that could be simulated. The regret does fall, the distance does not."
    )


def _draw(known: list[Ratio], found: list[Ratio], figure: "Figure") -> None:
    left, right = figure.subplots(1, 2)
    for index, line in enumerate((known, found)):
        ratio_band(left, line, label=line[0].series, index=index)
        T, regret = [r.T for r in line], np.array([r.regret for r in line])
        unit = regret / np.array([r.ratio for r in line])
        band(
            right, T, regret, low=np.array([r.low for r in line]) * unit, high=np.array([r.high for r in line]) * unit,
            label=f"regret, {line[0].series}", index=index,
        )  # fmt: skip
        distance = [r.distance for r in line]
        band(
            right, T, distance, low=distance, high=distance, label=f"distance to x₀, {line[0].series}", index=index + 3
        )
    left.axhline(1, color="black", linewidth=0.8)
    derived = [FREE * spurious_factor(HESSIAN, r.T) for r in found]
    left.plot([r.T for r in found], derived, color="black", linestyle=":", label="derived, with spurious directions")
    left.axhline(FREE, color="grey", linewidth=0.8, linestyle="--", label="130, derived for T → ∞")
    tidy(left, title="Ratio to the limit (bands: 95 %)", x="budget T", y=RATIO)
    left.legend(loc="center left")
    right.axhline(
        float(np.linalg.norm(HIDDEN)), color="grey", linewidth=1, linestyle=":", label="part of x₀ that A does not see"
    )
    tidy(right, title="Regret falls, distance does not", x="budget T", y="mean")
    right.legend(loc="lower left")
