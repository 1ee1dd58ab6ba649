"""The instance limit on the box: a separable field below, mirrored and correlated sign vectors above.

The two are equal for |x₀|_∞ ≤ ½ where the best correlation is one of signs (always for d ≤ 2); otherwise the upper
bound is the value of the nearest correlation that signs do have. Proofs in docs/instance-limit.md.

==================  ======================  ============================================================
symbol              code                    meaning
==================  ======================  ============================================================
C = A⁻¹             ``C``                   inverse Hessian in unit coordinates, (d, d)
|a|, a = x₀         ``far``                 how far each coordinate of the minimiser is from the middle, (d,)
λ                   ``weights``             share of each coordinate in the field, Σλ = 1
S                   ``S``                   correlation E ssᵀ of the signs, (d, d)
τ                   ``tau``                 the pairs lie about ±τx₀
==================  ======================  ============================================================
"""

import numpy as np
from scipy import optimize, special

from paraboloid.core import Matrix, Vector
from paraboloid.theory.instance_limit_secant import secant_point

__all__ = ["box_bounds", "elliptope_minimum", "mirrored_value", "realised_signs"]


def box_bounds(C: Matrix, z: Vector) -> tuple[float, float]:
    """Return a lower and an upper bound of V* on the box [-1, 1]^d.

    >>> import numpy as np
    >>> lower, upper = box_bounds(np.eye(2), np.array([0.5, 0.0]))  # ½(2² + 1²)
    >>> round(lower, 6), round(upper, 6)
    (2.5, 2.5)
    """
    far = np.minimum(np.abs(z), 1.0)
    eta = np.where(far <= 0.5, 1 / (1 - np.minimum(far, 0.5)), 4 * far)
    is_near = float(far.max()) <= 0.5
    lower, _, S, weights = _elliptope(eta[:, None] * C * eta, gap=1e-7 if is_near else 1e-5)
    if is_near:  # the same problem on both sides: η is one over the reach
        upper = float(np.sum(np.linalg.inv(realised_signs(S)) * (eta[:, None] * C * eta))) / 2
    else:
        upper = _far_mirrored(C, far, weights)[1]
    return lower / 2, max(lower / 2, upper)


def mirrored_value(C: Matrix, far: Vector) -> tuple[float, float, Matrix]:
    """Return (τ, V, S): mirrored signs about ±τx₀ with the best τ, their value and correlation.

    The effective reach of coordinate k is τ(1 - τ|a_k|); τ = 1 is exactly optimal while |x₀|_∞ ≤ ½, and τ = 1/(2a)
    where all |a_k| = a > ½.

    >>> import numpy as np
    >>> tau, value, _ = mirrored_value(np.eye(2), np.array([1.0, 1.0]))
    >>> round(tau, 3), round(value, 3)  # at a corner: 16 times the value at the centre
    (0.5, 16.0)
    """
    if float(far.max()) > 0.5:
        return _far_mirrored(C, far, None)
    reach = 1 - far
    B = C / np.outer(reach, reach)
    S = realised_signs(elliptope_minimum(B)[2])
    return 1.0, float(np.sum(np.linalg.inv(S) * B)) / 2, S


def _far_mirrored(C: Matrix, far: Vector, weights: Vector | None) -> tuple[float, float, Matrix]:
    """Return (τ, V, S) beyond ½: the best S for this τ and the best τ for this S in turn, neither of which raises V."""
    largest = float(far.max())
    tau = 0.5 / largest
    best: tuple[float, float, Matrix] = tau, np.inf, np.eye(far.size)
    for _ in range(6):
        reach = tau * (1 - tau * far)
        B = C / np.outer(reach, reach)
        _, _, S, weights = _elliptope(B, weights, gap=1e-5)
        S = realised_signs(S)
        product = np.linalg.inv(S) * C
        # At τ ≥ 1/largest the reach is gone, and at τ > 1 one centre would have a negative mass.
        found = optimize.minimize_scalar(
            lambda t, product=product: _mirrored(product, far, t),
            bounds=(0.2, min(1.0, 0.999 / largest)),
            method="bounded",
        )
        choices = [(_mirrored(product, far, t) / 2, t) for t in (tau, float(found.x))]
        value, tau = min(choices)
        gain = best[1] - value
        if gain > 0:
            best = tau, value, S
        if gain <= 1e-4 * value:
            break
    return best


