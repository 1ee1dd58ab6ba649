"""Noise that is a huge factor on one side: what single values tell is then told by the low ones.

Where a measurement is the height above some value times a factor of many powers of ten that is rarely small (now and
then a run fails, hangs or diverges), its logarithm is spread over a wide range, of which the lower edge alone is that
of the height. A mean follows the few greatest values, a middle the range. So a curve is fitted below which a small
share of the values lies (`numerics.quantile_curve`): of a few levels up to a half that one at which a single value
tells most. Then the search closes in on its minimiser, as it does wherever noise grows with the height.

Done only where the noise is such: some values far from any robust fit, a factor that varies a hundredfold (also by
`numerics.closing_in`, where that finds one), and a sure gain in likelihood over noise of any such law that is the same
everywhere. What is minimised then is a low quantile of the values. Where the factor has the same law everywhere, all
quantiles and the mean, if there is one, are least at the same place; else they need not be, and no bound is claimed.
"""

import math
from dataclasses import replace

import numpy as np

from paraboloid.core import Evidence, Shape
from paraboloid.numerics.closing_in import FINEST, SAFE, SURE, Closed, single_values
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.narrowing import expected_regret, narrowed
from paraboloid.numerics.quadratic_model import n_terms
from paraboloid.numerics.quantile_curve import Curve, Heights, even_likelihood, fit_curve
from paraboloid.numerics.region import minimise_on_region, project_onto_region
from paraboloid.numerics.tails import Limited
from paraboloid.numerics.window import Window, selected

__all__ = ["close_in_low", "repeats_differ_hugely"]

NORMAL = 2.563  # standard deviations between the least and the greatest tenth of a normal law
LEVELS = (0.05, 0.1, 0.2, 0.35, 0.5)
ENOUGH = 4  # times p measurements; with fewer, one law of the noise is hardly told from another
BELOW = 1.0  # times p values, at least, that must lie below a curve of p coefficients
FAR = 0.05  # of the values, far from a robust fit; of normal noise, Student's or lognormal one there are fewer
HUGE = 100.0  # the factor by which the greatest tenth of the factors differs from the least


def close_in_low(
    evidence: Evidence, limited: Limited, fit: QuadraticFit, shape: Shape, closed: Closed | None = None
) -> Closed | None:
    """Return the window about the minimiser of a low quantile, or None where noise is no huge factor on one side.

    ``limited`` is what was done about far values, ``fit`` the quadratic fitted to all, and ``closed`` the window to
    which a law that is the same on both sides leads: with a factor that is not huge, nothing is sought here.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import limit_tails
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> y = (z - 0.5) ** 2 * 1e6 ** rng.random((200, 1))  # the factor is between 1 and a million
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> closed = close_in_low(evidence, limit_tails(evidence, Shape.BOX), fit, Shape.BOX)
    >>> closed.level, closed.window.from_local(closed.fit.minimiser[None, :]).round(1)
    (0.05, array([[0.5]]))
    """
    sample, least = single_values(evidence), ENOUGH * n_terms(evidence.dimension)
    is_rare = limited.n_far < FAR * evidence.n_measurements
    if closed is not None and closed.slope < (math.log(HUGE) / NORMAL) ** 2:
        return None
    if sample is None or is_rare or evidence.n_measurements < least or np.any(evidence.precision > 0):
        return None
    measured = selected(evidence, evidence.points, evidence.counts > 0)
    low = float(sample.values.min())  # it says where the heights begin, and so nothing of heights
    above = sample.values - low
    unit = float(np.median(above))
    if not unit > 0:
        return None
    kept = above > 0
    values = Heights(measured.points, sample.rows[kept], above[kept] / unit, sample.counts[kept].astype(np.float64))
    curve = _most_telling(values)
    if curve is None or not _is_huge(curve, values):
        return None
    plain = fit.theta / unit
    plain[0] -= low / unit
    if curve.likelihood - even_likelihood(values, curve.level, [plain, curve.theta]) < SURE:
        return None
    return _closed(measured, values, curve, low, unit, shape)


