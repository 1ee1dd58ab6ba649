"""Bounds for truncated samples (Appendix D): bias, variance, tail, and the corollary for quantised values.

X is any random variable with a variance, Z its projection onto [-m, m] with m > |E X|. With finite variance alone the
sum of the Z has exponential tails: heavy noise is turned into light noise, at a bias of at most Var X/4(m - |E X|).

The printed proof writes E[X_k] in two places where |E[X_k]| is meant; the statements are right.

==================  ==================  =========================================
paper               code                meaning
==================  ==================  =========================================
E[X_k]              ``means``           before truncation, one or n of them
Var[X_k]            ``variances``       before truncation, one or n of them
m                   ``bound``           truncation to [-m, m]
z                   ``deviation``       of the sum from the sum of the means
b                   ``rounding``        largest change by a quantiser
==================  ==================  =========================================
"""

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError, Vector, check_positive

__all__ = ["truncation_bias_bound", "truncation_tail_bound", "truncation_variance_bound"]


def _checked(variances: npt.ArrayLike, means: npt.ArrayLike, bound: float) -> tuple[Vector, Vector, float]:
    variance = np.asarray(variances, dtype=np.float64)
    mean = np.abs(np.asarray(means, dtype=np.float64))
    m = check_positive("bound", bound)
    if not (np.all(variance >= 0) and np.all(mean < m)):
        raise UsageError(
            f"variances must be at least 0 and means below the bound {m:.6g} in size, got variances {variances!r} "
            f"and means {means!r}. Truncate around a centre nearer to the mean, or at a larger bound."
        )
    return variance, mean, m


def truncation_bias_bound(variance: float, mean: float, bound: float) -> float:
    """Return Var X / 4(m - |E X|), an upper bound of |E Z - E X| (Proposition D.1, first inequality).

    >>> truncation_bias_bound(1.0, 0.0, 5.0)
    0.05
    """
    v, mu, m = _checked(variance, mean, bound)
    return float(v / (4 * (m - mu)))


def truncation_variance_bound(variance: float, mean: float, bound: float) -> float:
    """Return Var X, an upper bound of E(Z - E X)² and so of Var Z (Proposition D.1, second inequality).

    >>> truncation_variance_bound(2.0, 0.5, 1.0)
    2.0
    """
    v, _, _ = _checked(variance, mean, bound)
    return float(v)


def truncation_tail_bound(
    variances: npt.ArrayLike, means: npt.ArrayLike, bound: float, deviation: float, *, rounding: float = 0.0
) -> float:
    """Return 2 exp(Σ Var X_k/m(m - |E X_k|) - (z - bn)/m) ≥ P[|Σ Y_k - Σ E X_k| ≥ z], at most 1.

    Proposition D.1, third inequality; with ``rounding`` b > 0 its corollary for values that a quantiser changed
    by at most b each.

    >>> import numpy as np
    >>> p = truncation_tail_bound(np.ones(100), np.zeros(100), bound=10.0, deviation=50.0)
    >>> bool(np.isclose(p, 2 * np.exp(100 / 100 - 50 / 10)))
    True
    """
    v, mu, m = _checked(variances, means, bound)
    z = check_positive("deviation", deviation)
    if not rounding >= 0:
        raise UsageError(f"rounding must be at least 0, got {rounding!r}.")
    v, mu = np.broadcast_arrays(np.atleast_1d(v), np.atleast_1d(mu))
    exponent = float(np.sum(v / (m * (m - mu)))) - (z - rounding * v.size) / m
    return min(1.0, 2 * float(np.exp(min(exponent, 0.0))))
