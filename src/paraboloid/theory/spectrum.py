"""Eigenvalues of the Hessian, as the theorems take them: the positive ones, largest first."""

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError, Vector, check_hessian, eigenvalues_above_rounding

__all__ = ["inverse_root_trace", "positive_eigenvalues"]


def positive_eigenvalues(hessian: npt.ArrayLike) -> Vector:
    """Return λ₁ ≥ λ₂ ≥ ... ≥ λ_dim A > 0, the eigenvalues of A that are not zero up to rounding.

    >>> import numpy as np
    >>> positive_eigenvalues(np.diag([1.0, 0.0, 4.0]))
    array([4., 1.])
    """
    eigenvalues: Vector = np.linalg.eigvalsh(check_hessian(hessian)).astype(np.float64)
    return eigenvalues[eigenvalues_above_rounding(eigenvalues)][::-1].copy()


def inverse_root_trace(hessian: npt.ArrayLike) -> float:
    """Return Tr A^-½, with A^-½ the pseudo-inverse of A^½ (Theorem 1).

    >>> import numpy as np
    >>> inverse_root_trace(np.diag([4.0, 0.25, 0.0]))  # 1/2 + 2
    2.5
    """
    return float(np.sum(positive_eigenvalues(hessian) ** -0.5))


def full_rank_eigenvalues(hessian: npt.ArrayLike, needed_by: str) -> Vector:
    """Return all eigenvalues, largest first, of a Hessian that must be positive definite."""
    eigenvalues = positive_eigenvalues(hessian)
    if eigenvalues.size == 0:
        raise UsageError(f"{needed_by} needs a Hessian with at least one positive eigenvalue, got the zero matrix.")
    return eigenvalues
