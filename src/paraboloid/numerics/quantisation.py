"""Quantised values with exact sums (Appendix D, remark and corollary).

A uniform quantiser of Θ(ln T) bits on [-m, m] changes a truncated value by at most b = half a step. The codes are whole
numbers, so their sum is exact: the same answer whatever the order of summation and whatever the number of workers,
which no floating-point sum can promise. The corollary's tail bound is `theory.truncation_tail_bound` with
``rounding=quantiser.rounding``.
"""

import math
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError, check_budget, check_positive, frozen_array

__all__ = ["QuantisedSum", "Quantiser", "quantise"]

MOST_BITS = 52
"""Codes must be exact in float64 before they become integers."""


@dataclass(frozen=True, slots=True)
class Quantiser:
    """A uniform quantiser of ``bits`` bits on [-bound, bound]; values outside are truncated first.

    Examples
    --------
    >>> quantiser = Quantiser(bound=1.0, bits=2)
    >>> quantiser.step, quantiser.rounding
    (0.6666666666666666, 0.3333333333333333)
    >>> quantiser.codes([-5.0, 0.4, 1.0])
    array([0, 2, 3])
    """

    bound: float
    bits: int

    def __post_init__(self) -> None:
        check_positive("bound", self.bound)
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 1 <= self.bits <= MOST_BITS:
            raise UsageError(f"bits must be a whole number from 1 to {MOST_BITS}, got {self.bits!r}.")

    @classmethod
    def for_budget(cls, budget: SupportsIndex) -> "Quantiser":
        """Return the quantiser on [-T^½, T^½] whose error b is at most T^-½, so o(T^-α) for every α < ½: Θ(ln T) bits.

        >>> Quantiser.for_budget(10_000)
        Quantiser(bound=100.0, bits=14)
        """
        T = check_budget(budget, smallest=1, what_for="a quantiser")
        # b = T^½/(2^bits - 1) ≤ T^-½ is 2^bits ≥ T + 1.
        return cls(bound=T**0.5, bits=min(MOST_BITS, max(1, math.ceil(math.log2(T + 1)))))

    @property
    def step(self) -> float:
        """Distance between neighbouring levels."""
        return 2 * self.bound / float(2**self.bits - 1)

    @property
    def rounding(self) -> float:
        """Largest change of a truncated value, the b of the corollary."""
        return self.step / 2

    def codes(self, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Return the level of each value, 0 for -bound and 2^bits - 1 for +bound."""
        array = frozen_array("values", values, 1)
        clipped = np.clip(array, -self.bound, self.bound)
        return np.rint((clipped + self.bound) / self.step).astype(np.int64)

    def sum(self, values: npt.ArrayLike) -> "QuantisedSum":
        """Return the exact sum of the quantised values, to be added to the sums of other workers."""
        codes = self.codes(values)
        # Python integers do not overflow; halves keep each int64 partial sum far below 2^63 (2^52 · 2^10 values).
        total = sum(int(block.sum()) for block in np.array_split(codes, max(1, codes.size // 1024)))
        return QuantisedSum(self, codes.size, total)


@dataclass(frozen=True, slots=True)
class QuantisedSum:
    """An exact sum of quantised values; sums of one quantiser add up in any order to the same.

    Examples
    --------
    >>> quantiser = Quantiser(bound=1.0, bits=8)
    >>> parts = [quantiser.sum([0.1, 0.2]), quantiser.sum([0.7])]
    >>> parts[0] + parts[1] == parts[1] + parts[0] == quantiser.sum([0.7, 0.2, 0.1])
    True
    """

    quantiser: Quantiser
    count: int
    total: int

    def __add__(self, other: "QuantisedSum") -> "QuantisedSum":
        if self.quantiser != other.quantiser:
            raise UsageError(f"sums of different quantisers cannot be added: {self.quantiser} and {other.quantiser}.")
        return QuantisedSum(self.quantiser, self.count + other.count, self.total + other.total)

    @property
    def mean(self) -> float:
        """The average of the quantised values."""
        if self.count == 0:
            raise UsageError("the mean of no values is not defined.")
        return self.total / self.count * self.quantiser.step - self.quantiser.bound


def quantise(values: npt.ArrayLike, quantiser: Quantiser) -> npt.NDArray[np.float64]:
    """Return each value truncated to the quantiser's interval and moved to its nearest level.

    >>> quantise([0.4, 9.0], Quantiser(bound=1.0, bits=1))
    array([1., 1.])
    """
    return quantiser.codes(values).astype(np.float64) * quantiser.step - quantiser.bound
