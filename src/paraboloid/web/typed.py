"""What people type into the page: numbers with a decimal point or comma, limits, n/a, read by the rules of sheets.

The page itself shows numbers with a decimal point, so that a point is one. A comma before exactly three digits
("1,234") may mark thousands: then another number of the same form must show that commas are decimal, or it is asked
back.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from paraboloid.core import UsageError
from paraboloid.study import Answer, Trial
from paraboloid.study.sheet_cells import Number, read_cell, read_number
from paraboloid.study.sheet_columns import SheetKnob
from paraboloid.study.sheet_row import not_a_number

__all__ = ["LONGEST_NOTE", "Typed", "answer_of", "uses_commas"]

LONGEST_NOTE = 1000


@dataclass(frozen=True, slots=True)
class Typed:
    """What was typed about one trial.

    Parameters
    ----------
    trial
        Its number.
    version
        What the form was made from: the last event that changed the answer, 0 while there was none.
    values
        One text for each replicate; empty ones were left out.
    is_failed, is_given_up
        Whether it was marked so.
    note, sem
        A remark; the standard error.
    settings
        What was really set, by knob; empty where it was set as asked.

    Examples
    --------
    >>> Typed(14, values=("80,5",)).is_empty, Typed(14, values=("", "")).is_empty
    (False, True)
    """

    trial: int
    version: int = 0
    values: tuple[str, ...] = ()
    is_failed: bool = False
    is_given_up: bool = False
    note: str = ""
    sem: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was typed."""
        texts = (*self.values, self.note, self.sem, *self.settings.values())
        return not (self.is_failed or self.is_given_up or any(text.strip() for text in texts))


def uses_commas(texts: Iterable[str]) -> bool:
    """Tell whether the numbers of a form show that commas are decimal marks, and none shows the contrary.

    >>> uses_commas(["80,5", "1,234"]), uses_commas(["1,234"]), uses_commas(["80,5", "1,234.5"])
    (True, False, False)
    """
    read = [cell.number for cell in map(read_cell, texts) if cell is not None and cell.number is not None]
    return {number.decimal for number in read if number.decimal} == {","}


def answer_of(typed: Typed, trial: Trial, knobs: Sequence[SheetKnob], *, commas: bool, replace: bool) -> Answer:
    """Return what the study is told, or raise a `UsageError` that says what to type instead."""
    note = typed.note.strip()
    if len(note) > LONGEST_NOTE:
        raise UsageError(f"the note has {len(note):,} characters; at most {LONGEST_NOTE:,} are kept. Shorten it.")
    written = [text.strip() for text in typed.values if text.strip()]
    if typed.is_failed or typed.is_given_up:
        if written:
            raise UsageError("there is a value, and it is marked as having none. Clear one of the two.")
        state = "ABANDONED" if typed.is_given_up else "FAILED"
        return Answer(trial.id, state=state, note=note or None, replace=replace)
    if not written:
        raise UsageError("there is no value. Type it, or mark the measurement as failed.")
    numbers, limits = zip(*(_value(text, commas=commas) for text in written), strict=True)
    if any(limits) and not all(limits):
        raise UsageError("values and limits (<, >) cannot be told together. Tell the values alone.")
    remark = ", ".join(
        f"typed: {text}"
        for text, number, limit in zip(written, numbers, limits, strict=True)
        if limit or number != number
    )
    note = "; ".join(filter(None, (note, remark)))
    if all(math.isnan(number) for number in numbers):
        return Answer(trial.id, state="FAILED", note=note, replace=replace)
    return Answer(
        trial.id,
        list(numbers) if len(numbers) > 1 else numbers[0],
        sem=_number(typed.sem, "the standard error", commas=commas) if typed.sem.strip() else None,
        x=_executed(typed, trial, knobs, commas=commas),
        state="CENSORED" if any(limits) else None,
        note=note or None,
        replace=replace,
    )


def _value(text: str, *, commas: bool) -> tuple[float, str]:
    """Return a value (NaN for n/a), and the limit sign before it."""
    cell = read_cell(text)
    if cell is None:
        raise UsageError(not_a_number(text))
    return (math.nan, "") if cell.number is None else (_resolved(text, cell.number, commas=commas), cell.limit)


def _number(text: str, what: str, *, commas: bool) -> float:
    number = read_number(text)
    if number is None:
        raise UsageError(f"{what} is {text.strip()[:60]!r}, and that is no number.")
    return _resolved(text, number, commas=commas)


def _resolved(text: str, number: Number, *, commas: bool) -> float:
    if number.mark == "," and not commas:
        raise UsageError(
            f"{text.strip()} may be {number.value:g} or {number.grouped:.15g}. Type it in one of these ways."
        )
    if not math.isfinite(number.value):
        raise UsageError(f"{text.strip()[:60]!r} is too large for a number.")
    return number.value


def _executed(typed: Typed, trial: Trial, knobs: Sequence[SheetKnob], *, commas: bool) -> dict[str, float] | None:
    """Return the settings that differ from the asked ones by more than the digits that are not written."""
    read = {
        knob.name: _number(text, knob.name, commas=commas)
        for knob in knobs
        if (text := typed.settings.get(knob.name, "")).strip()
    }
    for knob in knobs:
        if knob.is_log and read.get(knob.name, 1.0) <= 0:
            raise UsageError(f"{knob.name} is on a log scale and must be above 0, got {read[knob.name]:g}.")
    return {
        knob.name: read[knob.name]
        for knob in knobs
        if knob.name in read and not knob.is_near(read[knob.name], trial.x[knob.name])
    } or None
