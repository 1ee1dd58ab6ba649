"""Whether the values are those of a quadratic over the whole range: a Bayes factor.

Only contrasts that vanish for every quadratic are looked at, so that neither its curvature nor its condition enters.
Under the quadratic they are pure noise of an unknown size; otherwise a discrepancy is added to them. The likelihood is
averaged over a fixed set of these (`numerics.contrasts`), and the size of the noise is integrated out, so that the
answer does not depend on the unit of the values. With the centre of the discrepancies and the weights given, and normal
noise, the mean of this Bayes factor under the quadratic is one, so that it is above K with a chance of at most 1/K.
Here both come from the data, and the set is scaled to the points of each round: then that is a guide, and no theorem.
The tests measure the rate over rounds. A false alarm is revoked by later data.

Noise is not always normal. The scatter of repeats at a point counts as noise of that point, drawn towards that of all;
and single means farther than three standard errors from the fit are given the weight at which they are not. Smooth
discrepancies are seen by many points that agree, so that this costs little; lone values that lie far away are not taken
for a shape. A mean of repeats that agree is no lone value: if it lies far from the fit it counts, and no bound is given
(`LackOfFit.is_contradicted`).
"""

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from paraboloid.core import Counts, Evidence, Matrix, Shape, Vector
from paraboloid.numerics.contrasts import Contrasts
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.quantiles import median

__all__ = ["FEWEST", "OPEN", "SURE", "LackOfFit", "lack_of_fit"]

SURE = float(np.log(150.0))
"""Log Bayes factor from which on the response counts as not quadratic. With normal noise a false alarm is far rarer
than in one run of 150; where the noise differs sevenfold over the range, this keeps it near one in fifty."""

OPEN = float(np.log(17 / 3))  # log Bayes factor from which on it is so open what the response is that no bound is given
FEWEST = 3  # contrasts: with fewer nothing can speak against a quadratic, and no bound rests on one
MOST, FEW_EACH, MOST_EACH, MOST_MORE = 300, 2, 4, 700  # points that are looked at: see `_enough_points`
LOCAL = 6.0  # measurements that say that the noise at a point is that of all points
ROUNDING = 1e-9  # of the values' spread
SURROUNDINGS = 1.5  # largest unit coordinate of a point that is looked at
FAR = 3.0  # standard errors beyond which a single residual is discounted,
TURNS = 3  # in so many turns
AGREEING = 3  # repeats whose scatter says whether one of them is wild, and what the error of their mean is,
APART = 6.0  # of which errors it may lie from the fit: none of 6000 draws of a quadratic reached 5.2, dips 23 to 89
LOW = 5.0  # deviations below the fit, from which on a value is repeated: a normal one never lies there, a dip's may

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """What the contrasts say.

    Parameters
    ----------
    log_bayes_factor
        Of a smooth discrepancy against none; above `SURE` the response is surely not quadratic over the whole range.
    n_contrasts
        Numbers that it rests on; with fewer than three nothing is said.
    contrasts
        The numbers themselves; None where there are fewer points than coefficients.
    farthest
        Standard errors between the fit and a mean of repeats that agree, the largest.
    unproven
        Places (k, d) of the few values so far below the fit that they are wild, or the bottom of a dip: lowest first.

    Examples
    --------
    >>> LackOfFit(log_bayes_factor=6.0, n_contrasts=30).is_sure, LackOfFit(2.0, 30).is_sure, LackOfFit(2.0, 30).is_open
    (True, False, True)
    >>> LackOfFit(-1.0, 30, farthest=35.0).is_contradicted
    True
    """

    log_bayes_factor: float
    n_contrasts: int
    contrasts: Contrasts | None = field(default=None, compare=False, repr=False)
    farthest: float = field(default=0.0, compare=False, repr=False)
    unproven: Matrix | None = field(default=None, compare=False, repr=False)

    @property
    def is_sure(self) -> bool:
        """Whether the response is surely not quadratic."""
        return self.log_bayes_factor > SURE

    @property
    def is_open(self) -> bool:
        """Whether too much speaks against a quadratic for a bound, or so little is known that nobody can tell."""
        return self.n_contrasts < FEWEST or self.log_bayes_factor > OPEN

    @property
    def is_contradicted(self) -> bool:
        """Whether repeats at a point agree on a mean that no quadratic has which fits the others."""
        return self.farthest > APART


def lack_of_fit(evidence: Evidence, fit: QuadraticFit, shape: Shape, at_least: int = 0) -> LackOfFit:
    """Return what the evidence says against a quadratic; of many places so many ``at_least`` are looked at.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements, Shape
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 41)[:, None]
    >>> y = np.exp(3 * z) + 0.1 * np.random.default_rng(0).standard_normal((41, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> lack_of_fit(evidence, fit_quadratic(evidence, Shape.BOX), Shape.BOX).is_sure
    True
    """
    rows = _looked_at(evidence, max(MOST, at_least))
    counts = evidence.counts[rows].astype(np.float64)
    points = evidence.points[rows]
    phi = features(points)
    n_contrasts = len(points) - phi.shape[1]
    if n_contrasts < 0:
        return LackOfFit(0.0, 0)
    weights = np.where(evidence.precision[rows] > 0, evidence.precision[rows], counts / fit.sigma2)
    inside = evidence.scatter[rows] * weights / counts
    factor = np.minimum((LOCAL + counts - 1) / (LOCAL + inside), 1.0)
    weights, inside = weights * factor, inside * factor
    undiscounted, turns = weights, TURNS if n_contrasts >= FEWEST else 0
    weights, (Q, R) = _without_outliers(phi, evidence.means[rows], weights, turns)
    y, left = _unexplained(evidence.means[rows], weights, Q)
    away = np.where(counts >= AGREEING, np.abs(left) * np.sqrt(undiscounted / weights), 0.0)
    if away.max() > APART:  # repeats agree there: no wild value, but a dip, say, of which the shape shall be followed
        weights = np.where(away > APART, undiscounted, weights)
        Q, R = _weighted_factors(phi, np.sqrt(weights))
        y, left = _unexplained(evidence.means[rows], weights, Q)
    freedom = float(counts.sum()) - phi.shape[1]
    contrasts = Contrasts(points, weights, Q, R, left, float(inside.sum()), freedom, fit.minimiser, shape)
    if n_contrasts < FEWEST or contrasts.square <= ROUNDING**2 * float(y @ y):
        return LackOfFit(0.0, n_contrasts, contrasts)  # or a quadratic fits all but exactly: what is left is rounding
    found = contrasts.log_bayes_factors()
    likely = float(np.logaddexp.reduce(found) - np.log(len(found))) if np.max(found) > -np.inf else 0.0
    unproven = points[_far_below(left * np.sqrt(undiscounted / weights), counts)] if evidence.scatter.any() else None
    return LackOfFit(likely, n_contrasts, contrasts, float(away.max()), unproven)


