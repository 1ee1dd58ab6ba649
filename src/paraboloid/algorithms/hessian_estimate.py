"""The initial Hessian estimate by truncated second differences (Yu et al., NeurIPS 2023, Section 4.1, Appendix D).

Guarantee (Proposition 4.1): for fixed d, any α < ½ and any β, P[|Â - A|_F ≥ T₀^-α] = o(T₀^-β), for any noise of zero
mean and variance at most one: with finite variance alone, the error has tails lighter than any power.
At most T₀ samples at predetermined points of the unit ball.

==================  ======================  =======================================================  ========
paper               code                    meaning                                                  shape
==================  ======================  =======================================================  ========
T₀                  ``budget``              samples that may be taken
y₊ + y₋ - 2y        ``WEIGHTS`` · y         one value of vᵀAv along a unit vector v
[-T₀^½, T₀^½]       ``truncation``          where each such value is projected to
Â                   returned                estimated Hessian                                        (d, d)
==================  ======================  =======================================================  ========

For d > 1 the paper says to apply the 1-D estimator poly(d) times. We take the d axes and, for each pair i < j, the two
polarised directions (e_i ± e_j)/√2: Â_ii = ê(e_i), Â_ij = ½[ê((e_i + e_j)/√2) - ê((e_i - e_j)/√2)]. That is d²
directions with ⌊T₀/3d²⌋ triples each.

Deviations: none with ``truncation=AS_PRINTED``. ``CENTRED`` clips around a median of means instead of zero: the printed
interval clips the signal itself while T₀^½ < vᵀAv, and the guarantee only needs a centre within T₀^½ of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np

from paraboloid.algorithms.sampling import truncated_average
from paraboloid.core import Matrix, Steps, Vector, check_budget, check_dimension
from paraboloid.numerics import AS_PRINTED, Truncation

__all__ = ["estimate_hessian"]

WEIGHTS = np.array([1.0, 1.0, -2.0])  # y₊ + y₋ - 2y


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What the estimator computes before its first sample."""

    dimension: int
    triples: int
    half_width: float
    truncation: Truncation


def estimate_hessian(
    dimension: SupportsIndex, budget: SupportsIndex, *, truncation: Truncation = AS_PRINTED
) -> Steps[Matrix]:
    """Return the steps that estimate the Hessian from at most ``budget`` measurements; their value is Â.

    Parameters
    ----------
    dimension
        d ≥ 1.
    budget
        T₀ ≥ 3d².
    truncation
        `AS_PRINTED` or `CENTRED`, see `paraboloid.numerics.Truncation`.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import problems, run
    >>> problem = problems.NoisyQuadratic(np.diag([1.0, 0.25]), [0.6, 0.8], noise="noiseless")
    >>> run.simulate(estimate_hessian(2, 120), problem, rng=0).round(12)
    array([[1.  , 0.  ],
           [0.  , 0.25]])
    """
    d = check_dimension(dimension)
    T0 = check_budget(budget, smallest=smallest_budget(d), what_for=f"the Hessian estimate in dimension {d}")
    return _estimate_hessian(Constants(d, T0 // (3 * d**2), truncation.half_width(T0), truncation))


def smallest_budget(dimension: int) -> int:
    """Return 3d²: one triple along each direction."""
    return 3 * dimension**2


def _estimate_hessian(c: Constants) -> Steps[Matrix]:
    A = np.zeros((c.dimension, c.dimension))
    for i, j, sign, v in _directions(c.dimension):
        curvature = yield from truncated_average(
            np.stack([v, -v, np.zeros_like(v)]),
            WEIGHTS,
            n_values=c.triples,
            half_width=c.half_width,
            centre=c.truncation.centre,
            about=f"curvature for entry ({i + 1}, {j + 1})",
        )
        if i == j:
            A[i, i] = curvature
        else:
            A[i, j] += sign * curvature / 2  # polarisation
            A[j, i] = A[i, j]
    return A


def _directions(d: int) -> Iterator[tuple[int, int, float, Vector]]:
    """Yield (i, j, sign, v): the axes e_i as (i, i, 1, e_i), then (e_i + sign·e_j)/√2 for every pair."""
    identity = np.eye(d)
    for i in range(d):
        yield i, i, 1.0, identity[i]
    for i in range(d):
        for j in range(i + 1, d):
            for sign in (1.0, -1.0):
                yield i, j, sign, (identity[i] + sign * identity[j]) / np.sqrt(2)
