"""Noise that grows with the height above the minimum: then one closes in, and measures where it is small.

Where the standard deviation of a measurement is proportional to the height h, as in counting, in relative errors and in
many simulations, a place at half the distance from the minimiser has a quarter of the noise, and tells twice as much of
where the minimiser lies. With the variance

    v(z) = a + b h(z)²

a measurement tells most at the height √(a/b), where both parts are equal; and no lower than the height K ρ, at which
the minimiser, whose expected regret is ρ, is surely inside. A window is the ellipsoid of that height about the
minimiser, no wider than the domain. In its own coordinates it is the unit ball, and everything that is done on a ball
can be done there: fit, verdict, design. The window is found anew from all evidence each time, in steps, so that what
was thought before can do no lasting harm. Where the noise surely grows, and far more likely as a factor than as a part
of the height, the fit is one on a logarithmic scale (`numerics.log_scale`).

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
a, b                ``floor``, ``slope``    of the variance of one measurement
h                   ``heights``             above the fitted minimum, its own uncertainty added
c, R                ``centre``, ``spread``  of the window: z = c + R w, |w| ≤ 1
ρ                   ``regret``              expected regret of the fitted minimiser
==================  ======================  =========================================================
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paraboloid.core import Evidence, Sample, Shape, Vector
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.log_scale import on_log_scale
from paraboloid.numerics.narrowing import expected_regret, narrowed, window_at
from paraboloid.numerics.positive import factored
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.quantiles import median
from paraboloid.numerics.window import Window, selected

__all__ = ["Closed", "close_in", "n_low", "single_values"]

SURE = 3.9  # gain in log likelihood by which the noise surely grows with the height, if heights were known
FOLLOWED = 0.1
"""Of p²/n, which is how much more of it chance alone may give: the heights are those of a fit, and its p coefficients
follow the noise by p/n each. Without it 4 of 12 quadratics of twenty knobs were left for a window at 1.8p measurements,
by gains of up to 10; noise that grows gives ten to twenty there, and soon hundreds (tuning seeds)."""
ALLOWED, DENIED, MOST_DENIED = 2.0, 0.5, 20.0
"""Expected regrets of the quadratic fitted to all by which it may hold the window's minimiser for worse; of each one
beyond, and at most, how much more gain it takes to answer by the window. Where the noise is the same everywhere a wrong
window is worse by tens and hundreds, of which a gain by chance is no proof. Where it grows, gains below ten came with
up to 2.5, seldom with 7, and far greater ones with hundreds (705 looks at bbob-noisy's functions, tuning seeds)."""
WORTH = 2.0  # gain at first sight, below which it is not looked at closer
REFITTED = 4  # times p measurements, up to which a quadratic is fitted anew at first sight
LOWER = {4.0: 0.0, 16.0: SURE, 64.0: SURE}
"""So many times lower than the greatest height are levels at which repeats may deny growing noise, all by so much:
where it is level up to a quarter of that height, a denial would take many repeats, and little would be gained."""
DEEP = 100.0  # times lower than the greatest height: who measures most there has closed in before
LOW = 0.05  # of the average height
NEARER = 2.0  # a window must be lower than what was measured by this factor
SAFE = 4.0  # times the expected regret: the height within which the minimiser is looked for
LEVEL = 30.0  # times the greatest height: so high that the noise is the same everywhere
FINER = 4.0  # the height at which both parts of the noise are equal is lowered by this factor at a time
TIE = 0.01  # in log likelihood
FEW = 50  # one point of so many, and one more, may be wild
WILD = 5.0  # scales of Student's tails from the fit: one value in 65 by chance
PATIENCE = 6  # steps without a gain
LARGE = 0.5  # variance in units of the height's square: of smaller noise a logarithmic scale says nothing new
NEAR = 16.0  # times a height: what is measured below says something of the noise at that height
STEPS = 60
TURNS = 3
TAILS = 3.0  # degrees of freedom of the tails that are thought possible,
LIGHT = 30.0  # and on a logarithmic scale, where far values are near
SIZES, FINE = 30, 9  # of the noise, tried: over its whole range, and about the best of them
MANY = 2**13  # values, of which about so many say where the best size of the noise is; all of them say what it is
ROUNDING = 1e-12  # of the values' spread
FINEST = 1e-14  # of the values' spread: lower than that numbers do not reach
SMALLEST = 1e-250
FAR = 2.0  # standard errors beyond which a mean loses weight


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """A window, what was measured in and about it in its coordinates, weighed by variance, and the fit to it.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(z**2))
    >>> window = Window(np.zeros(1), np.eye(1))
    >>> Closed(window, evidence, fit_quadratic(evidence, Shape.BALL)).window.is_everything
    True
    """

    window: Window
    evidence: Evidence
    fit: QuadraticFit
    level: float | None = None  # share of the values below what was fitted, where that was not their mean
    slope: float = 0.0  # variance of one measurement far above the minimum, in units of the height's square
    gain: float = np.inf  # in log likelihood, over noise that is the same everywhere
    is_sure: bool = True  # whether the answer may be the window's; else it is only asked whether the noise grows
    is_low: bool = False  # whether it is the window about the lowest values, for noise that is a huge factor


def close_in(evidence: Evidence, fit: QuadraticFit, shape: Shape, is_exact: bool = False) -> Closed | None:
    """Return the window to which the noise lets one close in, or None if the noise does not surely grow with height.

    ``fit`` is the quadratic fitted to all. Where values are exact, it is the shape that differs from a quadratic the
    more the higher, and a first sight is not enough.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 101)[:, None]
    >>> y = (z - 0.5) ** 2 * (1 + 0.3 * np.random.default_rng(0).standard_normal(z.shape))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> closed = close_in(evidence, fit_quadratic(evidence, Shape.BOX), Shape.BOX)
    >>> bool(closed.window.spread[0, 0] < 0.3), bool(abs(closed.window.centre[0] - 0.5) < 0.05)
    (True, True)
    """
    d = evidence.dimension
    if np.any(evidence.precision > 0) or evidence.n_measurements < n_terms(d) + 4:
        return None
    measured = selected(evidence, evidence.points, evidence.counts > 0)
    heights = _heights(fit, measured)
    edge = float(np.average(heights, weights=np.minimum(measured.counts, 10)))
    spread = float(np.ptp(measured.means))
    squares = _squares(measured, fit)
    if not squares[0].max() > (ROUNDING * spread) ** 2 or not heights.max() > 0:
        return None  # without noise there is nothing to get away from
    plain = _likelihood(np.ones(len(heights)), *squares)
    if not is_exact and not _looks_worth(measured, fit, heights, squares, plain):
        return None
    highest, nothing = float(heights.max()), np.zeros(len(heights))
    begin = _State(
        Window(np.zeros(d), np.eye(d)), measured, fit, np.inf, 0.0, plain[1] / (LEVEL * highest) ** 2, nothing
    )
    level = _finer(measured, begin, LEVEL * highest, shape)  # the same everywhere
    best, lowest = _path(measured, level, highest, spread)
    gain, sample = _sure_gain(best, level), single_values(evidence)
    enough = SURE + FOLLOWED * n_terms(d) ** 2 / evidence.n_measurements
    if gain >= enough and best.slope > LARGE and sample is not None:
        begin = replace(best, likelihood=-np.inf)
        other = _path(measured, begin, min(FINER**2 * best.height, highest), spread, sample)
        if other[0].likelihood > best.likelihood + SURE:
            best, lowest = other
            gain = _sure_gain(best, level)
    target = max(lowest, SAFE * expected_regret(best.fit), FINEST * spread)
    if (
        gain < enough
        or not target < edge / NEARER
        or _repeats_object(measured, _heights(best.fit, best.evidence), {best.height: SURE})
    ):
        return None
    closed = _closed(best, replace(best.evidence, points=measured.points), target, shape)
    return replace(closed, gain=gain, is_sure=is_exact or gain >= enough + _denied(closed, fit))


def _denied(closed: Closed, fit: QuadraticFit) -> float:
    """Return how much more than a suspicion the gain must be to answer by the window, and not by the fit to all."""
    there = closed.window.from_local(closed.fit.minimiser[None, :])[0]
    worse = (fit.value(there) - fit.value(fit.minimiser)) / max(expected_regret(fit), SMALLEST)
    return min(DENIED * max(worse - ALLOWED, 0.0), MOST_DENIED)


def single_values(evidence: Evidence) -> Sample | None:
    """Return the single values, if they are at hand, with the numbers that their rows have among the measured ones.

    >>> single_values(Evidence.empty(1)).n_values
    0
    """
    if evidence.sample is None:
        return None
    number = np.cumsum(evidence.counts > 0) - 1
    return replace(evidence.sample, rows=number[evidence.sample.rows])


def n_low(evidence: Evidence, fit: QuadraticFit) -> int:
    """Return the number of measurements that lie far lower than most, where noise that grows with height is small.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 101)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(z**2))
    >>> n_low(evidence, fit_quadratic(evidence, Shape.BOX))
    13
    """
    heights = _heights(fit, evidence)
    return int(evidence.counts[heights < LOW * float(np.average(heights, weights=evidence.counts))].sum())


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """A fit in the coordinates of a window, for noise of variance slope·(height² + h²), and its log likelihood.

    ``steeper`` is zero, or what the scale of the values adds to the likelihood at each point.
    """

    window: Window
    evidence: Evidence
    fit: QuadraticFit
    height: float
    likelihood: float
    slope: float
    steeper: Vector

    @property
    def tails(self) -> float:
        return LIGHT if np.any(self.steeper) else TAILS


def _path(
    measured: Evidence, state: _State, height: float, spread: float, sample: Sample | None = None
) -> tuple[_State, float]:
    """Return the best of ever finer fits, and the height where the noise ceases to fall: 0 if the data do not tell it.

    With single values the fits are those on the scale of `numerics.log_scale`.
    """
    begin, best, waited, step, falls = state, state, 0, 0, 0
    is_seen = True  # whether the data tell where the noise ceases to fall
    while waited < PATIENCE and step < STEPS and height > max(expected_regret(state.fit), FINEST * spread):
        before, state = state, _finer(measured, state, height, Shape.BALL, sample)
        falls = falls + 1 if state.likelihood < before.likelihood else 0
        low = int(measured.counts[_heights(state.fit, state.evidence) <= NEAR * height].sum())
        is_seen = low > 2 * measured.dimension
        if is_seen or low == 0:  # a few would not tell, and the fit would follow them
            best, waited = (state, 0) if state.likelihood > best.likelihood + TIE else (best, waited + 1)
        is_hopeless = falls > 1 and state.likelihood < best.likelihood - SURE < begin.likelihood
        if not is_seen or is_hopeless:  # noise that grows would have been seen by now, and the finer the better
            break
        height, step = height / FINER, step + 1
    return best, best.height if is_seen and waited else 0.0


def _closed(best: _State, weighed: Evidence, target: float, shape: Shape) -> Closed:
    """Return the window at the height ``target`` about the minimiser, wider if need be, and the fit in it."""
    noise = best.slope * (best.height**2 + target**2)  # of a measurement at the window's edge
    window, local, narrow = narrowed(best.window, best.fit, weighed, target, shape)
    return Closed(window, local, replace(narrow, sigma2=noise), 0.5 if np.any(best.steeper) else None, best.slope)


def _looks_worth(
    measured: Evidence, fit: QuadraticFit, heights: Vector, squares: tuple[Vector, Vector], plain: tuple[float, float]
) -> bool:
    """Tell at first sight, by the heights of the plain fit, whether the noise may grow with the height."""
    if _repeats_object(measured, heights, {float(heights.max()) / lower: by for lower, by in LOWER.items()}):
        return False
    is_low = heights < float(heights.max()) / DEEP
    if 2 * int(measured.counts[is_low].sum()) > measured.n_measurements:
        return True
    middle = max(median(heights), ROUNDING * float(heights.max()))
    possible = [(middle / f) ** 2 + heights**2 for f in (1.0, 4.0, 16.0)]
    if any(_likelihood(variance, *squares)[0] - plain[0] > WORTH for variance in possible):
        return True
    p = n_terms(measured.dimension)
    if len(heights) <= p or measured.n_measurements > REFITTED * p:
        return False
    # With few data the residuals of low places are those of a fit to the high ones.
    same = _refitted(measured, fit, np.ones(len(heights)))
    return any(_refitted(measured, fit, variance) > same + WORTH for variance in possible)


def _refitted(measured: Evidence, fit: QuadraticFit, variance: Vector) -> float:
    """Return the log likelihood of normal noise with variances in these proportions, and of a quadratic fitted so."""
    n, phi = measured.counts.astype(np.float64), features(measured.points)
    weights, left = n / variance, measured.means - phi @ fit.theta
    try:
        factor = factored((phi.T * weights) @ phi)
    except np.linalg.LinAlgError:
        return -np.inf
    pull = phi.T @ (weights * left)
    squares = float(weights @ left**2 + (measured.scatter / variance).sum() - pull @ factor.solve(pull))
    freedom = float(n.sum()) - len(pull)
    return -(float(n @ np.log(variance)) + factor.log_determinant + freedom * math.log(max(squares, SMALLEST))) / 2


def _finer(measured: Evidence, state: _State, height: float, shape: Shape, sample: Sample | None = None) -> _State:
    """Return the fit for noise whose parts are equal at this height, begun from that of a greater one."""
    window = window_at(state.window, state.fit, height) if shape is Shape.BALL else state.window
    before = replace(measured, points=state.window.to_local(measured.points))
    heights = _heights(state.fit, before)
    if sample is not None:
        before = on_log_scale(before, sample, state.fit, height)[0]
    local = replace(before, points=window.to_local(measured.points))
    limit, slope, steeper = np.ones(len(heights)), state.slope, np.zeros(len(heights))
    tails, share = (TAILS if sample is None else LIGHT), _share(measured)
    fit = state.window.carried(state.fit, window)
    for _ in range(TURNS):
        variance = height**2 + heights**2
        local = replace(local, precision=limit * local.counts / (slope * variance))
        fit = fit_quadratic(local, shape, near=fit)  # only weights and coordinates have changed
        heights = _heights(fit, local)
        if sample is not None:
            local, steeper = on_log_scale(local, sample, fit, height)
        level = _level(height**2 + heights**2, local, fit, window, slope)
        likelihood, slope = _likelihood(height**2 + heights**2, *_squares(local, fit), tails, level)
        apart = np.abs(local.means - features(local.points) @ fit.theta)
        near = FAR * np.sqrt(slope * (height**2 + heights**2) / local.counts)
        limit = near / np.maximum(np.maximum(apart, near), 1e-300)
    return _State(window, local, fit, height, likelihood + share * float(steeper.sum()), slope, share * steeper)


def _level(variance: Vector, local: Evidence, fit: QuadraticFit, window: Window, slope: float) -> float:
    """Return ½ log |V| |ΦᵀV⁻¹Φ| of the variances to which, times the slope, a quadratic was fitted in a window.

    That is what the likelihood of the contrasts has in place of ½ log |V|. A few low places with little noise may tell
    every coefficient: then nothing is left of them for a contrast, and it is the fit to all others that must hold. The
    determinant is that of the coordinates of the domain, the same for all windows.
    """
    d, p = window.centre.size, fit.theta.size
    assert fit.information is not None
    told = factored(fit.information).log_determinant + p * math.log(slope)
    stretched = 2 * (d + 2) * float(np.linalg.slogdet(window.spread)[1])
    return (float(local.counts @ np.log(variance)) + told + stretched) / 2


def _share(evidence: Evidence) -> float:
    """Return how much of a measurement's information is left for the noise when a quadratic has been fitted."""
    n = float(evidence.n_measurements)
    return max(n - n_terms(evidence.dimension), 1.0) / n


def _likelihood(
    variance: Vector, s: Vector, w: Vector, tails: float = TAILS, level: float | None = None
) -> tuple[float, float]:
    """Return the log likelihood of variances in these proportions, with Student's tails, and their size.

    ``level`` is the part of it that does not depend on the values, where a quadratic was fitted to them for these
    variances (`_level`).
    """
    parts, total = s / variance, float(w.sum())
    level = float(np.log(variance) @ w) if level is None else level

    def at(sizes: Vector, every: int = 1) -> Vector:
        some = w[::every]
        far = np.log1p(parts[::every] / (tails * sizes[:, None])) @ some * (total / float(some.sum()))
        return total * _at_centre(tails) - (total * np.log(sizes) + level + (tails + 1) * far)

    mean = max(float(parts @ w) / total, SMALLEST)
    # One value of 10⁶ among normal ones makes the mean 10¹² times what most say; and most may lie on the fit exactly.
    least = max(min(1e-8 * mean, 0.01 * _middle(parts)), 1e-40 * mean)
    sizes = _spaced(least, 10 * mean, SIZES)
    best = int(np.argmax(at(sizes, every=1 + len(parts) // MANY)))
    sizes = _spaced(float(sizes[max(best - 1, 0)]), float(sizes[min(best + 1, SIZES - 1)]), FINE)
    found = at(sizes)
    best = int(np.argmax(found))
    return float(found[best]), float(sizes[best]) * tails / (tails - 2)


def _middle(values: Vector) -> float:
    """Return the median, the greater of two; NumPy's own takes as long as the likelihoods there."""
    return float(np.partition(values, len(values) // 2)[len(values) // 2])


def _at_centre(tails: float) -> float:
    """Return twice the log of Student's density at zero, but for a constant that is the same for all tails."""
    return 2 * math.lgamma((tails + 1) / 2) - 2 * math.lgamma(tails / 2) - math.log(tails)


def _spaced(low: float, high: float, n: int) -> Vector:
    """Return n numbers in equal proportions; NumPy's function for it takes as long as the likelihoods there."""
    spaced: Vector = low * (high / low) ** (np.arange(n) / (n - 1))
    return spaced


def _sure_gain(best: _State, level: _State) -> float:
    """Return the gain in log likelihood without the few far values that speak for it most: one wild one is no proof."""
    (ours, _), (theirs, is_far) = _shares(best), _shares(level)
    gains = ours - theirs
    wild = np.sort(np.maximum(gains[is_far], 0.0))[::-1][: 1 + len(gains) // FEW]
    return best.likelihood - level.likelihood - float(wild.sum())


def _repeats_object(measured: Evidence, heights: Vector, levels: Mapping[float, float]) -> bool:
    """Tell whether the scatter of repeats denies what the misfit says, which may be another shape and no noise.

    At every one of the levels, heights at which both parts of the noise would be equal, by so much in log likelihood.
    """
    rows = np.flatnonzero(measured.counts > 1)
    if not rows.size or not measured.scatter[rows].max() > 0:
        return False
    freedom = measured.counts[rows] - 1.0
    squares = measured.scatter[rows] / freedom, freedom / 2
    plain = _likelihood(np.ones(len(rows)), *squares)[0]
    return all(_likelihood(level**2 + heights[rows] ** 2, *squares)[0] < plain - by for level, by in levels.items())


def _shares(state: _State) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Return what each point has in the log likelihood, and whether it lies farther from the fit than noise does."""
    squares, weights = _squares(state.evidence, state.fit)
    heights = _heights(state.fit, state.evidence)
    tails, variance = state.tails, state.slope * (state.height**2 + heights**2)
    scaled = (tails - 2) / tails * variance
    shares = weights * (_at_centre(tails) - np.log(scaled) - (tails + 1) * np.log1p(squares / (tails * scaled)))
    return shares + state.steeper, squares > WILD**2 * scaled


def _heights(fit: QuadraticFit, evidence: Evidence) -> Vector:
    """Return the fitted heights above the minimum."""
    return np.maximum(features(evidence.points) @ fit.theta - fit.value(fit.minimiser), 0.0)


def _squares(evidence: Evidence, fit: QuadraticFit) -> tuple[Vector, Vector]:
    """Return what each point says of the variance of one measurement there, and half its degrees of freedom."""
    n = evidence.counts.astype(np.float64)
    phi = features(evidence.points)
    variance = np.where(evidence.precision > 0, n / np.maximum(evidence.precision, 1e-300), fit.sigma2)
    leverage = np.clip(n * np.sum((phi @ fit.covariance) * phi, axis=1) / variance, 0.0, 1 - 1e-6)
    weight = (n - leverage) / 2
    squares = (evidence.scatter + n * (evidence.means - phi @ fit.theta) ** 2) / (2 * weight)
    # The total must be the same for all fits that are compared, else the unit of the values would have a say.
    return squares, weight * max(float(n.sum()) - phi.shape[1], 1.0) / (2 * float(weight.sum()))
