"""Before the first measurement: how many a wanted accuracy will cost."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from paraboloid.core import Ball, Domain, Knob, Shape, UsageError, as_domain, check_positive, frozen_array
from paraboloid.theory import instance_limit_bounds

__all__ = ["Plan", "plan"]

DRAWS = 100_000


@dataclass(frozen=True, slots=True)
class Plan:
    """What an accuracy will cost, to leading order.

    Parameters
    ----------
    measurements
        For an expected regret of ``eps``.
    measurements_certain
        For a regret below ``eps`` at ``confidence``.
    smallest
        Below this many measurements no bound can be given: one for each coefficient of the quadratic and two more.
    """

    measurements: int
    measurements_certain: int
    smallest: int
    eps: float
    confidence: float

    def __str__(self) -> str:
        return (
            f"about {self.measurements:,} measurements for an expected regret of {self.eps:g}, "
            f"{self.measurements_certain:,} to be below it at {self.confidence:.0%} "
            f"(no bound below {self.smallest:,})"
        )


def plan(
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    eps: float,
    rise: npt.ArrayLike,
    sigma: float,
    distance: float = 0.5,
    confidence: float = 0.95,
) -> Plan:
    """Return how many measurements an accuracy costs, from a guess of curvature and noise.

    Parameters
    ----------
    domain
        A `Box`, a `Ball`, or (low, high) pairs.
    eps
        Wanted accuracy: f(x) minus its minimum, in the value's unit.
    rise
        By how much the value gets worse when a knob moves from its best setting by half its range; one number, or one
        for each knob.
    sigma
        Standard deviation of one measurement.
    distance
        Where the best setting may lie: 0 in the middle of the domain, 1 at its edge.
    confidence
        Of ``measurements_certain``.

    Examples
    --------
    >>> import paraboloid
    >>> print(paraboloid.plan([(150, 210), (20, 60)], eps=0.01, rise=[8, 4], sigma=1.0))
    about 38 measurements for an expected regret of 0.01, 114 to be below it at 95% (no bound below 8)
    """
    where = as_domain(domain)
    d = where.dimension
    rises = frozen_array("rise", np.atleast_1d(np.asarray(rise, dtype=float)), 1)
    if rises.size not in (1, d) or np.any(rises <= 0):
        raise UsageError(f"rise must be one number above 0, or one for each of the {d} knobs, got {rise!r}.")
    rises = np.broadcast_to(rises, (d,))
    if not 0 <= distance <= 1 or not 0 < confidence < 1:
        raise UsageError(f"distance must lie in [0, 1] and confidence in (0, 1), got {distance!r} and {confidence!r}.")
    hessian = np.diag(2 * rises)  # a rise over one unit of unit coordinates is ½H
    unit = Ball(np.zeros(d)) if where.shape is Shape.BALL else as_domain([(-1.0, 1.0)] * d)
    z = np.full(d, distance if where.shape is Shape.BOX else distance / math.sqrt(d))
    _, limit = instance_limit_bounds(hessian, z, unit)
    expected = check_positive("sigma", sigma) ** 2 * limit / check_positive("eps", eps)
    p = 1 + d + d * (d + 1) // 2
    n = max(expected, 2 * d + 3)
    certain = max(expected * _quantile_over_mean(hessian, confidence), p + 2)
    rounded = [math.ceil(number * (1 - 1e-9)) for number in (n, certain)]  # a quotient may miss its whole number
    return Plan(rounded[0], rounded[1], p + 2, float(eps), float(confidence))


def _quantile_over_mean(hessian: npt.NDArray[np.float64], confidence: float) -> float:
    """Return the quantile of Σ w_k χ²_1 over its mean, w_k ∝ λ_k^-½: what each direction loses at the best design."""
    weights = np.linalg.eigvalsh(hessian) ** -0.5
    squares = np.random.default_rng(0).standard_normal((DRAWS, weights.size)) ** 2
    return float(np.quantile(squares @ weights / weights.sum(), confidence))
