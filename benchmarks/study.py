"""How fast a study is: durable tells against bare SQLite commits in the same run, reopening, status.

``python benchmarks/study.py`` prints a table; ``--json`` the same for programs. Nothing else should run beside it.
"""

import argparse
import functools
import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rich.console import Console
from rich.table import Table

import paraboloid
from paraboloid.study import Answer, Study, Trial

BOX = paraboloid.Box([paraboloid.Knob("temperature", 150, 210, "°C"), paraboloid.Knob("time", 20, 60, "min")])
GOALS = {
    "tell against bare SQLite commits": "at least 0.8, or 200 tells a second",
    "reopen": "under 3 s",
    "status": "under 1 s",
    "reopen, old data": "under 3 s",
    "status, old data": "under 1 s",
}
FOUR = paraboloid.Box([paraboloid.Knob(name, -1, 1) for name in "abcd"])


def seconds(work: Callable[[], Any]) -> float:
    """Return how long the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


CHUNK = 50


def rates(folder: Path, n: int) -> tuple[float, float]:
    """Return durable tells and bare commits a second; they take turns, chunk by chunk, so that both meet one disk."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events (sequence INTEGER PRIMARY KEY, time TEXT, payload TEXT, checksum INTEGER)")
    insert = "INSERT INTO events (time, payload, checksum) VALUES ('2026-11-16T00:00:00Z', ?, 1)"
    # As many rows as the study has when its trials are handed out: a log that has grown once is written faster.
    connection.execute("BEGIN")
    connection.executemany(insert, [('{"attempt": 1, "uptime": 12345.678}',)] * n)
    connection.execute("COMMIT")

    def commits(count: int) -> None:
        for _ in range(count):
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(insert, ('{"value": 1.5}',))
            connection.execute("COMMIT")

    took_tells = took_commits = 0.0
    with Study.open(folder / "tell.db", BOX, budget=n, batch=n, rng=0) as study:
        trials = study.ask(n)

        def tells(some: list[Trial]) -> None:
            for trial in some:
                study.tell(trial.id, value_at(trial.x))

        for start in range(0, n, CHUNK):
            some = trials[start : start + CHUNK]
            took_tells += seconds(functools.partial(tells, some))
            took_commits += seconds(functools.partial(commits, len(some)))
    connection.close()
    return n / took_tells, n / took_commits


def value_at(x: Any) -> float:
    """Return what would be measured."""
    return float((x["temperature"] - 180) ** 2 / 900 + (x["time"] - 35) ** 2 / 400 + 0.1 * ((x["time"] * 997) % 1))


def large_study(path: Path, n: int) -> None:
    """Make a study of n measurements, told in large transactions."""
    part = min(n, 50_000)
    with Study.open(path, BOX, budget=n, batch=part, rng=0) as study:
        while trials := study.ask(part):
            study.tell_all([Answer(trial.id, value_at(trial.x) + 0.01 * (trial.id % 7)) for trial in trials])


def study_of_old_data(path: Path, n: int) -> None:
    """Make a study of n old measurements of four knobs, no two at one setting: the most that a fit has to do."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (n, 4))
    y = np.sum((x - 0.2) ** 2, axis=1) + 0.1 * rng.standard_normal(n)
    rows = [
        Answer(None, value, x=dict(zip("abcd", row, strict=True))) for row, value in zip(x.tolist(), y, strict=True)
    ]
    with Study.open(path, FOUR, budget=n, rng=0) as study:
        study.tell_all(rows)


def both(work: Callable[[], Any]) -> tuple[float, float]:
    """Return how long the work takes by the clock, and how long the processor is at it: load stretches one."""
    start = time.process_time()
    wall = seconds(work)
    return wall, time.process_time() - start


def row_of(what: str, found: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the row of several times: the median, from where to where they went, and the processor's median."""
    walls = sorted(wall for wall, _ in found)
    processor = statistics.median(cpu for _, cpu in found)
    return {
        "what": what,
        "value": statistics.median(walls),
        "unit": "s",
        "least": walls[0],
        "most": walls[-1],
        "processor": processor,
    }


def look(path: Path) -> dict[str, tuple[float, float]]:
    """Return the times of a reader that has just come: the first status is worked out, the next ones are not."""
    with Study.read(path) as study:
        return {
            "status": both(study.status),
            "status again": both(study.status),
            "recommend": both(study.recommend),
        }


def measured(n_tells: int, n_large: int, times: int) -> list[dict[str, Any]]:
    """Return the rows of the table."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="paraboloid-benchmark-") as name:
        folder = Path(name)
        tells, commits = rates(folder, n_tells)
        rows.append({"what": "tell", "value": tells, "unit": "1/s"})
        rows.append({"what": "bare SQLite commits", "value": commits, "unit": "1/s"})
        rows.append({"what": "tell against bare SQLite commits", "value": tells / commits, "unit": ""})
        path = folder / "large.db"
        making = seconds(lambda: large_study(path, n_large))
        rows.append({"what": f"make a study of {n_large:,}", "value": making, "unit": "s"})
        rows.append(row_of("reopen", [both(lambda: Study.open(path).close()) for _ in range(times)]))
        looks = [look(path) for _ in range(times)]
        rows += [row_of(what, [each[what] for each in looks]) for what in looks[0]]
        old = folder / "old.db"
        study_of_old_data(old, n_large)
        rows.append(row_of("reopen, old data", [both(lambda: Study.open(old).close()) for _ in range(times)]))
        rows.append(row_of("status, old data", [look(old)["status"] for _ in range(times)]))
        rows.append({"what": "file", "value": path.stat().st_size / 1e6, "unit": "MB"})
    return rows


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tells", type=int, default=2000, help="durable tells")
    parser.add_argument("--large", type=int, default=100_000, help="measurements of the study that is reopened")
    parser.add_argument("--times", type=int, default=5, help="how often it is reopened and looked at")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    rows = measured(given.tells, given.large, given.times)
    if given.json:
        print(json.dumps({"sqlite": sqlite3.sqlite_version, "rows": rows}, indent=1))
        return
    table = Table(
        "",
        "measured",
        "from, to",
        "processor",
        "wanted",
        title=f"A study on this machine (SQLite {sqlite3.sqlite_version})",
    )
    for row in rows:
        spread = f"{row['least']:.3g} to {row['most']:.3g}" if "least" in row else ""
        processor = f"{row['processor']:.3g} s" if "processor" in row else ""
        value = f"{row['value']:.3g} {row['unit']}".strip()
        table.add_row(row["what"], value, spread, processor, GOALS.get(row["what"], ""))
    Console(width=120).print(table)
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
