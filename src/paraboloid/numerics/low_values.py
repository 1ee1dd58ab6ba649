"""Noise that is a huge factor on one side: what single values tell is then told by the low ones.

Where a measurement is the height above some value times a factor of many powers of ten that is rarely small (now and
then a run fails, hangs or diverges), its logarithm is spread over a wide range, of which the lower edge alone is that
of the height. A mean follows the few greatest values, a middle the range. So the search closes in on the places of the
lowest values (`numerics.lowest`).

Done only where the noise is such. Either most values of one and the same place differ hundredfold, as by no shape;
a few of them must differ more. Or some values are far from any robust fit, they differ hundredfold (also by
`numerics.closing_in`, where that finds a factor) from the curve below which a share of them lies, at the level at which
one value tells most (`numerics.quantile_curve`), and there is a sure gain in likelihood over noise of any such law that
is the same everywhere.

What is minimised then is a low quantile of the values. Where the factor has the same law everywhere, all quantiles and
the mean, if there is one, are least at the same place; else they need not be, and no bound is claimed.
"""

import math

import numpy as np

from paraboloid.core import Evidence, Shape
from paraboloid.numerics.closing_in import SURE, Closed, single_values
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.lowest import close_in_on_lowest
from paraboloid.numerics.quadratic_model import n_terms
from paraboloid.numerics.quantile_curve import Curve, Heights, even_likelihood, most_telling
from paraboloid.numerics.quantiles import quantiles
from paraboloid.numerics.tails import Limited

__all__ = ["close_in_low", "repeats_differ_hugely"]

NORMAL = 2.563  # standard deviations between the least and the greatest tenth of a normal law
ENOUGH = 4  # times p measurements; with fewer, one law of the noise is hardly told from another
REPEATED = 8  # values of places with several, from which on repeats tell
DOUBT = 5.0  # over their number: part by which a few of them must differ more
QUARTILES = 0.3  # of the range between the tenths, at least, between the quartiles: half of it for any usual law
FAR = 0.05  # of the values, far from a robust fit; of normal noise, Student's or lognormal one there are fewer
HUGE = 100.0  # the factor by which the greatest tenth of the factors differs from the least


def close_in_low(
    evidence: Evidence, limited: Limited, fit: QuadraticFit, shape: Shape, closed: Closed | None = None
) -> Closed | None:
    """Return the window about the lowest values, or None where noise is no huge factor on one side.

    ``limited`` is what was done about far values, ``fit`` the quadratic fitted to all, and ``closed`` the window to
    which a law that is the same on both sides leads: with a factor that is not huge, nothing is sought here.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import fit_quadratic, limit_tails
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> y = (z - 0.5) ** 2 * 1e6 ** rng.random((200, 1))  # the factor is between 1 and a million
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> closed = close_in_low(evidence, limit_tails(evidence, Shape.BOX), fit, Shape.BOX)
    >>> closed.window.from_local(closed.fit.minimiser[None, :]).round(1)
    array([[0.5]])
    """
    sample, least = single_values(evidence), ENOUGH * n_terms(evidence.dimension)
    is_rare = limited.n_far < FAR * evidence.n_measurements
    if closed is not None and closed.slope < (math.log(HUGE) / NORMAL) ** 2:
        return None
    if sample is None or is_rare or evidence.n_measurements < least or np.any(evidence.precision > 0):
        return None
    low = float(sample.values.min())  # it says where the heights begin, and so nothing of heights
    above = sample.values - low
    unit = float(np.median(above))
    if not unit > 0:
        return None
    kept = above > 0
    points, counts = evidence.points[evidence.counts > 0], sample.counts[kept].astype(np.float64)
    values = Heights(points, sample.rows[kept], above[kept] / unit, counts)
    curve = most_telling(values)
    if not _is_huge(curve, values):
        return None
    plain = fit.theta / unit
    plain[0] -= low / unit
    if curve.likelihood - even_likelihood(values, curve.level, [plain, curve.theta]) < SURE:
        return None
    return close_in_on_lowest(evidence, shape)


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
    if sample is None or not sample.n_values or np.any(evidence.precision > 0):
        return False
    above = sample.values - float(sample.values.min())
    order = np.lexsort((above, sample.rows))
    order = order[above[order] > 0]
    rows, logs = sample.rows[order], np.log(above[order])
    n, first = np.bincount(rows)[rows], np.searchsorted(rows, rows)
    middle = (logs[first + (n - 1) // 2] + logs[first + n // 2]) / 2  # one wild value must not move all of its place
    apart = ((logs - middle) * np.sqrt(n / np.maximum(n - 1.0, 1.0)))[n > 1]
    if len(apart) < REPEATED:
        return False
    huge = math.log(HUGE) * (1 + DOUBT / len(apart))
    low, lower, higher, high = quantiles(apart, 0.1, 0.25, 0.75, 0.9)
    return bool(high - low > huge and higher - lower > QUARTILES * huge)  # a few wild values are no factor


def _is_huge(curve: Curve, values: Heights) -> bool:
    low, high = quantiles(curve.residuals(values), 0.1, 0.9)
    return bool(high - low > math.log(HUGE))
