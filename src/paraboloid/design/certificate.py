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
from paraboloid.design.likely_instance import recommended
from paraboloid.design.possible_truths import quadratic_truths, with_other_truths
from paraboloid.numerics import (
    LackOfFit,
    Model,
    QuadraticFit,
    features,
    fit_least_squares,
    gradient_map,
    looked_at_closely,
)

__all__ = ["Quality", "assess", "assess_closely", "robust_covariance", "without_bound"]

FLAT = 3.0  # standard errors that an eigenvalue must be above zero to count as curved
WIDE = 2.0  # times a bound that knows the response to be a quadratic: then it is worth the time to look at more places
QUICKLY = 5  # knobs, up to which it takes hardly any
FEW = 10  # measurements per coefficient, up to which the noise at single points is not believed to be smaller


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """What `assess` finds, in unit coordinates and in the value's unit."""

    regret: float
    regret_bound: float
    regret_bound_if_quadratic: float
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
    >>> unknown = without_bound(fit, assess(fit, evidence, Shape.BOX, 0.95))
    >>> float(unknown.regret_bound), float(unknown.regret_bound_if_quadratic)
    (inf, inf)
    """
    eigenvalues, Q = np.linalg.eigh(saddle.hessian)
    d = saddle.minimiser.size
    edges = np.column_stack([np.full(d, -1.0), np.full(d, 1.0)])
    unknown = replace(quality, regret=np.inf, regret_bound=np.inf, regret_bound_if_quadratic=np.inf)
    return replace(unknown, z_interval=edges, eigenvalues=eigenvalues, directions=Q)


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


def assess(
    fit: QuadraticFit, evidence: Evidence, shape: Shape, confidence: float, lack: LackOfFit | None = None
) -> Quality:
    """Return the quality of the fitted minimiser at this confidence.

    With ``lack`` the bound and the intervals also count what a response that is not quadratic may add, as likely as it
    still is; without, the response is a quadratic. ``regret_bound_if_quadratic`` counts quadratics alone, and is given
    where ``regret_bound`` is: where the values speak against a quadratic, a bound that assumes one would mislead.

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
    truths = quadratics = quadratic_truths(judged, spread, shape)
    if alone is not None and lack is not None and lack.contrasts is not None and lack.contrasts.is_full:
        truths = with_other_truths(quadratics, alone, spread, shape, lack.contrasts)
    interval = truths.interval(confidence)
    interval = np.column_stack([np.minimum(interval[:, 0], z), np.maximum(interval[:, 1], z)])
    _, Q = np.linalg.eigh(fit.hessian)
    along = features(Q.T)[:, d + 1 :] * 2  # qᵀHq as a linear function of vech H
    eigenvalue_variance = np.sum((along @ spread[d + 1 :, d + 1 :]) * along, axis=1)
    eigenvalues, eigenvalue_se = along @ judged.theta[d + 1 :], np.sqrt(np.maximum(eigenvalue_variance, 0.0))
    # The minimiser is a ratio: where its denominator is not well away from zero, chance decides its law.
    has_bound = alone is not None and not np.any(eigenvalues < FLAT * eigenvalue_se)
    has_bound = has_bound and (lack is None or not (lack.is_open or lack.is_contradicted))
    bounds = [found.bound(confidence) if has_bound else np.inf for found in (truths, quadratics)]
    phi = features(z[None, :])[0]
    return Quality(
        regret=float(np.sum(K * gradient_covariance)) / 2,
        regret_bound=bounds[0],
        regret_bound_if_quadratic=min(bounds),  # other truths may lose less: where quadratics barely have a minimum
        z_interval=interval,
        z_covariance=K @ gradient_covariance @ K,
        value_se=float(np.sqrt(max(phi @ covariance @ phi, 0.0))),
        eigenvalues=eigenvalues,
        eigenvalue_se=eigenvalue_se,
        directions=Q,
    )


def assess_closely(model: Model, evidence: Evidence, confidence: float) -> tuple[Quality, LackOfFit | None]:
    """Return the quality of the recommended point, and what speaks against a quadratic once all places are looked at.

    Of many knobs they are only where those of the verdict leave so much open that the bound is wide: it takes as long
    as all else.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import modelled
    >>> z = np.linspace(-1, 1, 30)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((30, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> quality, lack = assess_closely(modelled(evidence, Shape.BOX, True), evidence, 0.95)
    >>> bool(quality.regret_bound < 0.1), lack.is_open
    (True, False)
    """
    known, lack = model.evidence, model.lack
    answer = recommended(model.fit, known, model.shape)
    if lack is not None and evidence.dimension > QUICKLY and not lack.is_open:
        quality = assess(answer, known, model.shape, confidence, lack)
        is_told = lack.contrasts is not None and lack.contrasts.is_full
        if is_told and quality.regret_bound <= WIDE * quality.regret_bound_if_quadratic:
            return quality, lack
    lack = looked_at_closely(evidence, model)
    return assess(answer, known, model.shape, confidence, lack), lack
