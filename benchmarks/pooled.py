"""Pool the cells of benchmarks/regret.py by region, dimension and budget: ``python benchmarks/pooled.py FILE``."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid.numerics import n_terms


def main() -> None:
    """Print a table in Markdown: the mean over cells with its standard error, the worst cell, coverage."""
    groups: dict[tuple[str, int, float, str], list[dict[str, Any]]] = defaultdict(list)
    for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        cell = row["cell"]
        groups[cell["shape"], cell["d"], round(cell["T"] / n_terms(cell["d"]), 2), cell["method"]].append(row)
    print(
        "| region | d | T/p | method | cells | runs a cell | mean ratio to V* | worst cell | expected | worst cell "
        "| bound held at 95 % |"
    )
    print("|---" * 11 + "|")
    for (shape, d, m, method), rows in sorted(groups.items()):
        means, errors = (np.array([row[name] for row in rows]) for name in ("mean", "error"))
        seeds = np.array([row["seeds"] for row in rows])
        runs = f"{seeds.min()}" if seeds.min() == seeds.max() else f"{seeds.min()} to {seeds.max()}"
        pooled = f"{means.mean():.3g} ± {np.sqrt((errors**2).sum()) / len(rows):.2g}"
        worst = f"{means.max():.3g} ± {errors[means.argmax()]:.2g}"
        ahead = [row["expected"] for row in rows if "expected" in row]
        expected = f"{np.mean(ahead):.3g} | {max(ahead):.3g}" if ahead else " | "
        held = f"{np.average([row['held'] for row in rows], weights=seeds):.3f}" if "held" in rows[0] else ""
        print(f"| {shape} | {d} | {m:g} | {method} | {len(rows)} | {runs} | {pooled} | {worst} | {expected} | {held} |")


if __name__ == "__main__":
    main()
