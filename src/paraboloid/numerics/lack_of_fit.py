"""Whether the values are those of a quadratic over the whole range: a Bayes factor.

Only contrasts that vanish for every quadratic are looked at, so that neither its curvature nor its condition enters.
Under the quadratic they are pure noise of an unknown size; otherwise a smooth discrepancy is added to them,

    Cov δ(x), δ(y) = s σ² a(x) a(y) exp(-|x - y|²/2l²),   a(x) = (1 + |x - x₀|²/l²)^g,

which is how the remainder of a Taylor series looks; or, on a box, a sum of curves of single knobs is added
(`numerics.single_knobs`), of size s and with a decay from a fixed set. σ² is integrated out (the answer does not depend
on the unit of the values); l, g and s are averaged over a fixed set. With x₀ and the weights given, and normal noise,
the mean of this Bayes factor under the quadratic is one, so that it is above K with a chance of at most 1/K. Here both
come from the data, and the set is scaled to the points of each round: then that is a guide, and no theorem. The tests
measure the rate over rounds. A false alarm is revoked by later data.

Noise is not always normal. The scatter of repeats at a point counts as noise of that point, drawn towards that of all;
and single means farther than three standard errors from the fit are given the weight at which they are not. Smooth
discrepancies are seen by many points that agree, so that this costs little; lone values that lie far away are not taken
for a shape. A mean of many repeats that agree is no lone value, and is discounted all the same, so that a dip between
two places may speak for nothing; no bound is given then (`LackOfFit.is_contradicted`).

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
u                   ``u``                   contrasts of the weighted means, (N - p,)
l, g, s             ``length``, ...         range, growth and size of the discrepancy
D                   ``effect``              what the discrepancy adds to the fitted quadratic
==================  ======================  =========================================================
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from paraboloid.core import Counts, Evidence, Matrix, Shape, Vector
from paraboloid.numerics.discrepancy import SIZES, Discrepancy, Seen
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.quantiles import median
from paraboloid.numerics.single_knobs import knob_variances, range_curves
from paraboloid.numerics.smooth import squared_distances

__all__ = [
    "FEWEST",
    "GROWTHS",
    "LENGTHS",
    "OPEN",
    "SIZES",
    "SURE",
    "TIP",
    "Contrasts",
    "Discrepancy",
    "LackOfFit",
    "lack_of_fit",
]

SURE = float(np.log(150.0))
"""Log Bayes factor from which on the response counts as not quadratic. With normal noise a false alarm is far rarer
than in one run of 150; where the noise differs sevenfold over the range, this keeps it near one in fifty."""

OPEN = float(np.log(17 / 3))  # log Bayes factor from which on it is so open what the response is that no bound is given
LENGTHS = (0.3, 0.6, 1.2)  # times √d
TIP = -1.5
"""Growth of a discrepancy that dies away from the minimiser: of what is curved there and straight farther away, as |x|
and the logistic loss."""

GROWTHS = (0.0, 0.7, TIP)
KINDS = tuple((length, growth) for length in LENGTHS for growth in GROWTHS)

DECAYS = (0.3, 0.7)  # of curves of single knobs
# Of a discrepancy of size one: root mean square over a box of what the best quadratic there leaves of it, for each of
# the LENGTHS; and of curves of single knobs. Hardly any of a long range is left: in the region it is a quadratic.
LEFT = {0.0: (0.55, 0.21, 0.04), 0.7: (0.55, 0.21, 0.04), TIP: (0.2, 0.18, 0.07)}
LEFT_OF_CURVES = 0.85
FEWEST = 3  # contrasts: with fewer nothing can speak against a quadratic, and no bound rests on one
MOST, FEW_EACH, MOST_EACH, MOST_MORE = 300, 2, 4, 700  # points that are looked at: see `_enough_points`
LOCAL = 6.0  # measurements that say that the noise at a point is that of all points
SINGULAR = 1e-10
ROUNDING = 1e-9  # of the values' spread
SURROUNDINGS = 1.5  # largest unit coordinate of a point that is looked at
RANK, FEWER, FEW_KNOBS = 120, 96, 5  # of the discrepancy, and up to so many knobs: enough for what is smooth
RANK_EACH = 1.5  # of it for each coefficient where there are many points, else 1: a quadratic takes up the longest
NEGLIGIBLE = 1e-4  # of the discrepancy's variance at a point
UNSEEN = 1e-8  # the same at places that were not measured: differences between neighbours matter there
ONE = np.ones((1, 1))
FAR = 3.0  # standard errors beyond which a single residual is discounted,
TURNS = 3  # in so many turns
AGREEING = 3  # repeats whose scatter says whether one of them is wild, and what the error of their mean is,
APART = 6.0  # of which errors it may lie from the fit: none of 6000 draws of a quadratic reached 5.2, dips 23 to 89
LOW = 5.0  # deviations below the fit, from which on a value is repeated: a normal one never lies there, a dip's may

Rows = np.ndarray[tuple[int], np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class Contrasts:
    """The weighted means without what a quadratic explains, and what it takes to say more about a discrepancy.

    Parameters
    ----------
    points, weights
        Where was measured, (N, d), and the inverse variances of the means.
    Q, R
        Of the weighted features: QR factors.
    left
        The residuals of the weighted means, u.
    scatter, freedom
        Of the repeats, in units of the noise, and the degrees of freedom of that and of u.
    centre
        Where the discrepancy grows from.
    shape
        Of the region: the knobs of a box may have curves of their own.
    """

    points: Matrix
    weights: Vector
    Q: Matrix
    R: Matrix
    left: Vector
    scatter: float
    freedom: float
    centre: Vector
    shape: Shape = Shape.BALL

    @property
    def square(self) -> float:
        """The sum of squares that noise, or noise and a discrepancy, must explain."""
        return float(self.left @ self.left) + self.scatter

    @property
    def is_full(self) -> bool:
        """Whether the points tell every coefficient of a quadratic."""
        pivots = np.abs(np.diag(self.R))
        return bool(pivots.min() > SINGULAR * pivots.max())

    def n_kinds(self, kinds: tuple[tuple[float, float], ...] = KINDS) -> int:
        """Return how many discrepancies of each size there are, those of single knobs among them."""
        return len(kinds) + (len(DECAYS) if self.shape is Shape.BOX else 0)

    def discrepancies(
        self,
        places: Matrix,
        kinds: tuple[tuple[float, float], ...] = KINDS,
        decays: tuple[float, ...] = DECAYS,
        sizes: tuple[float, ...] = SIZES,
        least: float = -np.inf,
        spread: float | None = None,
    ) -> Iterator[Discrepancy]:
        """Yield every discrepancy of the set, with what it may add at places (m, d): at none if it is not as likely.

        ``kinds`` are pairs of length and growth, those of one length together. ``least`` is the log Bayes factor from
        which on its effect is worth the time. With a ``spread`` of the response over the region the sizes are not
        variances in units of the noise's: they are those parts of the spread by which the response departs from the
        best quadratic, in root mean square.

        With w standard normal, δ = U w at the points; the quadratic fitted to it is taken off: D w at the places. The
        contrasts tell w up to the covariance s(1 + s UᵀU)⁻¹.

        >>> import numpy as np
        >>> from paraboloid.core import Measurements, Shape
        >>> from paraboloid.numerics import fit_quadratic
        >>> z = np.linspace(-1, 1, 41)[:, None]
        >>> y = np.exp(z) + 0.1 * np.random.default_rng(0).standard_normal((41, 1))
        >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
        >>> contrasts = lack_of_fit(evidence, fit_quadratic(evidence, Shape.BOX), Shape.BOX).contrasts
        >>> found = list(contrasts.discrepancies(np.zeros((3, 1))))
        >>> len(found), found[0].mean.shape
        (44, (3,))
        """
        for length, together in itertools.groupby(kinds, key=operator.itemgetter(0)):
            l2 = length**2 * self.points.shape[1]
            there = _Later(functools.partial(_beside, self, places, l2))
            for _, growth in together:
                seen = _seen(self, l2, growth)
                effect = _Later(functools.partial(self._effect, places, seen, l2, growth, there))
                own = sizes if spread is None else self._sizes(sizes, spread, self._left(length, growth))
                yield from self._of_each_size(seen, effect, own, least)
        if self.shape is Shape.BOX:
            own = sizes if spread is None else self._sizes(sizes, spread, LEFT_OF_CURVES)
            yield from self._of_single_knobs(places, decays, own, least)

    def _sizes(self, parts: tuple[float, ...], spread: float, left: float) -> tuple[float, ...]:
        """Return the variances, in units of the noise's, of discrepancies that depart by these parts of the spread."""
        unit = median(self.weights) * (spread / left) * (spread / left)  # a power may differ in its last bit
        return tuple(part * part * unit for part in parts)

    def _left(self, length: float, growth: float) -> float:
        """Return what the best quadratic over the region leaves of a discrepancy of size one, in root mean square.

        Places of a ball lie nearer together than those of a box, by a factor that is known of their squared distances.
        Lengths that grow with √d as well leave ever less: far beyond the region a cubic term, which falls as they grow.
        """
        d = self.points.shape[1]
        known, left = np.log(LENGTHS), np.log(LEFT[growth])
        there = math.log(length) if self.shape is Shape.BOX else math.log(length * math.sqrt((d + 2) / 3))
        return math.exp(np.interp(there, known, left) - 3 * max(0.0, there - known[-1]))

    def _effect(
        self, places: Matrix, seen: Seen, l2: float, growth: float, there: Callable[[], tuple[Matrix, Matrix]]
    ) -> tuple[Matrix, Matrix]:
        """Return what a discrepancy adds at places: what the points tell of it, and what they do not."""
        B, unseen = there()
        far = np.add.reduce((places - self.centre) ** 2, axis=1)
        grown = ((1 + far / l2) ** growth / seen.typical)[:, None]
        fitted = linalg.blas.dtrsm(1.0, self.R, seen.pull)
        return grown * B - features(places) @ fitted, grown * unseen

    def _of_single_knobs(
        self, places: Matrix, decays: tuple[float, ...], sizes: tuple[float, ...], least: float
    ) -> Iterator[Discrepancy]:
        """Yield sums of curves of single knobs, which are known at all places where their coefficients are."""
        d, unit = self.points.shape[1], np.sqrt(median(self.weights))
        pull = _curves_seen(self)[1]
        there, unseen = range_curves(places) / unit, np.zeros((len(places), 0))
        if len(places):
            there -= features(places) @ linalg.blas.dtrsm(1.0, self.R, pull)
        for decay in decays:
            scale = np.sqrt(knob_variances(d, decay)[: pull.shape[1]])
            effect = functools.partial(_scaled, there, scale, unseen)
            yield from self._of_each_size(_single_seen(self, decay), effect, sizes, least)

    def _of_each_size(
        self, seen: Seen, effect: Callable[[], tuple[Matrix, Matrix]], sizes: tuple[float, ...], least: float
    ) -> Iterator[Discrepancy]:
        """Yield the likelihood of each size, and the effect of those that are likely enough."""
        known = SIZES if set(sizes) <= set(SIZES) else sizes
        likely = dict(zip(known, seen.log_bayes_factors(known), strict=True))
        for size in sizes:
            is_likely = likely[size] > -np.inf and likely[size] >= least
            told = seen.told(size, np.empty(seen.gram.shape)) if is_likely else None
            if told is None:
                nothing = np.zeros((len(effect()[0]) if least == -np.inf else 0, 1))
                yield Discrepancy(likely[size], nothing[:, 0], self.freedom, nothing, nothing, ONE)
                continue
            lower, explained, left = told
            follows, unseen = effect()
            mean = size * (follows @ linalg.blas.dtrsv(lower, explained, lower=1, trans=1))
            deviation = np.sqrt(size * (left + self.scatter) / max(self.freedom, 1.0))
            yield Discrepancy(likely[size], mean, self.freedom, deviation * follows, deviation * unseen, lower)

    def log_bayes_factors(self) -> list[float]:
        """Return how likely every discrepancy of the set is against none, on the log scale."""
        d = self.points.shape[1]
        each = [_seen(self, length**2 * d, growth) for length, growth in KINDS]
        if self.shape is Shape.BOX:
            each += [_single_seen(self, decay) for decay in DECAYS]
        return [one for seen in each for one in seen.log_bayes_factors(SIZES)]


