"""The universal algorithm of Theorem 3: knows nothing of A (Yu et al., NeurIPS 2023, Section 4).

Guarantee: limsup T·E f(x_T) = O((Tr A^-½)²) for every PSD A, every x₀ in the unit ball and every noise of zero mean and
variance at most one. At most T - 1 samples, all in the unit ball. The constant is 130 times the limit of Theorem 1 (see
`quadratic_search`) and is reached only once T^0.4 is well above the curvature: it is here because the theorem is about
it, not as a default.

==================  ==================  ==============================================
paper               code                meaning
==================  ==================  ==============================================
T                   ``budget``          T - 1 samples are allowed
T₀ = ⌈T^0.8⌉        ``T0``              samples for the Hessian estimate
T₁ = T - T₀         ``T - T0``          samples for Algorithm 2
==================  ==================  ==============================================

Deviations: none with ``truncation=AS_PRINTED``; ``CENTRED`` clips around a median of means in both stages.
"""

import bisect
from typing import SupportsIndex

from paraboloid.algorithms.hessian_estimate import estimate_hessian
from paraboloid.algorithms.hessian_estimate import smallest_budget as smallest_first_stage
from paraboloid.algorithms.quadratic_search import quadratic_search
from paraboloid.algorithms.quadratic_search import smallest_budget as smallest_second_stage
from paraboloid.core import Procedure, UsageError, check_budget, check_dimension
from paraboloid.numerics import AS_PRINTED, Truncation

__all__ = ["universal"]


def universal(dimension: SupportsIndex, budget: SupportsIndex, *, truncation: Truncation = AS_PRINTED) -> Procedure:
    """Return the universal algorithm: a Hessian estimate from ⌈T^0.8⌉ samples, Algorithm 2 on what is left.

    Parameters
    ----------
    dimension
        d ≥ 1.
    budget
        T; at most T - 1 measurements are taken. An error names the smallest T that works.
    truncation
        `AS_PRINTED` or `CENTRED`, see `paraboloid.numerics.Truncation`.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import problems, run
    >>> problem = problems.NoisyQuadratic(np.diag([1.0, 0.5]), [0.3, -0.4], noise="noiseless")
    >>> run.simulate(universal(2, 10_000), problem, rng=0).x.round(12)
    array([ 0.3, -0.4])
    """
    d = check_dimension(dimension)
    T = check_budget(budget, smallest=smallest_budget(d), what_for=f"the universal algorithm in dimension {d}")
    if not isinstance(truncation, Truncation):
        raise UsageError(f"truncation must be AS_PRINTED, CENTRED or another Truncation, got {truncation!r}.")
    return _universal(d, T, truncation)


def _universal(d: int, T: int, truncation: Truncation) -> Procedure:
    T0 = hessian_samples(T)
    A = yield from estimate_hessian(d, T0, truncation=truncation)
    return (yield from quadratic_search(A, T - T0, total_budget=T, truncation=truncation))


def hessian_samples(T: int) -> int:
    """Return ⌈T^0.8⌉ exactly: the least n with n⁵ ≥ T⁴ (a floating power may miss the whole numbers)."""
    n = int(T**0.8)
    while n > 0 and (n - 1) ** 5 >= T**4:
        n -= 1
    while n**5 < T**4:
        n += 1
    return n


def smallest_budget(d: int) -> int:
    """Return the least T whose two stages both have enough samples; neither loses when T grows."""

    def is_enough(T: int) -> bool:
        T0 = hessian_samples(T)
        return T0 >= smallest_first_stage(d) and T - T0 >= smallest_second_stage(d)

    return bisect.bisect_left(range(10**12), True, key=is_enough)
