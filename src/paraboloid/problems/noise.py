"""Noise families, all of zero mean and unit variance (at most one, where the scale depends on the point).

A noise draws w given the point x; it owns no random state, so its stream is the caller's to keep apart from the
algorithm's own randomness.
"""

import math
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError, Vector, frozen_array

__all__ = [
    "Exponential",
    "Gaussian",
    "Heteroscedastic",
    "Laplace",
    "LogNormal",
    "Noise",
    "Noiseless",
    "Rademacher",
    "StudentT",
    "TwoPoint",
    "Uniform",
    "VaryingSkew",
    "named_noise",
]


@runtime_checkable
class Noise(Protocol):
    """Anything that draws zero-mean noise of variance at most one at a point."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` independent values of the noise at ``point``, shape (n,)."""
        ...


@dataclass(frozen=True, slots=True)
class Noiseless:
    """No noise at all: every measurement is exact."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` zeros."""
        return np.zeros(n)


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Standard normal noise, the one under which the limit of Theorem 1 is tight."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` standard normal values."""
        return rng.standard_normal(n)


@dataclass(frozen=True, slots=True)
class Uniform:
    """Uniform noise on [-√3, √3]."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` uniform values."""
        return rng.uniform(-math.sqrt(3), math.sqrt(3), n)


@dataclass(frozen=True, slots=True)
class Rademacher:
    """Noise that is +1 or -1 with equal chance."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` random signs."""
        signs: Vector = np.where(rng.integers(0, 2, n) == 1, 1.0, -1.0)
        return signs


@dataclass(frozen=True, slots=True)
class Laplace:
    """Laplace (double exponential) noise of scale 1/√2."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` Laplace values."""
        return rng.laplace(0.0, math.sqrt(0.5), n)


@dataclass(frozen=True, slots=True)
class StudentT:
    """Student t noise scaled to unit variance, for any degrees of freedom above two.

    >>> StudentT(2.5).df
    2.5
    """

    df: float = 3.0

    def __post_init__(self) -> None:
        if not 2 < self.df < math.inf:
            raise UsageError(
                f"Student t noise needs a finite df > 2 to have a variance, got df={self.df!r}. Try df=2.5."
            )

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` scaled Student t values."""
        return rng.standard_t(self.df, n) * math.sqrt((self.df - 2) / self.df)


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Skewed noise: exp(shape · N), centred and scaled to unit variance; the skew grows with ``shape``.

    >>> LogNormal(0.5)
    LogNormal(shape=0.5)
    """

    shape: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.shape <= 3:
            raise UsageError(f"log-normal noise needs a shape in (0, 3], got {self.shape!r}. Try shape=1.")

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` centred log-normal values."""
        square = self.shape**2
        mean, deviation = math.exp(square / 2), math.sqrt(math.expm1(square) * math.exp(square))
        return (rng.lognormal(0.0, self.shape, n) - mean) / deviation


@dataclass(frozen=True, slots=True)
class Exponential:
    """Skewed noise: exponential minus its mean."""

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` centred exponential values."""
        return rng.standard_exponential(n) - 1.0


@dataclass(frozen=True, slots=True)
class TwoPoint:
    """Rare large values: √((1-q)/q) with chance q, else -√(q/(1-q)).

    >>> np.unique(TwoPoint(0.2).draw(np.zeros(1), 100, np.random.default_rng(0)))
    array([-0.5,  2. ])
    """

    probability: float = 1e-3

    def __post_init__(self) -> None:
        if not 0 < self.probability < 1:
            raise UsageError(f"two-point noise needs a probability inside (0, 1), got {self.probability!r}.")

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` two-point values."""
        q = self.probability
        return np.where(rng.random(n) < q, math.sqrt((1 - q) / q), -math.sqrt(q / (1 - q)))


@dataclass(frozen=True, slots=True)
class Heteroscedastic:
    """Noise whose standard deviation depends on the point: low + (1 - low)·|x|, so at most 1 in the unit ball.

    >>> Heteroscedastic(Rademacher(), low=0.25).draw(np.zeros(2), 2, np.random.default_rng(0))
    array([0.25, 0.25])
    """

    base: Noise = field(default_factory=Gaussian)
    low: float = 0.2

    def __post_init__(self) -> None:
        if isinstance(self.base, type) or not isinstance(self.base, Noise):
            raise UsageError(f"base must be a noise such as Gaussian(), got {self.base!r}.")
        if not 0 <= self.low <= 1:
            raise UsageError(f"low is the standard deviation at the centre, from 0 to 1, got {self.low!r}.")

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` values of the base noise, scaled by the deviation at ``point``."""
        scale = self.low + (1 - self.low) * min(1.0, float(np.linalg.norm(point)))
        return scale * self.base.draw(point, n, rng)


@dataclass(frozen=True, slots=True, eq=False)
class VaryingSkew:
    """Unit-variance noise whose skew depends on the point: s·(E - 1) + √(1-s²)·N with s = direction·x, skew 2s³.

    Opposite points have opposite skew, which is what a median would take for a slope.

    >>> VaryingSkew([3.0, 4.0]).direction
    array([0.6, 0.8])
    """

    direction: Vector

    def __init__(self, direction: npt.ArrayLike) -> None:
        vector = frozen_array("direction", direction, 1)
        norm = float(np.linalg.norm(vector))
        if norm == 0:
            raise UsageError("direction must not be zero: it says along what the skew changes.")
        object.__setattr__(self, "direction", frozen_array("direction", vector / norm, 1))

    def draw(self, point: Vector, n: int, rng: np.random.Generator) -> Vector:
        """Return ``n`` values with the skew of ``point``."""
        s = float(np.clip(self.direction @ point, -1.0, 1.0))
        return s * (rng.standard_exponential(n) - 1.0) + math.sqrt(1 - s**2) * rng.standard_normal(n)


_NAMED: dict[str, type[Noise]] = {
    "exponential": Exponential,
    "gaussian": Gaussian,
    "heteroscedastic": Heteroscedastic,
    "laplace": Laplace,
    "log-normal": LogNormal,
    "noiseless": Noiseless,
    "rademacher": Rademacher,
    "student-t": StudentT,
    "two-point": TwoPoint,
    "uniform": Uniform,
}


def named_noise(name: str) -> Noise:
    """Return the noise family of that name at its default parameters.

    >>> named_noise("student-t")
    StudentT(df=3.0)
    >>> named_noise("pink")
    Traceback (most recent call last):
    ...
    paraboloid.core.errors.UsageError: unknown noise 'pink'. Known are exponential, gaussian, ...
    """
    if name not in _NAMED:
        raise UsageError(
            f"unknown noise {name!r}. Known are {', '.join(_NAMED)}; or give an object such as problems.StudentT(2.5)."
        )
    return _NAMED[name]()
