"""Who writes to a study: one process at a time, recorded in the file, followed only when it is surely gone.

No clock of the wall is compared: on one boot of one machine the time since boot decides, between machines a whole
lease is watched on the observer's own clock. So a clock that jumps makes nobody stale.
"""

import sqlite3
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paraboloid.store.errors import StudyHeld
from paraboloid.store.place import Place, is_alive, this_place, uptime

__all__ = ["LEASE", "Holder", "claim", "current_holder", "release"]

LEASE = 60.0
"""Seconds without a heartbeat after which a holder may be followed."""

OPEN_HERE: set[str] = set()
"""Tokens of the studies that this process has open: a study object that was dropped holds nothing."""

_COLUMNS = "token, host, machine, boot, pid, started, inode, lease, beats, uptime, time"


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that writes to a study, and its last sign of life.

    Parameters
    ----------
    place
        Host and process.
    token
        What it must show to write.
    inode
        Number of the file it has opened.
    lease, beats, uptime, time
        Seconds it may be silent, number of heartbeats, and when the last one was: since boot, and on the wall.

    Examples
    --------
    >>> print(Holder(Place("bench-3", "", "", 4711, ""), "token", "12", 60.0, 0, 0.0, "2026-11-16T08:00:00Z"))
    process 4711 on bench-3 (last sign of life 2026-11-16T08:00:00Z)
    """

    place: Place
    token: str
    inode: str
    lease: float
    beats: int
    uptime: float
    time: str

    def __str__(self) -> str:
        return f"process {self.place.pid} on {self.place.host} (last sign of life {self.time})"

    @property
    def silence(self) -> float | None:
        """Seconds since its last heartbeat, or None where it lives by another clock."""
        here = this_place()
        return max(0.0, uptime() - self.uptime) if here.boot and here.boot == self.place.boot else None

    @property
    def is_alive(self) -> bool | None:
        """Whether its process still runs; None if it is elsewhere and cannot be seen from here."""
        here = this_place()
        if not here.boot or not self.place.boot or here.boot != self.place.boot:
            same_machine = bool(here.machine) and (here.machine, here.host) == (self.place.machine, self.place.host)
            # The boot id without the process namespace: a machine that was started anew has none of its processes left.
            rebooted = here.boot.split("/")[0] != self.place.boot.split("/")[0]
            return False if same_machine and rebooted and here.boot and self.place.boot else None
        if (here.pid, here.started) == (self.place.pid, self.place.started):
            return self.token in OPEN_HERE
        return is_alive(self.place)


def current_holder(connection: sqlite3.Connection) -> Holder | None:
    """Return who holds the study, or None."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM holder").fetchone()
    if row is None:
        return None
    token, host, machine, boot, pid, started, inode, lease, beats, up, when = row
    return Holder(Place(host, machine, boot, pid, started), token, inode, lease, beats, up, when)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a process shows to write, and whom it followed."""

    token: str
    previous: Holder | None
    is_copy: bool


def claim(
    connection: sqlite3.Connection,
    path: Path,
    *,
    lease: float = LEASE,
    take_over: bool = False,
    transaction: Callable[[Callable[[], Claim]], Claim],
) -> Claim:
    """Make this process the holder, or raise `StudyHeld` and name who is."""
    watched = current_holder(connection)
    is_watched = _is_silent_for_a_lease(connection, watched, path) if take_over and watched else False

    def decide() -> Claim:
        inode = str(path.stat().st_ino)
        holder = current_holder(connection)
        is_copy = holder is not None and holder.inode != inode
        if holder is not None and not is_copy:
            unchanged = watched is not None and (holder.token, holder.beats) == (watched.token, watched.beats)
            _check_may_follow(holder, path, take_over, is_watched and unchanged)
        token = uuid.uuid4().hex
        here = this_place()
        connection.execute(
            f"INSERT OR REPLACE INTO holder (only, {_COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
            (token, here.host, here.machine, here.boot, here.pid, here.started, inode, lease, uptime(), wall_time()),
        )
        return Claim(token, holder, is_copy)

    made = transaction(decide)
    OPEN_HERE.add(made.token)
    return made


def _is_silent_for_a_lease(connection: sqlite3.Connection, holder: Holder, path: Path) -> bool:
    """Watch a holder on another machine for one lease, on our own clock, and tell whether it gave no sign."""
    if holder.is_alive is not None or holder.silence is not None or holder.inode != str(path.stat().st_ino):
        return False  # decided without watching
    end = time.monotonic() + holder.lease
    while time.monotonic() < end:
        time.sleep(min(0.5, holder.lease / 10))
        now = current_holder(connection)
        if now is None or (now.token, now.beats) != (holder.token, holder.beats):
            return False
    return True


def _check_may_follow(holder: Holder, path: Path, take_over: bool, is_watched: bool) -> None:
    if holder.is_alive is False:
        return
    silence = holder.silence
    has_ended = is_watched or (silence is not None and silence > holder.lease)
    if take_over and has_ended:
        return
    advice = (
        "It gave no sign of life for longer than its lease: open with take_over=True to follow it."
        if has_ended
        else f"Close it there, or open with take_over=True once it has been silent for {holder.lease:g} s; "
        f"Study.read(path) looks at the study at any time."
    )
    raise StudyHeld(f"{path} is held by {holder}. {advice}")


def beat(connection: sqlite3.Connection, token: str) -> bool:
    """Give a sign of life; tell whether this process is still the holder."""
    done = connection.execute(
        "UPDATE holder SET beats = beats + 1, uptime = ?, time = ? WHERE token = ?", (uptime(), wall_time(), token)
    )
    return done.rowcount == 1


def release(connection: sqlite3.Connection, token: str) -> None:
    """Let go of the study."""
    connection.execute("DELETE FROM holder WHERE token = ?", (token,))
    OPEN_HERE.discard(token)


def wall_time() -> str:
    """Return the time of day in UTC, for people; nothing is decided by it."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}Z"


class Heartbeat:
    """A thread that gives a sign of life every quarter of a lease, until it is stopped."""

    def __init__(self, give_sign: Callable[[], bool], lease: float) -> None:
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=_beating, args=(give_sign, self._stopped, lease / 4), name="paraboloid heartbeat", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread at its next turn; it is never waited for, since it may wait for the caller's lock."""
        self._stopped.set()


def _beating(give_sign: Callable[[], bool], stopped: threading.Event, pause: float) -> None:
    while not stopped.wait(pause):
        if not give_sign():
            return
