"""Heavy tails: what single values far from the fit may do to it, limited where that is safe.

Least squares is unbiased for any noise of mean zero, but pays for every far value. Huber's estimate limits residuals to
±k·s and needs a third of the measurements where tails are heavy; it shifts all values alike if the noise is skewed and
the same everywhere, which leaves the minimiser where it is, but it is biased if the skew changes over the domain. So
both are computed, and the data say which may be used:

1. If limiting does not lower the variance by a fifth at least, and by more than the residuals of normal noise would
   show by chance, nothing is limited.
2. The difference of the two estimates of the gradient at the minimiser has mean zero where Huber's is unbiased. With
   its estimated covariance it gives q, which is then χ² with d degrees of freedom, and grows like n where it is biased
   (Hausman's test). Values are limited with weight min(1, d/q).

The bias that remains is at most w√q = min(√q, d/√q) ≤ √d standard errors of the difference, for any noise and any n,
and vanishes as n grows: regret · n stays bounded.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
r, s                ``r``, ``s``            residuals of single values, and their scale
k                   ``HUBER``               limit in units of s; 1.345 costs 5 % at the normal law
ψ/ψ̄'                ``limited``             limited residuals, scaled so that their mean is as steep as that of r
q                   ``q``                   Hausman's statistic
w                   ``weight``              share of the limited residuals in what is fitted
==================  ======================  =========================================================
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import linalg, special
from scipy.spatial import cKDTree

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.numerics.positive import factored
from paraboloid.numerics.quadratic_model import features, gradient_map, n_terms, vector_to_matrix
from paraboloid.numerics.quantiles import median, quantiles
from paraboloid.numerics.region import minimise_on_region
from paraboloid.numerics.window import selected

__all__ = ["Limited", "limit_tails"]

HUBER = 1.345
ENOUGH = 2  # times p measurements; with fewer, residuals say nothing of the tails
WORTH = 0.8  # of the variance: limiting must bring it below this,
CHANCE = 1.5  # less this times √n/(n - p): what normal noise shows once in a hundred times (tests/numerics/test_tails)
OUTLIER = 0.02  # of the variance, below which even few measurements leave no doubt
FAR = 8.0  # scales s beyond which a value is named an outlier
PEAKED = 0.15  # of the residual that one in twenty exceeds: if half are below, most values may be exact; normal: 0.34
ROUNDING = 1e-9  # of the values' spread: residuals below it are rounding, not noise
STEPS = 100
AGREEING = 3  # places and wild values, at least, for repeats that agree to be a sign of exact values;
VERIFIED = 2  # times p places at which repeats agree are enough: then those at which none do are left out
AGREED, DECIDED = 0.5, 0.6  # of the places with two or more repeats at least, and of those with three, must agree
SAME = 1e-6  # of a difference, up to which two are the same
EXACT = 100.0  # times the rounding, up to which a value lies exactly on a quadratic
TINY = 1e-75  # of the largest value: beside it the fourth power of what is smaller is no number
SHARPER = 0.8  # times the last distance up to which values count
UNTOLD = 1e6  # condition number of the places of exact values, from which on they do not tell a quadratic
EVERYWHERE = 0.2  # of the values as high as the wild ones are exact, at least, and of those next to a wild one
TOLERANCE = 1e-3  # of a standard error


@dataclass(frozen=True, slots=True, eq=False)
class Limited:
    """Evidence with its far values limited, how far that was done, and how many were far.

    Parameters
    ----------
    evidence
        To fit in place of the raw one; the same where nothing was limited.
    weight
        Between 0 (nothing was limited) and 1.
    n_far
        Number of single values more than 8 scales from the fit.
    is_exact
        Whether most values are exact, by a quadratic or by repeats, and those that are not were left out.
    is_quadratic
        Whether a quadratic goes through all that is left, so that nothing but rounding lies beside it.
    is_verified
        Whether every value that is left is one on which repeats agree: any other may be a wild one.

    Examples
    --------
    >>> Limited(Evidence.empty(1), 0.0, 0).n_far
    0
    """

    evidence: Evidence
    weight: float
    n_far: int
    is_exact: bool = False
    is_quadratic: bool = False
    is_verified: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """Single values, and the features of the points they were measured at."""

    phi: Matrix
    row: np.ndarray[tuple[int], np.dtype[np.int64]]
    y: Vector
    unit: float
    count: Vector
    n: float
    inverse: Matrix
    dimension: int

    def residuals(self, theta: Vector) -> Vector:
        return self.y - (self.phi @ theta)[self.row]

    def solve(self, residuals: Vector) -> Vector:
        """Return the least-squares coefficients of residuals of single values."""
        total = np.bincount(self.row, weights=self.count * residuals, minlength=len(self.phi))
        return self.inverse @ (self.phi.T @ total)

    def reweighted(self, weights: Vector) -> Vector:
        """Return the least-squares coefficients when single values have these weights."""
        weight = np.bincount(self.row, weights=self.count * weights, minlength=len(self.phi))
        total = np.bincount(self.row, weights=self.count * weights * self.y, minlength=len(self.phi))
        M = (self.phi.T * weight) @ self.phi
        return factored(M, ridge=1e-13).solve(self.phi.T @ total)


def limit_tails(evidence: Evidence, shape: Shape) -> Limited:
    """Return the evidence with far values limited as far as that is safe.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.tile(np.linspace(-1, 1, 9), 4)[:, None]
    >>> y = z**2 + 0.01 * np.random.default_rng(0).standard_normal(z.shape)
    >>> y[3] = 1e6
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> limited = limit_tails(evidence, Shape.BOX)
    >>> limited.weight, limited.n_far, float(np.abs(limited.evidence.means).max().round(1))
    (1.0, 1, 1.0)
    """
    nothing = Limited(evidence, 0.0, 0)
    values = _single_values(evidence)
    if values is None or _is_coarse(values):
        return nothing
    p = values.phi.shape[1]
    plain = values.solve(values.y)
    theta, limited, s = _huber(values, plain)
    raw = values.residuals(plain)
    least = max(WORTH - CHANCE * np.sqrt(values.n) / (values.n - p), OUTLIER)
    share = float(values.count @ limited**2) / max(float(values.count @ raw**2), 1e-300)
    middle, far = quantiles(np.abs(values.residuals(theta)), 0.5, 0.95)
    # From far, Huber's steps may end before the residuals of exact values have vanished.
    if s == 0 or share < OUTLIER or middle < PEAKED * far:
        exact = _exact(evidence, values, theta)
        if s == 0 or exact.is_exact:
            return exact
    agreed = _agreed(values, theta)
    if agreed is not None:
        n_far = int(values.count[np.abs(agreed - values.y) > ROUNDING * _spread(values)].sum())
        apart = np.abs(replace(values, y=agreed).residuals(values.solve(agreed)))
        is_quadratic = bool(apart.max() <= EXACT * ROUNDING * _spread(values))
        repaired, is_sure = _with_values(evidence, values, agreed), _most_common(values)[2]
        is_verified = int(is_sure.sum()) >= VERIFIED * p
        if is_verified:
            repaired = selected(repaired, repaired.points, is_sure)
        return Limited(repaired, 1.0, n_far, True, is_quadratic, is_verified)
    if share > least:
        return nothing
    n_far = int(values.count[np.abs(values.residuals(theta)) > FAR * s].sum())
    weight = _weight(values, theta, limited, shape)
    if share > OUTLIER:
        # Few measurements cannot tell tails from chance: of the variance, p/n stays what it was. Scaling the limited
        # residuals leaves the estimate where it is.
        limited = limited * np.sqrt(1 + p / values.n * (1 / share - 1))
    blended = values.y + weight * (limited - values.residuals(theta))
    return Limited(_with_values(evidence, values, blended), weight, n_far)


def _is_coarse(values: _Values) -> bool:
    """Tell whether values are readings in coarse steps: many are equal, and not only those of the same point."""
    n_different = len(np.unique(values.y))
    return n_different < len(values.y) / 2 and n_different < len(values.phi)


def _exact(evidence: Evidence, values: _Values, theta: Vector) -> Limited:
    """Return the evidence where most values lie exactly on a quadratic, without those that do not."""
    apart = np.abs(values.residuals(_sharpened(values, theta)))
    is_good = apart <= EXACT * ROUNDING * _spread(values)
    n_far = int(values.count[~is_good].sum())
    kept = values.phi[np.unique(values.row[is_good])]
    p = values.phi.shape[1]
    if n_far == 0 or 2 * n_far >= values.n or 2 * len(kept) <= len(values.phi) + p:
        return Limited(evidence, 0.0, 0)  # nothing to leave out, or many a shape is quadratic at so few of the places
    if not np.linalg.cond(kept) < UNTOLD:
        return Limited(evidence, 0.0, 0)
    if not _at_all_heights(values, theta, is_good):
        return Limited(evidence, 0.0, 0)
    theta = values.reweighted(is_good.astype(np.float64))
    repaired = np.where(is_good, values.y, values.y - values.residuals(theta))
    return Limited(_with_values(evidence, values, repaired), 1.0, n_far, is_exact=True, is_quadratic=True)


def _at_all_heights(values: _Values, theta: Vector, is_good: npt.NDArray[np.bool_]) -> bool:
    """Tell whether exact values are also found where the others are: noise that grows with the height leaves low ones.

    It is them that rounding makes look exact, against the spread of all. A few high ones then lie on the quadratic
    because it was fitted to them: as many as it has coefficients that the low ones do not tell.
    """
    heights = (values.phi @ theta)[values.row]
    is_high = heights >= np.median(heights[~is_good])
    low, high = (np.unique(values.row[is_good & some]) for some in (~is_high, is_high))
    fitted = values.phi.shape[1] - (int(np.linalg.matrix_rank(values.phi[low], rtol=1 / UNTOLD)) if len(low) else 0)
    return bool(len(high) - fitted > EVERYWHERE * len(np.unique(values.row[is_high])))


def _agreed(values: _Values, theta: Vector) -> Vector | None:
    """Return what most repeats at each place agree on, where that is so to the last digit and the others are wild.

    Repeats of noisy values never agree. Those of coarse readings do, but differ by whole steps, the same ones again and
    again, and wild values each by an amount of its own. Where two repeats disagree, the one nearer to the fit is taken.
    """
    common, is_most, is_sure = _most_common(values)
    order = np.lexsort((np.abs(values.residuals(theta)), values.row))
    _, first = np.unique(values.row[order], return_index=True)
    nearest = np.zeros(len(values.phi))
    nearest[values.row[order][first]] = values.y[order][first]
    agreed: Vector = np.where(is_most, common, nearest)[values.row]
    total = np.bincount(values.row, weights=values.count, minlength=len(values.phi))
    often = total > 2
    if int(is_sure.sum()) < max(AGREEING, AGREED * int(np.sum(total > 1))):
        return None
    if int(np.sum(is_sure & often)) < DECIDED * int(often.sum()) or not _is_anywhere(values, total > 1, is_sure):
        return None
    apart = np.abs(values.y - agreed)
    apart = np.sort(apart[apart > ROUNDING * _spread(values)])
    if len(apart) < AGREEING or np.sum(np.diff(apart) < SAME * apart[1:]) > len(apart) / 4:
        return None
    return agreed


def _is_anywhere(values: _Values, is_repeated: npt.NDArray[np.bool_], is_sure: npt.NDArray[np.bool_]) -> bool:
    """Tell whether places at which repeats agree are found among the others: noise may vanish in a part of the range.

    Where values are wild by chance, the nearest to a place at which repeats disagree is one at which they agree as
    often as any other is.
    """
    odd = np.flatnonzero(is_repeated & ~is_sure)
    if len(odd) < AGREEING:
        return True
    repeated = np.flatnonzero(is_repeated)
    points = values.phi[:, 1 : values.dimension + 1]
    near = np.asarray(cKDTree(points[repeated]).query(points[odd], k=2)[1])  # itself, and the next
    return float(np.mean(is_sure[repeated[near[:, 1]]])) > EVERYWHERE


def _most_common(values: _Values) -> tuple[Vector, npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the value that more than half of a place's repeats have, whether there is one, and more than one of them.

    Each for every place.
    """
    order = np.lexsort((values.y, values.row))
    row, y, count = values.row[order], values.y[order], values.count[order]
    is_new = np.ones(len(y), dtype=np.bool_)
    is_new[1:] = (row[1:] != row[:-1]) | (np.diff(y) > ROUNDING**1.5 * np.abs(y[1:]))
    first = np.flatnonzero(is_new)
    alike = np.bincount(np.cumsum(is_new) - 1, weights=count)
    total = np.bincount(row, weights=count, minlength=len(values.phi))
    most = first[2 * alike > total[row[first]]]
    common, is_most = np.zeros(len(values.phi)), np.zeros(len(values.phi), dtype=np.bool_)
    common[row[most]], is_most[row[most]] = y[most], True
    return common, is_most, is_most & (np.bincount(row[first], weights=alike > 1, minlength=len(is_most)) > 0)


