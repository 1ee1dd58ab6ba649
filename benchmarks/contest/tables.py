"""The tables of the benchmark pages, as Markdown."""

import math
from collections import Counter, defaultdict

import numpy as np

from contest.solvers import TOLD
from contest.standings import OURS, Cell, Comparison, Standings


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float, digits: int = 3) -> str:
    """Return a number in few digits; nothing where it is not known."""
    return "" if math.isnan(value) else f"{value:.{digits}g}"


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean, or NaN of nothing."""
    return math.exp(float(np.mean(np.log(values)))) if values else math.nan


def headline(of: Standings) -> str:
    """Return the table of all solvers, the best on the third-party problems first."""
    relative, ranks = of.relative(of.other_cells), of.mean_ranks(of.other_cells)
    names = sorted(of.solvers, key=lambda name: (name in TOLD, geometric_mean(relative.get(name, [math.inf]))))
    rows = []
    for name in names:
        told = " (is told the Hessian)" if name in TOLD else ""
        rows.append(
            [
                f"**{name}**" if name == OURS else name + told,
                number(geometric_mean(of.over_limit(name))),
                "1" if name == OURS else number(of.against(name, of.quadratic_cells)) if name not in TOLD else "",
                "1" if name == OURS else number(of.against(name, of.other_cells)) if name not in TOLD else "",
                number(geometric_mean(relative.get(name, []))),
                number(ranks.get(name, math.nan), 2),
                f"{len(relative.get(name, []))}",
                number(of.own_milliseconds(name), 2),
                number(of.peak_megabytes(name), 2),
                str(of.failed[name]),
            ]
        )
    head = ["solver", "quadratics: regret·T / V\\*", "quadratics: theirs / ours", "others: theirs / ours"]
    head += ["others: regret / best", "others: mean rank (0 best, 1 worst)", "cells", "own ms", "MB", "failed"]
    return table(head, rows)


def margins(of: Standings) -> str:
    """Return the table of quadratic cells: ours over the limit, the best rival, the ratio of means and its interval."""
    rows = []
    for cell in of.quadratic_cells:
        found = of.comparisons(cell)
        if not found:
            continue
        best, ahead = found[0], sum(one.is_ahead for one in found)
        behind = sum(one.is_behind for one in found)
        rows.append(
            [
                cell[0],
                str(cell[1]),
                str(best.n_seeds),
                number(_over_limit(of, cell, OURS)),
                number(_over_limit(of, cell, best.other)),
                best.other,
                interval(best),
                f"{behind} of {len(found)}",
                str(ahead),
            ]
        )
    head = ["problem", "T", "seeds", "ours / V\\*", "its / V\\*", "best rival", "its mean / ours (90 %)"]
    return table([*head, "behind us", "ahead of us"], rows)


def margin_summary(of: Standings) -> str:
    """Return in a sentence in how many quadratic cells ours is ahead of every rival."""
    firsts = [found[0] for cell in of.quadratic_cells if (found := of.comparisons(cell))]
    clear, lower = sum(one.is_behind for one in firsts), sum(one.ratio > 1 for one in firsts)
    return (
        f"Of {len(firsts)} cells with T ≥ 2p our mean regret is the lowest in {lower}, beyond the interval in {clear}; "
        f"a rival is ahead beyond the interval in {sum(one.is_ahead for one in firsts)}."
    )


def _over_limit(of: Standings, cell: Cell, solver: str) -> float:
    found = [
        row["regret"] * row["T"] / row["v_high"]
        for row in of.rows
        if (row["problem"], row["T"], row["solver"]) == (*cell, solver) and "error" not in row
    ]
    return float(np.mean(found)) if found else math.nan


def interval(one: Comparison) -> str:
    """Return a ratio with its interval."""
    return f"{number(one.ratio)} ({number(one.low, 2)} to {number(one.high, 2)})"


def by_budget(of: Standings) -> str:
    """Return for each solver and budget the mean rank and the geometric mean of regret over the best's."""
    budgets = sorted({cell[1] for cell in of.other_cells})
    cells = {T: [cell for cell in of.other_cells if cell[1] == T] for T in budgets}
    relative, ranks = {T: of.relative(cells[T]) for T in budgets}, {T: of.mean_ranks(cells[T]) for T in budgets}
    order = geometric_means(of, of.other_cells)
    rows = []
    for name in sorted(order, key=lambda name: order[name]):
        row = [f"**{name}**" if name == OURS else name]
        for T in budgets:
            mine = relative[T].get(name, [])
            row += [
                f"{number(ranks[T].get(name, math.nan), 2)}"
                + (f" ({len(mine)})" if 0 < len(mine) < len(cells[T]) else ""),
                number(geometric_mean(mine)),
                number(max(mine, default=math.nan)),
            ]
        rows.append(row)
    head = ["solver"]
    for T in budgets:
        head += [f"T = {T}: mean rank", "regret / best", "worst cell"]
    return table(head, rows)


