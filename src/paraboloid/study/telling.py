"""What an answer does to a study: told, the same again, a correction, a twin's duplicate, or an error."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from paraboloid.core import Box, Domain, Shape, UsageError
from paraboloid.store import StoreError
from paraboloid.study.outcome import Answer, Outcome, outcome_of, setting_of
from paraboloid.study.settings import ADAPTIVE
from paraboloid.study.state import Plan, Record, State
from paraboloid.study.trial import Trial, TrialState

__all__ = ["Decision", "decide", "decide_all", "is_outside"]

Entry = tuple[str, int | None, dict[str, Any]]
INSIDE = 1 + 1e-9
SAME = 1e-9  # in unit coordinates: rounding on the way to an instrument and back


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """What an answer does: its kind, the trial, and the events to write (none if it was told before)."""

    kind: str
    trial: int
    entries: tuple[Entry, ...]


def decide(state: State, answer: Answer, new_id: int) -> Decision:
    """Return what an answer does, or raise a `UsageError`; ``new_id`` is the number that old data would get."""
    number = _trial_number(state, answer)
    if number is None:
        return _old_data(state, answer, new_id)
    record = state.records[number]
    asked = dict(zip(state.known.domain.names, record.x, strict=True))
    x = setting_of(answer.x, state.known.domain.names, record.x)
    plan = state.plans.get(record.round)
    if x is not None and plan is not None:
        x = _as_asked(state, x, record)
    elif x is not None:
        _check_place(state, x, number)
    outcome = outcome_of(answer, record.repeats, None if x == record.x else x, _where(asked))
    if plan is not None:
        outcome = _for_a_procedure(state, outcome, record, plan)
    kind = "told" if _is_late(record, plan) else _kind(record, outcome, answer)
    if kind == "same":
        return Decision(kind, number, ())
    payload = outcome.payload()
    if answer.attempt is not None:
        payload["attempt"] = answer.attempt
    return Decision(kind, number, ((kind, number, payload),))


def decide_all(state: State, answers: Sequence[Answer]) -> list[Decision]:
    """Return what many answers do together, or raise a `UsageError` that names the first that cannot be taken."""
    decisions: list[Decision] = []
    n_new, seen = 0, set()
    for row, answer in enumerate(answers, start=1):
        try:
            decision = decide(state, answer, state.next_id + n_new)
        except UsageError as error:
            raise UsageError(f"answer {row} of {len(answers)}: {error} Nothing was taken.") from error
        identity = ("key", answer.key) if decision.kind == "old" and answer.key else ("id", decision.trial)
        if identity in seen:
            raise UsageError(f"answer {row} of {len(answers)}: {identity[1]} is given twice. Nothing was taken.")
        seen.add(identity)
        n_new += decision.kind == "old"
        decisions.append(decision)
    return decisions


def _is_late(record: Record, plan: Plan | None) -> bool:
    """Tell whether this answers a trial that was out when it was superseded: it is kept, and not refused."""
    was_given_up = record.outcome is not None and record.outcome.state is TrialState.ABANDONED
    return plan is not None and plan.is_superseded and record.state is TrialState.ABANDONED and not was_given_up


def _as_asked(state: State, x: tuple[float, ...], record: Record) -> tuple[float, ...]:
    """Return the asked setting if the executed one is the same up to rounding; a procedure can use no other."""
    domain = state.known.domain
    if np.max(np.abs(domain.to_unit(x) - domain.to_unit(record.x))) > SAME:
        raise UsageError(
            f"{state.known.algorithm} asks for just {_where(dict(zip(domain.names, record.x, strict=True)))} at trial "
            f"{record.id}, and cannot use a value from elsewhere, got x = {x}. Measure there, or tell it as FAILED. A "
            f"study of the adaptive search takes executed settings."
        )
    return record.x


def _for_a_procedure(state: State, outcome: Outcome, record: Record, plan: Plan) -> Outcome:
    """Return an outcome that a procedure can take: as many values as it asked for, none missing where it needs all."""
    if outcome.state not in (TrialState.COMPLETE, TrialState.CENSORED):
        return outcome
    name, n = state.known.algorithm, outcome.count + outcome.failures
    if n != record.repeats:
        raise UsageError(f"{name} asks for just {record.repeats} measurements at trial {record.id}, got {n}.")
    if plan.needs_values and outcome.values is None:
        raise UsageError(
            f"{name} needs every single value of trial {record.id}, and a summary was told. Tell the list of values."
        )
    if outcome.failures and not plan.allows_failures:
        reason = f"{outcome.failures} of {n} measurements failed, and {name} needs them all; the others are kept here"
        return outcome._replace(state=TrialState.FAILED, failures=record.repeats, reason=reason)
    return outcome


def _trial_number(state: State, answer: Answer) -> int | None:
    given = answer.id
    if isinstance(given, Trial):
        if given.study and given.study != state.uuid:
            raise UsageError(f"trial {given.id} belongs to another study ({given.study}), this one is {state.uuid}.")
        given = given.id
    if given is None:
        return state.keys.get(answer.key) if answer.key is not None else None
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise UsageError(f"id must be the number of a trial, or None for old data, got {given!r}.")
    number = int(given.__index__())
    if number not in state.records:
        known = f"1 to {state.next_id - 1}" if state.records else "none yet"
        raise UsageError(f"there is no trial {number} in this study; known are {known}. Give id=None for old data.")
    return number


def _old_data(state: State, answer: Answer, new_id: int) -> Decision:
    names = state.known.domain.names
    if state.known.algorithm != ADAPTIVE:
        raise UsageError(
            f"{state.known.algorithm} takes answers to its own trials alone. Old data is used by the adaptive search."
        )
    x = setting_of(answer.x, names, None)
    if x is None:
        raise UsageError(f"old data needs its setting: tell(None, value, x={{{', '.join(map(repr, names))}: ...}}).")
    _check_place(state, x, None)
    outcome = outcome_of(answer, 1, None, _where(dict(zip(names, x, strict=True))))
    added: dict[str, Any] = {"x": list(x)}
    if answer.key is not None:
        added["key"] = answer.key
    return Decision("old", new_id, (("added", new_id, added), ("told", new_id, outcome.payload())))


def _kind(record: Record, outcome: Outcome, answer: Answer) -> str:
    """Return told, same, corrected or duplicate; or raise a `UsageError`."""
    state, before = record.state, record.outcome
    if answer.replace and before is not None and state not in (TrialState.WAITING, TrialState.RUNNING):
        return "same" if before.same_as(outcome) else "corrected"
    if state in (TrialState.WAITING, TrialState.RUNNING):
        return "told"
    assert before is not None  # every other state comes from an answer
    if before.same_as(outcome) or any(twin.same_as(outcome) for twin in record.duplicates):
        return "same"
    if state is TrialState.FAILED:
        return "told"  # it was measured again
    if state is TrialState.ABANDONED:
        raise UsageError(f"trial {record.id} was abandoned. Give replace=True if this value is to count all the same.")
    if _is_of_another_attempt(record, answer.attempt):
        return "duplicate"
    raise UsageError(
        f"trial {record.id} was told {_told(before)} before, and now {_told(outcome)}. Give replace=True if this "
        f"corrects it; both stay in the log."
    )


def _is_of_another_attempt(record: Record, attempt: int | None) -> bool:
    if attempt is not None:
        return attempt != record.answered_attempt
    return record.attempt > record.answers


def _told(outcome: Outcome) -> str:
    if outcome.state is not TrialState.COMPLETE:
        return outcome.state.name
    where = "" if outcome.x is None else f" at {outcome.x}"
    return (repr(outcome.mean) if outcome.count == 1 else f"{outcome.count} values of mean {outcome.mean!r}") + where


def _where(x: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in x.items())


def _check_place(state: State, x: Sequence[float], number: int | None) -> None:
    domain = state.known.domain
    if isinstance(domain, Box) and all(k.low <= value <= k.high for k, value in zip(domain.knobs, x, strict=True)):
        return  # plainly inside: spares the arrays, for sheets of 10⁵ rows
    if is_outside(domain, [x])[0]:
        which = "old data" if number is None else f"trial {number}"
        where = _where(dict(zip(domain.names, x, strict=True)))
        warnings.warn(
            f"{which} was measured outside the bounds, at {where}: it is used in the fit, and never recommended.",
            UserWarning,
            stacklevel=5,
        )


def is_outside(domain: Domain, x: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Tell which of the settings (k, d) lie outside the domain, rounding aside."""
    z = domain.to_unit(x)
    size = np.linalg.norm(z, axis=1) if domain.shape is Shape.BALL else np.abs(z).max(axis=1)
    return np.asarray(size > INSIDE)


def unsaved_message(error: StoreError, n: int) -> str:
    """Return an error's message with what happens to the answers that could not be written."""
    return f"{error} {n} answer{'s are' if n > 1 else ' is'} kept in memory and written with the next call."
