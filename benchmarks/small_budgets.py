"""Small budgets at a glance: ours, and the better of the classical designs, from the rows of ``regret.py small``.

``python benchmarks/small_budgets.py benchmarks/results/small.jsonl`` prints, for each region and number of knobs, the
mean ratio to V* with its standard error at every T; classical designs are a central composite and a random one, both
with least squares.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from paraboloid.numerics import n_terms

Row = dict[str, Any]


def read(path: Path) -> dict[tuple[str, int, float], dict[int, list[Row]]]:
    """Return the rows by region, knobs and place of the minimum, and then by T."""
    found: dict[tuple[str, int, float], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cell = row["cell"]
        found[cell["shape"], cell["d"], cell["rho"]][cell["T"]].append(row)
    return found


def told(rows: list[Row]) -> str:
    """Return our ratio and the better classical one."""
    ours = next(row for row in rows if row["cell"]["method"] == "adaptive")
    best = min((row for row in rows if row["cell"]["method"] != "adaptive"), key=lambda row: float(row["mean"]))
    return f"{ours['mean']:.3g} ± {ours['error']:.2g} / {best['mean']:.2g}"


def main() -> None:
    """Print the table."""
    print("| region | d | minimum at | runs | T/p: ours / better classical |\n|---|---|---|---|---|")
    for (shape, d, rho), budgets in sorted(read(Path(sys.argv[1])).items()):
        cells = ", ".join(f"**{T / n_terms(d):.2g}p**: {told(rows)}" for T, rows in sorted(budgets.items()))
        runs = next(iter(budgets.values()))[0]["seeds"]
        print(f"| {shape} | {d} | {rho} | {runs} | {cells} |")


if __name__ == "__main__":
    main()