class _Later:
    """What is made when it is first asked for, and then kept: most effects never are."""

    __slots__ = ("_made", "_make")

    def __init__(self, make: Callable[[], tuple[Matrix, Matrix]]) -> None:
        self._make = make
        self._made: tuple[Matrix, Matrix] | None = None

    def __call__(self) -> tuple[Matrix, Matrix]:
        if self._made is None:
            self._made = self._make()
        return self._made


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
    """Return the rows that are looked at: all, or so many at least of those with most measurements."""
    measured = _near(evidence)
    if len(measured) <= at_least:
        return measured
    order = measured[np.argsort(-evidence.counts[measured], kind="stable")]
    return np.sort(order[: max(at_least, _enough_points(evidence.counts[order], evidence.dimension))])


def _enough_points(counts: Counts, d: int) -> int:
    """Return how many points are looked at, of those with most measurements first: as many as hold half of all.

    But a few for each coefficient, and not so many that it takes minutes.
    """
    p = n_terms(d)
    half = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2)) + 1
    most = min(MOST_EACH * p, p + MOST_MORE)
    return min(max(half, FEW_EACH * p), most)


@functools.lru_cache(maxsize=len(LENGTHS))
def _smooth_root(contrasts: Contrasts, l2: float) -> tuple[Matrix, Rows]:
    """Return a root of the discrepancy's covariance at the points: verdict, checks and bound ask for the same ones."""
    n, d = contrasts.points.shape
    p = n_terms(d)
    # All of it would take time that grows with the cube of the points.
    most = FEWER if d <= FEW_KNOBS else max(RANK, int(RANK_EACH * p) if n > FEW_EACH * p else p)
    return _low_rank(_bells(_between(contrasts), l2), most, NEGLIGIBLE)