def _sharpened(values: _Values, theta: Vector) -> Vector:
    """Return the coefficients of a quadratic that as many values as can be lie on, begun from Huber's estimate.

    Most measurements may be repeats at a few places, which many a quadratic fits: the median residual is then zero
    before the estimate has settled, and exact values elsewhere would pass for far ones.

    Values farther than ε lose their weight, and ε falls step by step. Twenty steps towards least absolute residuals,
    as it was before, bear fewer wild values: with one in five, and 200 for ten knobs, the exact ones were found in 3 of
    40 draws, and are found in 35 of them (those of tests/numerics/test_tails, from seed 5000 on).
    """
    least = ROUNDING * _spread(values) + TINY
    apart = np.abs(values.residuals(theta))
    epsilon = _upper_quartile(values, apart)
    while epsilon > least:
        theta = values.reweighted(epsilon**2 / (apart**2 + epsilon**2))
        apart = np.abs(values.residuals(theta))
        epsilon *= SHARPER
    return values.reweighted(least / np.maximum(apart, least))


def _single_values(evidence: Evidence) -> _Values | None:
    """Return the single values if all are at hand, enough of them, of unknown variance, and at points enough."""
    p = n_terms(evidence.dimension)
    sample = evidence.sample
    if sample is None or evidence.n_measurements < ENOUGH * p or np.any(evidence.precision > 0):
        return None
    phi = features(evidence.points)
    M = (phi.T * evidence.counts) @ phi
    try:
        inverse = factored(M, ridge=-1e-12).inverse()
    except linalg.LinAlgError:  # some coefficient is not determined yet
        return None
    y = sample.values - median(sample.values)  # a common offset must not cost digits
    middle = max(median(np.abs(y)), TINY * float(np.abs(y).max()))
    unit = 2.0 ** np.floor(np.log2(middle)) if middle > 0 else 1.0  # a power of two, so that units change no bit
    return _Values(
        phi,
        sample.rows,
        y / unit,
        unit,
        sample.counts.astype(np.float64),
        float(evidence.n_measurements),
        inverse,
        evidence.dimension,
    )


