"""Curves of single knobs beyond the quadratic: responses to which every knob adds a part of its own.

Costs, times and yields are often sums of what single knobs do, whatever each of these parts is like: 1/x at an edge, a
saturation, a period. Such a response has d curves to be learnt in place of a function of d variables, and shows itself
wherever knobs stand between the levels that a quadratic is measured at. The curves are Chebyshev's T₃ ... T₁₂ over
the range, with variances that fall with the degree: those of a function that is smooth in the middle of its range and
may be steep at the edges, which is where singularities lie. Beside them stand T₄, T₆ ... T₁₂ about a centre c, scaled
so that the range lies within: even about c, they do not move a minimum that is there.

The knobs of a box have a meaning of their own. Those of a ball may be turned, and there these are not used.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
ψ(z)                ``knob_curves``         T_k(z_j), then those that are even, knob by knob, (15 d,)
∂ψ                  ``knob_slopes``         derivatives of ψ by each knob, (d, 15 d)
w                   ``knob_variances``      prior variances of the coefficients, (15 d,)
==================  ======================  =========================================================
"""

import functools

import numpy as np
from numpy.polynomial import chebyshev, polynomial

from paraboloid.core import Counts, Matrix, Vector

__all__ = [
    "knob_curves",
    "knob_degrees",
    "knob_polynomials",
    "knob_slopes",
    "knob_sums",
    "knob_variances",
    "range_curves",
]

LOWEST, HIGHEST = 3, 12  # degrees: a quadratic has those below
ANY = np.arange(LOWEST, HIGHEST + 1)
EVEN = np.arange(LOWEST + 1, HIGHEST + 1, 2)


def range_curves(points: Matrix) -> Matrix:
    """Return T₃ ... T₁₂ of every knob at points (m, d), shape (m, 10 d); beyond the range the curves are level.

    >>> import numpy as np
    >>> range_curves(np.array([[0.5, 1.0]]))[0, [0, 1, 10, 11]]  # T₃ and T₄ of each knob
    array([-1. , -0.5,  1. ,  1. ])
    """
    return _of_each_knob(np.clip(points, -1.0, 1.0), 0, ANY)


def knob_curves(points: Matrix, centre: Vector) -> Matrix:
    """Return ψ at points (m, d), shape (m, 15 d).

    >>> import numpy as np
    >>> ahead, back = knob_curves(np.array([[0.5], [0.1]]), np.array([0.3]))[:, 10:]
    >>> bool(np.allclose(ahead, back))  # those about the centre are even
    True
    """
    return np.hstack([range_curves(points), _of_each_knob(_about(points, centre), 0, EVEN)])


def knob_slopes(z: Vector, centre: Vector) -> Matrix:
    """Return the derivatives of ψ by each knob at z, shape (d, 15 d).

    >>> import numpy as np
    >>> knob_slopes(np.array([1.0]), np.array([0.0]))[:, [0, 1, 10]]  # T₃' = 12x² - 3, T₄' = 32x³ - 16x
    array([[ 9., 16., 16.]])
    """
    return np.hstack([_spread_out(rows) for rows in _derivatives(z, centre, 1)])


def knob_polynomials(centre: Vector, coefficients: Vector) -> Matrix:
    """Return the sums of the curves of each knob with these coefficients as polynomials, for `knob_sums`.

    Shape (2, d, 3, 13): of the curves over the range and of the even ones, for each knob the powers of its value, slope
    and bend.

    >>> import numpy as np
    >>> knob_polynomials(np.zeros(1), np.eye(15)[1])[0, 0, 0, :5]  # T₄ = 8x⁴ - 8x² + 1
    array([ 1.,  0., -8.,  0.,  8.])
    """
    d, scale = centre.size, 1 / (1 + np.abs(centre[:, None, None]))
    over, even = coefficients[: d * ANY.size].reshape(d, -1), coefficients[d * ANY.size :].reshape(d, -1)
    orders = np.arange(3)[:, None]
    return np.stack(
        [
            np.einsum("jk,pok->jop", over, _together(False)),
            np.einsum("jk,pok->jop", even, _together(True)) * scale**orders,
        ]
    )


