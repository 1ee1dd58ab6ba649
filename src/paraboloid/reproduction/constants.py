"""The constant that the universal algorithm settles at, and what it adds before it has settled.

**Noise.** In Algorithm 2 each difference of two measurements has variance 2, so Var α_k = 1/(2λ_k² t_k), and the
second loop, which moves ¼ along ê_k and multiplies by 4/λ_k, has Var β_k = 32/(λ_k² t_k). β estimates 2x₀ - x̂, so the
variances add up to 32½/(λ_k² t_k). With t_k = p_k T₁ and p_k = λ_k^-½/(4 Tr A^-½) the regret is

    ½ Σ λ_k · 32½ · 4 λ_k^-3/2 Tr A^-½ / T₁ = 130 · ½(Tr A^-½)² / T₁.

**Projection.** If |x₀| = 1, the ball is near x₀ a half-space with normal n = x₀. In the metric of A, where the error is
u = A^½(x - x₀), its normal is n' = A^-½x₀/|A^-½x₀|, and u has covariance C ∝ diag(λ_k^-½). With chance ½ the
error points outwards and the projection removes its normal component; that takes away ½ n'ᵀCn' of tr C. The same
holds for Algorithm 1, whose errors have the same shape.

**Hessian.** The two steps leave the bias (I - Â⁻¹A)²x₀ = (A⁻¹Δ)²x₀ to leading order in Δ = Â - A. Its entries have
variance s² on and s²/2 off the diagonal with s² = 18d²/T₀ (a value y₊ + y₋ - 2y has variance 6; there are T₀/3d² per
direction): E ΔXΔ = (s²/2)(Xᵀ + tr X · I), from which the mean of ½x₀ᵀΔA⁻¹ΔA⁻¹ΔA⁻¹Δx₀ follows by summing three
pairings. It is of order 1/T₀² = T^-1.6, so T^-0.6 relative to the limit. Directions whose λ̂_k falls below
T^-0.2 are dropped altogether.

**Spurious directions.** If A is singular, eigenvalues of Â that are but noise are kept while they exceed T^-0.2.
They enter Σ λ̂_j^-½, so every true direction gets fewer samples, and its error grows by Σ λ̂_j^-½ / Tr A^-½.
"""

import math

import numpy as np
import numpy.typing as npt
from scipy import special

from paraboloid.core import Matrix, check_hessian, eigenvalues_above_rounding
from paraboloid.theory import minimax_limit, positive_eigenvalues

__all__ = ["chance_of_dropping", "hessian_error_ratio", "hessian_noise", "settled_constant", "spurious_factor"]

FREE = 4 * 32.5
"""130: the ratio at which the noise settles while no projection is active."""


def settled_constant(hessian: npt.ArrayLike, minimiser: npt.ArrayLike) -> float:
    """Return the limit of regret·T / ½(Tr A^-½)² for the universal algorithm at this minimiser.

    >>> import numpy as np
    >>> settled_constant(np.diag([1.0, 0.25]), [0.3, 0.4])
    130.0
    >>> round(settled_constant(np.diag([1.0, 0.25]), [0.6, 0.8]), 2)  # 130 (1 - ½·(0.36 + 2·2.56)/2.92/3)
    89.34
    """
    lam, Q = np.linalg.eigh(check_hessian(hessian))
    positive = eigenvalues_above_rounding(lam)
    lam, along = lam[positive], Q[:, positive].T @ np.asarray(minimiser, dtype=np.float64)
    if np.linalg.norm(along) < 1 - 1e-9:
        return FREE
    C = lam**-0.5
    normal = lam**-0.5 * along
    share = float(np.sum(C * normal**2) / np.sum(normal**2) / np.sum(C))
    return FREE * (1 - share / 2)


def hessian_noise(dimension: int, T: int) -> float:
    """Return s = √(18d²/T₀), the standard deviation of a diagonal entry of Â, with T₀ = T^0.8.

    >>> round(hessian_noise(2, 10**5), 4)  # √(72/10⁴)
    0.0849
    """
    return math.sqrt(18 * dimension**2 / T**0.8)


def hessian_error_ratio(hessian: npt.ArrayLike, minimiser: npt.ArrayLike, T: int) -> float:
    """Return the bias that the error of Â leaves, over the limit, to leading order and before the projection.

    >>> import numpy as np
    >>> round(hessian_error_ratio(np.eye(1), [1.0], 10**5), 4)  # ½·3s⁴·T/½ with s² = 18/10⁴
    0.972
    """
    A = check_hessian(hessian)
    x = np.asarray(minimiser, dtype=np.float64)
    d = A.shape[0]
    M, identity = np.linalg.inv(A), np.eye(d)
    plain = M + np.trace(M) * identity  # E ΔMΔ in units of s²/2
    nested = M @ plain @ M
    pairings: Matrix = (
        plain @ M @ plain  # (12)(34)
        + nested + np.trace(nested) * identity  # (14)(23)
        + 3 * M @ M @ M + np.trace(M @ M) * M  # (13)(24)
    )  # fmt: skip
    bias = float(x @ pairings @ x) / 2 * (hessian_noise(d, T) ** 2 / 2) ** 2
    return bias * T / minimax_limit(A)


def chance_of_dropping(hessian: npt.ArrayLike, T: int) -> float:
    """Return about how often the smallest eigenvalue of Â falls below T^-0.2, so that its direction is given up.

    >>> import numpy as np
    >>> round(chance_of_dropping(np.diag([1.0, 0.25]), 10**5), 3)
    0.039
    """
    smallest = float(positive_eigenvalues(hessian)[-1])
    return float(special.ndtr((T**-0.2 - smallest) / hessian_noise(np.shape(hessian)[0], T)))


def spurious_factor(hessian: npt.ArrayLike, T: int) -> float:
    """Return the mean of Σ λ̂_j^-½ / Tr A^-½ over draws of Â: how much the directions that are only noise cost.

    >>> import numpy as np
    >>> round(spurious_factor(np.diag([1.0, 0.25]), 10**9), 2)  # nothing spurious to keep
    1.0
    """
    A = check_hessian(hessian)
    rng = np.random.default_rng(0)  # a number, to two digits; not part of the experiment
    noise = rng.standard_normal((2000, *A.shape)) * hessian_noise(A.shape[0], T)
    lam = np.linalg.eigvalsh(A + (noise + noise.transpose(0, 2, 1)) / 2)  # variance s² on, s²/2 off the diagonal
    kept = np.where(lam >= T**-0.2, np.maximum(lam, T**-0.2) ** -0.5, 0.0)
    return float(kept.sum(axis=1).mean() / np.sum(positive_eigenvalues(A) ** -0.5))
