"""The tables of a study's file, and how a file of an older version becomes one of this version.

``PRAGMA user_version`` is the version. Each migration runs in one transaction, after a copy of the file was made.
The events are the truth; everything else can be made from them. To read them:
``sqlite3 study.db "SELECT * FROM trials"``.
"""

import os
import sqlite3
from pathlib import Path

from paraboloid.store.errors import VersionMismatch, damaged

__all__ = ["APPLICATION", "MIGRATIONS", "VERSION", "backup_path", "check_version", "migrate", "version_of"]

APPLICATION = 0x50415242
"""``PRAGMA application_id``: the letters PARB, by which tools know the file."""

_EVENTS = """
CREATE TABLE events (
    sequence INTEGER PRIMARY KEY,  -- the order of things; clocks jump
    time     TEXT    NOT NULL,     -- UTC, for people
    kind     TEXT    NOT NULL,
    trial    INTEGER,
    payload  TEXT    NOT NULL,     -- JSON
    checksum INTEGER NOT NULL      -- CRC-32 of the columns before it, joined by |
);
CREATE TABLE holder (
    only     INTEGER PRIMARY KEY CHECK (only = 1),
    token    TEXT    NOT NULL,     -- whoever cannot show it may not write
    host     TEXT    NOT NULL,
    machine  TEXT    NOT NULL,
    boot     TEXT    NOT NULL,
    pid      INTEGER NOT NULL,
    started  TEXT    NOT NULL,
    inode    TEXT    NOT NULL,     -- of the file, so that a copy is not held by the original's process
    lease    REAL    NOT NULL,     -- seconds without a beat after which the holder may be followed
    beats    INTEGER NOT NULL,
    uptime   REAL    NOT NULL,     -- of the last beat, on the holder's own clock
    time     TEXT    NOT NULL
);
CREATE INDEX events_by_trial ON events (trial, sequence) WHERE trial IS NOT NULL;
CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are never changed'); END;
CREATE TRIGGER events_are_never_removed BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are never removed'); END;
"""

_VIEWS = """
CREATE VIEW settings AS
    SELECT each.key AS name, each.value AS value FROM events, json_each(events.payload) AS each
    WHERE events.kind = 'created';
CREATE VIEW planned AS
    SELECT json_extract(payload, '$.first') + each.key AS trial, json_extract(payload, '$.round') AS round,
           each.value AS x, json_extract(payload, '$.repeats[' || each.key || ']') AS repeats
    FROM events, json_each(events.payload, '$.x') AS each WHERE kind = 'planned';
CREATE VIEW trials AS
    SELECT planned.*,
           (SELECT kind FROM events AS e WHERE e.trial = planned.trial ORDER BY sequence DESC LIMIT 1) AS last,
           (SELECT payload FROM events AS e WHERE e.trial = planned.trial AND kind IN ('told', 'corrected')
            ORDER BY sequence DESC LIMIT 1) AS answer
    FROM planned;
"""

MIGRATIONS: tuple[str, ...] = (_EVENTS, _VIEWS)
"""Entry k turns version k into version k + 1; a new file runs them all."""

VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the version of a study's file, or refuse what is not one."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        raise damaged(path, "it is a database, but not one that Paraboloid has made")
    return int(version)


def check_version(version: int, path: Path) -> None:
    """Refuse a file of a newer version."""
    if version > VERSION:
        raise VersionMismatch(
            f"{path} has version {version}, but this Paraboloid knows versions up to {VERSION}. "
            f"Install a newer Paraboloid; the file was not changed."
        )


def backup_path(path: Path, version: int) -> Path:
    """Return a name for the copy made before a migration that no file has yet.

    >>> backup_path(Path("/nowhere/study.db"), 1)
    PosixPath('/nowhere/study.db.backup-v1')
    """
    first = path.with_name(f"{path.name}.backup-v{version}")
    numbered = (first.with_name(f"{first.name}.{number}") for number in range(2, 10_000))
    return first if not first.exists() else next(name for name in numbered if not name.exists())


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[str, ...] = MIGRATIONS) -> Path | None:
    """Bring the file to the newest version, each step in one transaction; return the copy that was made before.

    The caller holds the study, so that nobody else migrates it at the same time.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version >= len(migrations):
        return None
    copy = _copied(connection, backup_path(path, version)) if version > 0 else None
    for number in range(version, len(migrations)):
        run_script(connection, f"{migrations[number]}\nPRAGMA user_version = {number + 1};")
    return copy


def run_script(connection: sqlite3.Connection, script: str) -> None:
    """Run several statements in one transaction."""
    try:
        connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nCOMMIT;")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _copied(connection: sqlite3.Connection, target: Path) -> Path:
    # Written under another name first: a half-made copy must not be taken for a whole one.
    unfinished = target.with_name(f"{target.name}.unfinished-{os.getpid()}")
    copy = sqlite3.connect(unfinished)
    try:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")
    finally:
        copy.close()
    with unfinished.open("rb") as file:
        os.fsync(file.fileno())
    os.rename(unfinished, target)
    return target
