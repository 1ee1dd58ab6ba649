"""Positive definite matrices whose diagonal spans many orders of magnitude, factored by Cholesky at unit diagonal.

By LAPACK itself: a search factors thousands of small matrices, and SciPy's checks would take longer than the work.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Vector

__all__ = ["Factor", "factored", "positive_inverse"]

Right = TypeVar("Right", Vector, Matrix)


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """The lower Cholesky factor of S A S, and the diagonal of S, with which that has unit diagonal."""

    lower: Matrix
    scale: Vector

    def solve(self, right: Right) -> Right:
        """Return A⁻¹ times a vector (p,) or the columns of a matrix (p, k)."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        solution: Right = linalg.lapack.dpotrs(self.lower, scale * right, lower=1)[0]
        solution *= scale
        return solution

    def inverse(self) -> Matrix:
        """Return A⁻¹, exactly symmetric."""
        inverse: Matrix = linalg.lapack.dpotrs(self.lower, np.diag(self.scale), lower=1, overwrite_b=1)[0]
        inverse *= self.scale[:, None]
        return (inverse + inverse.T) / 2


def factored(matrix: Matrix, ridge: float = 1e-12) -> Factor:
    """Return the factor of a symmetric matrix, or raise `LinAlgError` where it is not positive definite.

    ``ridge`` is added to the unit diagonal: entries may be such that rounding alone would make it indefinite.

    >>> import numpy as np
    >>> factored(np.diag([1e-30, 1.0])).solve(np.ones(2)).round(3)
    array([1.e+30, 1.e+00])
    """
    scale = 1 / np.sqrt(np.maximum(matrix.diagonal(), 1e-300))  # zero where nothing was measured yet
    scaled = scale[:, None] * matrix
    scaled *= scale
    scaled.flat[:: len(scaled) + 1] += ridge
    lower, failed = linalg.lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError("the matrix is not positive definite")
    return Factor(lower, scale)


def positive_inverse(matrix: Matrix) -> Matrix:
    """Return the inverse of a positive definite matrix.

    >>> import numpy as np
    >>> positive_inverse(np.diag([1e-30, 1.0])).diagonal().round(3)
    array([1.e+30, 1.e+00])
    """
    return factored(matrix).inverse()
