"""Where may be measured: knobs with their units, as a box or a ball, and their unit coordinates.

Everything inside works in unit coordinates z: the box [-1, 1]^d or the unit ball. A change of units, scale or offset of
the knobs therefore changes nothing but the units of the answer.
"""

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from paraboloid.core.arrays import Matrix, Vector, frozen_array
from paraboloid.core.errors import UsageError

__all__ = ["Ball", "Box", "Domain", "Knob", "Shape", "as_domain"]


class Shape(enum.Enum):
    """The two shapes that a domain has in unit coordinates."""

    BALL = "the unit ball"
    BOX = "the box from -1 to 1 in every coordinate"


@dataclass(frozen=True, slots=True)
class Knob:
    """One knob of a box: its name, its range, its unit, and whether it acts on a logarithmic scale.

    >>> Knob("temperature", 150, 200, unit="°C")
    Knob(name='temperature', low=150.0, high=200.0, unit='°C', log=False)
    """

    name: str
    low: float
    high: float
    unit: str = ""
    log: bool = False

    def __post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.strip()):
            raise UsageError(f"a knob needs a name, got {self.name!r}.")
        for side in ("low", "high"):
            value = frozen_array(f"{side} of knob {self.name!r}", getattr(self, side), 0)
            object.__setattr__(self, side, float(value))
        if not self.low < self.high:
            raise UsageError(
                f"knob {self.name!r} needs low < high, got low={self.low:g} and high={self.high:g}. "
                f"A knob that is held fixed should be left out."
            )
        if self.log and self.low <= 0:
            raise UsageError(f"knob {self.name!r} has a log scale and needs low > 0, got low={self.low:g}.")


