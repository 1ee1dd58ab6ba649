"""What is asked, and what comes back: an experiment is points and repeats, measurements are its noisy values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from paraboloid.core.arrays import Counts, Matrix, Vector, frozen_array
from paraboloid.core.errors import MeasurementError, UsageError

__all__ = ["Experiment", "Measurements"]


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """One request: measure each point as many times as its repeats say.

    Parameters
    ----------
    points
        Where to measure, shape (k, d).
    repeats
        How often at each point, shape (k,), or one number for all.
    needs_values
        Whether the algorithm needs every single value (to truncate it, say) and not only their summary. A driver
        may drop single values otherwise: that is what makes 10⁸ measurements possible in little memory.
    allows_failures
        Whether the algorithm can go on when some of the measurements gave no value.
    about
        A sentence for humans and reports; no part of the experiment's identity.

    Examples
    --------
    >>> experiment = Experiment([[1.0, 0.0], [-1.0, 0.0]], repeats=3)
    >>> experiment.n_points, experiment.n_measurements
    (2, 6)
    """

    points: Matrix
    repeats: Counts
    needs_values: bool = field(default=False, kw_only=True)
    allows_failures: bool = field(default=False, kw_only=True)
    about: str = field(default="", kw_only=True)

    def __init__(
        self,
        points: npt.ArrayLike,
        repeats: npt.ArrayLike,
        *,
        needs_values: bool = False,
        allows_failures: bool = False,
        about: str = "",
    ) -> None:
        matrix = frozen_array("points", points, 2)
        if matrix.size == 0:
            raise UsageError(f"an experiment needs at least one point, got shape {matrix.shape}.")
        object.__setattr__(self, "points", matrix)
        object.__setattr__(self, "repeats", _whole_repeats(repeats, matrix.shape[0]))
        object.__setattr__(self, "needs_values", bool(needs_values))
        object.__setattr__(self, "allows_failures", bool(allows_failures))
        object.__setattr__(self, "about", about)

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.points)

    @property
    def n_measurements(self) -> int:
        """Number of single measurements asked for."""
        return int(self.repeats.sum())

    def same_as(self, other: "Experiment", *, tolerance: float = 1e-9) -> bool:
        """Tell whether two experiments ask for the same: repeats exactly, points within ``tolerance``."""
        return (
            self.points.shape == other.points.shape
            and bool(np.array_equal(self.repeats, other.repeats))
            and bool(np.allclose(self.points, other.points, rtol=0, atol=tolerance))
        )


def _whole_repeats(given: npt.ArrayLike, n_points: int, *, smallest: int = 1) -> Counts:
    repeats = np.asarray(given)
    if repeats.ndim == 0:
        repeats = np.full(n_points, repeats)
    if repeats.shape != (n_points,) or not np.issubdtype(repeats.dtype, np.integer) or np.any(repeats < smallest):
        raise UsageError(
            f"repeats must be one whole number of at least {smallest} for each of the {n_points} points, got {given!r}."
        )
    counts = repeats.astype(np.int64)
    counts.flags.writeable = False
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """What was measured at each point of an experiment: how many values, their mean, their scatter.

    Build them with `from_values` where the single values are at hand, else from their summary.

    Parameters
    ----------
    counts
        Number of values at each point, shape (k,); zero where every attempt failed.
    means
        Their mean at each point, shape (k,); of no meaning where the count is zero.
    scatter
        Their sum of squared deviations from that mean, shape (k,).
    values
        The single values at each point, or None where only the summary was kept.
    failures
        Number of attempts at each point that gave no value, shape (k,); none if not given.
    precision
        Sum of 1/sem² at each point, shape (k,), where the standard errors are known; then the means are weighted by it.

    Examples
    --------
    >>> measurements = Measurements.from_values([[1.0, 3.0], [5.0, 5.0]])
    >>> measurements.means, measurements.scatter
    (array([2., 5.]), array([2., 0.]))
    """

    counts: Counts
    means: Vector
    scatter: Vector
    values: tuple[Vector, ...] | None = None
    failures: Counts | None = None
    precision: Vector | None = None

    def __post_init__(self) -> None:
        n_points = np.size(self.counts)
        object.__setattr__(self, "counts", _whole_repeats(self.counts, n_points, smallest=0))
        failures = np.zeros(n_points, dtype=np.int64) if self.failures is None else self.failures
        object.__setattr__(self, "failures", _whole_repeats(failures, n_points, smallest=0))
        for name in ("means", "scatter"):
            object.__setattr__(self, name, _summary_row(name, getattr(self, name), n_points))
        if self.values is not None and [len(row) for row in self.values] != self.counts.tolist():
            raise MeasurementError(
                f"values has rows of {[len(row) for row in self.values]} values, but the counts are {self.counts}; "
                f"build the measurements with Measurements.from_values."
            )
        if self.precision is not None:
            object.__setattr__(self, "precision", _summary_row("precision", self.precision, n_points))

    @classmethod
    def from_values(cls, values: Sequence[npt.ArrayLike] | Matrix) -> "Measurements":
        """Return the measurements whose single values at each point are given (rows may differ in length)."""
        if not isinstance(values, Iterable) or isinstance(values, str):
            raise MeasurementError(f"give a list of values for each point, [[...], ...], got {values!r}.")
        rows = tuple(_measured_row(row) for row in values)
        means = np.array([row.mean() for row in rows])
        scatter = np.array([np.sum((row - mean) ** 2) for row, mean in zip(rows, means, strict=True)])
        return cls(np.array([row.size for row in rows]), means, scatter, rows)

    @property
    def n_measurements(self) -> int:
        """Number of single measurements that gave a value."""
        return int(self.counts.sum())

    @property
    def n_failures(self) -> int:
        """Number of attempts that gave none."""
        return 0 if self.failures is None else int(self.failures.sum())

    def check_answer_to(self, experiment: Experiment) -> None:
        """Raise a `MeasurementError` unless these are measurements of just this experiment."""
        attempts = self.counts if self.failures is None else self.counts + self.failures
        if attempts.shape != experiment.repeats.shape or not np.array_equal(attempts, experiment.repeats):
            raise MeasurementError(
                f"the experiment asks for {experiment.n_measurements} measurements (repeats {experiment.repeats}), "
                f"got {int(attempts.sum())} (counts {attempts}). Tell exactly what was asked, point by point."
            )
        if self.n_failures and not experiment.allows_failures:
            raise MeasurementError(
                f"{self.n_failures} of {experiment.n_measurements} measurements failed, and this algorithm cannot go "
                f"on without them. Measure them again, or use the adaptive search, which can."
            )
        if experiment.needs_values and self.values is None:
            raise MeasurementError(
                "this algorithm truncates every single value, but only a summary was told. "
                "Build the measurements with Measurements.from_values."
            )


def _summary_row(name: str, given: npt.ArrayLike, n_points: int) -> Vector:
    array = np.array(given, dtype=np.float64)
    if array.shape != (n_points,):
        raise MeasurementError(f"{name} has shape {array.shape}, but there are {n_points} counts; give one per point.")
    if not np.all(np.isfinite(array)):
        raise MeasurementError(
            f"{name} holds values that are not finite numbers: {array}. A failed measurement has no value: count it "
            f"as a failure, or measure it again."
        )
    array.flags.writeable = False
    return array


def _measured_row(given: npt.ArrayLike) -> Vector:
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        row = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise MeasurementError(f"measured values must be real numbers, got {given!r} ({error}).") from error
    if row.ndim != 1 or row.size == 0:
        raise MeasurementError(f"each point needs a list of at least one value, got shape {row.shape}: {given!r}.")
    if not np.all(np.isfinite(row)):
        bad = int(np.flatnonzero(~np.isfinite(row))[0])
        raise MeasurementError(
            f"value number {bad} of {row.size} is {row[bad]}, not a finite number. Measure it again, or leave it out."
        )
    row.flags.writeable = False
    return row
