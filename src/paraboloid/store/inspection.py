"""A look at a file before it is trusted, and the rows that can still be read from a damaged one."""

import json
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from paraboloid.core import UsageError
from paraboloid.store.carving import carve
from paraboloid.store.checksum import checksum
from paraboloid.store.errors import damaged

__all__ = ["check_file", "salvage"]

MAGIC = b"SQLite format 3\x00"
MOST_LOST = 1000
"""Consecutive events that may be unreadable before salvage takes the rest for lost as well."""


def check_file(path: Path) -> bool:
    """Refuse what is no whole database before SQLite touches it; tell whether its write-ahead log is there."""
    if not path.exists():
        raise UsageError(f"there is no study at {path}. Give domain= to create one, or check the path.")
    if not path.is_file():
        raise UsageError(f"{path} is not a file. Give the path of a study, such as study.db.")
    wal = path.with_name(path.name + "-wal")
    has_wal = wal.exists()
    with path.open("rb") as file:
        header = file.read(100)
    size = path.stat().st_size
    if size == 0:
        raise damaged(path, "the file is empty")
    if len(header) < 100 or not header.startswith(MAGIC):
        raise damaged(path, "it is not an SQLite database")
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    is_counted = header[24:28] == header[92:96]  # else the count of pages was not kept by an old program
    # With a write-ahead log a file may be short in between: a crash while the log was merged into it.
    if is_counted and size < pages * (65536 if page == 1 else page) and not (has_wal and wal.stat().st_size > 0):
        raise damaged(path, f"it is cut off: {size} bytes of {pages * page}")
    return has_wal


def salvage(path: str | Path) -> list[dict[str, Any]]:
    """Return every event that can still be read from a file, damaged or not; the file is not changed.

    Each row has ``sequence``, ``time``, ``kind``, ``trial``, ``payload`` and ``is_intact`` (whether its checksum fits).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from paraboloid.store import EventLog
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> EventLog.create(path, [("created", None, {"budget": 10})])
    >>> [(row["kind"], row["is_intact"]) for row in salvage(path)]
    [('created', True)]
    """
    source = Path(path)
    rows = {row["sequence"]: row for row in _by_sqlite(source)}
    for carved in carve(source):
        if not rows.get(carved[0], {"is_intact": False})["is_intact"]:
            rows[carved[0]] = _row(carved)
    return [rows[sequence] for sequence in sorted(rows)]


def _by_sqlite(source: Path) -> list[dict[str, Any]]:
    """Return the rows that SQLite can read from a copy of the file."""
    with tempfile.TemporaryDirectory(prefix="paraboloid-salvage-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(source, copy)
        for end in ("-wal", "-journal"):
            beside = source.with_name(source.name + end)
            if beside.exists():
                shutil.copyfile(beside, copy.with_name(copy.name + end))
        try:
            connection = sqlite3.connect(copy, isolation_level=None)
            # Tables of a file that is shorter than its header says, or whose other tables are damaged, are read too.
            connection.execute("PRAGMA writable_schema = ON")
            connection.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
            try:
                return _readable(connection)
            finally:
                connection.close()
        except sqlite3.Error:
            return []


def _readable(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Read forwards until a bad page, then row by row past it."""
    rows: list[dict[str, Any]] = []
    query = "SELECT sequence, time, kind, trial, payload, checksum FROM events WHERE sequence > ? ORDER BY sequence"
    last, lost = 0, 0
    while lost < MOST_LOST:
        try:
            for row in connection.execute(query, (last,)):
                if row[0] <= last:
                    raise ValueError("a damaged page that leads backwards: SQLite would read in a circle")
                rows.append(_row(row))
                last, lost = int(row[0]), 0
            return rows
        except (sqlite3.Error, ValueError, TypeError):
            last, lost = last + 1, lost + 1
            found = _one(connection, last)
            if found is not None:
                rows.append(found)
    return rows


def _one(connection: sqlite3.Connection, sequence: int) -> dict[str, Any] | None:
    query = "SELECT sequence, time, kind, trial, payload, checksum FROM events WHERE sequence = ?"
    try:
        row = connection.execute(query, (sequence,)).fetchone()
        return None if row is None else _row(row)
    except (sqlite3.Error, ValueError, TypeError):
        return None


def _row(row: tuple[Any, ...]) -> dict[str, Any]:
    sequence, when, kind, trial, text, stored = row
    try:
        payload = json.loads(text)
    except (TypeError, ValueError):
        payload = text
    is_intact = isinstance(text, str) and checksum(sequence, when, kind, trial, text) == stored
    return {
        "sequence": sequence,
        "time": when,
        "kind": kind,
        "trial": trial,
        "payload": payload,
        "is_intact": is_intact,
    }
