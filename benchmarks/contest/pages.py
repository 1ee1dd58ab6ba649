"""Writes docs/benchmarks.md and docs/where-we-lose.md, with their pictures, from the rows of a contest."""

from fnmatch import fnmatchcase
from pathlib import Path

from contest import figures, tables
from contest.provenance import versions
from contest.reasons import REASONS, SETTINGS
from contest.standings import OURS, Cell, Standings


def headline(of: Standings) -> str:
    """Return what ``make bench`` prints."""
    lost = {one.cell for one in of.losses}
    return "\n".join(
        [
            tables.headline(of),
            "",
            tables.margin_summary(of),
            others_summary(of),
            f"Cells in which a rival is better beyond the interval: {len(lost)} of {_n_cells(of)} (where-we-lose.md).",
        ]
    )


def _n_cells(of: Standings) -> int:
    return len(of.quadratic_cells) + len(of.other_cells)


def others_summary(of: Standings) -> str:
    """Return how ours stands on the third-party problems, in one sentence."""
    relative, n = of.relative(of.other_cells), len(of.other_cells)
    if OURS not in relative:
        return "Third-party problems: none has been run."
    against = {name: of.against(name, of.other_cells) for name in relative if name != OURS}
    better = sum(ratio > 1 for ratio in against.values())
    ahead = ", ".join(f"{name} ({ratio:.2g})" for name, ratio in sorted(against.items()) if ratio <= 1)
    nearest, times = min(against.items(), key=lambda pair: pair[1], default=("nobody", 1.0))
    worst = sum(ratio > 3 for ratio in relative[OURS])
    return (
        f"Third-party problems, {n} cells: over the cells that both ran in, our geometric mean of the median regret is "
        f"lower than that of {better} of {len(against)} rivals{f', not than that of {ahead}' if ahead else ''} "
        f"(the nearest, {nearest}, has {times:.2g} times ours); it is more than 3 times that "
        f"of the best solver of the cell in {worst} cells."
    )


def write(of: Standings, folder: Path, files: list[str]) -> None:
    """Write both pages and their pictures, each whole or not at all."""
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    figures.draw_convergence(of, pictures / "bench-convergence.png")
    figures.draw_profiles(of, pictures / "bench-profiles.png")
    for name, text in (("benchmarks.md", benchmarks_page(of, files)), ("where-we-lose.md", losses_page(of, files))):
        temporary = folder / f".{name}.part"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(folder / name)


def _made_from(of: Standings, files: list[str]) -> str:
    commits = versions(row for row in of.rows if row["solver"] == OURS)
    listed = ", ".join(f"`benchmarks/results/{name}`" for name in files)
    return (
        f"Made from {listed} ({len(of.rows):,} runs of {len(of.solvers)} solvers in {_n_cells(of)} cells) by `python "
        f"benchmarks/everything.py analyse ... --pages docs`. Paraboloid as of {', '.join(commits)}."
    )


def benchmarks_page(of: Standings, files: list[str]) -> str:
    """Return the text of docs/benchmarks.md."""
    return _filled(
        "benchmarks.md",
        made_from=_made_from(of, files),
        margin_summary=tables.margin_summary(of),
        others_summary=others_summary(of),
        headline=tables.headline(of),
        margins=tables.margins(of),
        by_budget=tables.by_budget(of),
        medians=tables.medians(of),
        costs=tables.costs(of),
        settings=tables.table(["solver", "setting and answer"], [[name, text] for name, text in SETTINGS.items()]),
    )


def losses_page(of: Standings, files: list[str]) -> str:
    """Return the text of docs/where-we-lose.md."""
    lost = {one.cell for one in of.losses}
    worse = [cell for cell in of.other_cells if _times_worse(of, cell) > 3]
    quadratic = [cell for cell in of.quadratic_cells if cell in lost]
    other = [cell for cell in of.other_cells if cell in lost]
    return _filled(
        "where-we-lose.md",
        made_from=_made_from(of, files),
        n_lost=len(lost),
        n_cells=_n_cells(of),
        n_quadratic=len(of.quadratic_cells),
        n_quadratic_lost=len(quadratic),
        quadratic_losses=tables.losses_by_cell(of, quadratic),
        n_other=len(of.other_cells),
        n_other_lost=len(other),
        other_losses=tables.losses_by_cell(of, other),
        reasons=_reasons(sorted(set(quadratic) | set(other) | set(worse))),
        n_worse=len(worse),
        worse=_worse_table(of, worse),
        broken_bounds=tables.broken_bounds(of),
    )


def _filled(template: str, **parts: object) -> str:
    text = (Path(__file__).parent / "templates" / template).read_text(encoding="utf-8")
    return text.format(**parts)


def _times_worse(of: Standings, cell: Cell) -> float:
    scores = of.medians([cell])[cell]
    return scores.get(OURS, 0.0) / min(scores.values())


def _worse_table(of: Standings, cells: list[Cell]) -> str:
    rows = []
    for cell in sorted(cells, key=lambda cell: -_times_worse(of, cell)):
        scores = of.medians([cell])[cell]
        best = min(scores, key=lambda name: scores[name])
        rows.append(
            [cell[0], str(cell[1]), tables.number(_times_worse(of, cell)), f"{best}: {tables.number(scores[best])}"]
        )
    return tables.table(["problem", "T", "our median / the best's", "best: its median"], rows) if rows else "None."


def _reasons(cells: list[Cell]) -> str:
    """Return one sentence for each class of problems that is lost somewhere, and what is not explained."""
    lines, explained = [], set[Cell]()
    for patterns, text in REASONS:
        mine = [cell for cell in cells if any(fnmatchcase(cell[0], pattern) for pattern in patterns)]
        if mine:
            explained |= set(mine)
            names = ", ".join(dict.fromkeys(cell[0] for cell in mine))
            lines.append(f"- {text} ({names}.)")
    left = [f"{name} at T = {T}" for name, T in cells if (name, T) not in explained]
    if left:
        lines.append(f"- Not explained yet: {', '.join(left)}.")
    return "\n".join(lines) or "Nothing to explain."
