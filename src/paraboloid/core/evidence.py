"""All that has been measured, in unit coordinates: distinct points with counts, means and scatter, in any order."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraboloid.core.arrays import Counts, Matrix, Vector
from paraboloid.core.errors import UsageError
from paraboloid.core.experiment import Measurements

__all__ = ["Evidence"]


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What is known from measurements; everything the adaptive search does is a function of it.

    Memory grows with the number of distinct points only: repeats at a point are merged into count, mean and scatter
    (sum of squared deviations from the mean). The order in which measurements came does not matter.

    Parameters
    ----------
    points
        Distinct points in unit coordinates, shape (m, d), sorted.
    counts, failures
        Values and failed attempts at each point, shape (m,).
    means, scatter
        Of the values at each point, shape (m,).
    precision
        Sum of 1/sem² at each point, shape (m,), zero where standard errors are unknown.

    Examples
    --------
    >>> evidence = Evidence.empty(2)
    >>> evidence = evidence.with_measurements([[0.0, 1.0]], Measurements.from_values([[1.0, 3.0]]))
    >>> evidence = evidence.with_measurements([[0.0, 1.0]], Measurements.from_values([[5.0, 7.0]]))
    >>> evidence.n_measurements, evidence.means, evidence.scatter
    (4, array([4.]), array([20.]))
    """

    points: Matrix
    counts: Counts
    failures: Counts
    means: Vector
    scatter: Vector
    precision: Vector

    @classmethod
    def empty(cls, dimension: int) -> "Evidence":
        """Return the evidence before anything was measured."""
        nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(np.zeros((0, dimension)), none, none, nothing, nothing, nothing)

    @property
    def dimension(self) -> int:
        """Number of knobs."""
        return int(self.points.shape[1])

    @property
    def n_measurements(self) -> int:
        """Number of single measurements that gave a value."""
        return int(self.counts.sum())

    @property
    def n_attempts(self) -> int:
        """Number of single measurements, failed ones included."""
        return int(self.counts.sum() + self.failures.sum())

    def with_measurements(self, points: npt.ArrayLike, measurements: Measurements) -> "Evidence":
        """Return this evidence and measurements at points (k, d) in unit coordinates together."""
        new = np.asarray(points, dtype=np.float64)
        if new.ndim != 2 or new.shape != (measurements.counts.size, self.dimension):
            raise UsageError(
                f"{measurements.counts.size} measured points need shape "
                f"({measurements.counts.size}, {self.dimension}), got {new.shape}."
            )
        failures = measurements.failures
        precision = measurements.precision
        none = np.zeros(len(new))
        return self._merged(
            np.vstack([self.points, new]) + 0.0,  # -0.0 and 0.0 are one setting
            np.concatenate([self.counts, measurements.counts]),
            np.concatenate([self.failures, none.astype(np.int64) if failures is None else failures]),
            np.concatenate([self.means, measurements.means]),
            np.concatenate([self.scatter, measurements.scatter]),
            np.concatenate([self.precision, none if precision is None else precision]),
        )

    @staticmethod
    def _merged(
        points: Matrix, counts: Counts, failures: Counts, means: Vector, scatter: Vector, precision: Vector
    ) -> "Evidence":
        # A point measured both with and without known standard errors stays two rows: they are weighted differently.
        known = (precision > 0).astype(np.float64)
        keys, index = np.unique(np.column_stack([points, known]), axis=0, return_inverse=True)
        index = index.ravel()

        def total(amounts: npt.NDArray[np.float64] | Counts) -> Vector:
            return np.bincount(index, weights=amounts, minlength=len(keys)).astype(np.float64)

        weight = np.where(precision > 0, precision, counts)
        # Means are taken relative to one of the values, so that a large common offset costs no digits.
        measured = np.flatnonzero(counts > 0)
        shift = float(means[measured[0]]) if measured.size else 0.0
        away = np.where(counts > 0, means - shift, 0.0)
        mean = total(weight * away) / np.maximum(total(weight), 1e-300)
        spread = total(scatter + counts * np.where(counts > 0, away - mean[index], 0.0) ** 2)
        return Evidence(
            keys[:, :-1],
            total(counts).astype(np.int64),
            total(failures).astype(np.int64),
            mean + shift,
            spread,
            total(precision),
        )
