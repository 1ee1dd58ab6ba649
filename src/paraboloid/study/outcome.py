"""What is told of a trial: values of any kind a person or a machine may send, turned into numbers or into a failure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from paraboloid.core import MeasurementError, Measurements, UsageError
from paraboloid.core.measured import measured_number
from paraboloid.study.trial import TrialState, as_state

__all__ = ["Answer", "Outcome", "outcome_of", "setting_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What `Study.tell` is given, as a value, for `Study.tell_all`.

    Parameters
    ----------
    id
        The trial, its number, or None for old data (then ``x`` is needed).
    value
        A number, a list of replicates, or `Measurements` of one point (a block's count, mean and scatter).
    sem
        Standard error of the mean of what is told, or one for each replicate.
    x
        The executed setting by knob name where it differs from the asked one; knobs left out were as asked.
    state
        FAILED, ABANDONED or CENSORED, or None for a plain value.
    note
        A remark that is kept.
    replace
        Whether this corrects an earlier answer.
    attempt
        Which attempt answers, where a trial may have been handed out more than once.
    key
        A name for a row of old data, so that telling it again is noticed.

    Examples
    --------
    >>> Answer(3, [1.2, 1.4], note="Tuesday").value
    [1.2, 1.4]
    """

    id: Any
    value: Any = None
    sem: Any = None
    x: Mapping[str, float] | None = None
    state: TrialState | str | None = None
    note: str | None = None
    replace: bool = False
    attempt: int | None = None
    key: str | None = field(default=None, kw_only=True)


class Outcome(NamedTuple):
    """An answer in numbers: what the log keeps and the model uses. A named tuple: 10⁵ of them are made at once."""

    state: TrialState
    count: int = 0  # type: ignore[assignment]  # hides a method of tuples that nobody needs here
    mean: float = 0.0
    scatter: float = 0.0
    failures: int = 0
    values: tuple[float, ...] | None = None
    sem: float | tuple[float, ...] | None = None
    x: tuple[float, ...] | None = None
    reason: str = ""
    note: str = ""

    @property
    def precision(self) -> float:
        """Sum of 1/sem², or 0 where standard errors are not known."""
        if self.sem is None:
            return 0.0
        return math.fsum(s**-2.0 for s in self.sem) if isinstance(self.sem, tuple) else float(self.sem**-2.0)

    def same_as(self, other: "Outcome") -> bool:
        """Tell whether two answers say the same, remarks aside."""
        if self.state is not other.state:
            return False
        if self.state in (TrialState.FAILED, TrialState.ABANDONED):
            return True
        mine = (self.count, self.mean, self.scatter, self.failures, self.values, self.sem, self.x)
        return mine == (other.count, other.mean, other.scatter, other.failures, other.values, other.sem, other.x)

    def payload(self) -> dict[str, Any]:
        """Return the outcome in plain types, as short as it can be."""
        made: dict[str, Any] = {}
        if self.state is not TrialState.COMPLETE:
            made["state"] = self.state.name
        if self.values is not None and len(self.values) == 1:
            made["value"] = self.values[0]
        elif self.values is not None:
            made["values"] = list(self.values)
        elif self.count:
            made.update(count=self.count, mean=self.mean, scatter=self.scatter)
        if self.failures:
            made["failures"] = self.failures
        if self.sem is not None:
            made["sem"] = list(self.sem) if isinstance(self.sem, tuple) else self.sem
        if self.x is not None:
            made["x"] = list(self.x)
        if self.reason:
            made["reason"] = self.reason
        if self.note:
            made["note"] = self.note
        return made

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "Outcome":
        """Return the outcome that was logged."""
        if len(payload) == 1 and "value" in payload:  # by far the most common: one value and nothing else
            value = payload["value"]
            return cls(TrialState.COMPLETE, 1, value, 0.0, 0, (value,))
        sem, x = payload.get("sem"), payload.get("x")
        common: dict[str, Any] = {
            "failures": payload.get("failures", 0),
            "sem": tuple(sem) if isinstance(sem, list) else sem,
            "x": None if x is None else tuple(x),
            "reason": payload.get("reason", ""),
            "note": payload.get("note", ""),
        }
        state = TrialState[payload.get("state", "COMPLETE")]
        if "count" in payload:
            return cls(state, payload["count"], payload["mean"], payload["scatter"], **common)
        values = payload.get("values", [payload["value"]] if "value" in payload else None)
        if values is None:
            return cls(state, **common)
        mean, scatter = _moments(values, common["sem"])
        return cls(state, len(values), mean, scatter, values=tuple(values), **common)


