"""Algorithm 1, Hessian Dependent Estimation (Yu et al., NeurIPS 2023, Section 3.2).

Guarantee: for any PSD A of any rank, any x₀ in the unit ball and any noise of zero mean and variance at most one,
limsup T·E f(x_T) ≤ ½(Tr A^-½)²: the limit of Theorem 1, which no method beats under Gaussian noise.
At most T - 1 samples, all in the unit ball; x_T lies in the unit ball.

==================  ======================  ====================================================  ==========
paper               code                    meaning                                               shape
==================  ======================  ====================================================  ==========
A                   ``hessian``             known Hessian                                         (d, d)
T                   ``budget``              T - 1 samples are allowed
λ_k, e_k            ``lam``, ``e``          positive eigenvalues, their eigenvectors (columns)    (k*,), (d, k*)
R_k, t_k            ``R``, ``t``            energy and number of pairs along e_k                  (k*,)
α_k                 ``alpha``               unbounded estimate of x₀·e_k                          (k*,)
==================  ======================  ====================================================  ==========

Deviations: none. An eigenvalue counts as zero below the rounding error of the largest one.
"""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import (
    Counts,
    Estimate,
    Experiment,
    Matrix,
    Procedure,
    Result,
    Status,
    Vector,
    check_budget,
    check_hessian,
    eigenvalues_above_rounding,
    measure,
)
from paraboloid.numerics import project_onto_ball

__all__ = ["hessian_dependent"]


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What Algorithm 1 computes before its first sample."""

    hessian: Matrix
    lam: Vector
    e: Matrix
    t: Counts


def hessian_dependent(hessian: npt.ArrayLike, budget: SupportsIndex) -> Procedure:
    """Return Algorithm 1 for a known Hessian: pairs ±e_k with energy in proportion to λ_k^-½.

    Parameters
    ----------
    hessian
        A, symmetric and positive semidefinite, of any rank.
    budget
        T ≥ 2d + 2; at most T - 1 measurements are taken.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import problems, run
    >>> A = np.diag([1.0, 0.25])
    >>> problem = problems.NoisyQuadratic(A, [0.3, -0.4], noise="noiseless")
    >>> result = run.simulate(hessian_dependent(A, 100), problem, rng=0)
    >>> np.round(result.x, 12), result.n_measurements
    (array([ 0.3, -0.4]), 96)
    """
    A = check_hessian(hessian)
    d = A.shape[0]
    T = check_budget(budget, smallest=2 * d + 2, what_for=f"Algorithm 1 in dimension {d}")
    lam, e = np.linalg.eigh(A)
    positive = eigenvalues_above_rounding(lam)
    lam, e = lam[positive], e[:, positive]
    R = lam**-0.5 / np.sum(lam**-0.5) * (T - 2 * d - 1)
    return _algorithm_1(Constants(A, lam, e, np.ceil(R / 2).astype(np.int64)))


def _algorithm_1(c: Constants) -> Procedure:
    k_star = c.lam.size
    alpha = np.zeros(k_star)
    for k in range(k_star):  # for k ← 1 to k*
        pair = np.stack([c.e[:, k], -c.e[:, k]])
        about = f"pair along eigenvector {k + 1} of {k_star}"
        y = yield from measure(Experiment(pair, c.t[k], about=about))  # Sample(±e_k, t_k)
        alpha[k] = -(y.means[0] - y.means[1]) / (2 * c.lam[k])  # α_k
    x = c.e @ project_onto_ball(alpha, np.diag(c.lam)) if k_star else np.zeros(c.hessian.shape[0])  # x_T
    covariance = (c.e / (2 * c.lam**2 * c.t)) @ c.e.T  # E(α_k - x₀·e_k)² = 1/(2 λ_k² t_k)
    status = Status.BUDGET_SPENT if k_star else Status.NOTHING_TO_LEARN
    return Result(Estimate(x, covariance), status, hessian=c.hessian)