def geometric_means(of: Standings, cells: list[Cell]) -> dict[str, float]:
    """Return each solver's geometric mean of regret over the best's."""
    return {name: geometric_mean(values) for name, values in of.relative(cells).items()}


def medians(of: Standings, rivals: int = 6) -> str:
    """Return the median regret by cell: ours, the rivals that are best on the whole, and the best of the cell."""
    order = geometric_means(of, of.other_cells)
    chosen = [name for name in sorted(order, key=lambda name: order[name]) if name != OURS][:rivals]
    rows = []
    for cell, scores in of.medians(of.other_cells).items():
        best = min((name for name in scores if name != OURS), key=lambda name: scores[name])
        row = [cell[0], str(cell[1]), number(scores.get(OURS, math.nan), 2)]
        row += [number(scores.get(name, math.nan), 2) for name in chosen]
        rows.append([*row, f"{best}: {number(scores[best], 2)}"])
    return table(["problem", "T", "ours", *chosen, "best of all others"], rows)


def costs(of: Standings) -> str:
    """Return own time and memory of each solver."""
    rows = [
        [
            f"**{name}**" if name == OURS else name,
            number(of.own_milliseconds(name, most_T=250), 2),
            number(of.own_milliseconds(name, least_T=600), 2),
            number(of.peak_megabytes(name), 2),
            _version(of, name),
        ]
        for name in of.solvers
    ]
    return table(["solver", "own ms per measurement, T ≤ 250", "T ≥ 600", "most memory, MB", "version"], rows)


def _version(of: Standings, name: str) -> str:
    found = Counter(row["version"] for row in of.rows if row["solver"] == name)
    return ", ".join(sorted(found))


def losses_by_cell(of: Standings, cells: list[Cell]) -> str:
    """Return the cells that are lost: who wins, by how much, how many others are ahead too."""
    rows = []
    for cell in cells:
        ahead = [one for one in of.comparisons(cell) if one.is_ahead]
        if ahead:
            best = ahead[0]
            others = ", ".join(one.other for one in ahead[1:4]) + (", ..." if len(ahead) > 4 else "")
            ours_over_its = Comparison(cell, best.other, best.n_seeds, 1 / best.ratio, 1 / best.high, 1 / best.low)
            rows.append([cell[0], str(cell[1]), str(best.n_seeds), best.other, interval(ours_over_its), others])
    rows.sort(key=lambda row: -float(row[4].split()[0]))
    head = ["problem", "T", "seeds", "best rival", "our regret / its (90 %)", "also ahead of us"]
    return table(head, rows) if rows else "None."


def broken_bounds(of: Standings) -> str:
    """Return the cells where a finite bound was below the true regret, and what share held on the whole."""
    claimed: dict[Cell, list[tuple[float, float]]] = defaultdict(list)
    for row in of.rows:
        bound = row.get("says", {}).get("regret_bound", math.inf) if row["solver"] == OURS else math.inf
        if math.isfinite(bound):
            claimed[row["problem"], row["T"]].append((float(row["regret"]), float(bound)))
    rows = []
    for cell, pairs in sorted(claimed.items()):
        broken = [(regret, bound) for regret, bound in pairs if regret > bound]
        if broken:
            regret, bound = max(broken)
            rows.append([cell[0], str(cell[1]), f"{len(broken)} of {len(pairs)}", number(bound, 2), number(regret, 2)])
    words = []
    for text, cells in (("quadratics", of.quadratic_cells), ("the other problems", of.other_cells)):
        pairs = [pair for cell in cells for pair in claimed.get(cell, [])]
        held = sum(regret <= bound for regret, bound in pairs)
        words.append(f"on {text} {held} of {len(pairs)} finite bounds held")
    head = ["problem", "T", "broken", "bound of the worst", "its true regret"]
    return f"{table(head, rows)}\n\nIn all, {' and '.join(words)}." if rows else f"None: {' and '.join(words)}."
