"""Surfaces without a minimum inside: plain least squares, where it shows that the response bends down."""

import functools
from dataclasses import replace

import numpy as np
from scipy import linalg

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.numerics.ball import minimise_on_ball
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.region import minimise_on_region

__all__ = ["fit_least_squares", "fit_saddle"]

DOWNWARD = 3.0  # standard errors by which an eigenvalue must be negative
STARTS = 64
TURNS = 3  # of coordinate descent, which finds the edges, and exact steps between them


def fit_saddle(evidence: Evidence, shape: Shape) -> QuadraticFit | None:
    """Return the least-squares quadratic if it surely bends down in some direction, else None.

    `fit_quadratic` always fits a bowl; where the data contradict it, this is the fit to answer from.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    >>> evidence = Evidence.empty(2).with_measurements(z, Measurements.from_values((z[:, :1] ** 2 - z[:, 1:] ** 2)))
    >>> np.abs(fit_saddle(evidence, Shape.BOX).minimiser).round(3)
    array([0., 1.])
    """
    d = evidence.dimension
    plain = fit_least_squares(evidence, np.zeros(d))
    if plain is None:
        return None
    eigenvalues, Q = np.linalg.eigh(plain.hessian)
    along = features(Q[:, :1].T)[0, d + 1 :] * 2
    deviation = float(np.sqrt(along @ plain.covariance[d + 1 :, d + 1 :] @ along))
    if eigenvalues[0] >= -DOWNWARD * deviation:
        return None
    H, b = plain.hessian, plain.linear
    minimiser = minimise_on_ball(H, b) if shape is Shape.BALL else lowest_in_box(H, b)
    return replace(plain, minimiser=minimiser)


def fit_least_squares(evidence: Evidence, minimiser: Vector) -> QuadraticFit | None:
    """Return what the data say alone, without a prior, or None where they leave a coefficient undetermined.

    Its curvature may be negative, so that the point of interest, ``minimiser``, has to be given.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(3 - z**2))
    >>> fit_least_squares(evidence, np.zeros(1)).hessian.round(6)
    array([[-2.]])
    """
    found = _data_alone(evidence)
    return None if found is None else QuadraticFit(*found, minimiser)


@functools.lru_cache(maxsize=1)
def _data_alone(evidence: Evidence) -> tuple[Vector, Matrix, float, float] | None:
    """Return θ, its covariance, the noise variance and its freedom; bound and saddle ask for the same ones."""
    rows = evidence.counts > 0
    p, n = n_terms(evidence.dimension), evidence.n_measurements
    phi = features(evidence.points[rows])
    if n <= p + 1 or len(phi) < p or _is_singular(phi):
        return None
    y = evidence.means[rows]
    shift = float(y.mean())
    theta, covariance, sigma2 = _least_squares(evidence, phi, y - shift)
    theta[0] += shift
    return theta, covariance, sigma2, float(n - p)


def _is_singular(phi: Matrix) -> bool:
    """Tell whether the points leave some coefficient undetermined; far cheaper than the rank of φ."""
    gram = phi.T @ phi
    scale = 1 / np.sqrt(np.maximum(np.diag(gram), 1e-300))
    return bool(np.linalg.eigvalsh(scale[:, None] * gram * scale)[0] < 1e-13)


def _least_squares(evidence: Evidence, phi: Matrix, y: Vector) -> tuple[Vector, Matrix, float]:
    """Return θ, its covariance and the noise variance; measurements are weighed by known or estimated precision."""
    rows = evidence.counts > 0
    counts, precision, scatter = evidence.counts[rows], evidence.precision[rows], evidence.scatter[rows]
    known = precision > 0
    n, p = int(counts.sum()), phi.shape[1]
    floor = 1e-24 * float(np.mean(y**2)) + 1e-300
    sigma2 = float(counts.sum() / precision.sum()) if known.all() else max(float(np.mean(y**2)), floor)
    for _ in range(3 if known.any() and not known.all() else 1):  # weights and variance in turn, where both are there
        weights = np.where(known, precision, counts / sigma2)
        M = (phi.T * weights) @ phi
        scale = 1 / np.sqrt(np.diag(M))
        factor = linalg.cho_factor(scale[:, None] * M * scale + 1e-14 * np.eye(p), check_finite=False)
        theta = scale * linalg.cho_solve(factor, scale * ((phi.T * weights) @ y), check_finite=False)
        if not known.all():
            left = float(counts[~known] @ (y - phi @ theta)[~known] ** 2 + scatter[~known].sum())
            freedom = max(float(counts[~known].sum()) - p * float(counts[~known].sum()) / n, 1.0)
            sigma2 = max(left / freedom, floor)
    weights = np.where(known, precision, counts / sigma2)
    return np.asarray(theta), np.asarray(linalg.inv((phi.T * weights) @ phi)), sigma2


def lowest_in_box(H: Matrix, b: Vector) -> Vector:
    """Return the lowest point of the box: exact for a bowl, else what descents from many corners and the centre find.

    >>> import numpy as np
    >>> lowest_in_box(np.diag([1.0, -1.0]), np.array([-0.5, 0.1])).round(12)
    array([ 0.5, -1. ])
    """
    eigenvalues = np.linalg.eigvalsh(H)
    if eigenvalues[0] > 1e-12 * eigenvalues[-1]:
        return minimise_on_region(Shape.BOX, H, b)
    d = b.size
    rng = np.random.default_rng(0)
    z = np.vstack([np.zeros((1, d)), np.where(rng.random((STARTS, d)) < 0.5, -1.0, 1.0)])
    for _ in range(TURNS):
        z = np.unique(np.round([_polished(H, b, start) for start in _descended(H, b, z)], 12), axis=0)
    lowest: Vector = z[int(np.argmin(np.sum((z @ H) * z, axis=1) / 2 + z @ b))]
    return lowest


def _descended(H: Matrix, b: Vector, z: Matrix) -> Matrix:
    """Return where coordinate descent leads from points (m, d)."""
    z = z.copy()
    for _ in range(50):
        before = z.copy()
        for k in range(b.size):
            slope = z @ H[:, k] + b[k] - H[k, k] * z[:, k]
            if H[k, k] > 0:
                z[:, k] = np.clip(-slope / H[k, k], -1.0, 1.0)
            else:
                z[:, k] = np.where(slope > 0, -1.0, 1.0)
        if np.allclose(z, before, rtol=0, atol=1e-12):
            break
    return z


def _polished(H: Matrix, b: Vector, z: Vector) -> Vector:
    """Return the lowest point with the same knobs at their edges: coordinate descent is slow at high condition.

    A knob that would leave the box is put to its edge, one at a time, as long as that is needed.
    """
    z = z.copy()
    for _ in range(z.size):
        free = np.abs(z) < 1
        if not np.any(free) or np.linalg.eigvalsh(H[np.ix_(free, free)])[0] <= 0:
            return z
        target = -np.linalg.solve(H[np.ix_(free, free)], b[free] + H[np.ix_(free, ~free)] @ z[~free])
        step = target - z[free]
        room = np.where(step > 0, 1 - z[free], -1 - z[free]) / np.where(step == 0, 1.0, step)
        length = float(np.min(np.where(step == 0, np.inf, room)))
        if length >= 1:
            z[free] = target
            return z
        z[free] = np.clip(z[free] + length * step, -1.0, 1.0)
        first = np.flatnonzero(free)[int(np.argmin(np.where(step == 0, np.inf, room)))]
        z[first] = np.sign(z[first])
    return z
