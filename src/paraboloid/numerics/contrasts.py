"""Contrasts of the measurements that vanish for every quadratic, and what they say of each discrepancy of a fixed set.

Under the quadratic they are pure noise of an unknown size; otherwise a smooth discrepancy is added to them,

    Cov δ(x), δ(y) = s σ² a(x) a(y) exp(-|x - y|²/2l²),   a(x) = (1 + |x - x₀|²/l²)^g,

which is how the remainder of a Taylor series looks; or, on a box, a sum of curves of single knobs is added
(`numerics.single_knobs`), of size s and with a decay from a fixed set. The bound also asks for a bend of the quadratic
(`numerics.bends`). The verdict, the check points and the bound
ask for the same ones: what is common to them is kept until the next measurements.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
u                   ``left``                contrasts of the weighted means, (N,), as residuals
l, g, s             ``length``, ...         range, growth and size of the discrepancy
D                   ``effect``              what the discrepancy adds to the fitted quadratic
==================  ======================  =========================================================
"""

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics.bends import bend_left, bends
from paraboloid.numerics.discrepancy import SIZES, Discrepancy, Seen
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.quantiles import median
from paraboloid.numerics.single_knobs import knob_variances, range_curves
from paraboloid.numerics.smooth import squared_distances

__all__ = ["DECAYS", "GROWTHS", "KINDS", "LENGTHS", "SIZES", "TIP", "Contrasts", "Discrepancy"]

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
SINGULAR = 1e-10
RANK, FEWER, FEW_KNOBS = 120, 96, 5  # of the discrepancy, and up to so many knobs: enough for what is smooth
RANK_EACH = 1.5  # of it for each coefficient where there are many points, else 1: a quadratic takes up the longest
MANY_EACH = 2  # points for each coefficient, beyond which there are many
NEGLIGIBLE = 1e-4  # of the discrepancy's variance at a point
UNSEEN = 1e-8  # the same at places that were not measured: differences between neighbours matter there
ONE = np.ones((1, 1))

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
        >>> from paraboloid.core import Evidence, Measurements, Shape
        >>> from paraboloid.numerics import fit_quadratic, lack_of_fit
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

    def bent(
        self, places: Matrix, fit: QuadraticFit, sizes: tuple[float, ...], least: float, spread: float | None = None
    ) -> Iterator[Discrepancy]:
        """Yield what a bend of the quadratic fitted adds (`numerics.bends`), as `discrepancies` does.

        >>> import numpy as np
        >>> from paraboloid.core import Evidence, Measurements, Shape
        >>> from paraboloid.numerics import fit_quadratic, lack_of_fit
        >>> z = np.linspace(-1, 1, 41)[:, None]
        >>> y = np.sqrt(0.05 + (z - 0.1) ** 2) + 0.02 * np.random.default_rng(0).standard_normal((41, 1))
        >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
        >>> fit = fit_quadratic(evidence, Shape.BOX)
        >>> contrasts = lack_of_fit(evidence, fit, Shape.BOX).contrasts
        >>> found = contrasts.bent(np.zeros((0, 1)), fit, (0.01, 0.2), np.inf, spread=0.3)
        >>> [round(one.log_bayes_factor) for one in found]
        [0, 24]
        """
        curves = bends(self.points, fit, self.points)
        U = np.sqrt(self.weights / median(self.weights))[:, None] * curves
        pull = self.Q.T @ U
        seen = _seen_of(self, U - self.Q @ pull, pull, np.sqrt(median(self.weights)))
        own = sizes if spread is None else self._sizes(sizes, spread, bend_left(fit, self.points, self.shape))
        there = _Later(lambda: self._of_curves(bends(places, fit, self.points), places, pull))
        yield from self._of_each_size(seen, there, own, least)

    def _of_single_knobs(
        self, places: Matrix, decays: tuple[float, ...], sizes: tuple[float, ...], least: float
    ) -> Iterator[Discrepancy]:
        """Yield sums of curves of single knobs."""
        pull = _curves_seen(self)[1]
        there, unseen = self._of_curves(range_curves(places), places, pull)
        for decay in decays:
            scale = np.sqrt(knob_variances(self.points.shape[1], decay)[: pull.shape[1]])
            effect = functools.partial(_scaled, there, scale, unseen)
            yield from self._of_each_size(_single_seen(self, decay), effect, sizes, least)

    def _of_curves(self, curves: Matrix, places: Matrix, pull: Matrix) -> tuple[Matrix, Matrix]:
        """Return what given curves add at places: they are known at all places where their coefficients are."""
        there = curves / np.sqrt(median(self.weights))
        if len(places):
            there -= features(places) @ linalg.blas.dtrsm(1.0, self.R, pull)
        return there, np.zeros((len(places), 0))

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


@functools.lru_cache(maxsize=len(LENGTHS))
def _smooth_root(contrasts: Contrasts, l2: float) -> tuple[Matrix, Rows]:
    """Return a root of the discrepancy's covariance at the points: verdict, checks and bound ask for the same ones."""
    n, d = contrasts.points.shape
    p = n_terms(d)
    # All of it would take time that grows with the cube of the points.
    most = FEWER if d <= FEW_KNOBS else max(RANK, int(RANK_EACH * p) if n > MANY_EACH * p else p)
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
