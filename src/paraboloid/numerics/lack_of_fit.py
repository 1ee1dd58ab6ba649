"""Whether the values are those of a quadratic over the whole range: a Bayes factor.

Only contrasts that vanish for every quadratic are looked at, so that neither its curvature nor its condition enters.
Under the quadratic they are pure noise of an unknown size; otherwise a smooth discrepancy is added to them,

    Cov δ(x), δ(y) = s σ² a(x) a(y) exp(-|x - y|²/2l²),   a(x) = (1 + |x - x₀|²/l²)^g,

which is how the remainder of a Taylor series looks. σ² is integrated out (the answer does not depend on the unit of the
values); l, g and s are averaged over a fixed set. With x₀ and the weights given, and normal noise, the mean of this
Bayes factor under the quadratic is one, so that it is above K with a chance of at most 1/K. Here both come from the
data, and the set is scaled to the points of each round: then that is a guide, and no theorem. The tests measure the
rate over rounds. A false alarm is revoked by later data.

Noise is not always normal. The scatter of repeats at a point counts as noise of that point, drawn towards that of all;
and single means farther than three standard errors from the fit are given the weight at which they are not. Smooth
discrepancies are seen by many points that agree, so that this costs little; lone values that lie far away are not taken
for a shape.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
u                   ``u``                   contrasts of the weighted means, (N - p,)
l, g, s             ``length``, ...         range, growth and size of the discrepancy
==================  ======================  =========================================================
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import logsumexp

from paraboloid.core import Evidence, Matrix, Vector
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features
from paraboloid.numerics.smooth import squared_distances

__all__ = ["SURE", "LackOfFit", "lack_of_fit"]

SURE = float(np.log(150.0))
"""Log Bayes factor from which on the response counts as not quadratic. With normal noise a false alarm is far rarer
than in one run of 150; where the noise differs sevenfold over the range, this keeps it near one in fifty."""

LENGTHS = (0.3, 0.6, 1.2)  # times √d
GROWTHS = (0.0, 0.7)
SIZES = (0.3, 5.0, 100.0, 3000.0)  # of the discrepancy's variance, in units of the noise's
LEAST = 3  # contrasts, below which nothing is said
MOST = 300  # points that are looked at, those with most measurements
LOCAL = 6.0  # measurements that say that the noise at a point is that of all points
ROUNDING = 1e-9  # of the values' spread
SURROUNDINGS = 1.5  # largest unit coordinate of a point that is looked at
RANK = 120  # of the discrepancy: enough for what is smooth, and the time does not grow with the cube of the points
NEGLIGIBLE = 1e-4  # of the discrepancy's variance at a point
FAR = 3.0  # standard errors beyond which a single residual is discounted


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """What the contrasts say.

    Parameters
    ----------
    log_bayes_factor
        Of a smooth discrepancy against none; above `SURE` the response is surely not quadratic over the whole range.
    n_contrasts
        Numbers that it rests on; with fewer than three nothing is said.

    Examples
    --------
    >>> LackOfFit(log_bayes_factor=6.0, n_contrasts=30).is_sure, LackOfFit(2.0, 30).is_sure
    (True, False)
    """

    log_bayes_factor: float
    n_contrasts: int

    @property
    def is_sure(self) -> bool:
        """Whether the response is surely not quadratic."""
        return self.log_bayes_factor > SURE


def lack_of_fit(evidence: Evidence, fit: QuadraticFit) -> LackOfFit:
    """Return what the evidence says against a quadratic.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements, Shape
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 41)[:, None]
    >>> y = np.exp(3 * z) + 0.1 * np.random.default_rng(0).standard_normal((41, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> lack_of_fit(evidence, fit_quadratic(evidence, Shape.BOX)).is_sure
    True
    """
    rows = _looked_at(evidence)
    counts = evidence.counts[rows].astype(np.float64)
    points = evidence.points[rows]
    phi = features(points)
    n_contrasts = len(points) - phi.shape[1]
    if n_contrasts < LEAST:
        return LackOfFit(0.0, max(n_contrasts, 0))
    weights = np.where(evidence.precision[rows] > 0, evidence.precision[rows], counts / fit.sigma2)
    inside = evidence.scatter[rows] * weights / counts
    factor = (LOCAL + counts - 1) / (LOCAL + inside)
    weights, inside = weights * np.minimum(factor, 1.0), inside * np.minimum(factor, 1.0)
    weights = _without_outliers(phi, evidence.means[rows], weights)
    freedom = float(counts.sum() - len(points))
    return LackOfFit(
        _log_bayes_factor(points, phi, evidence.means[rows], weights, float(inside.sum()), freedom, fit), n_contrasts
    )


def _without_outliers(phi: Matrix, means: Vector, weights: Vector) -> Vector:
    """Return the weights with those of single points far from the fit lowered until they are not far any more."""
    lowered = weights
    for _ in range(3):
        root = np.sqrt(lowered)
        Q = linalg.qr(phi * root[:, None], mode="economic", check_finite=False)[0]
        y = root * (means - means.mean())
        left = np.maximum(1 - np.sum(Q**2, axis=1), 1e-9)
        residual = np.abs(y - Q @ (Q.T @ y)) / np.sqrt(left)
        scale = float(np.median(residual)) / 0.6745
        lowered = lowered / np.maximum(residual / (FAR * scale), 1.0) ** 2 if scale > 0 else lowered
    return lowered


def _looked_at(evidence: Evidence) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the rows of the range and its surroundings: a line that bends far outside is no concern here."""
    measured = np.flatnonzero((evidence.counts > 0) & (np.abs(evidence.points).max(axis=1) <= SURROUNDINGS))
    if len(measured) <= MOST:
        return measured
    return np.sort(measured[np.argsort(-evidence.counts[measured], kind="stable")[:MOST]])


def _log_bayes_factor(
    points: Matrix, phi: Matrix, means: Vector, weights: Vector, scatter: float, freedom: float, fit: QuadraticFit
) -> float:
    root = np.sqrt(weights)
    Q = linalg.qr(phi * root[:, None], mode="economic", check_finite=False)[0]
    y = root * (means - means.mean())
    left = y - Q @ (Q.T @ y)
    left -= Q @ (Q.T @ left)  # twice is enough: what is left is small where a quadratic fits well
    total = len(points) - phi.shape[1] + freedom
    if float(left @ left) + scatter <= ROUNDING**2 * float(y @ y):
        return 0.0  # a quadratic fits all but exactly: what is left is rounding
    square = squared_distances(points, points)
    away = np.sum((points - fit.minimiser) ** 2, axis=1)
    found: list[float] = []
    for length in LENGTHS:
        l2 = length**2 * points.shape[1]
        C = _low_rank(np.exp(-square / (2 * l2)))
        for growth in GROWTHS:
            a = (1 + away / l2) ** growth
            U = (a / np.median(a) * root / np.sqrt(np.median(weights)))[:, None] * C
            U -= Q @ (Q.T @ U)
            found += _log_ratios(U.T @ U, left @ U, float(left @ left), scatter, total)
    return float(logsumexp(found) - np.log(len(found))) if np.max(found) > -np.inf else 0.0


def _low_rank(R: Matrix) -> Matrix:
    """Return C with C Cᵀ = R, or the first `RANK` columns of it by pivots: R in what they span, a prior as good."""
    factor, pivots, rank, _ = linalg.lapack.dpstrf(R, tol=NEGLIGIBLE, lower=1)
    columns = np.tril(factor[:, : min(rank, RANK)])
    C: Matrix = np.empty(columns.shape)
    C[pivots - 1] = columns
    return C


def _log_ratios(gram: Matrix, Uu: Vector, uu: float, scatter: float, total: float) -> list[float]:
    """Return the log likelihoods of contrasts of covariance σ²(I + s U Uᵀ) against σ²I, σ² integrated out of both.

    ``gram`` is UᵀU, ``Uu`` is Uᵀu, ``uu`` is uᵀu: by Woodbury's identity nothing larger is needed.
    """
    found = []
    for size in SIZES:
        K = size * gram
        K[np.diag_indices_from(K)] += 1.0
        root, failed = linalg.lapack.dpotrf(K, lower=1, overwrite_a=1)
        if failed:  # weights of too many orders of magnitude for this size: it says nothing
            found.append(-np.inf)
            continue
        explained = linalg.blas.dtrsv(root, Uu, lower=1)
        rest = max(uu - size * float(explained @ explained), ROUNDING**2 * uu) + scatter
        found.append(float(-np.sum(np.log(np.diag(root))) - total / 2 * np.log(rest / (uu + scatter))))
    return found
