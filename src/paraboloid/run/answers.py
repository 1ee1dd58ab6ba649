"""What a measured function answered: a value, a value with its standard error, or nothing that can be used."""

from typing import Any

import numpy as np

from paraboloid.core import MeasurementError, Vector
from paraboloid.core.measured import measured_number

__all__ = ["read_answer", "read_answers"]


def read_answer(answer: Any) -> tuple[float, float]:
    """Return (value, standard error or 0), or raise a `MeasurementError` that says what came instead."""
    if type(answer) is float and answer - answer == 0.0:  # the usual case, finite: a quick way through
        return answer, 0.0
    value, sem = answer, 0.0
    if isinstance(answer, tuple | list) and len(answer) == 2:
        value, sem = answer[0], measured_number(answer[1], "standard error")
        if sem <= 0:
            raise MeasurementError(f"a standard error must be above 0, got {answer[1]!r}")
    return measured_number(value, "value"), sem


def read_answers(answer: Any, n: int) -> tuple[Vector, Vector, str]:
    """Return n values and standard errors (0 if unknown) of a vectorized call, and what is wrong with the last bad one.

    A value that cannot be used is NaN. The wrong number of values is no failed measurement but a wrong function.
    """
    given = np.asarray(answer)
    if given.shape not in ((n,), (n, 2)):
        raise MeasurementError(
            f"a vectorized fun must return one value per setting, or rows (value, standard error): {n} "
            f"settings, got shape {given.shape}."
        )
    if given.dtype.kind not in "fiu":  # objects, text, complex, truths: one by one, as they would be taken one by one
        return _one_by_one(given)
    table = given.astype(np.float64)  # a copy: the caller may keep its own
    values = np.ascontiguousarray(table if given.ndim == 1 else table[:, 0])
    sem = np.zeros(n) if given.ndim == 1 else np.ascontiguousarray(table[:, 1])
    bad = ~np.isfinite(values)
    if given.ndim == 2:
        bad |= ~(np.isfinite(sem) & (sem > 0))
    if not bad.any():
        return values, sem, ""
    last = given[np.flatnonzero(bad)[-1]]
    values[bad], sem[bad] = np.nan, 0.0
    return values, sem, _complaint(last)


def _one_by_one(given: Any) -> tuple[Vector, Vector, str]:
    values, sem, reason = np.full(len(given), np.nan), np.zeros(len(given)), ""
    for k, row in enumerate(given):
        try:
            values[k], sem[k] = read_answer(row if given.ndim == 1 else tuple(row))
        except MeasurementError as error:
            reason = str(error)
    return values, sem, reason


def _complaint(row: Any) -> str:
    try:
        read_answer(row if np.ndim(row) == 0 else tuple(row))
    except MeasurementError as error:
        return str(error)
    return "no value"  # cannot be: the row was found bad by the same rules
