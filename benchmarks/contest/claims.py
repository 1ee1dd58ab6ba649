"""Tables of what a solver claims (bounds, verdicts) and of the rate at which its regret falls with the budget."""

import math
from collections import defaultdict

import numpy as np
from scipy import stats

from contest.analysis import LEVEL, N_RESAMPLES
from contest.runner import Row
from paraboloid.core import Vector


def _good_rows(rows: list[Row], solver: str) -> list[Row]:
    """Return the last row of each run of a solver that did not fail."""
    last = {(row["problem"], row["T"], row["seed"]): row for row in rows if row["solver"] == solver}
    return [row for row in last.values() if "error" not in row]


def bounds_table(rows: list[Row], solver: str) -> str:
    """Return by cell how often a finite bound was claimed, and how often it held, with an exact interval."""
    by_cell: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in _good_rows(rows, solver):
        if "regret_bound" in row["says"]:
            by_cell[row["problem"], row["T"]].append(row)
    lines = ["| problem | T | runs | finite bound | held where finite | 90 % |", "|---|---|---|---|---|---|"]
    pooled = [row for cell in by_cell.values() for row in cell]
    for (problem, T), of in [*sorted(by_cell.items()), (("all", 0), pooled)]:
        finite = [row for row in of if math.isfinite(row["says"]["regret_bound"])]
        held = sum(row["regret"] <= row["says"]["regret_bound"] for row in finite)
        share = _share(held, len(finite)) if finite else " | "
        lines.append(f"| {problem} | {T or ''} | {len(of)} | {len(finite)} | {share} |")
    return "\n".join(lines)


def said_table(rows: list[Row], solver: str, field: str) -> str:
    """Return by problem and budget the median of a recorded field; of true and false the share of true."""
    by_cell: dict[tuple[str, int], list[float]] = defaultdict(list)
    is_truth = True
    for row in _good_rows(rows, solver):
        if field in row["says"]:
            by_cell[row["problem"], row["T"]].append(float(row["says"][field]))
            is_truth &= isinstance(row["says"][field], bool)
    lines = [f"| problem | T | runs | {field} | 90 % |", "|---|---|---|---|---|"]
    for (problem, T), values in sorted(by_cell.items()):
        text = _share(int(sum(values)), len(values)) if is_truth else f"{np.median(values):.3g} | "
        lines.append(f"| {problem} | {T} | {len(values)} | {text} |")
    if is_truth and by_cell:
        pooled = [value for values in by_cell.values() for value in values]
        lines.append(f"| all | | {len(pooled)} | {_share(int(sum(pooled)), len(pooled))} |")
    return "\n".join(lines)


def _share(hits: int, of: int) -> str:
    interval = stats.binomtest(hits, of).proportion_ci(LEVEL, method="exact")
    return f"{hits / of:.1%} | {interval.low:.1%}-{interval.high:.1%}"


def rate_table(rows: list[Row], solver: str) -> str:
    """Return by problem the slope of log median regret against log T, with a bootstrap interval over runs."""
    by_problem: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in _good_rows(rows, solver):
        by_problem[row["problem"]][row["T"]].append(row["regret"])
    lines = ["| problem | budgets | slope of log median regret | 90 % |", "|---|---|---|---|"]
    rng = np.random.default_rng(0)
    for problem, by_budget in sorted(by_problem.items()):
        if len(by_budget) < 2:
            continue
        T = np.log(np.array(sorted(by_budget), dtype=float))
        samples = [np.array(by_budget[budget]) for budget in sorted(by_budget)]
        slope = _slope(T, np.array([np.median(sample) for sample in samples])[:, None])[0]
        drawn = [np.median(rng.choice(sample, (N_RESAMPLES, len(sample))), axis=1) for sample in samples]
        low, high = np.quantile(_slope(T, np.array(drawn)), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        budgets = ", ".join(str(budget) for budget in sorted(by_budget))
        lines.append(f"| {problem} | {budgets} | {slope:.2f} | {low:.2f} to {high:.2f} |")
    return "\n".join(lines)


def _slope(log_budgets: Vector, medians: np.ndarray) -> Vector:
    """Return least-squares slopes, one for each column of medians (budgets, n)."""
    away = log_budgets - log_budgets.mean()
    return np.asarray(away @ np.log(np.maximum(medians, 1e-300)) / (away @ away))