def _spread(values: _Values) -> float:
    """Return the upper quartile of the values' sizes: more than half may lie near the minimum."""
    return _upper_quartile(values, np.abs(values.y))


def _upper_quartile(values: _Values, sizes: Vector) -> float:
    """Return the upper quartile of what belongs to the values; most may be repeats, so every place counts once."""
    shares = values.count / np.bincount(values.row, weights=values.count)[values.row]
    is_upper = sizes >= _median(sizes, shares)
    return _median(sizes[is_upper], shares[is_upper])


def _huber(values: _Values, theta: Vector) -> tuple[Vector, Vector, float]:
    """Return Huber's estimate, its limited residuals ψ/ψ̄' and the scale s.

    By reweighting while the steps are longer than a standard error; then by the least-squares coefficients of ψ/ψ̄'
    (Huber and Dutter 1974), which need no new factors.
    """
    size = np.sqrt(np.maximum(np.diag(values.inverse), 1e-300))
    p = values.phi.shape[1]
    # Residuals of a fit are smaller than the noise, and p of them may vanish: the median of the others says how large.
    level = (1 + p / values.n) / 2
    normal = float(special.ndtri((1 + level) / 2)) / np.sqrt(values.n / (values.n - p))
    smallest = ROUNDING * _spread(values) + 1e-300
    moved = np.inf
    for _ in range(STEPS):
        r = values.residuals(theta)
        s = _quantile(np.abs(r), values.count, level) / normal
        if s <= smallest:
            return theta, r, 0.0
        if moved < s:
            inside = float(values.count @ (np.abs(r) <= HUBER * s)) / values.n  # more than a half: s is a median's
            step = values.solve(np.clip(r, -HUBER * s, HUBER * s)) / inside
        else:
            step = values.reweighted(np.minimum(1.0, HUBER * s / np.maximum(np.abs(r), smallest))) - theta
        theta, moved = theta + step, float(np.max(np.abs(step) / size))
        if moved < TOLERANCE * s:
            break
    r = values.residuals(theta)
    inside = float(values.count @ (np.abs(r) <= HUBER * s)) / values.n
    # Huber's correction of the variance for few measurements per coefficient (Robust Statistics, 7.6).
    correction = 1 + p / values.n * (1 - inside) / inside
    return theta, correction * np.clip(r, -HUBER * s, HUBER * s) / inside, s


