"""What counts as a measured number: the same rule for a function's answer and for what is told to a study."""

import math
import numbers
from decimal import Decimal
from typing import Any

import numpy as np

from paraboloid.core.errors import MeasurementError

__all__ = ["measured_number"]

LONGEST = 200  # characters of a wrong answer that are shown


def measured_number(given: Any, what: str) -> float:
    """Return a finite float, or raise a `MeasurementError` that says what came instead.

    >>> from fractions import Fraction
    >>> measured_number(Fraction(1, 2), "value")
    0.5
    """
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if isinstance(given, bool | np.bool_) or not isinstance(given, numbers.Real | Decimal):
        text = repr(given)
        shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
        raise MeasurementError(f"{what} must be a number, got {shown}")
    try:
        number = float(given)
    except (ValueError, OverflowError) as error:  # a signalling NaN, an integer beyond floats
        raise MeasurementError(f"{what} must be a number that fits a float ({error})") from error
    if not math.isfinite(number):
        raise MeasurementError(f"{what} must be finite, got {given!r}")
    return number + 0.0  # -0.0 and 0.0 are one value