def repeats_differ_hugely(evidence: Evidence) -> bool:
    """Tell whether values of one and the same place differ by a huge factor, which no shape explains.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 20)[:, None]
    >>> y = np.exp(9 * z) * 1e6 ** np.random.default_rng(0).random((20, 3))  # the factor is between 1 and a million
    >>> repeats_differ_hugely(Evidence.empty(1).with_measurements(z, Measurements.from_values(y)))
    True
    """
    sample = single_values(evidence)
    if sample is None or not sample.n_values:
        return False
    above = sample.values - float(sample.values.min())
    kept = above > 0
    rows, logs = sample.rows[kept], np.log(above[kept])
    n = np.bincount(rows)[rows]
    apart = (logs - (np.bincount(rows, weights=logs) / np.maximum(np.bincount(rows), 1))[rows])[n > 1]
    if len(apart) < ENOUGH * n_terms(evidence.dimension):
        return False
    low, high = np.quantile(apart * np.sqrt(n / np.maximum(n - 1.0, 1.0))[n > 1], [0.1, 0.9])
    return bool(high - low > math.log(HUGE))


def _most_telling(values: Heights) -> Curve | None:
    """Return the curve of the level at which one value tells most."""
    p = n_terms(values.points.shape[1])
    curves: list[Curve] = []
    for level in LEVELS:
        if level * values.total >= BELOW * p:
            curves.append(fit_curve(values, level, near=curves[-1] if curves else None))
    return min(curves, key=lambda curve: curve.variance(values), default=None)


def _is_huge(curve: Curve, values: Heights) -> bool:
    low, high = np.quantile(curve.residuals(values), [0.1, 0.9])
    return bool(high - low > math.log(HUGE))


def _closed(measured: Evidence, values: Heights, curve: Curve, low: float, unit: float, shape: Shape) -> Closed:
    """Return the window about the curve's minimiser, and the fit in it to what the values' scores stand for.

    A value tells log g to be ψ/κ more than it is, with the curve's variance: a measurement of g(1 + ψ/κ).
    """
    g, variance, scores = curve.at(values.points), curve.variance(values), curve.scores(values)
    counts = values.added(np.ones(len(scores)))
    mean = values.added(scores) / np.maximum(counts, 1.0)
    told = replace(
        measured,
        counts=counts.astype(np.int64),
        means=low + unit * g * (1 + mean),
        scatter=(unit * g) ** 2 * values.added((scores - mean[values.rows]) ** 2),
        precision=counts / (variance * (unit * g) ** 2),
    )
    told = selected(told, told.points, counts > 0)
    window = Window(curve.m, np.asarray(np.linalg.inv(curve.L.T) * math.sqrt(float(np.median(g))), dtype=np.float64))
    begin = fit_quadratic(replace(told, points=window.to_local(told.points)), Shape.BALL)
    floor = unit * curve.floor
    target = max(floor, SAFE * expected_regret(begin), FINEST * unit * float(values.heights.max()))
    window, local, narrow = _kept_inside(*narrowed(window, begin, told, target, shape), told, shape)
    noise = variance * (floor + target) ** 2  # of a measurement at the window's edge
    return Closed(window, local, replace(narrow, sigma2=noise), curve.level, variance)


def _kept_inside(
    window: Window, local: Evidence, fit: QuadraticFit, told: Evidence, shape: Shape
) -> tuple[Window, Evidence, QuadraticFit]:
    """Return a window about the lowest place of the domain, where the fitted minimiser lies outside.

    In a narrow valley that leads out of the domain, the nearest place may lie high up on its side.
    """
    there = window.from_local(fit.minimiser[None, :])
    if np.allclose(project_onto_region(shape, there), there):
        return window, local, fit
    back = np.linalg.inv(window.spread)
    H = back.T @ fit.hessian @ back
    window = Window(minimise_on_region(shape, H, back.T @ fit.linear - H @ window.centre), window.spread)
    local = window.seen(told)
    return window, local, replace(fit_quadratic(local, Shape.BALL), minimiser=np.zeros(window.centre.size))
