"""Which trials come back: those of a process that is gone, and those whose lease is over.

A trial that was handed out by a process which closed the study in good order stays with the person who took it,
until it is answered or its lease ends. Durations are measured on clocks that nobody sets.
"""

import calendar
import time

from paraboloid.store import uptime
from paraboloid.study.state import Record, State
from paraboloid.study.status import RunningTrial

__all__ = ["lost_trials", "running_trials"]


def lost_trials(state: State, boot: str, opened: float) -> list[int]:
    """Return the running trials that must be handed out again, in order of their numbers."""
    return sorted(number for number in state.running if _is_lost(state, state.records[number], boot, opened))


def _is_lost(state: State, record: Record, boot: str, opened: float) -> bool:
    session = state.sessions.get(record.session)
    is_current = record.session == state.session
    if session is None or (not is_current and session.ended is not True):
        return True  # its process crashed, was followed, or left by an error
    if record.lease is None:
        return False
    # A lease that began on another clock is counted from our own opening on: late, but never falsely over.
    began = record.since if session.boot and session.boot == boot else opened
    return uptime() - began > record.lease


def running_trials(state: State, boot: str, opened: float) -> tuple[RunningTrial, ...]:
    """Return the trials that are out, with their age."""
    found = []
    for number in sorted(state.running):
        record = state.records[number]
        session = state.sessions.get(record.session)
        same_clock = session is not None and bool(session.boot) and session.boot == boot
        age = uptime() - record.since if same_clock else time.time() - _seconds(record.time)
        host, pid = (session.host, session.pid) if session is not None else ("", 0)
        is_lost = _is_lost(state, record, boot, opened)
        found.append(RunningTrial(number, record.attempt, round(max(0.0, age), 3), host, pid, is_lost))
    return tuple(found)


def _seconds(when: str) -> float:
    return calendar.timegm(time.strptime(when[:19], "%Y-%m-%dT%H:%M:%S"))
