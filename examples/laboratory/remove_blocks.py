"""Takes the effect of blocks (days, batches of raw material) out of the set chemreact, and writes a table to import.

Usage: ``python remove_blocks.py data/response_surface.csv chemreact.csv``. The design is blocked orthogonally: each
block has the same mean of every term of a quadratic (but for the rounding of √2), so that the difference of the blocks'
means is their effect alone.
"""

import csv
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean


def remove_blocks(source: Path, target: Path) -> None:
    """Write time, temperature and yield of the set chemreact, each block shifted to the mean of all."""
    with open(source, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["set"] == "chemreact"]
    blocks = defaultdict(list)
    for row in rows:
        blocks[row["block"]].append(float(row["y"]))
    mean = fmean(float(row["y"]) for row in rows)
    with open(target, "x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time [min]", "temperature [°F]", "value", "block"])
        for row in rows:
            value = float(row["y"]) - fmean(blocks[row["block"]]) + mean
            writer.writerow([row["x1"], row["x2"], f"{value:.6f}", row["block"]])


if __name__ == "__main__":
    remove_blocks(Path(sys.argv[1]), Path(sys.argv[2]))
