"""Theorem 2: the minimax regret at a finite budget, in both regimes.

The paper prints the condition on T as a ratio and calls λ_j the j-th smallest eigenvalue. Its proof (Appendix C)
uses the **product** of the two sums, and λ_j the j-th **largest**; dimensions and the statement itself demand both.
We follow the proof:

    T ≥ (Σ_{k≤k*} λ_k^-½)(Σ_{k≤k*} λ_k^-3/2)

==================  =======================  =====================================================
paper               code                     meaning
==================  =======================  =====================================================
λ_j                 ``eigenvalues[j - 1]``   j-th largest eigenvalue of A
k*                  ``effective_rank``       how many directions T samples can resolve
dim A               ``eigenvalues.size``     rank of A
==================  =======================  =====================================================
"""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import Vector, check_budget
from paraboloid.theory.spectrum import positive_eigenvalues

__all__ = ["effective_rank", "finite_budget_rate", "regime_thresholds"]


def regime_thresholds(hessian: npt.ArrayLike) -> Vector:
    """Return for k = 1..dim A the smallest T that resolves k directions: (Σ_{j≤k} λ_j^-½)(Σ_{j≤k} λ_j^-3/2).

    >>> import numpy as np
    >>> regime_thresholds(np.diag([1.0, 0.25]))  # 1·1 and (1 + 2)(1 + 8)
    array([ 1., 27.])
    """
    eigenvalues = positive_eigenvalues(hessian)
    return np.cumsum(eigenvalues**-0.5) * np.cumsum(eigenvalues**-1.5)


def effective_rank(hessian: npt.ArrayLike, budget: SupportsIndex) -> int:
    """Return k*, the largest k in {0, ..., dim A} whose threshold T reaches (Theorem 2, with the errata above).

    >>> import numpy as np
    >>> [effective_rank(np.diag([1.0, 0.25]), T) for T in (8, 26, 27)]
    [1, 1, 2]
    """
    T = check_budget(budget, smallest=1, what_for="Theorem 2")
    return int(np.sum(regime_thresholds(hessian) <= T))


def finite_budget_rate(hessian: npt.ArrayLike, budget: SupportsIndex) -> float:
    """Return (Σ_{k≤k*} λ_k^-½)²/T + λ_{k*+1}, the minimax regret up to a constant factor (Theorem 2).

    The second term is zero when k* = dim A. The theorem needs T > 3 dim A.

    >>> import numpy as np
    >>> finite_budget_rate(np.diag([1.0, 0.25]), 10)  # k* = 1: 1/10 + 0.25
    0.35
    >>> finite_budget_rate(np.diag([1.0, 0.25]), 90)  # k* = 2: 9/90
    0.1
    """
    eigenvalues = positive_eigenvalues(hessian)
    T = check_budget(
        budget,
        smallest=3 * eigenvalues.size + 1,
        what_for=f"Theorem 2 with a Hessian of rank {eigenvalues.size}",
    )
    k = effective_rank(hessian, T)
    left_out = float(eigenvalues[k]) if k < eigenvalues.size else 0.0
    return float(np.sum(eigenvalues[:k] ** -0.5)) ** 2 / T + left_out
