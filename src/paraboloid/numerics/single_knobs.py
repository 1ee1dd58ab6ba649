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
∂ψ, ∂²ψ             ``knob_slopes``, ...    derivatives of ψ by each knob, (d, 15 d)
w                   ``knob_variances``      prior variances of the coefficients, (15 d,)
==================  ======================  =========================================================
"""

import functools

import numpy as np
from numpy.polynomial import chebyshev

from paraboloid.core import Matrix, Vector

__all__ = ["knob_bends", "knob_curves", "knob_degrees", "knob_slopes", "knob_variances", "range_curves"]

LOWEST, HIGHEST = 3, 12  # degrees: a quadratic has those below
ANY = np.arange(LOWEST, HIGHEST + 1)
EVEN = np.arange(LOWEST + 1, HIGHEST + 1, 2)


def range_curves(points: Matrix) -> Matrix:
    """Return T₃ ... T₁₂ of every knob at points (m, d), shape (m, 10 d); beyond the range the curves are level.

    >>> import numpy as np
    >>> range_curves(np.array([[0.5, 1.0]]))[0, [0, 1, 10, 11]]  # T₃ and T₄ of each knob
    array([-1. , -0.5,  1. ,  1. ])
    """
    curves = chebyshev.chebvander(np.clip(points, -1.0, 1.0), HIGHEST)[:, :, ANY]
    return np.asarray(curves.reshape(len(points), points.shape[1] * ANY.size))


def knob_curves(points: Matrix, centre: Vector) -> Matrix:
    """Return ψ at points (m, d), shape (m, 15 d).

    >>> import numpy as np
    >>> ahead, back = knob_curves(np.array([[0.5], [0.1]]), np.array([0.3]))[:, 10:]
    >>> bool(np.allclose(ahead, back))  # those about the centre are even
    True
    """
    even = chebyshev.chebvander(_about(points, centre), HIGHEST)[:, :, EVEN]
    return np.hstack([range_curves(points), even.reshape(len(points), points.shape[1] * EVEN.size)])


def knob_slopes(z: Vector, centre: Vector) -> Matrix:
    """Return the derivatives of ψ by each knob at z, shape (d, 15 d).

    >>> import numpy as np
    >>> knob_slopes(np.array([1.0]), np.array([0.0]))[:, [0, 1, 10]]  # T₃' = 12x² - 3, T₄' = 32x³ - 16x
    array([[ 9., 16., 16.]])
    """
    return _each_its_own(z, centre, 1)


def knob_bends(z: Vector, centre: Vector) -> Matrix:
    """Return the second derivatives of ψ by each knob at z, shape (d, 15 d).

    >>> import numpy as np
    >>> knob_bends(np.array([0.5]), np.array([0.0]))[:, [0, 1, 10]]  # T₃'' = 24x, T₄'' = 96x² - 16
    array([[12.,  8.,  8.]])
    """
    return _each_its_own(z, centre, 2)


def knob_variances(d: int, decay: float, size: float = 1.0, even: float = 0.0) -> Vector:
    """Return the variances of the coefficients, which fall like decay^(2k) with the degree k.

    Those of all curves over the range add up to ``size`` at a place in it, on average, and the even ones to ``even``.

    >>> knob_variances(1, 0.5)[:3].round(3)
    array([1.5  , 0.375, 0.094])
    """
    falling = [decay ** (2.0 * (degrees - LOWEST)) for degrees in (ANY, EVEN)]
    # T_k² is one half on average.
    return np.concatenate(
        [
            np.tile(2 * each * part / (d * float(part.sum())), d)
            for each, part in zip((size, even), falling, strict=True)
        ]
    )


def knob_degrees(d: int) -> Vector:
    """Return the degree of each curve, (15 d,).

    >>> knob_degrees(1)[[0, 1, 10]]
    array([3., 4., 4.])
    """
    return np.concatenate([np.tile(ANY, d), np.tile(EVEN, d)]).astype(np.float64)


def _about(points: Matrix, centre: Vector) -> Matrix:
    return np.asarray(np.clip((points - centre) / (1 + np.abs(centre)), -1.0, 1.0))


def _each_its_own(z: Vector, centre: Vector, order: int) -> Matrix:
    d = z.size
    scale = (1 + np.abs(centre[:, None])) ** order
    over = chebyshev.chebvander(np.clip(z, -1.0, 1.0), HIGHEST - order) @ _derivatives(order)[:, ANY]
    even = chebyshev.chebvander(_about(z, centre), HIGHEST - order) @ _derivatives(order)[:, EVEN] / scale
    return np.hstack([_spread_out(over, d), _spread_out(even, d)])


def _spread_out(rows: Matrix, d: int) -> Matrix:
    """Return rows (d, k), one for each knob, each in its own k columns of (d, d k)."""
    found = np.zeros((d, d, rows.shape[1]))
    found[range(d), range(d)] = rows
    return found.reshape(d, -1)


@functools.cache
def _derivatives(order: int) -> Matrix:
    """Return the Chebyshev coefficients of the derivatives of T₀ ... T₁₂, a column each."""
    return np.asarray(chebyshev.chebder(np.eye(HIGHEST + 1), order))
