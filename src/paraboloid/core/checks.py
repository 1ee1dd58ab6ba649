"""Checks of arguments that several public functions take, each with the same message everywhere."""

import operator
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core.arrays import Matrix, Vector, frozen_array
from paraboloid.core.errors import UsageError

__all__ = [
    "check_budget",
    "check_dimension",
    "check_hessian",
    "check_point_in_ball",
    "check_positive",
    "check_symmetric",
    "eigenvalues_above_rounding",
]

ROUNDING = 1e-10
"""Relative size below which asymmetry or a negative eigenvalue is taken for rounding in the caller's matrix."""

BALL_TOLERANCE = 1e-9
"""How far outside the unit ball a point may lie and still be taken for a rounded boundary point."""


def _whole_number(name: str, given: SupportsIndex) -> int:
    if not isinstance(given, bool | np.bool_):
        try:
            return operator.index(given)
        except TypeError:
            pass
    raise UsageError(f"{name} must be a whole number, got {given!r}. Write it as an int, for example 10_000.")


def check_dimension(dimension: SupportsIndex) -> int:
    """Return the dimension as an int; it is at least one."""
    number = _whole_number("dimension", dimension)
    if number < 1:
        raise UsageError(f"dimension must be at least 1, got {number}. Give the number of knobs to be tuned.")
    return number


def check_budget(budget: SupportsIndex, *, smallest: int, what_for: str) -> int:
    """Return the budget T as an int; an error names the smallest one that works.

    >>> check_budget(5, smallest=6, what_for="Algorithm 1 in dimension 2")
    Traceback (most recent call last):
    ...
    paraboloid.core.errors.UsageError: budget 5 is too small for Algorithm 1 in dimension 2: ...
    """
    number = _whole_number("budget", budget)
    if number < smallest:
        raise UsageError(
            f"budget {number} is too small for {what_for}: the smallest that works is {smallest}. "
            f"Give budget={smallest} or more."
        )
    return number


def check_positive(name: str, given: float) -> float:
    """Return ``given`` as a finite float above zero."""
    try:
        number = float(given)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} must be a number above 0, got {given!r}.") from error
    if not (np.isfinite(number) and number > 0):
        raise UsageError(f"{name} must be a finite number above 0, got {given!r}.")
    return number


def check_symmetric(name: str, given: npt.ArrayLike) -> Matrix:
    """Return a read-only, exactly symmetric copy of a square matrix of at least one row."""
    matrix = frozen_array(name, given, 2)
    rows, columns = matrix.shape
    if rows != columns or rows == 0:
        raise UsageError(
            f"{name} must be a square matrix with at least one row, got shape {matrix.shape}. "
            f"A diagonal one is written numpy.diag([...])."
        )
    gap = np.abs(matrix - matrix.T)
    if gap.max() > ROUNDING * np.abs(matrix).max():
        i, j = np.unravel_index(gap.argmax(), gap.shape)
        raise UsageError(
            f"{name} must be symmetric, but entry [{i}, {j}] is {matrix[i, j]:.6g} and entry [{j}, {i}] is "
            f"{matrix[j, i]:.6g}. Give (A + A.T) / 2 if the symmetric part is what is meant."
        )
    symmetric: Matrix = (matrix + matrix.T) / 2
    symmetric.flags.writeable = False
    return symmetric


def check_hessian(given: npt.ArrayLike, name: str = "hessian") -> Matrix:
    """Return a read-only copy of a symmetric positive semidefinite matrix.

    >>> check_hessian([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
    ...
    paraboloid.core.errors.UsageError: hessian must be positive semidefinite, but its smallest eigenvalue is -1 ...
    """
    matrix = check_symmetric(name, given)
    eigenvalues = np.linalg.eigvalsh(matrix)
    if eigenvalues[0] < -ROUNDING * np.abs(eigenvalues).max():
        raise UsageError(
            f"{name} must be positive semidefinite, but its smallest eigenvalue is {eigenvalues[0]:.6g} "
            f"(the largest is {eigenvalues[-1]:.6g}): a saddle or a maximum has no minimiser to look for."
        )
    return matrix


def check_point_in_ball(name: str, given: npt.ArrayLike, dimension: int) -> Vector:
    """Return a read-only copy of a point of the unit ball with ``dimension`` entries."""
    point = frozen_array(name, given, 1)
    if point.size != dimension:
        raise UsageError(f"{name} has {point.size} entries, but the dimension is {dimension}.")
    norm = float(np.linalg.norm(point))
    if norm > 1 + BALL_TOLERANCE:
        raise UsageError(
            f"{name} must lie in the unit ball, but its norm is {norm:.6g}. Scale the problem so that it does."
        )
    return point


def eigenvalues_above_rounding(eigenvalues: Vector) -> npt.NDArray[np.bool_]:
    """Tell which eigenvalues of a positive semidefinite matrix are not zero up to rounding.

    The threshold is that of ``numpy.linalg.matrix_rank`` for a symmetric matrix. With it the rank of a
    matrix that was built as Q diag(λ) Qᵀ is the number of its λ that are not zero.
    """
    largest = np.abs(eigenvalues).max(initial=0.0)
    positive: npt.NDArray[np.bool_] = eigenvalues > largest * eigenvalues.size * np.finfo(np.float64).eps
    return positive
