"""Truncated means (Appendix D), as printed and around a robust centre.

As printed, every value is projected onto [-t^½, t^½]: an interval around **zero**, in units of the noise. While t^½ is
below the size of the signal this clips the signal itself. The bounds of Appendix D only need a centre within m of the
mean, so the practical sibling clips to the same width around a median of means, and keeps the guarantee.

==================  ======================  ======================================================
paper               code                    meaning
==================  ======================  ======================================================
X_k, Z_k            ``values``, returned    samples before and after truncation
m = t^½             ``half_width(t)``       half the width of the interval
t                   ``n_values``            number of values that are averaged
==================  ======================  ======================================================
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError, Vector, check_positive, frozen_array

__all__ = ["AS_PRINTED", "CENTRED", "Truncation", "median_of_means", "truncated_mean"]


def zero_centre(values: Vector) -> float:
    """Return 0, whatever the values: the centre of the printed interval."""
    return 0.0


def median_of_means(values: npt.ArrayLike) -> float:
    """Return the median of the means of 8 ln n groups: within O(√(ln n / n)) of the mean for any finite variance.

    With k groups of n/k values each group's mean is off by more than 2√(k/n)·σ with chance at most ¼ (Chebyshev), and
    the median only if half of the groups are: chance at most exp(-k/8), that is 1/n for k = 8 ln n. Below 8 ln n values
    each is its own group, and it is the median.

    >>> median_of_means([1.0, 2.0, 1000.0])
    2.0
    """
    array = frozen_array("values", values, 1)
    if array.size == 0:
        raise UsageError("a median of means needs at least one value, got none.")
    n_groups = min(array.size, max(1, math.ceil(8 * math.log(array.size))))
    return float(np.median([group.mean() for group in np.array_split(array, n_groups)]))


@dataclass(frozen=True, slots=True)
class Truncation:
    """How values are truncated before they are averaged: `AS_PRINTED` or `CENTRED`, or your own.

    Parameters
    ----------
    exponent
        The interval's half-width is t**exponent for t values; the paper takes ½.
    centre
        From values to the middle of the interval. Only the first block of a long series is shown to it.

    Examples
    --------
    >>> AS_PRINTED.half_width(100)
    10.0
    """

    exponent: float = 0.5
    centre: Callable[[Vector], float] = zero_centre

    def __post_init__(self) -> None:
        check_positive("exponent", self.exponent)

    def half_width(self, n_values: int) -> float:
        """Return m = t^½ for an average of t values."""
        return math.pow(n_values, self.exponent)


AS_PRINTED = Truncation()
"""The paper's: onto [-t^½, t^½]."""

CENTRED = Truncation(centre=median_of_means)
"""The practical sibling: onto c ± t^½ with c the median of means of the first values."""


def truncated_mean(values: npt.ArrayLike, bound: float, *, centre: float = 0.0) -> float:
    """Return the average of max(min(X_k, c + m), c - m) (Proposition D.1).

    >>> truncated_mean([1.0, 2.0, 1000.0], 3.0)
    2.0
    >>> truncated_mean([1.0, 2.0, 1000.0], 1.0, centre=2.0)
    2.0
    """
    array = frozen_array("values", values, 1)
    if array.size == 0:
        raise UsageError("a truncated mean needs at least one value, got none.")
    m = check_positive("bound", bound)
    return float(np.mean(np.clip(array, centre - m, centre + m)))
