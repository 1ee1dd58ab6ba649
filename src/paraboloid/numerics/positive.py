"""Positive definite matrices whose diagonal spans many orders of magnitude, factored by Cholesky at unit diagonal.

By LAPACK itself: a search factors thousands of small matrices, and SciPy's checks would take longer than the work.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import linalg

from paraboloid.core import Matrix, Vector

__all__ = ["Factor", "factored", "positive_inverse", "solve_each", "solve_positive"]

Right = TypeVar("Right", Vector, Matrix)

LARGE = 256  # rows, from which on LAPACK's own inverse, in half the time, is worth another way
TOGETHER = 2**16  # numbers that are worked on together in `solve_each`: they should fit into a processor's cache,
FEWEST = 256  # but no fewer matrices, for NumPy's calls cost as much as hundreds of numbers


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """The lower Cholesky factor of S A S, and the diagonal of S, with which that has unit diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> round(factored(np.diag([2.0, 4.0])).log_determinant, 3)
    2.079
    """

    lower: Matrix
    scale: Vector

    def solve(self, right: Right) -> Right:
        """Return A⁻¹ times a vector (p,) or the columns of a matrix (p, k)."""
        scale = self.scale if right.ndim == 1 else self.scale[:, None]
        solution: Right = linalg.lapack.dpotrs(self.lower, scale * right, lower=1)[0]
        solution *= scale
        return solution

    @property
    def log_determinant(self) -> float:
        """Return log |A|."""
        return 2 * float(np.sum(np.log(self.lower.diagonal()) - np.log(self.scale)))

    def inverse(self) -> Matrix:
        """Return A⁻¹, exactly symmetric."""
        if len(self.scale) > LARGE:
            half = np.tril(linalg.lapack.dpotri(self.lower, lower=1)[0])
            whole: Matrix = half + np.tril(half, -1).T
            whole *= self.scale[:, None] * self.scale
            return whole
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
    scaled.ravel("K")[:: len(scaled) + 1] += ridge
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


def solve_positive(matrix: Matrix, right: Right) -> Right:
    """Return A⁻¹ times a vector (p,) or the columns of a matrix (p, k), of a diagonal that needs no scaling.

    >>> import numpy as np
    >>> solve_positive(np.diag([2.0, 4.0]), np.ones(2))
    array([0.5 , 0.25])
    """
    _, solution, failed = linalg.lapack.dposv(matrix, right)
    if failed:
        raise linalg.LinAlgError("the matrix is not positive definite")
    return np.ascontiguousarray(solution)


def solve_each(H: Matrix, right: Matrix) -> tuple[Matrix, npt.NDArray[np.bool_]]:
    """Return the solutions (n, d) of many small systems H (n, d, d), and which matrices are positive definite.

    The solutions of those that are not mean nothing. All are eliminated together, entry by entry: LAPACK, called once
    for each, would take ten times as long at five knobs.

    >>> import numpy as np
    >>> solve_each(np.array([[[2.0, 0.0], [0.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]), np.ones((2, 2)))[1]
    array([ True, False])
    """
    n, d = right.shape
    size = max(FEWEST, TOGETHER // (d * (d + 1)))
    solutions, is_positive = np.empty((d, n)), np.empty(n, dtype=np.bool_)
    for begin in range(0, n, size):
        part = slice(begin, begin + size)
        together = np.concatenate([H[part].transpose(1, 2, 0), right[part].T[:, None]], axis=1)
        is_positive[part] = _eliminate(together, solutions[:, part])
    return solutions.T, is_positive


def _eliminate(system: Matrix, solution: Matrix) -> npt.NDArray[np.bool_]:
    """Solve the systems (d, d + 1, n), right sides last, in place; tell where every pivot was above zero."""
    d = len(system)
    is_positive = np.ones(solution.shape[1], dtype=np.bool_)
    with np.errstate(all="ignore"):  # what has no positive pivots may overflow
        for k in range(d):
            is_positive &= system[k, k] > 0
            row = system[k, k + 1 :]
            ratio = row / system[k, k]
            system[k + 1 :, k + 1 :] -= row[:-1, None] * ratio
            row[:] = ratio
        for k in reversed(range(d)):
            solution[k] = system[k, d] - np.einsum("in,in->n", system[k, k + 1 : d], solution[k + 1 :])
    return is_positive
