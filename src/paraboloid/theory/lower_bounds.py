"""Lower bounds on the minimax regret: hard instances (Section 3.1) and the Bayes bound (Section 3.3).

All hold for i.i.d. standard Gaussian noise. A singular A is reduced to its row space, as in the paper.

==================  ======================  =======================================================
paper               code                    meaning
==================  ======================  =======================================================
X_H                 ``hard_instance``       minimisers that are hardest to tell apart
R_k                 ``energy``              energy spent along the k-th eigenvector
T^-2/3 I            ``variance``            covariance of the Gaussian prior of x₀
==================  ======================  =======================================================
"""

from typing import SupportsIndex

import numpy as np
import numpy.typing as npt
from scipy import special

from paraboloid.core import UsageError, Vector, check_budget, check_hessian, check_positive, frozen_array
from paraboloid.theory.finite_budget import regime_thresholds
from paraboloid.theory.spectrum import full_rank_eigenvalues, positive_eigenvalues

__all__ = [
    "bayes_lower_bound",
    "energy_lower_bound",
    "hard_instance",
    "uncertainty_lower_bound",
    "weak_lower_bound",
]


def hard_instance(hessian: npt.ArrayLike, budget: SupportsIndex, *, signs: npt.ArrayLike | None = None) -> Vector:
    """Return a minimiser of the set X_H: x_k = ±√(λ_k^-3/2 Σ_j λ_j^-½ / 2T) along the k-th eigenvector.

    Parameters
    ----------
    signs
        One of ±1 for each positive eigenvalue, largest first; all +1 if not given.

    Raises
    ------
    UsageError
        If T is so small that the instance would lie outside the unit ball.

    Examples
    --------
    >>> import numpy as np
    >>> hard_instance(np.diag([1.0, 0.25]), 150) ** 2  # 1·3/300 and 8·3/300
    array([0.01, 0.08])
    """
    matrix = check_hessian(hessian)
    eigenvalues = full_rank_eigenvalues(matrix, "a hard instance")
    # |x₀|² ≤ 1 is T ≥ (Σ λ^-½)(Σ λ^-3/2)/2: half of Theorem 2's threshold.
    smallest = int(np.ceil(regime_thresholds(matrix)[-1] / 2))
    T = check_budget(budget, smallest=smallest, what_for="a hard instance inside the unit ball")
    chosen = np.ones(eigenvalues.size) if signs is None else frozen_array("signs", signs, 1)
    if chosen.shape != eigenvalues.shape or not np.all(np.abs(chosen) == 1):
        raise UsageError(f"signs must be {eigenvalues.size} numbers that are +1 or -1, got {signs!r}.")
    along = chosen * np.sqrt(eigenvalues**-1.5 * np.sum(eigenvalues**-0.5) / (2 * T))
    vectors = np.linalg.eigh(matrix).eigenvectors[:, ::-1][:, : eigenvalues.size]
    return vectors @ along


def energy_lower_bound(eigenvalues: npt.ArrayLike, offsets: npt.ArrayLike, energy: npt.ArrayLike) -> float:
    """Return ½ Σ_k (1 - λ_k² x_k² R_k) λ_k x_k²: what a method that spends energy R must lose (Section 3.1).

    ``offsets`` are the |x_k| of minimisers that lie at ±x_k along each eigenvector with equal chance.

    >>> energy_lower_bound([1.0, 4.0], [0.5, 0.5], [2.0, 0.0])  # ½ (0.5·0.25 + 1·1)
    0.5625
    """
    lam = frozen_array("eigenvalues", eigenvalues, 1)
    x = frozen_array("offsets", offsets, 1)
    R = frozen_array("energy", energy, 1)
    if not lam.shape == x.shape == R.shape:
        raise UsageError(
            f"eigenvalues, offsets and energy must have equal lengths, got {lam.size}, {x.size} and {R.size}."
        )
    return float(np.sum((1 - lam**2 * x**2 * R) * lam * x**2) / 2)


def weak_lower_bound(hessian: npt.ArrayLike, budget: SupportsIndex) -> float:
    """Return (Tr A^-½)²/(8T), a lower bound once the hard instances fit into the unit ball (Section 3.1).

    >>> import numpy as np
    >>> weak_lower_bound(np.diag([1.0, 0.25]), 100)
    0.01125
    """
    eigenvalues = full_rank_eigenvalues(hessian, "the weak lower bound")
    smallest = int(np.ceil(regime_thresholds(hessian)[-1] / 2))
    T = check_budget(budget, smallest=smallest, what_for="the weak lower bound")
    return float(np.sum(eigenvalues**-0.5)) ** 2 / (8 * T)


def bayes_lower_bound(hessian: npt.ArrayLike, budget: SupportsIndex) -> float:
    """Return the explicit lower bound of Section 3.3 on the minimax regret at this very T (zero where it is vacuous).

    With the prior x₀ ~ N(0, T^-2/3 I) the Bayes error is at least

        B = ½(Tr A^-½)² / (T (1 + d^½ T^-1/3)² + T^2/3 Tr A^-2),

    and the minimax regret at least (B - E[1(x₀ ∉ ball) sup f]) / P[x₀ ∈ ball], where sup f ≤ ½λ₁(1 + |x₀|)².
    Times T it tends to the limit of Theorem 1.

    >>> import numpy as np
    >>> round(bayes_lower_bound(np.eye(2), 10**9) * 10**9, 3)  # the limit is 2
    1.99
    """
    eigenvalues = positive_eigenvalues(hessian)
    T = check_budget(budget, smallest=1, what_for="the Bayes bound")
    if eigenvalues.size == 0:
        return 0.0
    d = eigenvalues.size
    traces = np.sum(eigenvalues**-0.5), np.sum(eigenvalues**-2.0)
    spread = (1 + d**0.5 * T ** (-1 / 3)) ** 2
    bayes_error = traces[0] ** 2 / 2 / (T * spread + T ** (2 / 3) * traces[1])
    variance = T ** (-2 / 3)
    # sup over the ball of f is at most ½λ₁(1 + r)², r = |x₀|; (1 + r)² = 1 + 2r + r².
    moments = [_outer_moment(power, d, variance) for power in (0, 1, 2)]
    lost_outside = eigenvalues[0] / 2 * (moments[0] + 2 * moments[1] + moments[2])
    if bayes_error <= lost_outside:  # vacuous; P[x₀ ∈ ball] may then be zero to rounding
        return 0.0
    return float((bayes_error - lost_outside) / (1 - moments[0]))


def _outer_moment(power: int, d: int, variance: float) -> float:
    """Return E[r^power 1(r > 1)] for r = |x₀|, x₀ ~ N(0, variance I_d), by the incomplete gamma function."""
    log_scale = special.gammaln((d + power) / 2) - special.gammaln(d / 2) + power / 2 * np.log(2 * variance)
    return float(np.exp(log_scale) * special.gammaincc((d + power) / 2, 1 / (2 * variance)))


def uncertainty_lower_bound(expected_curvature: float) -> float:
    """Return 1/E[-∂² ln f_Z(θ)]: no estimate of θ from Z has a smaller mean squared error (uncertainty principle).

    >>> uncertainty_lower_bound(4.0)  # attained by a Gaussian posterior of variance ¼
    0.25
    """
    return 1 / check_positive("expected_curvature", expected_curvature)
