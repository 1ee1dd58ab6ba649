"""How good the fitted minimiser is: expected regret, an upper bound, intervals, and where no bound can be given.

The data alone, without the prior of the fit, give coefficients θ̂ with covariance Σ. We draw possible truths θ around
θ̂ (a multivariate t, for the noise variance is estimated too) and ask of each how much worse than its own minimum the
recommended point is. The bound is the quantile of that; it carries the uncertainty of the curvature along with that of
the slope. A possible truth without a minimum counts as an infinite loss: where the curvature may well be zero or
negative there is no bound. The prior helps to find a good point where data are few; it must not vouch for it.

Noise may differ from point to point: Σ is corrected by the residuals and repeats of each point (a sandwich estimate).
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import linalg

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.design.criterion import free_inverse
from paraboloid.numerics import QuadraticFit, features, fit_least_squares, gradient_map, upper_triangle

__all__ = ["Quality", "assess", "robust_covariance", "without_bound"]

DRAWS = 4000
FLAT = 3.0  # standard errors that an eigenvalue must be above zero to count as curved
FEW = 10  # measurements per coefficient, up to which the noise at single points is not believed to be smaller
SEED = 20231210  # the draws are fixed, so that a certificate is a function of the evidence alone


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """What `assess` finds, in unit coordinates and in the value's unit."""

    regret: float
    regret_bound: float
    z_interval: Matrix
    z_covariance: Matrix
    value_se: float
    eigenvalues: Vector
    eigenvalue_se: Vector
    directions: Matrix

    @property
    def is_flat(self) -> npt.NDArray[np.bool_]:
        """Which eigenvalues are not surely above zero."""
        flat: npt.NDArray[np.bool_] = self.eigenvalues < FLAT * self.eigenvalue_se
        return flat


def without_bound(saddle: QuadraticFit, quality: Quality) -> Quality:
    """Return the quality of an answer on a surface that bends down: its curvature, and no bound.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> float(without_bound(fit, assess(fit, evidence, Shape.BOX, 0.95)).regret_bound)
    inf
    """
    eigenvalues, Q = np.linalg.eigh(saddle.hessian)
    d = saddle.minimiser.size
    edges = np.column_stack([np.full(d, -1.0), np.full(d, 1.0)])
    return replace(quality, regret=np.inf, regret_bound=np.inf, z_interval=edges, eigenvalues=eigenvalues, directions=Q)


def robust_covariance(fit: QuadraticFit, evidence: Evidence) -> Matrix:
    """Return the covariance of θ̂ when the noise variance may differ from point to point, shape (p, p).

    Each point's variance is v_i = (scatter + n r² + hσ²)/n, r its residual and h its leverage: its expectation is σ²
    where the noise is the same everywhere, whatever the leverage.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> robust_covariance(fit, evidence).shape
    (3, 3)
    """
    rows = (evidence.counts > 0) & (evidence.precision == 0)
    n = evidence.counts[rows]
    phi = features(evidence.points[rows])
    residual = evidence.means[rows] - phi @ fit.theta
    leverage = np.clip(n * np.sum((phi @ fit.covariance) * phi, axis=1) / fit.sigma2, 0.0, 1.0)
    variance = (evidence.scatter[rows] + n * residual**2 + leverage * fit.sigma2) / n
    relative = fit.covariance / fit.sigma2  # of a noise of 1, so that no square of a tiny variance is needed
    excess = (phi.T * (n * (variance - fit.sigma2))) @ phi
    corrected = fit.covariance + relative @ excess @ relative
    # With few measurements per coefficient never below the plain covariance: chance makes some residuals too small.
    floor = min(1.0, FEW * len(fit.theta) / max(int(n.sum()), 1))
    eigenvalues, Q = linalg.eigh(corrected, fit.covariance)
    root = fit.covariance @ Q
    return np.asarray((root * np.maximum(eigenvalues, floor)) @ root.T)


