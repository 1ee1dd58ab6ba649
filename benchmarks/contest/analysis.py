"""Tables from the rows of a contest: medians with intervals, ratios to cma and to the best, own time, paired ratios."""

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from contest.runner import Row
from paraboloid.core import Vector

LEVEL = 0.9
N_RESAMPLES = 1000
Cells = dict[tuple[str, int], dict[str, "Score"]]


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """What one solver did in one cell."""

    regrets: dict[int, float]
    n_failed: int
    own_milliseconds: float

    @property
    def median(self) -> float:
        """Median of the true regrets; failed runs count as infinitely bad."""
        return float(np.median([*self.regrets.values(), *[math.inf] * self.n_failed]))

    def interval(self) -> tuple[float, float]:
        """Return a bootstrap interval of the median at 90 %."""
        values = np.array(list(self.regrets.values()))
        if values.size == 0:
            return math.inf, math.inf
        drawn = np.random.default_rng(0).choice(values, (N_RESAMPLES, values.size))
        low, high = np.quantile(np.median(drawn, axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return float(low), float(high)


def cells_of(rows: list[Row], floor: float = 0.0) -> Cells:
    """Return the scores by (problem, T) and solver; of rows for the same run the last one counts.

    Regrets below ``floor`` count as ``floor``: there two solvers are equally good.
    """
    last = {(row["problem"], row["T"], row["solver"], row["seed"]): row for row in rows}
    grouped: dict[tuple[str, int], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for (problem, T, solver, _), row in last.items():
        grouped[problem, T][solver].append(row)
    return {cell: {name: _score(of, floor) for name, of in solvers.items()} for cell, solvers in grouped.items()}


def _score(rows: list[Row], floor: float) -> Score:
    good = [row for row in rows if "error" not in row]
    own = [1000 * row["own_seconds"] / max(1, row["n_evals"]) for row in good]
    regrets = {row["seed"]: max(floor, float(row["regret"])) for row in good}
    return Score(regrets, len(rows) - len(good), float(np.median(own)) if own else math.nan)


def medians_table(cells: Cells, ours: str) -> str:
    """Return a table of medians with intervals, and the ratios of ours to cma and to the best of the others."""
    names = list(dict.fromkeys(name for scores in cells.values() for name in scores))
    lines = ["| problem | T | seeds | " + " | ".join(names) + " | ours/cma | ours/best other |"]
    lines.append("|---" * (len(names) + 5) + "|")
    for (problem, T), scores in sorted(cells.items()):
        seeds = max(len(score.regrets) + score.n_failed for score in scores.values())
        texts = [_text(scores[name]) if name in scores else "" for name in names]
        ratios = [_ratio(scores, ours, ["cma"]), _ratio(scores, ours, _others(scores, ours))]
        shown = ["" if math.isnan(ratio) else f"{ratio:.2f}" for ratio in ratios]
        lines.append(f"| {problem} | {T} | {seeds} | " + " | ".join([*texts, *shown]) + " |")
    return "\n".join(lines)


def _text(score: Score) -> str:
    low, high = score.interval()
    failed = f" ({score.n_failed} failed)" if score.n_failed else ""
    return f"{score.median:.3g} ({low:.2g}-{high:.2g}){failed}"


def _others(scores: dict[str, Score], ours: str) -> list[str]:
    return [name for name in scores if name.split(":")[0] != ours.split(":")[0]]


def _ratio(scores: dict[str, Score], ours: str, others: list[str]) -> float:
    present = [scores[name].median for name in others if name in scores]
    if ours not in scores or not present:
        return math.nan
    return scores[ours].median / max(min(present), 1e-300)


def summary(cells: Cells, ours: str) -> str:
    """Return the shares of cells that the issue asks for, and each solver's own time and failures.

    Where both medians are equal, both are at the floor: no solver is ahead there.
    """
    to_cma = [_ratio(scores, ours, ["cma"]) for scores in cells.values()]
    to_best = {cell: _ratio(scores, ours, _others(scores, ours)) for cell, scores in cells.items()}
    known_cma = [ratio for ratio in to_cma if not math.isnan(ratio)]
    known_best = {cell: ratio for cell, ratio in to_best.items() if not math.isnan(ratio)}
    lines = []
    if known_cma:
        below, level = sum(ratio < 1 for ratio in known_cma), sum(ratio == 1 for ratio in known_cma)
        share = (below + level) / len(known_cma)
        lines.append(
            f"{ours} is below cma in {below} of {len(known_cma)} cells and level with it in {level} ({share:.0%})."
        )
    if known_best:
        lost = {cell: ratio for cell, ratio in known_best.items() if ratio > 2}
        mean = math.exp(np.mean([math.log(max(ratio, 1e-300)) for ratio in known_best.values()]))
        lines.append(
            f"Geometric mean of ours/best other: {mean:.3g}; above 2 in {len(lost)} of {len(known_best)} cells:"
        )
        lines += [
            f"  {problem} T={T}: {ratio:.2f}" for (problem, T), ratio in sorted(lost.items(), key=lambda i: -i[1])
        ]
    lines.append("Own time, ms per measurement (median of cells) and failed runs:")
    for name in dict.fromkeys(name for scores in cells.values() for name in scores):
        mine = [scores[name] for scores in cells.values() if name in scores]
        times = [score.own_milliseconds for score in mine if not math.isnan(score.own_milliseconds)]
        spent = f"{np.median(times):.3g} (greatest {max(times):.3g})" if times else "unknown"
        lines.append(f"  {name}: {spent}; {sum(score.n_failed for score in mine)} failed")
    return "\n".join(lines)


def paired_table(cells: Cells, first: str, second: str) -> str:
    """Return ratios of mean regrets of two solvers on the same seeds, by cell and pooled.

    For the pool each cell is scaled by the mean of the second solver.
    """
    lines = [f"| problem | T | seeds | mean {first} / mean {second} | 90 % |", "|---|---|---|---|---|"]
    pooled: list[tuple[Vector, Vector]] = []
    for (problem, T), scores in sorted(cells.items()):
        if first not in scores or second not in scores:
            continue
        a, b = scores[first].regrets, scores[second].regrets
        seeds = sorted(a.keys() & b.keys())
        if not seeds:
            continue
        pair = np.array([a[seed] for seed in seeds]), np.array([b[seed] for seed in seeds])
        pooled.append((pair[0] / pair[1].mean(), pair[1] / pair[1].mean()))
        low, high = _paired_interval([pair])
        lines.append(
            f"| {problem} | {T} | {len(seeds)} | {pair[0].mean() / pair[1].mean():.3f} | {low:.2f}-{high:.2f} |"
        )
    if pooled:
        low, high = _paired_interval(pooled)
        ratio = np.mean([x.mean() for x, _ in pooled]) / np.mean([y.mean() for _, y in pooled])
        lines.append(
            f"| pooled, {len(pooled)} cells | | {sum(len(x) for x, _ in pooled)} | {ratio:.3f} | {low:.3f}-{high:.3f} |"
        )
    return "\n".join(lines)


def _paired_interval(pairs: list[tuple[Vector, Vector]]) -> tuple[float, float]:
    """Return a bootstrap interval of the ratio of means; seeds are drawn anew in each cell, for both."""
    rng = np.random.default_rng(0)
    above, below = np.zeros(N_RESAMPLES), np.zeros(N_RESAMPLES)
    for x, y in pairs:
        drawn = rng.integers(len(x), size=(N_RESAMPLES, len(x)))
        above += x[drawn].mean(axis=1)
        below += y[drawn].mean(axis=1)
    low, high = np.quantile(above / below, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
