"""One trial of a study, as people see it, and the states it can be in."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from paraboloid.core import UsageError

__all__ = ["Trial", "TrialState", "as_row", "as_state"]


class TrialState(enum.Enum):
    """Where a trial stands, each with its sentence."""

    WAITING = "Planned, and not handed out yet, or to be handed out again."
    RUNNING = "Handed out, and not answered yet."
    COMPLETE = "Answered with a value."
    FAILED = "Answered without a value; it may be retried."
    CENSORED = "Answered with a reading at the limit of the instrument: kept, but not used as a value."
    ABANDONED = "Given up; it is never handed out again."


def as_state(given: TrialState | str) -> TrialState:
    """Return the state of that name.

    >>> as_state("failed").name
    'FAILED'
    """
    if isinstance(given, TrialState):
        return given
    if isinstance(given, str) and given.upper() in TrialState.__members__:
        return TrialState[given.upper()]
    raise UsageError(f"state must be one of {', '.join(TrialState.__members__)}, got {given!r}.")


@dataclass(frozen=True, slots=True)
class Trial:
    """One setting to measure, and what was told of it.

    Parameters
    ----------
    id
        Its number in the study.
    x
        The setting, by knob name, in the knobs' units.
    state
        See `TrialState`.
    attempt
        How often it was handed out.
    repeats
        How many measurements are wanted at the setting.
    round
        The round it was planned in; 0 for old data.
    executed
        The setting that was really measured, where it differs.
    value, sem
        Mean of the values told, and its standard error if that was told.
    values
        The single values, where they were told; a block has its summary only.
    count, scatter, failures
        Number of values, their sum of squared deviations from the mean, number of attempts without a value.
    duplicates
        Answers of other attempts, kept in the log and not counted.
    reason, note
        Why it failed; what was noted.
    study
        Identity of the study, so that a trial of another one is noticed.
    needs_values
        Whether every single value must be told, and a summary of a block will not do.

    Examples
    --------
    >>> trial = Trial(3, {"temperature": 180.0}, TrialState.RUNNING, attempt=1)
    >>> trial.id, trial.x["temperature"], trial.state.name
    (3, 180.0, 'RUNNING')
    """

    id: int
    x: Mapping[str, float]
    state: TrialState
    attempt: int = 0
    repeats: int = 1
    round: int = 0
    executed: Mapping[str, float] | None = None
    value: float | None = None
    sem: float | None = None
    values: tuple[float, ...] | None = None
    count: int = 0
    scatter: float = 0.0
    failures: int = 0
    duplicates: int = 0
    reason: str = ""
    note: str = ""
    study: str = ""
    needs_values: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the trial in plain types, ready for JSON."""
        return {
            "id": self.id,
            "state": self.state.name,
            "attempt": self.attempt,
            "repeats": self.repeats,
            "round": self.round,
            "x": dict(self.x),
            "executed": None if self.executed is None else dict(self.executed),
            "value": self.value,
            "sem": self.sem,
            "values": None if self.values is None else list(self.values),
            "count": self.count,
            "scatter": self.scatter,
            "failures": self.failures,
            "duplicates": self.duplicates,
            "reason": self.reason,
            "note": self.note,
        }


def as_row(trial: Trial) -> dict[str, Any]:
    """Return a trial as a row of a table: its number, a column for each knob as asked and as executed, the rest."""
    row = trial.as_dict()
    settings = row.pop("x")
    executed = row.pop("executed") or settings
    return {"id": row.pop("id"), **settings, **{f"executed {k}": v for k, v in executed.items()}, **row}