@functools.lru_cache(maxsize=len(LENGTHS) * len(GROWTHS))
def _seen(contrasts: Contrasts, l2: float, growth: float) -> Seen:
    away = np.add.reduce((contrasts.points - contrasts.centre) ** 2, axis=1)
    a = (1 + away / l2) ** growth
    typical = (median(a) if growth > 0 else 1.0) * math.sqrt(median(contrasts.weights))
    C, _ = _smooth_root(contrasts, l2)
    U = (a * np.sqrt(contrasts.weights) / typical)[:, None] * C
    pull = contrasts.Q.T @ U
    # U - Q pull, transposed, in the place of U: there is room for one such matrix in a processor's cache, not for two.
    linalg.blas.dgemm(-1.0, pull.T, contrasts.Q, trans_b=1, beta=1.0, c=U.T, overwrite_c=1)
    return _seen_of(contrasts, U, pull, typical)


@functools.lru_cache(maxsize=1)
def _curves_seen(contrasts: Contrasts) -> tuple[Matrix, Matrix]:
    """Return the curves of single knobs at the points, weighted, without what a quadratic takes of them, and that."""
    curves = np.sqrt(contrasts.weights / median(contrasts.weights))[:, None] * range_curves(contrasts.points)
    pull = contrasts.Q.T @ curves
    return curves - contrasts.Q @ pull, pull