def _far_below(residuals: Vector, counts: Vector) -> Rows:
    """Return which values lie so low, in units of what most of them are away, that they ask to be repeated."""
    scale = median(np.abs(residuals)) / 0.6745
    rows = np.flatnonzero((residuals < -LOW * scale) & (counts < AGREEING))
    return rows[np.argsort(residuals[rows])]


def _unexplained(means: Vector, weights: Vector, Q: Matrix) -> tuple[Vector, Vector]:
    """Return the weighted means, in units of their errors, and what the quadratic leaves of them."""
    root = np.sqrt(weights)
    y = root * (means - means.mean())
    left = y - Q @ (Q.T @ y)
    left -= Q @ (Q.T @ left)  # twice is enough: what is left is small where a quadratic fits well
    return y, left


def _without_outliers(phi: Matrix, means: Vector, weights: Vector, turns: int) -> tuple[Vector, tuple[Matrix, Matrix]]:
    """Return the weights with those of single points far from the fit lowered until they are not far any more.

    And the QR factors of the features that are weighted so.
    """
    lowered = weights
    for _ in range(turns):
        root = np.sqrt(lowered)
        factors = _weighted_factors(phi, root)
        Q = factors[0]
        y = root * (means - means.mean())
        left = np.maximum(1 - np.einsum("ij,ij->i", Q, Q), 1e-9)
        residual = np.abs(y - Q @ (Q.T @ y)) / np.sqrt(left)
        scale = median(residual) / 0.6745
        if not residual.max() > FAR * scale:
            return lowered, factors  # the next turns would find the same
        lowered = lowered / np.maximum(residual / (FAR * scale), 1.0) ** 2 if scale > 0 else lowered
    return lowered, _weighted_factors(phi, np.sqrt(lowered))


def _weighted_factors(phi: Matrix, root: Vector) -> tuple[Matrix, Matrix]:
    """Return the economic QR factors; there must be as many points as coefficients."""
    factors, reflections, _, _ = linalg.lapack.dgeqrf(phi * root[:, None])
    R = np.triu(factors[: len(reflections)])
    Q: Matrix = linalg.lapack.dorgqr(factors, reflections, overwrite_a=1)[0]
    return Q, R


def n_places(evidence: Evidence) -> int:
    """Return how many places there are to look at, in the range and its surroundings.

    >>> import numpy as np
    >>> n_places(Evidence.empty(1))
    0
    """
    return len(_near(evidence))


def _near(evidence: Evidence) -> Rows:
    """Return the rows of the range and its surroundings: a line that bends far outside is no concern here."""
    return np.flatnonzero((evidence.counts > 0) & (np.abs(evidence.points).max(axis=1, initial=0.0) <= SURROUNDINGS))


def _looked_at(evidence: Evidence, at_least: int) -> Rows:
    """Return the rows that are looked at: all, or a sample of so many at least."""
    measured = _near(evidence)
    if len(measured) <= at_least:
        return measured
    counts = evidence.counts[measured]
    return measured[_sampled(counts, max(at_least, _enough_points(counts, evidence.dimension)))]


def _sampled(counts: Counts, n: int) -> Rows:
    """Return at most n rows, each as likely as it was measured often, and evenly over the order of measuring.

    Those with most measurements alone, or those of one round alone, may hardly tell a quadratic of many knobs.

    >>> _sampled(np.array([9, 1, 1, 1, 1, 1, 1, 9]), 5)
    array([0, 1, 3, 5, 7])
    """
    if len(counts) <= n:
        return np.arange(len(counts))
    most = -np.sort(-counts.astype(np.float64))
    others = np.cumsum(most[::-1])[::-1]  # measurements of the k-th and of all that have fewer
    left = n - np.arange(len(most))
    certain = int(np.argmax(most * left <= others))  # so many are surely taken: of the others none comes up twice
    chances = np.minimum(counts * (left[certain] / others[certain]), 1.0)
    return np.unique(np.searchsorted(np.cumsum(chances), np.arange(n) + 0.5))


def _enough_points(counts: Counts, d: int) -> int:
    """Return how many points are looked at: as many as could hold half of all measurements.

    But a few for each coefficient, and not so many that it takes minutes.
    """
    p = n_terms(d)
    half = int(np.searchsorted(np.cumsum(-np.sort(-counts)), counts.sum() / 2)) + 1
    most = min(MOST_EACH * p, p + MOST_MORE)
    return min(max(half, FEW_EACH * p), most)
