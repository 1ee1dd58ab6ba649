"""The instance limit V* in closed form: bounds from below (a dual field) and from above (an explicit design).

V*(A, x₀, D) = min over designs ξ on D of ½ tr(A⁻¹ G M(ξ)⁻¹ Gᵀ): what the best method that does not know the Hessian A
can reach for this very instance, times σ²/n. G maps the coefficients of a quadratic to its gradient at x₀.

**Below.** For every quadratic vector field q with |q| ≤ 1 on D, V* ≥ ½ |∇q(x₀) A^-½|² in the trace norm.
**Above.** The value of a design that exists.

`instance_limit_ball` and `instance_limit_box` have the fields and the designs; proofs are in docs/instance-limit.md.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from paraboloid.core import Domain, Knob, Matrix, Shape, UsageError, Vector, as_domain, check_hessian, frozen_array
from paraboloid.theory.instance_limit_ball import ball_bounds, ball_field_slopes
from paraboloid.theory.instance_limit_box import box_bounds, elliptope_minimum

__all__ = [
    "ball_field_slopes",
    "elliptope_minimum",
    "instance_limit_bounds",
    "unit_instance",
]


def instance_limit_bounds(
    hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain | Sequence[Knob | Sequence[float]]
) -> tuple[float, float]:
    """Return a lower and an upper bound of V*, in closed form, for any dimension.

    On the ball they are equal for |x₀| ≤ ½ and |x₀| ≥ 1/√2 (of the radius), and within 3.4 % of each other between; on
    the box they are equal for |x₀|_∞ ≤ ½ wherever the best correlation is one of signs. Equal means to about 1e-7.

    Parameters
    ----------
    hessian
        A, positive definite, in knob units.
    minimiser
        x₀, inside the domain, in knob units.
    domain
        A `Ball`, a `Box`, or (low, high) pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Ball
    >>> instance_limit_bounds(np.diag([1.0, 0.25]), [0.0, 0.0], Ball([0.0, 0.0]))  # ½(1 + 2)², exact at the centre
    (4.5, 4.5)
    """
    where = as_domain(domain)
    _, z, root = _decomposed(hessian, minimiser, where)
    return ball_bounds(root, z) if where.shape is Shape.BALL else box_bounds(root @ root.T, z)


def unit_instance(hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain) -> tuple[Matrix, Vector]:
    """Return Hessian and minimiser in unit coordinates, once they are known to be an instance.

    >>> from paraboloid.core import Box
    >>> unit_instance([[2.0]], [3.0], Box([(0, 4)]))
    (array([[8.]]), array([0.5]))
    """
    A, z, _ = _decomposed(hessian, minimiser, domain)
    return A, z


def _decomposed(hessian: npt.ArrayLike, minimiser: npt.ArrayLike, domain: Domain) -> tuple[Matrix, Vector, Matrix]:
    """Return Hessian, minimiser and a root R of the inverse, RRᵀ = A⁻¹, in unit coordinates."""
    A = check_hessian(hessian)
    x = frozen_array("minimiser", minimiser, 1)
    if not A.shape[0] == x.size == domain.dimension:
        raise UsageError(
            f"hessian ({A.shape[0]} rows), minimiser ({x.size} entries) and domain ({domain.dimension} knobs) "
            f"must have the same dimension."
        )
    jacobian = domain.unit_jacobian()
    unit_A, z = jacobian.T @ A @ jacobian, domain.to_unit(x)
    try:
        factor = np.linalg.cholesky(unit_A)
    except np.linalg.LinAlgError:
        raise UsageError(
            f"the instance limit needs a positive definite Hessian, got the eigenvalue "
            f"{np.linalg.eigvalsh(unit_A)[0]:.3g}; along a flat direction there is no one minimiser to look for."
        ) from None
    size = float(np.linalg.norm(z) if domain.shape is Shape.BALL else np.abs(z).max())
    if size > 1 + 1e-9:
        raise UsageError(f"minimiser {x} lies outside the domain; the instance limit is for a minimum inside.")
    return unit_A, z, np.linalg.inv(factor).T.astype(np.float64)