@functools.lru_cache(maxsize=len(DECAYS) + 1)
def _single_seen(contrasts: Contrasts, decay: float) -> Seen:
    curves, pull = _curves_seen(contrasts)
    scale = np.sqrt(knob_variances(contrasts.points.shape[1], decay)[: curves.shape[1]])
    return _seen_of(contrasts, curves * scale, pull, np.sqrt(median(contrasts.weights)))


def _seen_of(contrasts: Contrasts, U: Matrix, pull: Matrix, typical: float) -> Seen:
    uu = float(contrasts.left @ contrasts.left)
    gram = linalg.blas.dsyrk(1.0, U.T, lower=1).T  # half of it
    return Seen(gram, contrasts.left @ U, uu, contrasts.scatter, contrasts.freedom, pull, typical)


def _beside(contrasts: Contrasts, places: Matrix, l2: float) -> tuple[Matrix, Matrix]:
    """Return how a discrepancy at places follows from that at the points, and a root of what does not follow."""
    C, pivots = _smooth_root(contrasts, l2)
    near = _bells(squared_distances(places, contrasts.points[pivots]), l2)
    B = linalg.blas.dtrsm(1.0, C[pivots], near.T, lower=1).T
    unseen, _ = _low_rank(_bells(squared_distances(places, places), l2) - B @ B.T, len(places), UNSEEN)
    return B, unseen


def _scaled(curves: Matrix, scale: Vector, unseen: Matrix) -> tuple[Matrix, Matrix]:
    return curves * scale, unseen


@functools.lru_cache(maxsize=1)
def _between(contrasts: Contrasts) -> Matrix:
    return squared_distances(contrasts.points, contrasts.points)


def _bells(square: Matrix, l2: float) -> Matrix:
    """Return exp(-|x_i - y_j|²/2l²) of squared distances."""
    power = square / (-2 * l2)
    return np.exp(power, out=power)


def _low_rank(R: Matrix, most: int, tolerance: float) -> tuple[Matrix, Rows]:
    """Return C with C Cᵀ = R, or the first so many columns of it: R in what the pivots span, a prior as good."""
    # R is symmetric, and transposed it has the order in which LAPACK takes it uncopied.
    factor, pivots, rank, _ = linalg.lapack.dpstrf(R.T, tol=tolerance, lower=1, overwrite_a=1)
    columns = factor[:, : min(rank, most)]
    columns[: columns.shape[1]] = np.tril(columns[: columns.shape[1]])
    C: Matrix = np.empty(columns.shape)
    C[pivots - 1] = columns
    return C, pivots[: columns.shape[1]] - 1
