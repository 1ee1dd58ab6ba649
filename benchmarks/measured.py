"""The tables of the documentation, made from the committed rows of the benchmarks.

Between ``<!-- measured NAME -->`` and ``<!-- end -->`` a page has what the function of that name in `TABLES` makes of
the rows in benchmarks/results, and the commit that they were measured with. Nobody types a figure there: measure anew,
then ``python benchmarks/measured.py`` writes the pages, and a test compares the two. With the name of a table and a
file, ``python benchmarks/measured.py limit FILE`` prints that table.
"""

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import comparison
import numpy as np
from contest import analysis
from contest.pages import others_summary
from contest.provenance import versions
from contest.runner import read_rows
from contest.standings import Standings
from contest.tables import margin_summary
from no_loss import report

from paraboloid.numerics import n_terms

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks/results"
PAGES = (ROOT / "README.md", ROOT / "docs/adaptive.md", ROOT / "docs/smooth.md")
MARK = re.compile(r"(<!-- measured (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
LEVELS = ("50", "90", "95", "99")
FLOOR = 1e-8  # COCO's target: two losses below it count as equal

Row = dict[str, Any]


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown."""
    names = list(head)
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in (names, *rows)]
    return "\n".join([lines[0], "|---" * len(names) + "|", *lines[1:]])


def pooled(rows: list[Row]) -> str:
    """Return the means over the cells of a region, dimension and budget, and the worst cell."""
    groups: dict[tuple[str, int, float], list[Row]] = defaultdict(list)
    for row in rows:
        cell = row["cell"]
        groups[cell["shape"], cell["d"], round(cell["T"] / n_terms(cell["d"]), 2)].append(row)
    lines = []
    for (shape, d, m), found in sorted(groups.items()):
        means, errors, seeds = (np.array([row[name] for row in found]) for name in ("mean", "error", "seeds"))
        runs = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
        mean = f"{means.mean():.3g} ± {np.sqrt((errors**2).sum()) / len(found):.2g}"
        worst = f"{means.max():.3g} ± {errors[means.argmax()]:.2g}"
        ahead = [row["expected"] for row in found if "expected" in row]
        held = np.average([row["held"] for row in found], weights=seeds)
        expected = [f"{np.mean(ahead):.3g}", f"{max(ahead):.3g}"] if ahead else ["", ""]
        lines.append([shape, d, f"{m:g}", len(found), runs, mean, worst, *expected, f"{held:.3f}"])
    head = "region, d, T/p, cells, runs a cell, mean ratio to V*, worst cell, expected, worst cell, bound held at 95 %"
    return table(head.split(", "), lines)


def small(rows: list[Row]) -> str:
    """Return ours and the better classical design at every small budget."""
    groups: dict[tuple[str, int, float], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        cell = row["cell"]
        groups[cell["shape"], cell["d"], cell["rho"]][cell["T"]].append(row)
    lines = []
    for (shape, d, rho), budgets in sorted(groups.items()):
        cells = ", ".join(f"**{T / n_terms(d):.2g}p**: {_beside(found)}" for T, found in sorted(budgets.items()))
        lines.append([shape, d, rho, next(iter(budgets.values()))[0]["seeds"], cells])
    return table(["region", "d", "minimum at", "runs", "T/p: ours / better classical"], lines)


def _beside(rows: list[Row]) -> str:
    ours = next(row for row in rows if row["cell"]["method"] == "adaptive")
    best = min((row for row in rows if row["cell"]["method"] != "adaptive"), key=lambda row: float(row["mean"]))
    return f"{ours['mean']:.3g} ± {ours['error']:.2g} / {best['mean']:.2g}"


def coverage(rows: list[Row]) -> str:
    """Return the shares of bounds and intervals that held, over all runs and in the worst cell."""
    runs, lines = np.array([row["runs"] for row in rows]), []
    for name, title in (("bound", "regret bound"), ("x", "intervals of the knobs")):
        shares = [np.array([row[f"{name} {level}%"] for row in rows]) for level in LEVELS]
        lines.append([f"{title}, {runs.sum()} runs", *[f"{np.average(share, weights=runs):.3f}" for share in shares]])
        lines.append([f"worst of {len(rows)} cells of {runs.min()}", *[f"{share.min():.3f}" for share in shares]])
    wide = [row["bound/regret"] for row in rows if row["d"] == 5 and row["T"] == 10 * n_terms(5)]
    said = f"\n\nMedian bound at 95 % over median regret, d = 5, T = 10p: {min(wide):.2g} to {max(wide):.2g} in a cell."
    return table(["held at", *[f"{level} %" for level in LEVELS]], lines) + said


def accuracy(rows: list[Row]) -> str:
    """Return what ``eps=`` used against an oracle, by region and dimension."""
    lines = []
    groups: dict[tuple[str, object], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["region"], row["d"]].append(row)
        groups["all", ""].append(row)
    for (region, d), found in sorted(groups.items(), key=lambda item: (item[0][0] == "all", str(item[0]))):
        used, runs = np.array([row["used/oracle"] for row in found]), np.array([row["runs"] for row in found])
        kept = sum(round(row["kept"] * row["runs"]) for row in found)
        spread = f"{np.median(used):.2f} ({used.min():.2f} to {used.max():.2f})"
        lines.append([region, d, len(found), spread, int((used > 1.5).sum()), f"{kept} of {runs.sum()}"])
    head = "region, d, cells, measurements over the oracle's: median of cells (range), cells above 1.5, ε kept at 95 %"
    return table(head.split(", "), lines)


def tails(rows: list[Row]) -> str:
    """Return the ratio to V* under each noise."""
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["T"]):
        groups[row["noise"], row["d"]].append(row)
    lines = [
        [
            noise,
            d,
            found[0]["runs"],
            "; ".join(f"{row['T']:,}: {row['ratio to V*']:.2f} ± {row['error']:.2f}" for row in found),
        ]
        for (noise, d), found in groups.items()
    ]
    return table(["noise of unit variance", "d", "runs each", "T: mean ratio to V*"], lines)


PROBLEMS = {
    "rosen": "Rosenbrock",
    "cosh": "sum of cosh",
    "quart": "quartic",
    "logis": "logistic loss",
    "basins": "two basins",
    "periodic": "periodic",
    "dose": "dose response",
    "skewed": "exponential on one side",
    "kinks": "kinks",
    "edge": "1/x at the edge",
    "simopt_sscont1": "inventory (SSCONT-1)",
    "simopt_san1": "activity network (SAN-1)",
    "simopt_cntnews1": "newsvendor (CNTNEWS-1)",
    "simopt_paramesti1": "gamma likelihood (PARAMESTI-1)",
    "pendulum": "pendulum's controller",
    "svr_diabetes": "cross-validated SVR",
    "vqe_tfim6": "quantum circuit",
}
SOLVERS = {"paraboloid": "ours", "cma": "CMA-ES", "bobyqa": "Py-BOBYQA", "tpe": "TPE", "one-shot": "one-shot quadratic"}


def smooth(rows: list[Row]) -> str:
    """Return the median losses on functions that are no paraboloids, at every budget, and how often ours is lower."""
    cells = analysis.cells_of(rows, FLOOR)
    budgets = sorted({T for _, T in cells})
    order, lines = list(PROBLEMS), []
    for problem in sorted(
        {problem for problem, _ in cells},
        key=lambda name: (order.index(_kind(name)) if _kind(name) in order else len(order), _natural(name)),
    ):
        scores = {T: cells.get((problem, T), {}) for T in budgets}
        lines.append(
            [_title(problem), *[", ".join(_median(scores[T].get(solver)) for T in budgets) for solver in SOLVERS]]
        )
    head = ["median loss at T = " + ", ".join(map(str, budgets)), *SOLVERS.values()]
    return table(head, lines) + "\n\n" + _standing(cells)


def _kind(problem: str) -> str:
    return re.sub(r"_d\d+$", "", problem)


def _natural(problem: str) -> list[object]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", problem)]


def _title(problem: str) -> str:
    kind, d = _kind(problem), re.search(r"_d(\d+)$", problem)
    name = PROBLEMS.get(kind, kind.replace("bbobnoisy_", "bbob-noisy "))
    return name if d is None else f"{name}, {d[1]} knobs"


def _median(score: analysis.Score | None) -> str:
    if score is None:
        return "–"
    if not np.isfinite(score.median):
        return "failed"
    return "< 1e-8" if score.median <= FLOOR else f"{score.median:.2g}"


def _standing(cells: analysis.Cells) -> str:
    """Return in how many cells ours is below that of CMA-ES, and where it is above twice the best of the others."""
    said, above = [], []
    for T in sorted({T for _, T in cells}):
        here = {problem: scores for (problem, budget), scores in cells.items() if budget == T}
        pairs = [(s["paraboloid"].median, s["cma"].median) for s in here.values() if {"paraboloid", "cma"} <= s.keys()]
        below, level = sum(a < b for a, b in pairs), sum(a == b for a, b in pairs)
        said.append(
            f"at T = {T} below that of CMA-ES in {below} of {len(pairs)} cells and at the floor with it in {level}"
        )
        for problem, scores in here.items():
            if "paraboloid" not in scores or len(scores) == 1:
                continue
            name, best = min(((n, s.median) for n, s in scores.items() if n != "paraboloid"), key=lambda pair: pair[1])
            ratio = scores["paraboloid"].median / best
            if ratio > 2:
                above.append((ratio, f"{_title(problem)} at T = {T} ({ratio:.2g}, {SOLVERS[name]})"))
    lost = ", ".join(text for _, text in sorted(above, reverse=True)) or "none"
    return f"Ours is {'; '.join(said)}. More than twice the best of the four others: {lost}."


def exact(rows: list[Row]) -> str:
    """Return what is left of the regret where there is no noise, at every budget, beside Py-BOBYQA's."""
    groups: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["function"], row["d"]].append(row)
    budgets = sorted({row["T"] for row in rows})
    lines = []
    for (name, d), found in groups.items():
        of = {row["T"]: row for row in found}
        ours = [f"{np.median(of[T]['ours']):.1g} ({max(of[T]['ours']):.1g})" for T in budgets]
        lines.append([name, d, *ours, ", ".join(f"{of[T]['theirs']:.1g}" for T in budgets)])
    return table(["function", "d", *[f"T = {T}: median (worst)" for T in budgets], "Py-BOBYQA"], lines)


