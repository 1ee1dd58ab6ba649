"""The tilt of the equator design on the ball, and the slopes that it shares with the field.

Above, the design gives V = ½(κ tr C_m^½ + √(uᵀCu) N(|m|²))² for every tilt m; below, the best field gives the same with
N(M) = β + √(α² + κ²M). One fixed point solves both. Proofs in docs/instance-limit.md.

==================  ======================  ============================================================
symbol              code                    meaning
==================  ======================  ============================================================
C = A⁻¹             ``C``                   inverse Hessian in unit coordinates, (d, d)
x₀ = ρu             ``rho``, ``u``          minimiser in unit coordinates, |u| = 1
N                   ``N``                   orthonormal basis of the space across u, (d, d - 1)
κ, α, β             ``kappa``, ...          slopes of the field at x₀
m, m₁               ``m``, ``schur``        tilt of the line; m₁ = NᵀCu / uᵀCu
S                   ``rest``                Schur complement NᵀCN - uᵀCu m₁m₁ᵀ, (d - 1, d - 1)
==================  ======================  ============================================================
"""

import math
from collections.abc import Callable

import numpy as np

from paraboloid.core import Matrix, Vector
from paraboloid.theory.instance_limit_secant import secant_point

__all__ = ["Terms", "axis_complement", "ball_slopes", "equator_tilt", "line_terms"]

Terms = tuple[float, float, float]
"""(o, a, c) of a deviation N = o + √(a² + c²M), M = |m|²; every one here is of this form."""


def axis_complement(u: Vector) -> Matrix:
    """Return an orthonormal basis of the space across the unit vector u, shape (d, d - 1), by a reflection.

    >>> import numpy as np
    >>> axis_complement(np.array([0.0, 1.0])).ravel().round(9)
    array([-1.,  0.])
    """
    v = u.copy()
    v[0] += np.copysign(1.0, u[0])
    reflection = np.eye(u.size) - 2 * np.outer(v, v) / float(v @ v)
    return reflection[:, 1:]


def ball_slopes(rho: float) -> tuple[float, float, float]:
    """Return (κ, α, β): the field's Jacobian at ρu is κ(I - uuᵀ) + (αu + βf)uᵀ, for every unit vector f.

    >>> [round(slope, 6) for slope in ball_slopes(0.6)]
    [1.25, 1.4625, 0.9375]
    """
    if rho > math.sqrt(0.5):
        return 2 * rho, 2 * rho, 2 * rho
    square = 1 / (1 - rho**2)
    return math.sqrt(square), square if rho <= 0.5 else rho * (4 - square), rho * square


def line_terms(rho: float, size2: float) -> Terms:
    """Return (o, a, c): o + √(a² + c²|m|²) is the deviation, per unit mass, of the slope at ρu along u + Nm.

    >>> o, a, c = line_terms(0.5, 0.0)
    >>> round(o + a, 6)  # 1/(1 - ρ): a pair that reaches the pole
    2.0
    """
    if 2 * rho**2 * (1 + 1 / math.sqrt(1 + size2)) >= 1:  # four points on two axes
        return 2 * rho, 2 * rho, 2 * rho
    square = 1 / (1 - rho**2)  # a mirrored pair
    return rho * square, square, math.sqrt(square)


def equator_tilt(C: Matrix, u: Vector, rho: float, terms: Callable[[float], Terms] | None = None) -> Vector:
    """Return the tilt m, (d - 1,), that makes κ tr C_m^½ + √(uᵀCu) N(|m|²) smallest; C_m = S + uᵀCu (m-m₁)(m-m₁)ᵀ.

    tr C_m^½ is concave in C_m, and N in |m|²: both lie below their tangents, whose sum is smallest at
    m = (I + ν C_m^½)⁻¹ m₁ with ν = 2N'/(κ√(uᵀCu)). All such m lie in the Krylov space of S and m₁; beyond 45
    dimensions its first 45 directions stand for it, since large eigendecompositions in threaded BLAS are slow on a busy
    machine. Every m gives a valid bound.

    >>> import numpy as np
    >>> equator_tilt(np.diag([1.0, 4.0]), np.array([1.0, 0.0]), 0.5)  # u is an eigenvector: no tilt
    array([0.])
    """
    N = axis_complement(u)
    along = float(u @ C @ u)
    schur: Vector = N.T @ (C @ u) / along
    if not schur.any():
        return schur
    rest = N.T @ C @ N - along * np.outer(schur, schur)
    P = _krylov_basis(rest, schur, 45)
    deviation = terms or (lambda size2: line_terms(rho, size2))
    tilt: Vector = P @ _fixed_tilt(P.T @ rest @ P, P.T @ schur, along, ball_slopes(rho)[0], deviation)
    return tilt


def _krylov_basis(S: Matrix, start: Vector, size: int) -> Matrix:
    """Return an orthonormal basis (n, k) of the space of start, S start, S² start, ...; all of Rⁿ if n ≤ size."""
    if start.size <= size:
        return np.eye(start.size)
    P = np.zeros((size, start.size))
    P[0] = start / np.linalg.norm(start)
    for k in range(1, size):
        image = np.einsum("ij,j->i", S, P[k - 1])  # without BLAS: its threads cost more than so small a product
        following = image
        for _ in range(2):  # once is not enough where the new direction nearly lies in the space
            following = following - P[:k].T @ (P[:k] @ following)
        norm = float(np.linalg.norm(following))
        if norm <= 1e-10 * float(np.linalg.norm(image)):
            return P[:k].T
        P[k] = following / norm
    return P.T


def _fixed_tilt(
    rest: Matrix, schur: Vector, along: float, kappa: float, deviation: Callable[[float], Terms], *, steps: int = 400
) -> Vector:
    """Return the best m found by the step of `equator_tilt`, which never raises the value.

    A secant through the last two steps saves most of them (of 100, 80), and is left out where it raised the value.
    """
    best, best_value, m = schur, np.inf, schur
    last: tuple[Vector, Vector] | None = None
    for _ in range(steps):
        away, size2 = m - schur, float(m @ m)
        squares, V = np.linalg.eigh(rest + along * (away[:, None] * away))
        g = np.sqrt(np.maximum(squares, 0.0))
        o, a, c = deviation(size2)
        value = kappa * float(g.sum()) + math.sqrt(along) * (o + math.sqrt(a**2 + c**2 * size2))
        image = V @ _shrunk(V.T @ schur, g, kappa * math.sqrt(along), size2, deviation)
        change = image - m
        following = image if last is None or value > best_value else secant_point(image, change, *last)
        gain = best_value - value
        if gain > 0:
            best, best_value = m, value
        if math.sqrt(change @ change) <= 1e-7 * math.sqrt(size2):
            break
        m, last = following, (image, change)
    return best


def _shrunk(w: Vector, g: Vector, scale: float, size2: float, deviation: Callable[[float], Terms]) -> Vector:
    """Return w / (1 + νg) with ν = 2N'(M)/scale at its own squared length M, by a few fixed-point steps."""
    m = w
    for _ in range(8):
        _, a, c = deviation(size2)
        m = w / (1 + c**2 / (scale * math.sqrt(a**2 + c**2 * size2)) * g)
        before, size2 = size2, float(m @ m)
        if size2 == before:
            break
    return m