def assess(fit: QuadraticFit, evidence: Evidence, shape: Shape, confidence: float) -> Quality:
    """Return the quality of the fitted minimiser at this confidence.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> quality = assess(fit, evidence, Shape.BOX, 0.95)
    >>> bool(3 * (fit.minimiser[0] - 0.5) ** 2 < quality.regret_bound)
    True
    """
    z, d = fit.minimiser, fit.minimiser.size
    covariance = robust_covariance(fit, evidence)
    G = gradient_map(z)
    K = free_inverse(fit, shape)
    gradient_covariance = G @ covariance @ G.T
    alone = fit_least_squares(evidence, z)
    judged = fit if alone is None else alone
    spread = covariance if alone is None else robust_covariance(alone, evidence)
    losses, minimisers = _possible_truths(judged, spread, shape)
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    interval = np.quantile(np.clip(minimisers, -1.0, 1.0), tails, axis=0, method="inverted_cdf").T
    interval = np.column_stack([np.minimum(interval[:, 0], z), np.maximum(interval[:, 1], z)])
    _, Q = np.linalg.eigh(fit.hessian)
    along = features(Q.T)[:, d + 1 :] * 2  # qᵀHq as a linear function of vech H
    eigenvalue_variance = np.sum((along @ spread[d + 1 :, d + 1 :]) * along, axis=1)
    eigenvalues, eigenvalue_se = along @ judged.theta[d + 1 :], np.sqrt(np.maximum(eigenvalue_variance, 0.0))
    # The minimiser is a ratio: where its denominator is not well away from zero, chance decides its law.
    has_bound = alone is not None and not np.any(eigenvalues < FLAT * eigenvalue_se)
    phi = features(z[None, :])[0]
    return Quality(
        regret=float(np.sum(K * gradient_covariance)) / 2,
        regret_bound=float(np.quantile(losses, confidence, method="higher")) if has_bound else np.inf,
        z_interval=interval,
        z_covariance=K @ gradient_covariance @ K,
        value_se=float(np.sqrt(max(phi @ covariance @ phi, 0.0))),
        eigenvalues=eigenvalues,
        eigenvalue_se=eigenvalue_se,
        directions=Q,
    )


def _possible_truths(fit: QuadraticFit, covariance: Matrix, shape: Shape) -> tuple[Vector, Matrix]:
    """Return for each drawn truth the loss of the recommended point and where that truth has its minimum."""
    z, d = fit.minimiser, fit.minimiser.size
    rng = np.random.default_rng(SEED)
    p = fit.theta.size
    freedom = max(fit.freedom, 1.0)
    normal = rng.standard_normal((DRAWS, p - 1)) * np.sqrt(freedom / rng.chisquare(freedom, (DRAWS, 1)))
    # The constant does not matter: draw the rest of θ only.
    scale = np.sqrt(np.diag(covariance)[1:])
    root = linalg.cholesky(covariance[1:, 1:] / np.outer(scale, scale) + 1e-12 * np.eye(p - 1), lower=True)
    drawn = fit.theta[1:] + normal @ root.T * scale
    i, j = upper_triangle(d)
    H = np.zeros((DRAWS, d, d))
    H[:, i, j] = drawn[:, d:]
    H[:, j, i] = drawn[:, d:]
    gradient = drawn[:, :d] + H @ z
    H, gradient = _held_by_the_edge(H, gradient, z, shape)
    has_minimum = _is_positive(H)
    safe = np.where(has_minimum[:, None, None], H, np.eye(d))
    step = np.linalg.solve(safe, gradient[:, :, None])[:, :, 0]
    losses = np.where(has_minimum, np.sum(step * gradient, axis=1) / 2, np.inf)
    away = np.where(has_minimum[:, None], step, np.inf * np.where(np.arange(DRAWS) % 2, 1.0, -1.0)[:, None])
    return losses, z - away


def _is_positive(H: Matrix) -> npt.NDArray[np.bool_]:
    """Tell which of the matrices (n, d, d) are positive definite; those close to their mean need no eigenvalues."""
    try:
        whitener = np.linalg.inv(np.linalg.cholesky(H.mean(axis=0)))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.eigvalsh(H)[:, 0] > 0)
    apart = whitener @ H @ whitener.T - np.eye(H.shape[1])
    positive: npt.NDArray[np.bool_] = np.sum(apart**2, axis=(1, 2)) < 1
    positive[~positive] = np.linalg.eigvalsh(H[~positive])[:, 0] > 0
    return positive


def _held_by_the_edge(H: Matrix, gradient: Matrix, z: Vector, shape: Shape) -> tuple[Matrix, Matrix]:
    """Return Hessians and gradients without the directions in which the edge holds the minimiser of that truth."""
    d = z.size
    if shape is Shape.BOX:
        held = (np.abs(z) >= 1 - 1e-9) & (gradient * np.sign(z) < 0)
        gradient = np.where(held, 0.0, gradient)
        free = ~held
        return H * (free[:, :, None] & free[:, None, :]) + held[:, :, None] * np.eye(d), gradient
    norm = float(np.linalg.norm(z))
    if norm < 1 - 1e-9:
        return H, gradient
    u = z / norm
    multiplier = np.maximum(-gradient @ u, 0.0)
    held = multiplier > 0
    across = np.where(held[:, None, None], np.eye(d) - np.outer(u, u), np.eye(d))
    bent = across @ (H + multiplier[:, None, None] * np.eye(d)) @ across
    bent = bent + held[:, None, None] * np.outer(u, u)
    return bent, np.einsum("nij,nj->ni", across, gradient)
