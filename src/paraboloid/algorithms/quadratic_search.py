"""Algorithm 2, Quadratic Search: the two-step descent stage (Yu et al., NeurIPS 2023, Section 4.2).

Guarantee: given Â with P[|Â - A|_F ≥ T^-0.32] = o(1/T), E f(x_T) = O((Tr A^-½)²)/T for any PSD A, any x₀ in the unit
ball and any noise of zero mean and variance at most one. At most T₁ - 1 samples, all in the unit ball.

==================  ======================  ============================================================  ==========
paper               code                    meaning                                                       shape
==================  ======================  ============================================================  ==========
Â                   ``hessian_estimate``    estimated Hessian, symmetric                                  (d, d)
T₁                  ``budget``              samples left for this stage
T                   ``total_budget``        samples of the whole run; sets the threshold
λ̂_k, ê_k            ``lam``, ``e``          eigenvalues ≥ T^-0.2, largest first, and eigenvectors         (k*,), (d, k*)
p_k, t_k            ``p``, ``t``            share of T₁ and number of pairs along ê_k                     (k*,)
α_k, x̃, x̂           ``alpha``, ``x``        first estimate, and its scaling to norm ≤ 1.5                 (k*,), (d,)
β_k                 ``beta``                second estimate, about the first                              (k*,)
==================  ======================  ============================================================  ==========

The constant. Var α_k = 1/(2 λ² t_k) and Var β_k = 32/(λ² t_k): the second loop moves by ¼ only and multiplies by 4/λ,
64 times the variance of the first. β_k estimates 2x₀ - x̂, so both add up, and with t_k = p_k T₁ the regret is
65 (Tr A^-½)²/T: 130 times the limit while no projection is active.

Deviations: none with ``truncation=AS_PRINTED``; ``CENTRED`` clips around a median of means.
"""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.algorithms.sampling import truncated_average
from paraboloid.core import (
    Counts,
    Estimate,
    Matrix,
    Procedure,
    Result,
    Status,
    Steps,
    Vector,
    check_budget,
    check_symmetric,
)
from paraboloid.numerics import AS_PRINTED, Truncation, project_onto_ball

__all__ = ["quadratic_search"]

RADIUS = 1.5  # of the ball that x̃ is scaled to; then all points of the second loop lie in the unit ball
DIFFERENCE = np.array([1.0, -1.0])  # y₊ - y₋


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What Algorithm 2 computes before its first sample."""

    hessian: Matrix
    lam: Vector
    e: Matrix
    t: Counts
    truncation: Truncation


def quadratic_search(
    hessian_estimate: npt.ArrayLike,
    budget: SupportsIndex,
    *,
    total_budget: SupportsIndex | None = None,
    truncation: Truncation = AS_PRINTED,
) -> Procedure:
    """Return Algorithm 2: estimate x₀ along the eigenvectors of Â, then once more about that estimate.

    Parameters
    ----------
    hessian_estimate
        Â, symmetric; eigenvalues below T^-0.2 (negative ones too) are dropped.
    budget
        T₁ ≥ 4d + 2; at most T₁ - 1 measurements are taken.
    total_budget
        T of the whole run, for the threshold T^-0.2; T₁ if not given.
    truncation
        `AS_PRINTED` or `CENTRED`, see `paraboloid.numerics.Truncation`.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import problems, run
    >>> A = np.diag([1.0, 0.25])
    >>> problem = problems.NoisyQuadratic(A, [0.3, -0.4], noise="noiseless")
    >>> run.simulate(quadratic_search(A, 10_000), problem, rng=0).x.round(12)
    array([ 0.3, -0.4])
    """
    A = check_symmetric("hessian_estimate", hessian_estimate)
    d = A.shape[0]
    T1 = check_budget(budget, smallest=smallest_budget(d), what_for=f"Algorithm 2 in dimension {d}")
    T = T1 if total_budget is None else check_budget(total_budget, smallest=T1, what_for="this budget of Algorithm 2")
    lam, e = np.linalg.eigh(A)
    kept = np.flatnonzero(lam >= T**-0.2)[::-1]  # k*: the largest with λ̂_k* ≥ T^-0.2
    lam, e = lam[kept], e[:, kept]
    p = lam**-0.5 / (4 * np.sum(lam**-0.5))
    return _algorithm_2(Constants(A, lam, e, np.ceil(p * (T1 - 4 * d - 1)).astype(np.int64), truncation))


def smallest_budget(dimension: int) -> int:
    """Return 4d + 2: below it no sample is left after the 4d + 1 that rounding up may take."""
    return 4 * dimension + 2


def _algorithm_2(c: Constants) -> Procedure:
    d, k_star = c.e.shape
    if k_star == 0:
        return Result(Estimate(np.zeros(d)), Status.NOTHING_TO_LEARN, hessian=c.hessian)
    alpha, beta = np.zeros(k_star), np.zeros(k_star)
    for k in range(k_star):  # for k ← 1 to k*
        e = c.e[:, k]
        diff = yield from _truncated_diff(e, -e, c.t[k], c.truncation)
        alpha[k] = -diff / (2 * c.lam[k])
    x_tilde = c.e @ alpha
    x = x_tilde * min(1.0, RADIUS / max(float(np.linalg.norm(x_tilde)), RADIUS))  # x̂: onto the ball of radius 1.5
    for k in range(k_star):  # for k ← 1 to k*
        e = c.e[:, k]
        diff = yield from _truncated_diff((e + 2 * x) / 4, (-e + 2 * x) / 4, c.t[k], c.truncation)
        beta[k] = -4 / c.lam[k] * diff
    x_T = c.e @ project_onto_ball(beta, np.diag(c.lam))  # projection to the unit ball
    return Result(Estimate(x_T), Status.BUDGET_SPENT, hessian=c.hessian)


def _truncated_diff(x_0: Vector, x_1: Vector, t: np.int64, truncation: Truncation) -> Steps[float]:
    """Procedure Truncated Diff: the average of t differences y₊ - y₋, each projected onto [-t^½, t^½]."""
    average = yield from truncated_average(
        np.stack([x_0, x_1]),
        DIFFERENCE,
        n_values=int(t),
        half_width=truncation.half_width(int(t)),
        centre=truncation.centre,
        about="truncated difference",
    )
    return average
