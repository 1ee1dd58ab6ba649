"""Medians and quantiles of small samples: NumPy's own spend ten times as long on checks as on finding them."""

import numpy as np

from paraboloid.core import Vector

__all__ = ["median", "quantiles"]


def median(values: Vector) -> float:
    """Return the median.

    >>> import numpy as np
    >>> median(np.array([3.0, 1.0, 2.0, 9.0]))
    2.5
    """
    lower, upper = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (lower, upper))
    return float(ordered[lower] + ordered[upper]) / 2


def quantiles(values: Vector, *levels: float) -> list[float]:
    """Return the quantiles at these levels, linear between neighbours.

    >>> import numpy as np
    >>> quantiles(np.array([3.0, 1.0, 2.0]), 0.25, 1.0)
    [1.5, 3.0]
    """
    last = len(values) - 1
    lower = [int(level * last) for level in levels]
    ordered = np.partition(values, sorted({*lower, *(min(i + 1, last) for i in lower)}))
    return [_between(ordered, level * last) for level in levels]


def _between(ordered: Vector, place: float) -> float:
    """Return the value at a place between two whole ones, from the nearer of them: at its end it is that one's."""
    below = int(place)
    part = place - below
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part)
