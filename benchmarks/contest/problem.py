"""What a contest problem is: a region, one noisy value for each point, and the true regret of an answer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from paraboloid.core import Matrix, Vector

Truth = Callable[[Matrix], Vector]
"""Noise-free values (n,) at points (n, d)."""
Measure = Callable[[Matrix, np.random.Generator], Vector]
"""One noisy value for each of the points (n, d); all randomness comes from the generator."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """A noisy function on a box, or on the ball that touches its sides (``is_ball``).

    A solver sees only the region and what ``measure`` returns; ``regret`` is f(x) - min f over the region, for the
    score. ``hessian`` and ``minimiser`` are there where the function is quadratic, for the limits.
    """

    name: str
    lows: Vector
    highs: Vector
    measure: Measure
    regret: Callable[[Vector], float]
    is_ball: bool = False
    hessian: Matrix | None = None
    minimiser: Vector | None = None

    @property
    def d(self) -> int:
        """Number of knobs."""
        return self.lows.size

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The box as (low, high) pairs."""
        return list(zip(self.lows.tolist(), self.highs.tolist(), strict=True))


def cube(d: int, low: float, high: float) -> tuple[Vector, Vector]:
    """Return the lows and highs of a box with equal sides."""
    return np.full(d, low), np.full(d, high)


def with_gaussian_noise(name: str, box: tuple[Vector, Vector], truth: Truth, *, least: float, sigma: float) -> Problem:
    """Return a problem of a known function with normal noise of the same size everywhere."""

    def measure(points: Matrix, rng: np.random.Generator) -> Vector:
        return truth(points) + sigma * rng.standard_normal(len(points))

    def regret(x: Vector) -> float:
        return float(truth(x[None, :])[0]) - least

    return Problem(name, *box, measure, regret)
