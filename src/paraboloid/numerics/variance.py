"""Noise that differs over the domain: a smooth profile of its variance, used as weights where the data surely show it.

Weights from the scatter at single points would follow chance: with a few repeats a point that happened to agree with
itself would count most, and where the noise is skewed its mean would be biased. The profile

    log v(z) = β₀ + β·z + γ|z|²

has d + 2 coefficients for all points together. They are fitted to the squared residuals and the scatter of repeats by
maximum likelihood (gamma, so that squares of normal values have their right spread), drawn a little towards zero. The
profile is used only if the likelihood gains more than chance would give it once in a thousand times, its spread judged
by the data themselves (tails heavier than normal make squares more unequal).

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
v_i                 ``v``                   variance of one measurement at point i
s_i                 ``s``                   what the data say of it: (scatter + n r²)/(n - leverage)
w_i                 ``w``                   half its degrees of freedom, (n - leverage)/2
==================  ======================  =========================================================
"""

from dataclasses import replace

import numpy as np
from scipy import special

from paraboloid.core import Evidence, Matrix, Vector
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.positive import factored
from paraboloid.numerics.quadratic_model import features, n_terms

__all__ = ["weigh_by_variance"]

ENOUGH = 4  # times p measurements; residuals of fewer say too little
CHANCE = 1e-3
SHRINKAGE = 1.0  # pseudo-measurements that say that the variance is the same everywhere
WIDEST = 100.0  # ratio of variances beyond which the profile is not believed
STEPS = 30


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
    if len(n) <= evidence.dimension + 3 or not np.all(s >= 0) or float(w @ s) <= 0:
        return evidence
    v = _profile(evidence.points[rows], s, w)
    if v is None:
        return evidence
    precision = np.zeros(len(rows))
    precision[rows] = n / v
    return replace(evidence, precision=precision)


def _profile(points: Matrix, s: Vector, w: Vector) -> Vector | None:
    """Return the variance at each point, or None if it may well be the same everywhere."""
    middle = float(w @ s / w.sum())
    u = np.column_stack([np.ones(len(s)), points, np.sum(points**2, axis=1)])
    beta = np.zeros(u.shape[1])
    ridge = SHRINKAGE * np.diag([0.0] + [1.0] * (len(beta) - 1))
    curvature = factored((u.T * w) @ u + ridge, ridge=0.0)
    v: Vector = np.full(len(s), middle)
    for _ in range(STEPS):
        step = curvature.solve(u.T @ (w * (s / v - 1)) - ridge @ beta)
        step *= min(1.0, 1.0 / max(float(np.abs(u @ step).max()), 1e-300))  # never more than a factor e at once
        beta = beta + step
        v = middle * np.exp(u @ beta)
        if float(np.abs(u @ step).max()) < 1e-4:
            break
    gain = 2 * float(w @ (np.log(middle / v) + s / middle - s / v))
    freedom = len(beta) - 1
    dispersion = max(1.0, float(w @ (s / v - 1) ** 2) / (len(s) - len(beta)))
    if gain <= dispersion * float(special.chdtri(freedom, CHANCE)) or v.max() > WIDEST**2 * v.min():
        return None
    return np.clip(v, v.max() / WIDEST, None)
