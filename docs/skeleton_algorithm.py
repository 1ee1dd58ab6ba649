"""Central differences along the axes for a known diagonal Hessian: a skeleton to copy.

Guarantee: for f(x) = ½ Σ λ_k (x_k - x₀_k)² with known λ_k > 0, any x₀ in the unit ball and any noise of zero mean and
variance at most one, E f(x_T) ≤ Σ_k 1/(4 λ_k t). At most T - 1 samples, all in the unit ball.

==================  ====================  ==============================================  ========
source              code                  meaning                                         shape
==================  ====================  ==============================================  ========
λ_k                 ``lam``               known curvature along axis k                    (d,)
T                   ``budget``            T - 1 samples are allowed
t                   ``t``                 pairs along each axis, the same for all
x_k                 ``x``                 estimate of x₀_k                                (d,)
==================  ====================  ==============================================  ========

Deviations: an algorithm that follows a paper lists here each difference from it, and why. This one follows none.
"""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import (
    Estimate,
    Experiment,
    Procedure,
    Result,
    Status,
    UsageError,
    Vector,
    check_budget,
    frozen_array,
    measure,
)
from paraboloid.numerics import project_onto_ball

__all__ = ["axis_differences"]


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """What is computed before the first sample; no state."""

    lam: Vector
    t: int


def axis_differences(curvatures: npt.ArrayLike, budget: SupportsIndex) -> Procedure:
    """Return the procedure: pairs ±e_k with equal repeats along every axis.

    Parameters
    ----------
    curvatures
        λ_k > 0, shape (d,).
    budget
        T ≥ 2d + 1; at most T - 1 measurements are taken.

    Examples
    --------
    >>> from paraboloid import problems, run
    >>> problem = problems.NoisyQuadratic(np.diag([1.0, 4.0]), [0.3, -0.4], noise="noiseless")
    >>> result = run.simulate(axis_differences([1.0, 4.0], 100), problem, rng=0)
    >>> result.x, result.n_measurements
    (array([ 0.3, -0.4]), 96)
    """
    lam = frozen_array("curvatures", curvatures, 1)
    if lam.size == 0 or lam.min() <= 0:
        raise UsageError(f"curvatures must be at least one number, all above 0, got {curvatures!r}.")
    smallest = 2 * lam.size + 1
    samples = check_budget(budget, smallest=smallest, what_for=f"{lam.size} axes") - 1
    return _axis_differences(Constants(lam, samples // (2 * lam.size)))


def _axis_differences(c: Constants) -> Procedure:
    x = np.zeros(c.lam.size)
    for k, e in enumerate(np.eye(c.lam.size)):
        y = yield from measure(Experiment([e, -e], c.t, about=f"pair along axis {k + 1}"))
        x[k] = -(y.means[0] - y.means[1]) / (2 * c.lam[k])  # f(e) - f(-e) = -2 λ_k x₀_k
    x = project_onto_ball(x, np.diag(c.lam))  # never hurts, see project_onto_ball
    covariance = np.diag(1 / (2 * c.lam**2 * c.t))
    return Result(Estimate(x, covariance), Status.BUDGET_SPENT, hessian=np.diag(c.lam))
