"""Noise that differs over the domain about a quadratic: its profile, used as weights where the data surely show it.

The profile of `numerics.profile` is fitted to the residuals and the scatter of repeats. Weights from the scatter at
single points would follow chance: a point that happened to agree with itself would count most, and where the noise is
skewed its mean would be biased.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
s_i                 ``s``                   variance of one measurement: (scatter + n r²)/(n - leverage)
w_i                 ``w``                   half its degrees of freedom, (n - leverage)/2
==================  ======================  =========================================================
"""

from dataclasses import replace

import numpy as np

from paraboloid.core import Evidence
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.profile import fit_profile
from paraboloid.numerics.quadratic_model import features, n_terms

__all__ = ["weigh_by_variance"]

ENOUGH = 4  # times p measurements; residuals of fewer say too little


def weigh_by_variance(evidence: Evidence, fit: QuadraticFit) -> Evidence:
    """Return the evidence with weights by the variance at each point, if it surely differs, else unchanged.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements, Shape
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 101)[:, None]
    >>> y = z**2 + np.exp(2 * z) * np.random.default_rng(0).standard_normal(z.shape)
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> weighted = weigh_by_variance(evidence, fit_quadratic(evidence, Shape.BOX))
    >>> bool(weighted.precision[0] > 10 * weighted.precision[-1])
    True
    """
    p = n_terms(evidence.dimension)
    if evidence.n_measurements < ENOUGH * p or np.any(evidence.precision > 0):
        return evidence
    rows = evidence.counts > 0
    n = evidence.counts[rows].astype(np.float64)
    phi = features(evidence.points[rows])
    leverage = np.clip(n * np.sum((phi @ fit.covariance) * phi, axis=1) / fit.sigma2, 0.0, 0.99)
    w = (n - leverage) / 2
    s = (evidence.scatter[rows] + n * (evidence.means[rows] - phi @ fit.theta) ** 2) / (2 * w)
    profile = fit_profile(evidence.points[rows], s, w)
    return evidence if profile is None else replace(evidence, precision=evidence.counts / profile(evidence.points))
