"""All that has been measured, in unit coordinates: distinct points with counts, means and scatter, in any order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraboloid.core.arrays import Counts, Matrix, Vector, distinct_rows
from paraboloid.core.errors import UsageError
from paraboloid.core.experiment import Measurements

__all__ = ["Evidence", "Sample"]

MOST_VALUES = 2**17  # single values kept; beyond, those of a point are grouped
GROUPS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Single values: the row of `Evidence` each belongs to, the value, and how many it stands for, shape (n,) each.

    >>> Sample(np.array([0, 0]), np.array([1.5, 2.5]), np.array([1, 1])).n_values
    2
    """

    rows: Counts
    values: Vector
    counts: Counts

    @property
    def n_values(self) -> int:
        """Number of single measurements."""
        return int(self.counts.sum())

    @classmethod
    def of(cls, rows: Sequence[Vector]) -> "Sample":
        """Return the sample of the single values of each row."""
        index = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        values = np.concatenate([np.zeros(0), *rows])
        return cls(index, values, np.ones(len(values), dtype=np.int64))

    def joined(self, other: "Sample", renumbered: Counts, n_rows: int) -> "Sample":
        """Return both samples together; ``other`` follows after row ``n_rows``, then all rows are renumbered."""
        rows = renumbered[np.concatenate([self.rows, other.rows + n_rows])]
        values, counts = np.concatenate([self.values, other.values]), np.concatenate([self.counts, other.counts])
        order = np.lexsort((values, rows))  # sorted, so that the order in which they came does not matter
        joined = Sample(rows[order], values[order], counts[order])
        return joined if len(rows) <= MOST_VALUES else joined._grouped()

    def _grouped(self) -> "Sample":
        """Return the sample with at most 64 groups of neighbouring values in each row, each group by its mean."""
        rows, values, counts = self.rows, self.values, self.counts
        total = np.bincount(rows, weights=counts)
        before = np.cumsum(counts) - counts - (np.cumsum(total) - total)[rows]
        group = rows * GROUPS + np.minimum((before * GROUPS / total[rows]).astype(np.int64), GROUPS - 1)
        _, index = np.unique(group, return_inverse=True)
        merged = np.bincount(index, weights=counts)
        mean = np.bincount(index, weights=counts * values) / merged
        first = np.searchsorted(index, np.arange(len(merged)))
        return Sample(rows[first], mean, merged.astype(np.int64))


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
    sample
        The single values, while all of them are at hand; only needed to see heavy tails.

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
    sample: Sample | None = None

    @classmethod
    def empty(cls, dimension: int) -> "Evidence":
        """Return the evidence before anything was measured."""
        nothing, none = np.zeros(0), np.zeros(0, dtype=np.int64)
        return cls(np.zeros((0, dimension)), none, none, nothing, nothing, nothing, Sample(none, nothing, none))

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
            None
            if self.sample is None or measurements.values is None
            else (self.sample, Sample.of(measurements.values)),
            len(self.points),
        )

    @staticmethod
    def _merged(
        points: Matrix,
        counts: Counts,
        failures: Counts,
        means: Vector,
        scatter: Vector,
        precision: Vector,
        samples: tuple[Sample, Sample] | None,
        n_rows: int,
    ) -> "Evidence":
        # A point measured both with and without known standard errors stays two rows: they are weighted differently.
        known = (precision > 0).astype(np.float64)
        keys, index = distinct_rows(np.column_stack([points, known]))

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
            None if samples is None else samples[0].joined(samples[1], index, n_rows),
        )
