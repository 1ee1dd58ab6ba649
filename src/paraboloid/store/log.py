"""The log of a study: append-only events in one SQLite file, written by one process and read by any number.

A write has happened when `EventLog.append` returns: WAL with ``synchronous = FULL``, one transaction for each call.
"""

import json
import logging
import os
import random
import sqlite3
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from paraboloid.core import UsageError
from paraboloid.store.checksum import checksum
from paraboloid.store.errors import StudyBusy, StudyHeld, StudyReadOnly, damaged, translated
from paraboloid.store.holder import (
    LEASE,
    OPEN_HERE,
    Claim,
    Heartbeat,
    Holder,
    beat,
    claim,
    current_holder,
    release,
    wall_time,
)
from paraboloid.store.inspection import check_file
from paraboloid.store.place import is_network_filesystem
from paraboloid.store.schema import APPLICATION, check_version, migrate, version_of

__all__ = ["Entry", "Event", "EventLog"]

logger = logging.getLogger("paraboloid")
T = TypeVar("T")

Entry: TypeAlias = tuple[str, int | None, Mapping[str, Any]]
"""What is appended: kind, trial or None, payload."""

FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.5  # seconds between attempts at a locked file


class Event(NamedTuple):
    """One line of the log. A named tuple, since a study of 10⁵ values is read in a second or two.

    >>> Event(7, "2026-11-16T08:00:00Z", "told", 3, {"value": 0.5}).kind
    'told'
    """

    sequence: int
    time: str
    kind: str
    trial: int | None
    payload: dict[str, Any]


