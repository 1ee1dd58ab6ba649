"""Quadratics seen through a bend: responses that rise ever slower, or ever faster, with the height of a paraboloid.

A logistic loss, a saturation, a distance in place of its square: such a response is φ(q), q a quadratic. To first order
in the size of the bend and in where its bottom lies, it departs from the fitted quadratic by the few functions

    ψ(z) = r, u₁/r, ..., u_d/r,   u = A^½(z - x̂)/√h,   r = √(τ + |u|²),

A and x̂ of the fit and h its mean height over the points measured. They are far fewer than a smooth function of d knobs
has coefficients: a response of many knobs that bends shows itself by them first, and the others shift its minimum.
"""

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Shape
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.region import random_points

__all__ = ["bend_left", "bends"]

SOFT = 0.1  # τ: the tip of the bend, in mean heights
FLAT = 1e-3  # of the largest curvature: so much is taken for directions that are flatter, or bend down
MANY = 500  # places, more than there are coefficients, over which what is left is averaged


def bends(places: Matrix, fit: QuadraticFit, points: Matrix) -> Matrix:
    """Return ψ at places (m, d), shape (m, 1 + d), for a quadratic fitted to values at points (n, d).

    >>> from paraboloid.numerics import QuadraticFit
    >>> fit = QuadraticFit(np.array([0.0, 0.0, 2.0]), np.eye(3), 1.0, 50.0, np.zeros(1))
    >>> bends(np.array([[0.0], [0.3]]), fit, np.array([[-0.1], [0.1]])).round(2)
    array([[0.32, 0.  ],
           [3.02, 0.99]])
    """
    eigenvalues, Q = np.linalg.eigh(fit.hessian)
    steepest = float(np.abs(eigenvalues).max()) or 1.0
    root = (Q * np.sqrt(np.maximum(eigenvalues / steepest, FLAT))) @ Q.T
    height = np.mean(np.sum(((points - fit.minimiser) @ root) ** 2, axis=1))
    u = (places - fit.minimiser) @ root / np.sqrt(height)
    r = np.sqrt(SOFT + np.sum(u**2, axis=1))[:, None]
    return np.hstack([r, u / r])


def bend_left(fit: QuadraticFit, points: Matrix, shape: Shape) -> float:
    """Return what the best quadratic over the region leaves of a bend of size one, in root mean square.

    >>> from paraboloid.numerics import QuadraticFit
    >>> fit = QuadraticFit(np.array([0.0, 0.0, 2.0]), np.eye(3), 1.0, 50.0, np.zeros(1))
    >>> round(bend_left(fit, np.array([[-1.0], [0.0], [1.0]]), Shape.BOX), 1)
    0.2
    """
    d = points.shape[1]
    n = n_terms(d) + MANY
    rng = np.random.default_rng(0)
    if shape is Shape.BOX:
        places = rng.uniform(-1, 1, (n, d))
    else:
        places = random_points(shape, n, d, rng) * rng.uniform(0, 1, (n, 1)) ** (1 / d)
    phi, curves = features(places), bends(places, fit, points)
    root, _ = linalg.lapack.dpotrf(phi.T @ phi, lower=1)  # places over the whole region tell a quadratic well
    told = linalg.solve_triangular(root, phi.T @ curves, lower=True)
    return float(np.sqrt((np.sum(curves**2) - np.sum(told**2)) / MANY))
