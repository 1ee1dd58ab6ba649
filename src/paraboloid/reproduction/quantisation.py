"""Quantised against exact (Appendix D, corollary): Θ(ln T) bits suffice, and the sum no longer depends on its order."""

import functools
from typing import TYPE_CHECKING

import numpy as np

from paraboloid.core import Vector
from paraboloid.numerics import Quantiser, truncated_mean
from paraboloid.problems import StudentT
from paraboloid.reproduction.figures import band, tidy
from paraboloid.reproduction.ratios import NORMAL_95, short
from paraboloid.reproduction.workbench import Claim, Findings, Row, Workbench

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["quantisation"]

NOISE = StudentT(3.0)
MEAN = 0.3
N_ORDERS = 20


def quantisation(bench: Workbench) -> Findings:
    """Measure what quantising changes, and how many answers different orders of summation give."""
    budgets = bench.size.choose(
        [100, 1000], [10**2, 10**3, 10**4, 10**5, 10**6], [10**2, 10**3, 10**4, 10**5, 10**6, 10**7]
    )
    n_runs = bench.size.choose(4, 100, 400)
    calls = [(T,) for T in budgets for _ in range(n_runs if T < 10**6 else 8)]
    trials = bench.map(one_trial, calls)
    rows = tuple(_row(T, np.array([t for (S,), t in zip(calls, trials, strict=True) if S == T])) for T in budgets)
    last = rows[-1]
    return Findings(
        title="Quantised against exact",
        headline=f"{last['bits']} bits at T = {last['T']:,}: mean changed by {short(float(last['difference']), 2)}, "
        f"{last['quantised_answers']} answer in {N_ORDERS} orders (floats: {short(float(last['float_answers']), 2)})",
        expected=_EXPECTED,
        seen=_seen(rows),
        claims=(
            Claim("no mean changed by more than b ≤ T^-½", all(bool(row["within_bound"]) for row in rows)),
            Claim(
                f"quantised sums: one answer for all {N_ORDERS} orders and partitions, in every trial",
                all(row["quantised_answers"] == 1 for row in rows),
            ),
            Claim("floating-point sums: more than one answer at the largest T", float(last["float_answers"]) > 1),
        ),
        rows=rows,
        size=(11.5, 3.9),
        draw=functools.partial(_draw, rows),
    )


_EXPECTED = (
    "A uniform quantiser on [-T^½, T^½] with ⌈log₂(T + 1)⌉ bits changes each truncated value by at most b ≤ T^-½, so "
    "the corollary's bound holds with b in it. On average over T values the changes nearly cancel: they are about "
    "uniform on ±b, so the mean moves by about b/√(3T) ≈ T^-1/√3, far below the statistical error T^-½. Codes are "
    "whole numbers: every order of summation and every partition among workers gives the same sum, bit for bit. "
    "Floating-point sums of the same values do not."
)


def one_trial(T: int, seed: np.random.SeedSequence) -> tuple[float, float, float, float, float]:
    """Return, for T fresh values: the change by quantising, the error, answers by floats and by codes, float spread."""
    rng = np.random.default_rng(seed)
    values = MEAN + NOISE.draw(np.zeros(1), T, rng)
    quantiser = Quantiser.for_budget(T)
    exact = truncated_mean(values, quantiser.bound)
    difference = abs(quantiser.sum(values).mean - exact)
    clipped = np.clip(values, -quantiser.bound, quantiser.bound)
    orders = [_workers(clipped, rng) for _ in range(N_ORDERS)]
    floats = {sum(float(part.sum()) for part in order) for order in orders}
    codes = {_quantised_total(order, quantiser) for order in orders}
    return difference, abs(exact - MEAN), float(len(floats)), float(len(codes)), max(floats) - min(floats)


def _workers(values: Vector, rng: np.random.Generator) -> list[Vector]:
    """Return the values as they might reach a random number of workers: in random order, cut into parts."""
    return np.array_split(rng.permutation(values), int(rng.integers(1, 17)))


def _quantised_total(parts: list[Vector], quantiser: Quantiser) -> int:
    sums = [quantiser.sum(part) for part in parts]
    return functools.reduce(lambda a, b: a + b, sums).total


def _row(T: int, trials: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Row:
    quantiser = Quantiser.for_budget(T)
    difference, error = trials[:, 0].mean(), trials[:, 0].std(ddof=1) / len(trials) ** 0.5
    return {
        "T": T,
        "n_trials": len(trials),
        "bits": quantiser.bits,
        "b": quantiser.rounding,
        "difference": float(difference),
        "low": float(difference - NORMAL_95 * error),
        "high": float(difference + NORMAL_95 * error),
        "largest_difference": float(trials[:, 0].max()),
        "within_bound": int(trials[:, 0].max() <= quantiser.rounding * (1 + 1e-9)),
        "statistical_error": float(trials[:, 1].mean()),
        "float_answers": float(trials[:, 2].mean()),
        "quantised_answers": int(trials[:, 3].max()),
        "float_spread": float(trials[:, 4].mean()),
    }


def _seen(rows: tuple[Row, ...]) -> str:
    parts = [
        f"T = {row['T']:,}: {row['bits']} bits, {short(float(row['difference']), 2)} against a statistical error of "
        f"{short(float(row['statistical_error']), 2)}"
        for row in rows
    ]
    last = rows[-1]
    return (
        "Mean change by quantising: "
        + "; ".join(parts)
        + f". The bits grow by log₂10 ≈ 3.3 per decade of T. At T = {last['T']:,}, {N_ORDERS} random orders and "
        f"partitions gave {short(float(last['float_answers']), 3)} different floating-point sums on average (spread "
        f"{short(float(last['float_spread']), 2)}), and {last['quantised_answers']} quantised sum in every trial. "
        "The spread of floats is no statistical matter, but it is enough to make two runs of one analysis unequal."
    )


def _draw(rows: tuple[Row, ...], figure: "Figure") -> None:
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.3, 1, 1])
    T = np.array([int(row["T"]) for row in rows])

    def column(name: str) -> Vector:
        return np.array([float(row[name]) for row in rows])

    band(left, T, column("difference"), low=column("low"), high=column("high"), label="change by quantising", index=0)
    left.plot(
        T, column("b") / np.sqrt(3 * T) * np.sqrt(2 / np.pi), color="black", linestyle=":", label="expected change"
    )
    left.plot(T, column("b"), color="black", linestyle="--", label="bound b")
    left.plot(T, column("statistical_error"), color="#D55E00", marker="s", label="statistical error")
    tidy(left, title="Change of the mean (band: 95 %)", x="number of values T", y="absolute change or error")
    left.legend(loc="lower left")
    grid = np.unique(np.geomspace(T[0], T[-1], 500).astype(int))
    middle.plot(grid, [Quantiser.for_budget(int(t)).bits for t in grid], color="#0072B2", label="bits")
    middle.plot(T, np.log2(T), color="black", linestyle=":", label="log₂ T")
    tidy(middle, title="Bits per value", x="number of values T", y="bits", logarithmic="x")
    middle.legend(loc="upper left")
    right.plot(T, column("float_answers"), color="#D55E00", marker="s", label="floating-point sums")
    right.plot(T, column("quantised_answers"), color="#0072B2", marker="o", label="quantised sums")
    right.set_ylim(0, 2 + column("float_answers").max())
    right.yaxis.get_major_locator().set_params(integer=True)
    tidy(right, title=f"Different answers in {N_ORDERS} orders", x="number of values T", y="answers", logarithmic="x")
    right.legend(loc="center right")