class EventLog:
    """The open log of a study, for writing (one process) or for reading.

    Made by `create`, `write` and `read`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> EventLog.create(path, [("created", None, {"budget": 10})])
    >>> with EventLog.write(path) as log:
    ...     events = log.append([("told", 1, {"value": 0.5})])
    >>> with EventLog.read(path) as log:
    ...     [(event.sequence, event.kind, event.payload) for event in log.events()]
    [(1, 'created', {'budget': 10}), (2, 'told', {'value': 0.5})]
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, *, timeout: float) -> None:
        self.path = path
        self._connection = connection
        self._timeout = timeout
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._heartbeat: Heartbeat | None = None
        self.claim: Claim | None = None
        self.warnings: tuple[str, ...] = ()
        self.is_closed = False
        self._finalizer = weakref.finalize(self, _let_go, connection, None, None, self._pid)

    # -- opening -------------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path, entries: Sequence[Entry]) -> None:
        """Make the file with its first events, whole or not at all; an existing file is never touched."""
        unfinished = path.with_name(f".{path.name}.new-{os.getpid()}-{random.randrange(16**8):08x}")
        try:
            _write_new_file(unfinished, entries)
            _give_name(unfinished, path)
        except sqlite3.Error as error:
            raise translated(error, path) from error
        except PermissionError as error:
            raise StudyReadOnly(f"{path.parent} cannot be written ({error}). Choose a folder of yours.") from error
        finally:
            for leftover in (
                unfinished,
                *(unfinished.with_name(unfinished.name + end) for end in ("-wal", "-journal")),
            ):
                leftover.unlink(missing_ok=True)

    @classmethod
    def write(cls, path: Path, *, take_over: bool = False, timeout: float = 60.0, lease: float = LEASE) -> "EventLog":
        """Open the log for writing: check the file, become its holder, migrate it if it is old."""
        had_wal = check_file(path)
        if not os.access(path, os.W_OK) or not os.access(path.parent, os.W_OK):
            raise StudyReadOnly(
                f"{path} or its folder cannot be written. Nothing was measured. Change the permissions, or copy the "
                f"study to a folder of yours; Study.read(path) looks at it without writing."
            )
        try:
            connection = _connected(f"{path.as_uri()}?mode=rw")
        except sqlite3.Error as error:
            raise translated(error, path) from error
        log = cls(path, connection, timeout=timeout)
        try:
            log._prepare(take_over, lease, had_wal)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            log._drop()
            raise translated(error, path) from error
        except BaseException:
            log._drop()
            raise
        return log

    @classmethod
    def read(cls, path: Path, *, timeout: float = 60.0) -> "EventLog":
        """Open the log for reading only; a writer is never disturbed."""
        check_file(path)
        try:
            connection = _connected(f"{path.as_uri()}?mode=ro")
            log = cls(path, connection, timeout=timeout)
            try:
                log._checked_version()
            except sqlite3.OperationalError:
                # A folder that cannot be written has no place for the shared memory of a WAL that is not there.
                if path.with_name(path.name + "-wal").exists():
                    raise
                log._drop()
                log = cls(path, _connected(f"{path.as_uri()}?mode=ro&immutable=1"), timeout=timeout)
                log._checked_version()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise translated(error, path) from error
        return log

    def _prepare(self, take_over: bool, lease: float, had_wal: bool) -> None:
        self._checked_version()
        mode = "WAL"
        if is_network_filesystem(self.path):
            mode = "DELETE"
            self._warn(
                f"{self.path} lies on a network file system: a rollback journal is used, and one process at a time "
                f"should open it. A local disk is safer and faster."
            )
        self._patiently(lambda: self._connection.execute(f"PRAGMA journal_mode = {mode}").fetchone())
        self._connection.execute("PRAGMA synchronous = FULL")
        problem = self._patiently(lambda: self._connection.execute("PRAGMA quick_check(1)").fetchone())[0]
        if problem != "ok":
            raise damaged(self.path, str(problem))
        self.claim = claim(
            self._connection, self.path, lease=lease, take_over=take_over, transaction=self._in_transaction
        )
        was_left_open = self.claim.previous is not None and not self.claim.is_copy
        if was_left_open and mode == "WAL" and not had_wal:
            self._warn(
                f"{self.path} was not closed, and its -wal file is gone. If it was merged by another program all is "
                f"well; if it was deleted or not copied, the values told last may be missing."
            )
        migrate(self._connection, self.path)
        if mode == "WAL":
            # Puts the mark of the holder into the file itself, so that a missing -wal file is noticed next time.
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        weakly = weakref.ref(self)
        self._heartbeat = Heartbeat(lambda: _give_sign(weakly), lease)
        self._finalizer.detach()
        claimed = self.claim.token
        self._finalizer = weakref.finalize(self, _let_go, self._connection, self._heartbeat, claimed, self._pid)

    def _warn(self, text: str) -> None:
        self.warnings += (text,)
        logger.warning(text)
        warnings.warn(text, UserWarning, stacklevel=6)

    def _checked_version(self) -> None:
        check_version(self._patiently(lambda: version_of(self._connection, self.path)), self.path)

    # -- using ---------------------------------------------------------------------------------------------------

    @property
    def is_writer(self) -> bool:
        """Whether this log may be appended to."""
        return self.claim is not None

    def append(self, entries: Sequence[Entry]) -> list[Event]:
        """Write the entries in one transaction; when this returns they are on the disk."""
        self.check_open()
        if self.claim is None:
            raise UsageError(f"{self.path} was opened for reading; open it with Study.open to write to it.")
        try:
            return self._in_transaction(lambda: self._insert(entries))
        except sqlite3.Error as error:
            raise translated(error, self.path) from error

    def _insert(self, entries: Sequence[Entry]) -> list[Event]:
        assert self.claim is not None
        holder = current_holder(self._connection)
        if holder is None or holder.token != self.claim.token:
            raise StudyHeld(
                f"{self.path} was taken over by {holder or 'another process, which has closed it since'}. Nothing was "
                f"written. Open it again to go on."
            )
        (last,) = self._connection.execute("SELECT coalesce(max(sequence), 0) FROM events").fetchone()
        return _inserted(self._connection, last, entries)

    def events(self, after: int = 0) -> list[Event]:
        """Return the events with a sequence number above ``after``, each checked against its checksum."""
        self.check_open()
        query = "SELECT sequence, time, kind, trial, payload, checksum FROM events WHERE sequence > ? ORDER BY sequence"
        try:
            rows = self._patiently(lambda: self._connection.execute(query, (after,)).fetchall())
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise translated(error, self.path) from error
        return _checked(rows, after, self.path)

    def events_of(self, trial: int) -> list[Event]:
        """Return the events of one trial."""
        self.check_open()
        query = "SELECT sequence, time, kind, trial, payload FROM events WHERE trial = ? ORDER BY sequence"
        rows = self._patiently(lambda: self._connection.execute(query, (trial,)).fetchall())
        return [Event(number, when, kind, of, json.loads(text)) for number, when, kind, of, text in rows]

    def holder(self) -> Holder | None:
        """Return who holds the study now."""
        self.check_open()
        try:
            return self._patiently(lambda: current_holder(self._connection))
        except sqlite3.Error as error:
            raise translated(error, self.path) from error

    def close(self, entries: Sequence[Entry] = ()) -> None:
        """Write the last entries, let go of the study and close the file; closing twice does nothing."""
        if self.is_closed or os.getpid() != self._pid:
            return
        try:
            if self.claim is not None:
                self._in_transaction(lambda: self._insert_and_release(entries))
        except sqlite3.Error as error:
            raise translated(error, self.path) from error
        finally:
            self._drop()

    def _insert_and_release(self, entries: Sequence[Entry]) -> None:
        assert self.claim is not None
        self._insert(entries)
        release(self._connection, self.claim.token)

    def __enter__(self) -> "EventLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside --------------------------------------------------------------------------------------------------

    def _drop(self) -> None:
        self.is_closed = True
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self._finalizer.detach()
        if self.claim is not None:
            OPEN_HERE.discard(self.claim.token)
        with self._lock:  # a heartbeat under way uses the connection
            self._connection.close()

    def check_open(self) -> None:
        """Raise a `UsageError` if the log is closed, or was opened by another process."""
        if os.getpid() != self._pid:
            raise UsageError(
                f"{self.path} was opened by process {self._pid}, and this is process {os.getpid()}, forked from it. "
                f"A connection does not survive a fork: open the study here with Study.read(path), or tell the parent."
            )
        if self.is_closed:
            raise UsageError(f"{self.path} is closed; open it again with Study.open(path).")

    def _in_transaction(self, work: Callable[[], T]) -> T:
        """Do the work in one transaction, all or nothing, also when interrupted."""
        with self._lock:
            if self._connection.in_transaction:  # left by an interrupt in the one moment that nothing guards
                self._connection.execute("ROLLBACK")
            try:
                self._patiently(lambda: self._connection.execute("BEGIN IMMEDIATE"))
                done = work()
                self._patiently(lambda: self._connection.execute("COMMIT"))
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            return done

    def _patiently(self, work: Callable[[], T]) -> T:
        """Do the work; while the file is locked try again, ever more slowly, until the time is over."""
        end, pause = time.monotonic() + self._timeout, FIRST_PAUSE
        while True:
            try:
                with self._lock:
                    return work()
            except sqlite3.OperationalError as error:
                name = getattr(error, "sqlite_errorname", "") or ""
                if not name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                    raise
                if time.monotonic() + pause > end:
                    raise StudyBusy(
                        f"{self.path} stayed locked by another process for {self._timeout:g} s (SQLite says: {error}). "
                        f"Nothing was written. End that process, or try again."
                    ) from error
            time.sleep(pause)  # here, and not inside SQLite, so that Ctrl-C is heard
            pause = min(LONGEST_PAUSE, 1.5 * pause)


def _let_go(connection: sqlite3.Connection, heartbeat: Heartbeat | None, token: str | None, pid: int) -> None:
    """Do what can be done for a log that was dropped without close, or was open when its process ended."""
    if os.getpid() != pid:
        return  # a forked child: the connection is the parent's
    try:
        if heartbeat is not None:
            heartbeat.stop()
        if token is not None:
            release(connection, token)
    except sqlite3.Error as error:
        logger.info("the mark of the holder stays: %s", error)
    finally:
        connection.close()


def _give_sign(weakly: "weakref.ref[EventLog]") -> bool:
    """Beat once for a log; tell whether to go on. A file that is locked or full now will be tried again."""
    log = weakly()
    if log is None or log.is_closed or log.claim is None:
        return False
    try:
        if log._lock.acquire(timeout=1.0):
            try:
                return log.is_closed or beat(log._connection, log.claim.token)
            finally:
                log._lock.release()
    except sqlite3.Error as error:
        logger.info("no heartbeat for %s: %s", log.path, error)
    return True


def _connected(uri: str) -> sqlite3.Connection:
    # Autocommit: every transaction is begun by us. Waiting for locks is ours too, see `_patiently`.
    return sqlite3.connect(uri, uri=True, timeout=0.0, isolation_level=None, check_same_thread=False)


def _write_new_file(path: Path, entries: Sequence[Entry]) -> None:
    path.touch(exist_ok=False)
    connection = _connected(f"{path.as_uri()}?mode=rw")
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        migrate(connection, path)
        connection.execute("BEGIN IMMEDIATE")
        _inserted(connection, 0, entries)
        connection.execute("COMMIT")
    finally:
        connection.close()


def _give_name(unfinished: Path, path: Path) -> None:
    """Give a whole file its name; raise `FileExistsError` if another file has it."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system
        if path.exists():
            raise FileExistsError(f"{path} exists") from None
        os.rename(unfinished, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _inserted(connection: sqlite3.Connection, last: int, entries: Sequence[Entry]) -> list[Event]:
    when = wall_time()
    events, rows = [], []
    for sequence, (kind, trial, payload) in enumerate(entries, start=last + 1):
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))
        rows.append((sequence, when, kind, trial, text, checksum(sequence, when, kind, trial, text)))
        events.append(Event(sequence, when, kind, trial, json.loads(text)))
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    return events


def _checked(rows: list[tuple[Any, ...]], after: int, path: Path) -> list[Event]:
    for expected, (sequence, when, kind, trial, text, stored) in enumerate(rows, start=after + 1):
        if sequence != expected:
            raise damaged(path, f"event {expected} is missing")
        if checksum(sequence, when, kind, trial, text) != stored:
            raise damaged(path, f"event {sequence} was changed: its checksum does not fit")
    # One call for all payloads: 10⁵ calls of json.loads would take longer than all the rest.
    payloads = json.loads(f"[{','.join(row[4] for row in rows)}]")
    return [Event(row[0], row[1], row[2], row[3], payload) for row, payload in zip(rows, payloads, strict=True)]