def knob_sums(places: Matrix, centre: Vector, polynomials: Matrix) -> tuple[Vector, Matrix, Matrix]:
    """Return values (m,), first and second derivatives by each knob (m, d) of the curves that add up to `polynomials`.

    >>> import numpy as np
    >>> curves = knob_polynomials(np.zeros(1), np.eye(15)[1])
    >>> value, slope, bend = knob_sums(np.array([[0.5]]), np.zeros(1), curves)
    >>> value.round(6), slope[0].round(6), bend[0].round(6)  # T₄ = 8x⁴ - 8x² + 1
    (array([-0.5]), array([-4.]), array([8.]))
    """
    both = np.stack([np.clip(places, -1.0, 1.0), _about(places, centre)])
    powers = _powers(both.ravel()).reshape(*both.shape, HIGHEST + 1)
    at = np.einsum("smjp,sjop->omj", powers, polynomials)
    return at[0].sum(axis=1), at[1], at[2]


def knob_variances(d: int, decay: float, size: float = 1.0, even: float = 0.0) -> Vector:
    """Return the variances of the coefficients, which fall like decay^(2k) with the degree k.

    Those of all curves over the range add up to ``size`` at a place in it, on average, and the even ones to ``even``.

    >>> knob_variances(1, 0.5)[:3].round(3)
    array([1.5  , 0.375, 0.094])
    """
    found = []
    for each, degrees in ((size, ANY), (even, EVEN)):
        falling = decay ** (2.0 * (degrees - LOWEST))
        found += [2 * each * falling / (d * float(falling.sum()))] * d  # T_k² is one half on average
    return np.concatenate(found)


def knob_degrees(d: int) -> Vector:
    """Return the degree of each curve, (15 d,).

    >>> knob_degrees(1)[[0, 1, 10]]
    array([3., 4., 4.])
    """
    return np.concatenate([ANY] * d + [EVEN] * d).astype(np.float64)


def _about(points: Matrix, centre: Vector) -> Matrix:
    return np.asarray(np.clip((points - centre) / (1 + np.abs(centre)), -1.0, 1.0))


def _derivatives(z: Vector, centre: Vector, order: int) -> tuple[Matrix, Matrix]:
    """Return the derivatives of this order at z, one row for each knob: of the curves over the range, and the even."""
    over = _powers(np.clip(z, -1.0, 1.0)) @ _coefficients(order)[:, ANY]
    even = _powers(_about(z, centre)) @ _coefficients(order)[:, EVEN]
    return over, even / (1 + np.abs(centre[:, None])) ** order


@functools.cache
def _together(is_even: bool) -> Matrix:
    """Return values, slopes and bends of the curves as coefficients of powers, (13, 3, degrees)."""
    return np.stack([_coefficients(order)[:, EVEN if is_even else ANY] for order in range(3)], axis=1)


def _of_each_knob(points: Matrix, order: int, degrees: Counts) -> Matrix:
    m, d = points.shape
    return (_powers(points.ravel()) @ _coefficients(order)[:, degrees]).reshape(m, d * degrees.size)


def _powers(x: Vector) -> Matrix:
    return np.vander(x, HIGHEST + 1, increasing=True)


def _spread_out(rows: Matrix) -> Matrix:
    """Return rows (d, k), one for each knob, each in its own k columns of (d, d k)."""
    d, k = rows.shape
    found = np.zeros((d, d, k))
    found[range(d), range(d)] = rows
    return found.reshape(d, d * k)


@functools.cache
def _coefficients(order: int) -> Matrix:
    """Return the derivatives of T₀ ... T₁₂ as coefficients of powers, a column each: no more than 10⁴, and exact."""
    powers = np.zeros((HIGHEST + 1, HIGHEST + 1))
    for degree in range(HIGHEST + 1):
        found = polynomial.polyder(chebyshev.cheb2poly(np.eye(HIGHEST + 1)[degree]), order)
        powers[: len(found), degree] = found
    return powers
