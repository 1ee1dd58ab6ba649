"""The instance limit V* by the numerical solver, with its certified gap."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from paraboloid.core import Domain, Knob, as_domain
from paraboloid.design.closed_form import closed_form_design
from paraboloid.design.solver import Design, solve_design
from paraboloid.numerics import gradient_map, project_onto_region, random_points
from paraboloid.theory import instance_limit_bounds, unit_instance

__all__ = ["instance_limit", "optimal_design"]

SEARCHES = 100


def optimal_design(
    hessian: npt.ArrayLike,
    minimiser: npt.ArrayLike,
    domain: Domain | Sequence[Knob | Sequence[float]],
    *,
    gap: float = 0.02,
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
    >>> design.points[design.weights > 0.1].ravel(), round(design.value, 6)  # half at either end
    (array([-1.,  1.]), 1.0)
    """
    where = as_domain(domain)
    A, z = unit_instance(hessian, minimiser, where)
    d = z.size
    rng = np.random.default_rng(0)
    B = np.linalg.cholesky(np.linalg.inv(A)).T @ gradient_map(z)
    start, weights = closed_form_design(where.shape, np.linalg.inv(A), z, 4 * B.shape[1], rng)
    others = [random_points(where.shape, 3 * B.shape[1], d, rng), np.zeros((1, d)), np.eye(d), -np.eye(d), z[None, :]]
    more = np.unique(np.vstack(others) + 0.0, axis=0)
    design = solve_design(
        where.shape,
        B,
        start=project_onto_region(where.shape, np.vstack([start, more])),
        start_weights=np.concatenate([0.9 * weights, np.full(len(more), 0.1 / len(more))]),
        rng=rng,
        gap=gap,
        searches=SEARCHES,
    )
    # Where the best design leaves part of H unmeasured, M is singular and the equivalence theorem certifies nothing
    # near it; the closed-form lower bound then does (it is exact at the centre of the ball, for example).
    lower, _ = instance_limit_bounds(hessian, minimiser, where)
    return replace(design, gap=max(0.0, min(design.gap, design.value / (2 * lower) - 1)))


def instance_limit(
    hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain | Sequence[Knob | Sequence[float]]
) -> float:
    """Return V*: the best design that does not know the Hessian has an expected regret of σ²V*/n, to leading order.

    Computed numerically, to the gap of `optimal_design`; `theory.instance_limit_bounds` brackets it in closed form.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Ball
    >>> round(instance_limit(np.diag([1.0, 0.25]), [0.0, 0.0], Ball([0.0, 0.0])), 2)  # ½(1 + 2)²
    4.5
    """
    return optimal_design(hessian, minimiser, domain).value / 2
