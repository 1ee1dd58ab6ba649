"""Geometry of the two regions in unit coordinates: projection, random points, the minimiser of a quadratic."""

import numpy as np
from scipy import linalg, optimize

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics.ball import lowest_on_ball

__all__ = ["minimise_on_region", "project_onto_region", "random_points"]

ROUNDING = 1e-14  # of the greatest eigenvalue


def project_onto_region(shape: Shape, points: Matrix) -> Matrix:
    """Return each of the points (m, d) moved to the nearest one of the region.

    >>> import numpy as np
    >>> project_onto_region(Shape.BALL, np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    >>> project_onto_region(Shape.BOX, np.array([[3.0, -0.5]]))
    array([[ 1. , -0.5]])
    """
    if shape is Shape.BOX:
        return np.minimum(np.maximum(points, -1.0), 1.0)  # NumPy's clip takes four times as long where points are few
    norms = np.sqrt(np.add.reduce(points**2, axis=1, keepdims=True))
    projected: Matrix = points / np.maximum(norms, 1.0)
    return projected


def random_points(shape: Shape, n: int, d: int, rng: np.random.Generator) -> Matrix:
    """Return n random extreme points: on the sphere, or corners of the box.

    >>> import numpy as np
    >>> np.abs(random_points(Shape.BOX, 1, 3, np.random.default_rng(0)))
    array([[1., 1., 1.]])
    """
    normal = rng.standard_normal((n, d))
    if shape is Shape.BOX:
        return np.where(normal < 0, -1.0, 1.0)
    sphere: Matrix = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return sphere


def minimise_on_region(shape: Shape, hessian: Matrix, linear: Vector) -> Vector:
    """Return the minimiser of ½zᵀHz + linear·z over the region, for positive definite H.

    On the ball by the secular equation; on the box as a least-squares problem with bounds, solved exactly by an active
    set (BVLS).

    >>> import numpy as np
    >>> minimise_on_region(Shape.BOX, np.eye(2), np.array([-3.0, 0.5])).round(12)
    array([ 1. , -0.5])
    """
    if shape is Shape.BALL:
        return lowest_on_ball(hessian, linear, 1.0)
    root = _root(hessian)
    inside = -linalg.lapack.dpotrs(root, linear)[0]  # whatever its condition: the fit has seen to that
    if np.abs(inside).max() <= 1:
        return np.asarray(inside, dtype=np.float64)
    target = -linalg.solve_triangular(root, linear, trans="T")
    solution = optimize.lsq_linear(root, target, bounds=(-1.0, 1.0), method="bvls", tol=1e-12)
    return np.clip(solution.x, -1.0, 1.0)


def _root(hessian: Matrix) -> Matrix:
    """Return the upper factor, H = rootᵀ root, also of a matrix that is positive definite by less than rounding."""
    root: Matrix
    root, failed = linalg.lapack.dpotrf(hessian)
    if failed:
        eigenvalues, Q = np.linalg.eigh(hessian)
        root = np.linalg.qr((Q * np.sqrt(np.maximum(eigenvalues, ROUNDING * eigenvalues[-1]))).T)[1]
    return root
