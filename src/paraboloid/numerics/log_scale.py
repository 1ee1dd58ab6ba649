"""Noise that is a factor: values on a scale that is logarithmic far above the minimum and linear near to it.

Where a measurement is the height times a factor that varies by more than its own size (lognormal noise, products of
many chances), values far too large are common, and a mean follows them. On the scale

    T(y) = arsinh((y - c)/η),    c the fitted minimum, η the height below which the noise ceases to fall,

such noise is even and the same everywhere. A fit q of T(q) to T(y) by Gauss and Newton is a fit of q to

    y' = q + (T(y) - T(q))/T'(q),    of variance s²/T'(q)² = s²(η² + h²),    h = q - c,

which are the weights that noise in proportion to the height has anyway. What is fitted is then the middle of the values
and not their mean; where the factor has the same law everywhere, both are least at the same place.
"""

from dataclasses import replace

import numpy as np

from paraboloid.core import Evidence, Sample, Vector
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import features

__all__ = ["on_log_scale"]


def on_log_scale(local: Evidence, sample: Sample, fit: QuadraticFit, height: float) -> tuple[Evidence, Vector]:
    """Return the evidence whose values are y', and log |T'(y)/T'(q)| added up at each point.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements, Shape
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 5)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(z**2))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> tenfold = replace(evidence.sample, values=10 * evidence.sample.values)
    >>> on_log_scale(evidence, tenfold, fit, 1e-6)[0].means.round(1)  # 1 + log 10 in place of 10 at the ends
    array([3.3, 0.8, 0. , 0.8, 3.3])
    """
    low, q = fit.value(fit.minimiser), features(local.points) @ fit.theta
    heights, above = np.maximum(q - low, 0.0), sample.values - low
    rows, count = sample.rows, sample.counts
    scale = np.hypot(height, heights)
    apart = (np.arcsinh(above / height) - np.arcsinh(heights / height)[rows]) * scale[rows]
    mean = np.bincount(rows, weights=count * apart, minlength=len(q)) / local.counts
    scatter = np.bincount(rows, weights=count * (apart - mean[rows]) ** 2, minlength=len(q)).astype(np.float64)
    steeper = np.bincount(rows, weights=count * np.log(scale[rows] / np.hypot(height, above)), minlength=len(q)).astype(
        np.float64
    )
    return replace(local, means=q + mean, scatter=scatter), steeper