def outcome_of(answer: Answer, repeats: int, x: tuple[float, ...] | None, where: str) -> Outcome:
    """Return what an answer says. What is no number is a failure, with its reason; a bad standard error is refused."""
    state = None if answer.state is None else as_state(answer.state)
    note = "" if answer.note is None else str(answer.note)
    if state in (TrialState.WAITING, TrialState.RUNNING):
        raise UsageError(f"tell takes COMPLETE, FAILED, CENSORED or ABANDONED, got {state.name}; see study.retry.")
    if state is TrialState.ABANDONED:
        return Outcome(state, x=x, note=note)
    if state is TrialState.FAILED:
        told = "" if answer.value is None else f" (told with {answer.value!r})"
        return Outcome(state, failures=repeats, x=x, reason=f"told as failed{told}, at {where}", note=note)
    try:
        read = _read(answer.value)
    except MeasurementError as error:
        if state is not None:
            raise UsageError(f"state {state.name} needs a value: {error}, at {where}.") from error
        return Outcome(TrialState.FAILED, failures=repeats, x=x, reason=f"{error}, at {where}", note=note)
    values, count, mean, scatter, failures = read
    sem = _read_sem(answer.sem, count, values is not None)
    if values is not None:
        mean, scatter = _moments(values, sem)
    return Outcome(state or TrialState.COMPLETE, count, mean, scatter, failures, values, sem, x, "", note)


def setting_of(given: Any, names: Sequence[str], asked: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return an executed setting in knob order: by name, knobs left out as asked, or all of them as a sequence."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        given = dict(zip(names, np.atleast_1d(np.asarray(given, dtype=object)).tolist(), strict=False))
    unknown = [str(name) for name in given if name not in names]
    missing = [name for name in names if name not in given]
    if unknown or (missing and asked is None):
        raise UsageError(f"x must name the knobs {', '.join(names)}, got {dict(given)!r}.")
    found = []
    for k, name in enumerate(names):
        try:
            found.append(measured_number(given[name], f"knob {name}") if name in given else float(asked[k]))  # type: ignore[index]  # missing names need asked
        except MeasurementError as error:
            raise UsageError(f"{error}. Give the executed setting in the units of the knob.") from error
    return tuple(found)


def _read(value: Any) -> tuple[tuple[float, ...] | None, int, float, float, int]:
    """Return (values, count, mean, scatter, failures), or raise a `MeasurementError` that says what came instead."""
    if isinstance(value, Measurements):
        if value.counts.size != 1:
            raise MeasurementError(f"a trial is one point, got measurements of {value.counts.size} points")
        count, failures = int(value.counts[0]), value.n_failures
        if count == 0:
            raise MeasurementError(f"all {failures} measurements of the block failed")
        return None, count, float(value.means[0]), float(value.scatter[0]), failures
    if value is None:
        raise MeasurementError("no value was told")
    if isinstance(value, np.ndarray) and value.ndim > 0:
        value = list(value)
    if not isinstance(value, list | tuple):
        return (measured_number(value, "value"),), 1, 0.0, 0.0, 0
    good, bad = [], ""
    for entry in value:
        try:
            good.append(measured_number(entry, "value"))
        except MeasurementError as error:
            bad = str(error)
    if not good:
        raise MeasurementError(bad or "an empty list of values was told")
    return tuple(good), len(good), 0.0, 0.0, len(value) - len(good)


def _read_sem(given: Any, count: int, is_single: bool) -> float | tuple[float, ...] | None:
    if given is None:
        return None
    try:
        if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim > 0):
            read = tuple(measured_number(entry, "sem") for entry in given)
            if len(read) != count or not is_single:
                raise MeasurementError(f"sem has {len(read)} entries for {count} values")
            bad = [s for s in read if not s > 0]
        else:
            read = measured_number(given, "sem")  # type: ignore[assignment]  # one number for the mean of all
            bad = [] if read > 0 else [read]  # type: ignore[operator, list-item]  # a float here
    except MeasurementError as error:
        raise UsageError(f"{error}. A standard error is a number above 0; leave sem out if it is not known.") from error
    if bad:
        raise UsageError(f"sem must be above 0, got {given!r}. Leave it out if it is not known.")
    return read


def _moments(values: Sequence[float], sem: float | tuple[float, ...] | None) -> tuple[float, float]:
    """Return mean (weighted where each value has its standard error) and sum of squared deviations from it."""
    if len(values) == 1:
        return values[0], 0.0
    shift = values[0]  # a large common offset costs no digits
    weights = [s**-2.0 for s in sem] if isinstance(sem, tuple) else [1.0] * len(values)
    away = math.fsum(w * (v - shift) for w, v in zip(weights, values, strict=True)) / math.fsum(weights)
    return shift + away, math.fsum((v - shift - away) ** 2 for v in values)
