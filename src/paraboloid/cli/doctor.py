"""``paraboloid doctor``: whether the file of a study is whole, who holds it, and what can be saved from it."""

import csv
import json
import os
import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from paraboloid.cli.exits import DAMAGED, exits_with_its_code
from paraboloid.cli.printing import duration, print_json, print_table
from paraboloid.cli.settings import study_path
from paraboloid.core import UsageError
from paraboloid.store import VERSION, EventLog, StoreError, is_network_filesystem, salvage
from paraboloid.study import Study

__all__ = ["doctor_command"]

SAFE_SQLITE = (3, 51, 3)
"""From this version on SQLite has no race by which a reset of the write-ahead log can lose pages of two writers."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: "ok", "note" (worth knowing) or "problem"."""

    about: str
    verdict: str
    text: str


@click.command("doctor")
@click.argument("study", type=click.Path(path_type=Path), default=Path("study.db"), metavar="STUDY")
@click.option(
    "--salvage",
    "target",
    type=click.Path(path_type=Path),
    metavar="OUT.CSV",
    help="Write every answer that can still be read to this file, which must not exist.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
@exits_with_its_code
def doctor_command(context: click.Context, study: Path, target: Path | None, as_json: bool) -> None:
    """Check the file of a study: whether it is whole, its versions, who holds it; salvage what can be read.

    The file is never changed. It may be at work.

    \b
    Examples:
      paraboloid doctor study.db
      paraboloid doctor study.db --salvage salvaged.csv

    \b
    Exit codes:
      0  the file is whole
      1  it could not be looked at: it is locked, or not permitted
      2  called wrongly, or there is no such file, or OUT.CSV exists
      5  the file is damaged, no study, or of a newer version
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    path = study_path(study).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {path}.")
    if target is not None and target.exists():
        raise UsageError(f"{target} exists, and is not written over. Give another name.")
    findings = [_sqlite(), _place(path), _wal(path), *_content(path)]
    if target is not None:
        findings.append(_salvaged(path, target))
    is_whole = all(finding.verdict != "problem" for finding in findings)
    if as_json:
        print_json({"path": str(path), "is_whole": is_whole, "findings": [asdict(finding) for finding in findings]})
    else:
        table = Table("", "about", "finding", title=str(path))
        for finding in findings:
            table.add_row(finding.verdict, finding.about, finding.text)
        print_table(table)
    context.exit(0 if is_whole else DAMAGED)


def _sqlite() -> Finding:
    text = f"version {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info >= SAFE_SQLITE:
        return Finding("SQLite", "ok", text)
    return Finding(
        "SQLite",
        "note",
        f"{text} is older than 3.51.3: two connections that write in write-ahead mode may, very rarely, lose pages. "
        f"Paraboloid lets one process write at a time, so it does not arise here; let no other program write.",
    )


def _place(path: Path) -> Finding:
    if is_network_filesystem(path):
        return Finding("disk", "note", "a network file system: locks may not hold; keep to one machine at a time")
    return Finding("disk", "ok", f"local, {path.stat().st_size:,} bytes")


def _wal(path: Path) -> Finding:
    wal = path.with_name(path.name + "-wal")
    if not wal.exists():
        return Finding("write-ahead log", "ok", "none: everything is in the file itself")
    size = wal.stat().st_size
    text = f"{size:,} bytes in {wal.name}; it belongs to the study: copy or move both" if size else "empty"
    return Finding("write-ahead log", "ok", text)


def _content(path: Path) -> list[Finding]:
    """Return what is found by reading the study, every page and every checksum."""
    try:
        with EventLog.read(path) as log:
            holder = log.holder()
            warnings = log.warnings
        findings = [_integrity(path)]
        with Study.read(path) as view:
            status, versions = view.status(), view.settings["versions"]
    except StoreError as error:
        return [Finding("content", "problem", str(error))]
    made_by = ", ".join(f"{name} {number}" for name, number in versions.items())
    findings.append(Finding("version", "ok", f"schema {_version(path)} of {VERSION}; made with {made_by}"))
    findings.append(Finding("events", "ok", f"{status.events:,}, every checksum fits; none is missing"))
    findings.append(
        Finding("trials", "ok", ", ".join(f"{n} {name}" for name, n in status.counts.items() if n) or "none")
    )
    if status.possible_extra_runs:
        text = f"{status.possible_extra_runs} measurements may have been made and never told"
        findings.append(Finding("extra runs", "note", text))
    if holder is None:
        findings.append(Finding("holder", "ok", "nobody"))
    else:
        state = {True: "it is alive", False: "it is gone, and is followed at the next opening", None: "it is elsewhere"}
        silence = "" if holder.silence is None else f", silent for {duration(holder.silence)}"
        findings.append(Finding("holder", "note", f"{holder}; {state[holder.is_alive]}{silence}"))
    return [*findings, *(Finding("file", "note", warning) for warning in warnings)]


def _integrity(path: Path) -> Finding:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10.0)
    try:
        rows = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    except sqlite3.Error as error:
        rows = [str(error)]
    finally:
        connection.close()
    if rows == ["ok"]:
        return Finding("pages", "ok", "SQLite's integrity check finds nothing")
    return Finding("pages", "problem", "; ".join(rows))


def _version(path: Path) -> int:
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=10.0)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def _salvaged(path: Path, target: Path) -> Finding:
    events = salvage(path)
    rows, names = _answers(events)
    columns = ["trial", *names, "value", "sem", "count", "scatter", "state", "note", "is_intact"]
    unfinished = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        with unfinished.open("x", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
        os.link(unfinished, target)
    except FileExistsError as error:
        raise UsageError(f"{target} exists, and is not written over. Give another name.") from error
    finally:
        unfinished.unlink(missing_ok=True)
    broken = sum(not event["is_intact"] for event in events)
    text = (
        f"{len(rows)} answers written to {target}, from {len(events)} readable events ({broken} with a wrong checksum)"
    )
    return Finding("salvage", "note" if rows else "problem", text)


def _answers(events: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the last answer of each trial with its setting, and the names of the columns of the knobs."""
    headers: list[str] = []
    settings: dict[int, list[float]] = {}
    answers: dict[int, dict[str, Any]] = {}
    for event in events:
        payload, kind, trial = event["payload"], event["kind"], event["trial"]
        if not isinstance(payload, dict):
            continue
        if kind == "created":
            headers = _headers(payload.get("domain", {}))
        elif kind == "planned":
            settings.update(enumerate(payload.get("x", []), start=payload.get("first", 1)))
        elif kind == "added" and trial is not None:
            settings[trial] = payload.get("x", [])
        elif kind in ("told", "corrected") and trial is not None:
            answers[trial] = {**payload, "is_intact": event["is_intact"]}
    width = max([len(headers), *(len(x) for x in settings.values())])
    names = headers if len(headers) == width else [f"x{k + 1}" for k in range(width)]
    return [_answer_row(trial, answers[trial], settings.get(trial), names) for trial in sorted(answers)], names


def _headers(domain: dict[str, Any]) -> list[str]:
    if "box" in domain:
        return [f"{knob['name']} [{knob['unit']}]" if knob.get("unit") else knob["name"] for knob in domain["box"]]
    return list(domain.get("ball", {}).get("names", []))


def _answer_row(trial: int, told: dict[str, Any], x: list[float] | None, names: list[str]) -> dict[str, Any]:
    place = told.get("x") or x or []
    values = told.get("values", [told["value"]] if "value" in told else [])
    mean = sum(values) / len(values) if values else told.get("mean", "")
    scatter = sum((value - mean) ** 2 for value in values) if values else told.get("scatter", "")
    sem = told.get("sem", "")
    return {
        **dict(zip(names, place, strict=False)),
        "trial": trial,
        "value": mean,
        "sem": json.dumps(sem) if isinstance(sem, list) else sem,
        "count": len(values) or told.get("count", ""),
        "scatter": scatter,
        "state": told.get("state", "COMPLETE"),
        "note": told.get("note", ""),
        "is_intact": told["is_intact"],
    }
