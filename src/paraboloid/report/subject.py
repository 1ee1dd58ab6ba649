"""What a report is made of: the evidence, what was concluded from it, and the rows as they were measured."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from paraboloid.core import Counts, Domain, Evidence, Matrix, Measurements, Result, Vector

__all__ = ["Rows", "Subject"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Measured settings in the order in which they were measured; values as they were measured, not turned.

    Parameters
    ----------
    ids, rounds
        Number and round of each row, shape (n,); round 0 is old data.
    points
        The measured settings in unit coordinates, shape (n, d).
    counts, failures
        Values and attempts without a value, shape (n,).
    means, sems
        Mean of the values, and its standard error where that is known, shape (n,); else NaN.
    states, notes
        The state in one word, and what was noted or why it failed; empty sequences where all are plain.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(1, np.array([[0.0], [0.5]]), Measurements.from_values([[1.0], [2.0, 3.0]]))
    >>> rows.n_rows, rows.means
    (2, array([1. , 2.5]))
    """

    ids: Counts
    rounds: Counts
    points: Matrix
    counts: Counts
    failures: Counts
    means: Vector
    sems: Vector
    states: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.ids)

    def state(self, row: int) -> str:
        """Return the state of a row in one word."""
        return self.states[row] if self.states else ("COMPLETE" if self.counts[row] else "FAILED")

    def note(self, row: int) -> str:
        """Return what was noted about a row."""
        return self.notes[row] if self.notes else ""

    @classmethod
    def of(cls, round_number: int, points: Matrix, measurements: Measurements, sign: float = 1.0) -> "Rows":
        """Return the rows of one round, numbered from 1; ``sign`` turns values that were turned to be minimised."""
        counts = measurements.counts
        failures = np.zeros_like(counts) if measurements.failures is None else measurements.failures
        precision = np.zeros(len(counts)) if measurements.precision is None else measurements.precision
        means = np.where(counts > 0, sign * measurements.means, np.nan)
        numbers, rounds = np.arange(1, len(counts) + 1), np.full(len(counts), round_number)
        return cls(numbers, rounds, points, counts, failures, means, _sems(precision))

    @classmethod
    def of_evidence(cls, evidence: Evidence, sign: float) -> "Rows":
        """Return a row for each distinct setting, where the order of measuring is not known."""
        numbers, rounds = np.arange(1, len(evidence.counts) + 1), np.zeros(len(evidence.counts), dtype=np.int64)
        means = np.where(evidence.counts > 0, sign * evidence.means, np.nan)
        sems = _sems(evidence.precision)
        return cls(numbers, rounds, evidence.points, evidence.counts, evidence.failures, means, sems)

    @classmethod
    def joined(cls, parts: Sequence["Rows"], dimension: int) -> "Rows":
        """Return all rows one after another; several parts are numbered anew."""
        if len(parts) == 1:
            return parts[0]
        none = np.zeros(0, dtype=np.int64)
        empty = cls(none, none, np.zeros((0, dimension)), none, none, np.zeros(0), np.zeros(0))
        whole = [empty, *parts]
        n_rows = sum(part.n_rows for part in parts)
        has_words = any(part.states or part.notes for part in parts)
        return cls(
            np.arange(1, n_rows + 1),
            np.concatenate([part.rounds for part in whole]),
            np.vstack([part.points for part in whole]),
            np.concatenate([part.counts for part in whole]),
            np.concatenate([part.failures for part in whole]),
            np.concatenate([part.means for part in whole]),
            np.concatenate([part.sems for part in whole]),
            [part.state(row) for part in parts for row in range(part.n_rows)] if has_words else (),
            [part.note(row) for part in parts for row in range(part.n_rows)] if has_words else (),
        )


def _sems(precision: Vector) -> Vector:
    return np.where(precision > 0, 1 / np.sqrt(np.maximum(precision, 1e-300)), np.nan)


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What a report is about; `paraboloid.minimize` and `paraboloid.Study` make it.

    Parameters
    ----------
    domain
        Where may be measured.
    evidence
        All that was measured, in unit coordinates and turned to be minimised.
    result
        What was concluded from it; None before anything has a value.
    sign
        +1 if small values are wanted, -1 if large ones are: what is shown is ``sign`` times what is minimised.
    sentence, is_over
        How it stands in a sentence, and whether nothing more is planned.
    confidence
        Of bounds and intervals.
    n_rounds
        Rounds so far.
    eps
        The wanted accuracy, if one is.
    left
        Measurements that may still be made, where there is a budget.
    title, path
        Name of the study, and its file.
    warnings
        What else a person should know, beside the caveats of the result.
    rows
        What was measured, in one part or several; none where only the evidence was kept.
    is_ordered
        Whether the rows are in the order of measuring.

    Examples
    --------
    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=9, rng=0)
    >>> result.subject.evidence.n_measurements, result.subject.sign
    (9, 1.0)
    """

    domain: Domain
    evidence: Evidence
    result: Result | None
    sign: float
    sentence: str
    is_over: bool
    confidence: float = 0.95
    n_rounds: int = 0
    eps: float | None = None
    left: int | None = None
    title: str = ""
    path: str = ""
    warnings: tuple[str, ...] = ()
    rows: tuple[Rows, ...] = field(default=(), repr=False)
    is_ordered: bool = False

    def all_rows(self) -> Rows:
        """Return everything that was measured, row by row."""
        if self.rows:
            return Rows.joined(self.rows, self.domain.dimension)
        return Rows.of_evidence(self.evidence, self.sign)
