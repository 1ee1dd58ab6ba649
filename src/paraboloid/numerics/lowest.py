"""The window about the lowest single values, where noise is a huge factor on one side.

A low value can hardly come from a place that is higher by powers of ten, while a high one can come from anywhere: the
places of the lowest values tell most, at whatever height, and no law of the noise need be known for it. So the window
is the ellipsoid of the p places whose lowest values are the lowest of all, each with a weight of 1 over its rank. The
next measurements are scattered about its centre, each at a place of its own (`design.scattered_once`): a few of them
are lower than all before, and the window shrinks in each round, as in the cross-entropy method (Rubinstein and Kroese,
2004), but with all values since the beginning. At first, while most places are those of a design for a paraboloid,
they are scattered over the whole domain.

The centre is the answer. Where there are many values, a paraboloid below which a share of the nearest ones lies
(`numerics.quantile_curve`) makes use of more than the lowest, and its minimiser is, if it lies in the window.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
c, R                ``centre``, ``spread``  of the window: z = c + R w, w normal for the next measurements
g                   ``g``                   the curve at the nearest places
==================  ======================  =========================================================
"""

from dataclasses import replace

import numpy as np

from paraboloid.core import Evidence, Matrix, Sample, Shape, Vector
from paraboloid.numerics.closing_in import Closed, single_values
from paraboloid.numerics.fit import fit_quadratic
from paraboloid.numerics.quadratic_model import n_terms
from paraboloid.numerics.quantile_curve import Curve, Heights, most_telling
from paraboloid.numerics.region import project_onto_region
from paraboloid.numerics.window import Window, selected

__all__ = ["close_in_on_lowest"]

EARLY = 2  # times p places: with fewer, the next ones are scattered over the whole domain
WIDER = 1.2  # times the spread of the lowest places, so that a window can also move and grow
ROUNDEST = 1e-6  # of the mean of the squared radii: valleys are not narrower
FINEST = 1e-12  # of the domain
NEAREST = 30  # times p values are what the curve is fitted to
MANY = 40  # times p values: with fewer, the centre of the lowest is nearer to the minimum than the curve's minimiser
INSIDE = 2.0  # in spreads of the next measurements: how far from the centre a minimiser counts


def close_in_on_lowest(evidence: Evidence, shape: Shape) -> Closed | None:
    """Return the window about the lowest values, or None if there are too few places or no single values.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> y = (z - 0.5) ** 2 * 1e6 ** rng.random((200, 1))  # the factor is between 1 and a million
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> closed = close_in_on_lowest(evidence, Shape.BOX)
    >>> closed.window.centre.round(1), bool(closed.window.spread[0, 0] < 0.1)
    (array([0.5]), True)
    """
    d, sample = evidence.dimension, single_values(evidence)
    measured = selected(evidence, evidence.points, evidence.counts > 0)
    if sample is None or len(measured.points) <= d + 2 or not np.ptp(sample.values) > 0:
        return None
    lowest = _lowest_places(measured.points, sample)
    is_early = len(measured.points) < EARLY * n_terms(d)
    window = Window(np.zeros(d), np.eye(d)) if is_early else _window_of(lowest)
    near, values, low, unit = _nearest(window, measured, sample)
    if values.total == 0:
        return None
    reach = max(float(np.linalg.norm(near.points, axis=1).max()), 1.0)
    values = replace(values, points=near.points / reach)
    curve = most_telling(values)
    level = len(lowest) / sample.n_values
    if sample.n_values >= MANY * n_terms(d) and float(np.linalg.norm(curve.m)) * reach < INSIDE:
        centre = project_onto_region(shape, window.from_local(reach * curve.m[None, :]))
        near = replace(near, points=near.points - window.to_local(centre))
        window, level = Window(centre[0], window.spread), curve.level
    at = project_onto_region(Shape.BALL, lowest[:1])[0] if is_early else np.zeros(d)
    told, variance, noise = _told(near, values, curve, low, unit)
    fit = replace(fit_quadratic(told, Shape.BALL), minimiser=at, sigma2=noise)
    return Closed(window, told, fit, level, variance, is_low=True)


def _lowest_places(points: Matrix, sample: Sample) -> Matrix:
    """Return the places with the lowest values, the lowest first: p of them, or half of all while there are few."""
    d = points.shape[1]
    least = np.full(len(points), np.inf)
    np.minimum.at(least, sample.rows, sample.values)
    k = max(d + 2, min(n_terms(d), len(points) // 2))
    places: Matrix = points[np.argsort(least, kind="stable")[:k]]
    return places


def _window_of(lowest: Matrix) -> Window:
    """Return the centre of the lowest places and their spread, somewhat widened."""
    weights = 1 / np.arange(1.0, len(lowest) + 1)
    weights /= weights.sum()
    centre: Vector = weights @ lowest
    away = lowest - centre
    squares, Q = np.linalg.eigh((away.T * weights) @ away / (1 - weights @ weights))
    radii = np.sqrt(np.maximum(squares, ROUNDEST * float(squares.mean()) + FINEST**2))
    return Window(centre, WIDER * Q * radii)


def _nearest(window: Window, measured: Evidence, sample: Sample) -> tuple[Evidence, Heights, float, float]:
    """Return what was measured nearest, in the window's coordinates, its heights, and their zero and unit."""
    local = window.to_local(measured.points)
    away = np.linalg.norm(local, axis=1)
    order = np.argsort(away, kind="stable")
    enough = int(np.searchsorted(np.cumsum(measured.counts[order]), NEAREST * n_terms(measured.dimension)))
    is_near = away <= away[order[min(enough, len(order) - 1)]]
    low = float(sample.values.min())
    kept = is_near[sample.rows] & (sample.values > low)
    above = sample.values[kept] - low
    unit = float(np.median(above)) if above.size else 1.0
    rows = (np.cumsum(is_near) - 1)[sample.rows[kept]]
    near = selected(measured, local, is_near)
    return near, Heights(near.points, rows, above / unit, sample.counts[kept].astype(np.float64)), low, unit


def _told(near: Evidence, values: Heights, curve: Curve, low: float, unit: float) -> tuple[Evidence, float, float]:
    """Return the evidence that the values' scores stand for, its variance on a logarithmic scale, and in the window.

    A value tells log g to be ψ/κ more than it is, with the curve's variance: a measurement of g(1 + ψ/κ).
    """
    g, variance, scores = curve.at(values.points), curve.variance(values), curve.scores(values)
    counts = values.added(np.ones(len(scores)))
    mean = values.added(scores) / np.maximum(counts, 1.0)
    told = replace(
        near,
        counts=counts.astype(np.int64),
        means=low + unit * g * (1 + mean),
        scatter=(unit * g) ** 2 * values.added((scores - mean[values.rows]) ** 2),
        precision=counts / (variance * (unit * g) ** 2),
    )
    return selected(told, told.points, counts > 0), variance, variance * (unit * float(np.median(g))) ** 2