@dataclass(frozen=True, slots=True, init=False)
class Box:
    """A box of knobs; made from `Knob` objects or from (low, high) pairs as SciPy takes them.

    >>> box = Box([(0, 10), Knob("rate", 0.01, 1, log=True)])
    >>> box.names
    ('x1', 'rate')
    >>> box.from_unit([0.0, 0.0])
    array([5. , 0.1])
    """

    knobs: tuple[Knob, ...]
    names: tuple[str, ...] = field(compare=False, repr=False)
    """Names of the knobs, in order."""

    def __init__(self, knobs: Sequence[Knob | Sequence[float]]) -> None:
        made = tuple(_as_knob(knob, index) for index, knob in enumerate(knobs, start=1))
        if not made:
            raise UsageError("a box needs at least one knob, got none. Give [(low, high), ...].")
        names = tuple(knob.name for knob in made)
        if len(set(names)) < len(names):
            raise UsageError(f"knobs need different names, got {list(names)}.")
        object.__setattr__(self, "knobs", made)
        object.__setattr__(self, "names", names)

    @property
    def dimension(self) -> int:
        """Number of knobs."""
        return len(self.knobs)

    @property
    def shape(self) -> Shape:
        """Its shape in unit coordinates."""
        return Shape.BOX

    def to_unit(self, x: npt.ArrayLike) -> Matrix:
        """Return unit coordinates of points (..., d) in knob units; outside the box they are beyond ±1."""
        points = _points(x, self.dimension)
        middle, half, log = self._scales()
        with np.errstate(invalid="ignore", divide="ignore"):
            scaled = np.where(log, np.log(np.where(log, points, 1.0)), points)
        unit: Matrix = (scaled - middle) / half
        if not np.all(np.isfinite(unit)):
            raise UsageError(f"a knob with a log scale must be above 0, got {points}.")
        return unit

    def from_unit(self, z: npt.ArrayLike) -> Matrix:
        """Return points in knob units of unit coordinates (..., d); inside ±1 they never leave the box by rounding."""
        unit = _points(z, self.dimension)
        middle, half, log = self._scales()
        scaled = middle + half * unit
        points: Matrix = np.where(log, np.exp(np.where(log, scaled, 0.0)), scaled)
        low = np.array([knob.low for knob in self.knobs])
        high = np.array([knob.high for knob in self.knobs])
        return np.where(np.abs(unit) <= 1, np.clip(points, low, high), points)

    def jacobian(self, z: npt.ArrayLike) -> Matrix:
        """Return dx/dz at a point in unit coordinates, shape (d, d)."""
        _, half, log = self._scales()
        return np.diag(np.where(log, half * self.from_unit(z), half))

    def unit_jacobian(self) -> Matrix:
        """Return dx/dz, shape (d, d), for knobs without a log scale (their x is not linear in z)."""
        _, half, log = self._scales()
        if np.any(log):
            raise UsageError("a Hessian in knob units is not defined for knobs on a log scale; use unit coordinates.")
        return np.diag(half)

    def _scales(self) -> tuple[Vector, Vector, npt.NDArray[np.bool_]]:
        log = np.array([knob.log for knob in self.knobs])
        low = np.array([math.log(knob.low) if knob.log else knob.low for knob in self.knobs])
        high = np.array([math.log(knob.high) if knob.log else knob.high for knob in self.knobs])
        return low / 2 + high / 2, high / 2 - low / 2, log  # halves first: a wide range must not overflow


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Ball:
    """A ball of settings about a centre, for knobs that share a unit.

    >>> ball = Ball([1.0, 2.0], radius=0.5)
    >>> ball.from_unit([0.0, 1.0])
    array([1. , 2.5])
    """

    centre: Vector
    radius: float
    names: tuple[str, ...]

    def __init__(self, centre: npt.ArrayLike, radius: float = 1.0, names: Sequence[str] | None = None) -> None:
        middle = frozen_array("centre", centre, 1)
        size = float(frozen_array("radius", radius, 0))
        if middle.size == 0:
            raise UsageError("a ball needs at least one knob, got an empty centre.")
        if not size > 0:
            raise UsageError(f"radius must be above 0, got {radius!r}.")
        labels = tuple(names) if names is not None else tuple(f"x{i + 1}" for i in range(middle.size))
        if len(labels) != middle.size or len(set(labels)) < len(labels):
            raise UsageError(f"a ball in {middle.size} dimensions needs as many different names, got {labels}.")
        object.__setattr__(self, "centre", middle)
        object.__setattr__(self, "radius", size)
        object.__setattr__(self, "names", labels)

    @property
    def dimension(self) -> int:
        """Number of knobs."""
        return int(self.centre.size)

    @property
    def shape(self) -> Shape:
        """Its shape in unit coordinates."""
        return Shape.BALL

    def to_unit(self, x: npt.ArrayLike) -> Matrix:
        """Return unit coordinates of points (..., d) in knob units."""
        return (_points(x, self.dimension) - self.centre) / self.radius

    def from_unit(self, z: npt.ArrayLike) -> Matrix:
        """Return points in knob units of unit coordinates (..., d)."""
        return self.centre + self.radius * _points(z, self.dimension)

    def jacobian(self, z: npt.ArrayLike) -> Matrix:
        """Return dx/dz at a point in unit coordinates, shape (d, d)."""
        return self.unit_jacobian()

    def unit_jacobian(self) -> Matrix:
        """Return dx/dz, shape (d, d)."""
        return self.radius * np.eye(self.dimension)


Domain: TypeAlias = Box | Ball
"""Where may be measured."""


def as_domain(given: Domain | Sequence[Knob | Sequence[float]]) -> Domain:
    """Return the domain itself, or the box of a sequence of (low, high) pairs, or of SciPy's ``Bounds``.

    >>> as_domain([(0, 1), (2, 3)]).dimension
    2
    """
    if isinstance(given, Box | Ball):
        return given
    if hasattr(given, "lb") and hasattr(given, "ub"):  # SciPy's Bounds; its module takes long to load
        return Box(list(np.broadcast(np.atleast_1d(given.lb), np.atleast_1d(given.ub))))
    try:
        return Box(list(given))
    except TypeError as error:
        raise UsageError(f"domain must be a Box, a Ball or a sequence of (low, high) pairs, got {given!r}.") from error


def _as_knob(given: Knob | Sequence[float], index: int) -> Knob:
    if isinstance(given, Knob):
        return given
    try:
        low, high = given
    except (TypeError, ValueError) as error:
        raise UsageError(f"knob {index} must be a Knob or a (low, high) pair, got {given!r}.") from error
    return Knob(f"x{index}", low, high)


def _points(given: npt.ArrayLike, dimension: int) -> Matrix:
    points = np.asarray(given, dtype=np.float64)
    if points.ndim not in (1, 2) or points.shape[-1] != dimension:
        raise UsageError(f"points must have {dimension} entries each, got shape {points.shape}.")
    if not np.all(np.isfinite(points)):
        raise UsageError(f"points must be finite numbers, got {points}.")
    return points