def large(rows: list[Row]) -> str:
    """Return mean and worst regret of every shape at large budgets."""
    groups: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in rows:
        groups[f"{row['shape']}, {row['sigma']:g}"][row["T"]] = row
    budgets = sorted({row["T"] for row in rows})
    lines = [
        [name, *[f"{np.mean(of[T]['regrets']):.1e} ({max(of[T]['regrets']):.1e})" for T in budgets]]
        for name, of in groups.items()
    ]
    return table(["shape, σ", *[f"T = {T:,}" for T in budgets]], lines)


def bench(rows: list[Row]) -> str:
    """Return in two sentences how ours stands beside all other solvers."""
    of = Standings(rows)
    return f"{margin_summary(of)} {others_summary(of)}"


TABLES: dict[str, Callable[[list[Row]], str]] = {
    "limit": pooled,
    "small": small,
    "coverage": coverage,
    "accuracy": accuracy,
    "tails": tails,
    "no_loss": report,
    "smooth": smooth,
    "exact": exact,
    "large": large,
    "comparison": comparison.table,
    "bench": bench,
}


def rows_of(name: str) -> list[Row]:
    """Return the committed rows of a table."""
    files = sorted(RESULTS.glob(f"{name}*.jsonl*"))
    return [row for path in files for row in read_rows(path)]


def made(name: str, rows: list[Row]) -> str:
    """Return a table and which version it is of: ours alone, for that of rivals is their package's."""
    ours = [row for row in rows if row.get("solver", "paraboloid") == "paraboloid"]
    return f"{TABLES[name](rows)}\n\n*Measured at {', '.join(versions(ours))}.*\n"


def written(text: str) -> str:
    """Return a page with its tables made anew."""
    return MARK.sub(lambda found: f"{found[1]}\n{made(found[2], rows_of(found[2]))}\n{found[3]}", text)


def main() -> None:
    """Print one table, or write all of them into their pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", nargs="?", choices=sorted(TABLES), help="print this one")
    parser.add_argument("file", nargs="?", type=Path, help="of these rows (default: the committed ones)")
    given = parser.parse_args()
    if given.table:
        print(made(given.table, read_rows(given.file) if given.file else rows_of(given.table)))
        return
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