def _median(sizes: Vector, count: Vector) -> float:
    return _quantile(sizes, count, 0.5)


def _quantile(sizes: Vector, count: Vector, level: float) -> float:
    if (count == 1.0).all():  # nearly always, and many times in a fit
        number = math.ceil(level * len(sizes)) - 1
        return float(np.partition(sizes, number)[number])
    order = np.argsort(sizes)
    reached = np.cumsum(count[order])
    return float(sizes[order][np.searchsorted(reached, level * reached[-1])])


def _weight(values: _Values, theta: Vector, limited: Vector, shape: Shape) -> float:
    """Return w = min(1, d/q) from Hausman's statistic of the gradient at the minimiser.

    The covariance of the difference is the jackknife's (HC3): by it q of one wild value is at most 1 wherever it lies.
    Without leverages it was above d where that value stood almost alone, and 600 was left of a wild value of 10⁶.
    """
    d = values.dimension
    H = vector_to_matrix(theta[d + 1 :], d)
    eigenvalues, Q = np.linalg.eigh(H)
    H = (Q * np.maximum(eigenvalues, 1e-6 * np.abs(eigenvalues).max() + 1e-300)) @ Q.T
    G = gradient_map(minimise_on_region(shape, H, theta[1 : d + 1]))
    apart = values.residuals(theta) - limited
    difference = values.solve(apart)
    leverage = np.minimum(np.sum((values.phi @ values.inverse) * values.phi, axis=1), 0.999)
    apart = (apart - (values.phi @ difference)[values.row]) / (1 - leverage)[values.row]
    squares = np.bincount(values.row, weights=values.count * apart**2, minlength=len(values.phi))
    lift = G @ values.inverse @ values.phi.T
    covariance = (lift * squares) @ lift.T
    g = G @ difference
    q = float(g @ np.linalg.pinv(covariance, hermitian=True) @ g)
    return min(1.0, d / max(q, 1e-300))


def _with_values(evidence: Evidence, values: _Values, y: Vector) -> Evidence:
    """Return the evidence whose single values, relative to the common offset, are these."""
    assert evidence.sample is not None
    shift = median(evidence.sample.values)
    rows, count = values.row, values.count
    counts = np.maximum(evidence.counts, 1)
    y = y * values.unit
    mean = np.bincount(rows, weights=count * y, minlength=len(counts)) / counts
    scatter = np.bincount(rows, weights=count * (y - mean[rows]) ** 2, minlength=len(counts)).astype(np.float64)
    return replace(evidence, means=mean + shift, scatter=scatter, sample=None)
