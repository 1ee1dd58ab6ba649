"""Quadratics on the ball: exact minimiser by the secular equation, and projection in the A-pseudometric.

The problem  min ½ vᵀHv + b·v  over |v| ≤ r  has a solution v(μ) = -(H + μI)⁻¹b with μ ≥ max(0, -λ_min), and either
μ = 0 and |v| ≤ r, or |v(μ)| = r: the secular equation. In the **hard case** b has no part along the lowest eigenvectors
and |v(-λ_min)| < r; then any step along them up to the sphere is optimal too. We solve in the eigenbasis of H.

==================  ==================  ===========================================================
paper               code                meaning
==================  ==================  ===========================================================
A                   ``hessian``         the pseudometric of Appendix A is (u-v)ᵀA(u-v)
x̂                   ``point``           unbounded estimate, (d,)
x*                  returned            its projection onto the ball, (d,)
==================  ==================  ===========================================================
"""

import numpy as np
import numpy.typing as npt

from paraboloid.core import (
    Matrix,
    UsageError,
    Vector,
    check_hessian,
    check_positive,
    check_symmetric,
    eigenvalues_above_rounding,
    frozen_array,
)

__all__ = ["lowest_on_ball", "minimise_on_ball", "project_onto_ball"]

NEWTON_STEPS = 100
"""More than ever needed: Newton's method on 1/|v(μ)| takes about ten steps, bisection would halve 60 times."""


def project_onto_ball(point: npt.ArrayLike, hessian: npt.ArrayLike, *, radius: float = 1.0) -> Vector:
    """Return the point v of the ball that minimises (v - point)ᵀA(v - point) (Appendix A).

    Where several points do (A is singular), it is the one of least norm: components that A does not see are zero.
    The projection lemma: for every x₀ in the ball, the result is no farther from x₀ in this pseudometric than
    ``point`` is.

    >>> import numpy as np
    >>> project_onto_ball([3.0, 4.0], np.eye(2))
    array([0.6, 0.8])
    >>> project_onto_ball([0.5, 7.0], np.diag([2.0, 0.0]))  # the second knob does not matter
    array([0.5, 0. ])
    """
    A = check_hessian(hessian)
    x = _vector("point", point, A.shape[0])
    r = check_positive("radius", radius)
    eigenvalues, Q = np.linalg.eigh(A)
    eigenvalues = np.where(eigenvalues_above_rounding(eigenvalues), eigenvalues, 0.0)
    along = Q.T @ x
    along[eigenvalues == 0] = 0.0  # least norm
    if np.linalg.norm(along) > r:
        along = _on_sphere(eigenvalues, -eigenvalues * along, r)
    return _inside(Q @ along, r)


def minimise_on_ball(hessian: npt.ArrayLike, linear: npt.ArrayLike, *, radius: float = 1.0) -> Vector:
    """Return a minimiser of ½ vᵀHv + linear·v over the ball; H may be indefinite or singular.

    Among several minimisers inside it is the one of least norm; in the hard case it is one of the pair that
    differs by its sign along the lowest eigenvector.

    >>> import numpy as np
    >>> minimise_on_ball(2 * np.eye(2), [1.0, 0.0])
    array([-0.5, 0. ])
    >>> np.abs(minimise_on_ball(np.diag([1.0, -1.0]), [0.0, 0.0]))  # hard case: a saddle at the centre
    array([0., 1.])
    """
    H = check_symmetric("hessian", hessian)
    b = _vector("linear", linear, H.shape[0])
    return lowest_on_ball(H, b, check_positive("radius", radius))


def lowest_on_ball(H: Matrix, b: Vector, r: float) -> Vector:
    """Return what `minimise_on_ball` does, of a symmetric matrix and a vector that need no checks.

    >>> import numpy as np
    >>> lowest_on_ball(2 * np.eye(2), np.array([1.0, 0.0]), 1.0)
    array([-0.5, 0. ])
    """
    eigenvalues, Q = np.linalg.eigh(H)
    beta = Q.T @ b
    tiny = np.abs(eigenvalues).max() * eigenvalues.size * np.finfo(np.float64).eps
    is_flat = np.abs(eigenvalues) <= tiny
    if is_flat.any():
        eigenvalues = np.where(is_flat, 0.0, eigenvalues)
        # A slope of rounding size where there is no curvature would send the minimiser to the sphere.
        beta[is_flat & (np.abs(beta) <= np.linalg.norm(b) * b.size * np.finfo(np.float64).eps)] = 0.0
    if eigenvalues[0] >= 0 and not np.any(beta[is_flat]):
        inside = _divide(-beta, eigenvalues)
        if np.linalg.norm(inside) <= r:
            return Q @ inside
    return _inside(Q @ _on_sphere(eigenvalues, beta, r), r)


def _vector(name: str, given: npt.ArrayLike, dimension: int) -> Vector:
    vector = frozen_array(name, given, 1)
    if vector.size != dimension:
        raise UsageError(f"{name} has {vector.size} entries, but the Hessian has {dimension} rows.")
    return vector


def _divide(numerator: Vector, denominator: Vector) -> Vector:
    """Return numerator/denominator with 0/0 = 0: a direction without slope is not moved along."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=numerator != 0)


def _on_sphere(eigenvalues: Vector, beta: Vector, r: float) -> Vector:
    """Return the minimiser of ½ Σ λ_i v_i² + Σ β_i v_i on |v| = r (eigenvalues ascending, minimum not inside)."""
    # μ = shift + σ. Next to the hard case σ is far below the rounding of μ, so σ is what we solve for.
    shifted = eigenvalues + max(0.0, -eigenvalues[0])
    v = _divide(-np.where(shifted > 0, beta, 0.0), shifted)
    if not np.any(beta[shifted <= 0]) and np.linalg.norm(v) <= r:
        if eigenvalues[0] < 0:  # hard case; else rounding alone has moved v from just outside the ball to just inside
            v[0] = np.sqrt(max(0.0, r**2 - float(np.sum(v[1:] ** 2))))
        return v
    return _divide(-beta, shifted + _secular_root(shifted, beta, r))


def _secular_root(eigenvalues: Vector, beta: Vector, r: float) -> float:
    """Return μ > 0 with |v(μ)| = r, by Newton's method on 1/|v(μ)| - 1/r, kept inside a bracket by bisection.

    No eigenvalue is negative. 1/|v(μ)| is concave and almost linear, so Newton's method converges from either side in a
    few steps, also when |v(μ)| itself has a pole next to the root (|b| small or λ_min close to zero).
    """
    low, high = 0.0, max(0.0, float(np.linalg.norm(beta) / r - eigenvalues[0]))  # |v(high)| ≤ r
    mu = high
    for _ in range(NEWTON_STEPS):
        v = _divide(-beta, eigenvalues + mu)
        norm = float(np.linalg.norm(v))
        if norm > r:
            low = mu
        else:
            high = mu
        slope = float(np.sum(_divide(v**2, eigenvalues + mu))) / norm**3  # derivative of 1/|v(μ)|
        step = (1 / r - 1 / norm) / slope
        following = float(mu + step)
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - mu) <= 4 * np.finfo(np.float64).eps * max(abs(following), abs(mu)):
            return following
        mu = following
    return mu


def _inside(v: Vector, r: float) -> Vector:
    """Return v scaled so that rounding does not leave it outside the ball."""
    norm = float(np.linalg.norm(v))
    return v if norm <= r else v * (r / norm) * (1 - np.finfo(np.float64).eps)
