"""The instance limit V* by the numerical solver, with its certified gap."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paraboloid.core import Domain, Knob, as_domain
from paraboloid.design.closed_form import closed_form_design
from paraboloid.design.solver import Criterion, Design, distinct_points, solve_design
from paraboloid.numerics import features, gradient_map, project_onto_region, random_points
from paraboloid.theory import instance_limit_bounds, unit_instance

__all__ = ["instance_limit", "optimal_design"]

GAP = 0.02
SEARCHES = 100
TRACE = 1e-4


def optimal_design(
    hessian: npt.ArrayLike,
    minimiser: npt.ArrayLike,
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    gap: float = GAP,
) -> Design:
    """Return the design, in unit coordinates, that is best for this very instance; half its value is V*.

    Parameters
    ----------
    hessian, minimiser
        The instance, in knob units; the Hessian is positive definite, the minimiser inside the domain.
    domain
        A `Ball`, a `Box`, or (low, high) pairs.
    gap
        Stop when the equivalence theorem certifies this relative distance from the best. `Design.gap` says what was
        certified in the end, by it or by the closed-form lower bound.

    Examples
    --------
    >>> design = optimal_design([[1.0]], [0.0], [(-1, 1)])
    >>> design.points[design.weights > 0.1].ravel(), round(design.value, 3)  # half at either end
    (array([-1.,  1.]), 1.0)
    """
    where = as_domain(domain)
    A, z = unit_instance(hessian, minimiser, where)
    lower, _ = instance_limit_bounds(hessian, minimiser, where)
    d = z.size
    rng = np.random.default_rng(0)
    C = np.linalg.inv(A).astype(np.float64)
    B = np.linalg.cholesky(C).T @ gradient_map(z)
    closed, shares = closed_form_design(where.shape, C, z, 4 * B.shape[1], rng)
    others = [random_points(where.shape, 3 * B.shape[1], d, rng), np.zeros((1, d)), np.eye(d), -np.eye(d), z[None, :]]
    more = np.unique(np.vstack(others) + 0.0, axis=0)
    start = project_onto_region(where.shape, np.vstack([closed, more]))
    # A trace of the others keeps M regular: the best design may leave part of H unmeasured.
    weights = np.concatenate([(1 - TRACE) * shares, np.full(len(more), TRACE / len(more))])
    _, value = Criterion(B, np.zeros((B.shape[1], B.shape[1])), 1.0).sensitivity(features(start), weights)
    if value / (2 * lower) - 1 <= gap:
        return Design(*distinct_points(start, weights), value, value / (2 * lower) - 1)
    weights = np.concatenate([0.9 * shares, np.full(len(more), 0.1 / len(more))])
    design = solve_design(where.shape, B, start=start, start_weights=weights, rng=rng, gap=gap, searches=SEARCHES)
    return replace(design, gap=max(0.0, min(design.gap, design.value / (2 * lower) - 1)))


def instance_limit(
    hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain | Sequence[Knob | Sequence[float]]
) -> float:
    """Return V*: the best design that does not know the Hessian has an expected regret of σ²V*/n, to leading order.

    In closed form where the bounds of `theory.instance_limit_bounds` are within 2 % of each other (always on the ball),
    else numerically, to the gap of `optimal_design`.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Ball
    >>> round(instance_limit(np.diag([1.0, 0.25]), [0.0, 0.0], Ball([0.0, 0.0])), 2)  # ½(1 + 2)²
    4.5
    """
    lower, upper = instance_limit_bounds(hessian, minimiser, domain)
    return upper if upper <= (1 + GAP) * lower else min(upper, optimal_design(hessian, minimiser, domain).value / 2)
