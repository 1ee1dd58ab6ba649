"""What several tests of studies need: a quadratic with noise keyed by trial, a study in a folder, two logs compared."""

from pathlib import Path
from typing import Any

import numpy as np

from paraboloid import Box, Knob, Measurements, Study
from paraboloid.store import EventLog
from paraboloid.study import Trial
from paraboloid.study.sheet_reading import Sheet, read_sheet
from paraboloid.study.sheet_writing import sheet_rows, write_table

BOX = Box([Knob("temperature", 150, 210, "°C"), Knob("time", 20, 60, "min")])
BEST = {"temperature": 180.0, "time": 35.0}


def yield_of(x: Any, number: int) -> float:
    """Return a noisy yield; the noise is a function of the trial's number, so that every process measures the same."""
    noise = np.random.default_rng([7, number]).standard_normal()
    return float(20 - 0.01 * (x["temperature"] - 180) ** 2 - 0.02 * (x["time"] - 35) ** 2 + 0.3 * noise)


def make(path: Path, **options: Any) -> Study:
    """Return an open study of the yield."""
    return Study.open(path, BOX, **{"maximize": True, "budget": 40, "rng": 0, **options})


def measure(study: Study, trials: list[Trial]) -> None:
    for trial in trials:
        study.tell(trial.id, yield_of(trial.x, trial.id))


def block(count: int, mean: float, scatter: float, failures: int = 0) -> Measurements:
    """Return the summary of many measurements at one point."""
    counts, failed = np.array([count]), np.array([failures])
    return Measurements(counts, np.array([mean]), np.array([scatter]), failures=failed)


def kinds(path: Path) -> list[str]:
    with EventLog.read(path) as log:
        return [event.kind for event in log.events()]


def same_answer(first: Any, second: Any) -> bool:
    """Tell whether two answers agree to the last bit."""
    return bool(np.array_equal(first.x, second.x)) and first.regret_bound == second.regret_bound


def filled(folder: Path, study: Study, changes: dict[int, dict[str, str]], *, decimal_comma: bool = False) -> Sheet:
    """Write a sheet of three trials, change cells by row and header, and read it."""
    rows = [list(row) for row in sheet_rows(study, study.ask(3), decimal_comma=decimal_comma)]
    for number, cells in changes.items():
        for header, text in cells.items():
            rows[number][rows[0].index(header)] = text
    write_table(folder / "sheet.csv", rows, separator=";" if decimal_comma else ",")
    return read_sheet(folder / "sheet.csv", study)