def _mirrored(product: Matrix, far: Vector, tau: float) -> float:
    """Return tr(C (R S R)⁻¹) with ``product`` = S⁻¹∘C and the reach of τ."""
    inverse = 1 / (tau * (1 - tau * far))
    return float(inverse @ product @ inverse)


def realised_signs(S: Matrix) -> Matrix:
    """Return the correlation of s = sign(g), g ~ N(0, sin(πS/2)): S itself where that matrix is a covariance.

    Elsewhere (d ≥ 3 only) its negative eigenvalues are clipped; not every correlation matrix is one of signs.

    >>> import numpy as np
    >>> realised_signs(np.array([[1.0, 0.5], [0.5, 1.0]])).round(9)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    latent = np.sin(np.pi / 2 * S)
    try:
        np.linalg.cholesky(latent)
    except np.linalg.LinAlgError:
        eigenvalues, Q = np.linalg.eigh(latent)
    else:
        return S
    latent = (Q * np.maximum(eigenvalues, 0.0)) @ Q.T
    scale = np.sqrt(np.diag(latent))
    signs: Matrix = 2 / np.pi * np.arcsin(np.clip(latent / np.outer(scale, scale), -1.0, 1.0))
    return signs


def elliptope_minimum(B: Matrix, *, gap: float = 1e-7, steps: int = 1000) -> tuple[float, float, Matrix]:
    """Return (lower, upper, S): bounds of the least tr(B S⁻¹) over correlation matrices S, and the S of the upper one.

    At the solution S ∝ Λ^-½ Q Λ^-½ with Q = (Λ^½ B Λ^½)^½ and Λ diagonal with λ_k = Q_kk / tr Q: a fixed point. Every Λ
    of trace one gives the lower bound (tr Q)², and its S, scaled to unit diagonal, the upper.

    >>> import numpy as np
    >>> lower, upper, S = elliptope_minimum(np.diag([1.0, 4.0]))
    >>> round(lower, 6), round(upper, 6)
    (5.0, 5.0)
    """
    lower, upper, S, _ = _elliptope(B, gap=gap, steps=steps)
    return lower, upper, S


def _elliptope(
    B: Matrix, weights: Vector | None = None, *, gap: float = 1e-7, steps: int = 1000
) -> tuple[float, float, Matrix, Vector]:
    """Return lower, upper, S and λ, from a start λ.

    A secant in log λ through the last two steps makes six or seven of some thirty; it is left out where it was a step
    back.
    """
    x = np.log(np.diag(B) if weights is None else weights)
    lower, upper, S, best = 0.0, np.inf, np.eye(len(B)), x
    last: tuple[Vector, Vector] | None = None
    for _ in range(steps):
        x = x - special.logsumexp(x)
        low, high, correlation, change = _elliptope_step(B, x)
        image = x + change
        following = image if last is None or low < lower else secant_point(image, change, *last)
        if low > lower:
            lower, best = low, x
        if high < upper:
            upper, S = high, correlation
        if upper - lower <= gap * upper:
            break
        x, last = following, (image, change)
    return lower, upper, S, np.exp(best)


def _elliptope_step(B: Matrix, x: Vector) -> tuple[float, float, Matrix, Vector]:
    """Return both bounds at λ = exp(x), the S of the upper one, and the change of x.

    The step multiplies λ_k by the square of Q_kk/(λ_k tr Q): where B is diagonal that is the solution at once.
    """
    root = np.exp(x / 2)
    squares, V = np.linalg.eigh(root[:, None] * B * root)
    sizes = np.sqrt(np.maximum(squares, 0.0))
    Q = (V * sizes) @ V.T
    S = Q / np.outer(root, root)
    scale = np.sqrt(np.diag(S))
    S /= np.outer(scale, scale)
    total = float(sizes.sum())
    try:
        upper = float(np.trace(np.linalg.solve(S, B)))
    except np.linalg.LinAlgError:  # B is singular but for rounding: this S bounds nothing
        upper = np.inf
    return total**2, upper, S, 2 * np.log(scale**2 / total)
