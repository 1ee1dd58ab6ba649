"""Writes docs/benchmarks.md and docs/where-we-lose.md, with their pictures, from the rows of a contest."""

from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

from contest import figures, tables
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
            _others_summary(of),
            f"Cells in which a rival is better beyond the interval: {len(lost)} of {_n_cells(of)} (where-we-lose.md).",
        ]
    )


def _n_cells(of: Standings) -> int:
    return len(of.quadratic_cells) + len(of.other_cells)


def _others_summary(of: Standings) -> str:
    """Return how ours stands on the third-party problems, in one sentence."""
    relative, n = of.relative(of.other_cells), len(of.other_cells)
    if OURS not in relative:
        return "Third-party problems: none has been run."
    against = {name: of.against(name, of.other_cells) for name in relative if name != OURS}
    better = sum(ratio > 1 for ratio in against.values())
    ahead = ", ".join(f"{name} ({ratio:.2g})" for name, ratio in sorted(against.items()) if ratio <= 1)
    worst = sum(ratio > 3 for ratio in relative[OURS])
    return (
        f"Third-party problems, {n} cells: over the cells that both ran in, our geometric mean of the median regret is "
        f"lower than that of {better} of {len(against)} rivals{f', not than that of {ahead}' if ahead else ''}; it is "
        f"more than 3 times that of the best solver of the cell in {worst} cells."
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
    commits = Counter(f"{row['commit']}, source {row['source']}" for row in of.rows if row["solver"] == OURS)
    listed = ", ".join(f"`benchmarks/results/{name}`" for name in files)
    return (
        f"Made from {listed} ({len(of.rows):,} runs of {len(of.solvers)} solvers in {_n_cells(of)} cells) by `python "
        f"benchmarks/everything.py analyse ... --pages docs`. Paraboloid as of {'; '.join(commits)}."
    )


def benchmarks_page(of: Standings, files: list[str]) -> str:
    """Return the text of docs/benchmarks.md."""
    return f"""# Benchmarks against everything else

{_made_from(of, files)}

`make bench` runs the quick set of cells into `build/` in its own environment and prints the first table for
your machine; interrupted, it goes on where it was. `make bench-full` runs the whole set, which takes many
hours. Solvers whose names end in `+` are set as a fair expert would set them. What is lost, cell by cell:
[where we lose](where-we-lose.md).

## All solvers

{tables.margin_summary(of)} {_others_summary(of)}

{tables.headline(of)}

*Regret·T / V\\*: geometric mean over the quadratic cells with normal noise of the mean regret, in units of the
[instance limit](instance-limit.md). Theirs / ours: geometric mean over the cells that both ran in; above 1 we
are better. Regret / best: geometric mean over cells of the median regret over that of the best solver of the
cell; regrets below 1e-8 count as 1e-8. Solvers that are slow, or not made for a problem, have fewer cells: then
only the column theirs / ours compares like with like. Own ms: median CPU time of the solver itself for each
measurement. MB: greatest growth of memory in any run. A failed run counts as the regret of the centre.*

## Noisy quadratics: the margin

{tables.margins(of)}

*Names: region, knobs d, condition c, distance r of the minimum from the centre, noise (normal, Student t(3),
log-normal, unequal). Mean regrets on shared seeds, ratio with a bootstrap interval. V\\* is for normal noise of
unit variance: with heavy tails or unequal noise one can be below it.*

## Third-party problems and smooth functions

COCO's `bbob-noisy` (written out and compared with the package), SimOpt's SAN-1, SSCONT-1, CNTNEWS-1 and
PARAMESTI-1 (as well), a variational circuit with shots, a controller of a pendulum, cross-validated support
vectors, and noisy smooth functions with a known truth.

{tables.by_budget(of)}

*Mean rank: 0 is the best solver of a cell, 1 the worst; in brackets the number of cells where it is not all.
Worst cell: greatest median regret over that of the best solver.*

{tables.medians(of)}

*Median true regret: ours, the rivals that are best on the whole, and whoever is best in the cell.*

![Regret against the budget](figures/bench-convergence.png)

![Performance and data profiles](figures/bench-profiles.png)

## Own time and memory

{tables.costs(of)}

## Solvers and settings

{tables.table(["solver", "setting and answer"], [[name, text] for name, text in SETTINGS.items()])}

Where the minimum lies in the centre (r0), solvers that begin there begin at the answer; they are run, and not ranked.
On a ball, solvers that know only boxes are given the cube about it, and a point outside the ball is measured
where it meets the ball on its way to the centre.

## Statistical note

- **Seeds.** Scored runs have seeds from 30,000 on, the same for all solvers of a cell: the seed sets the
  instance, the noise and the solver's own draws. Solvers that take long run on fewer of the same seeds, and are
  compared on those only.
- **What was chosen on which seeds.** The experts' settings were chosen on seeds 500 to 503 by `python
  benchmarks/everything.py tune`, on ten problems of which eight are scored here too, with other noise: that helps the
  rivals, not us. The cells of the quick set were chosen by their running time on seed 500. No setting of
  theirs was chosen on scored seeds, nothing of ours was changed between the first and the last scored run, and no cell
  was dropped after its result was seen. Two choices were made after a look
  at the first scored seed: which fast solvers also ran at T = 5000 (for their strength), and that solvers which begin
  at the answer are not ranked there (their regret was exactly 0).
- **Measured twice.** The scored runs showed that the minimiser we had given to the classical designs was inexact on
  boxes with a condition of 100 and more. It was mended, which helps them, and their runs on boxes were made again.
- **Intervals** are at 90 %. On quadratics: ratio of mean regrets, bootstrap over shared seeds. Elsewhere
  regrets spread over decades, so: geometric mean of the ratio on shared seeds, Student's interval for the mean
  of the logs. With five seeds or fewer the bootstrap interval is too narrow. At 90 %, one comparison in twenty
  between equals is called a loss: with this many comparisons some of the listed losses, and some of the wins,
  are luck.
- **Too few to tell.** Three seeds are the least for an interval; a solver with fewer in a cell is ranked, not compared.
- **Commit and source.** Rows name the commit of the tree (`-dirty` where other files were being edited) and a digest of
  the package's own text, which is the same in all rows of this page.
- **Failures** are kept, counted in the first table, and scored as the regret of the centre.
- **Time and memory** are CPU seconds of the solver without the measurements, one core, and growth of resident
  memory as the kernel counts it; both in the process that ran it.
"""


def losses_page(of: Standings, files: list[str]) -> str:
    """Return the text of docs/where-we-lose.md."""
    lost = {one.cell for one in of.losses}
    worse = [cell for cell in of.other_cells if _times_worse(of, cell) > 3]
    quadratic = [cell for cell in of.quadratic_cells if cell in lost]
    other = [cell for cell in of.other_cells if cell in lost]
    return f"""# Where we lose

Every cell of the [benchmarks](benchmarks.md) in which another solver is better than Paraboloid beyond the 90 %
interval: {len(lost)} of {_n_cells(of)} cells. {_made_from(of, files)}

## Noisy quadratics: {len(quadratic)} of {len(of.quadratic_cells)} cells

{tables.losses_by_cell(of, quadratic)}

## Everything else: {len(other)} of {len(of.other_cells)} cells

{tables.losses_by_cell(of, other)}

## Why

*Seen* is what the trace of one run on seed 500, which is not scored, shows; *supposed* is a guess. No reason has been
tested by changing the search.

{_reasons(sorted(set(quadratic) | set(other) | set(worse)))}

## More than three times worse than the best

Cells in which our median regret is more than three times that of the best solver, whether or not the interval
shows it: {len(worse)} of {len(of.other_cells)}.

{_worse_table(of, worse)}

## Bounds that did not hold

`regret_bound` is claimed at 95 %, if the response is quadratic. It was finite, and below the true regret, here:

{tables.broken_bounds(of)}
"""


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
