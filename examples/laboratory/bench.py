"""Stands for the people at the bench: fills in a sheet, row by row, as they would in a spreadsheet.

Usage: ``python bench.py monday.csv``. The reaction is simulated by the model that Montgomery fitted to his data, with
noise of the size that his repeats have. Row 2 is measured half a degree too hot, and the last row is spilled.
"""

import csv
import sys
from pathlib import Path

import numpy as np

SIGMA = 0.27


def yield_of(time: float, temperature: float) -> float:
    """Return the yield in per cent by the published fit (coded: 5 min about 85, 5 °F about 175)."""
    a, b = (time - 85) / 5, (temperature - 175) / 5
    return 79.94 + 0.995 * a + 0.515 * b - 1.376 * a**2 - 1.001 * b**2 + 0.25 * a * b


def fill_in(path: Path) -> None:
    """Measure what a sheet asks for, and save it as spreadsheets do."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    noise = np.random.default_rng(len(rows)).normal(0, SIGMA, len(rows))
    rows[0]["temperature [°F]"] = f"{float(rows[0]['temperature [°F]']) + 0.5:g}"
    rows[0]["note"] = "thermostat late"
    for row, error in zip(rows, noise, strict=True):
        row["value"] = f"{yield_of(float(row['time [min]']), float(row['temperature [°F]'])) + error:.1f}"
    rows[-1]["value"], rows[-1]["note"] = "n/a", "spilled"
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    fill_in(Path(sys.argv[1]))
