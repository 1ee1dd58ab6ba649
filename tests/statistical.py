"""Statistical assertions: each states its false-alarm rate and asserts the smallest defect that it would catch.

Seeds are fixed, so a test that passes once passes always; the false-alarm rate is the chance that a *right* program
would fail with the seed that happens to be written down, and is what allows to call a failure a bug.
"""

import numpy as np
import numpy.typing as npt
from scipy import stats

FALSE_ALARM = 1e-6
"""Chance that one assertion below fails although the code is right (two-sided)."""

POWER = 0.999
"""Chance that the stated defect is caught; asserted from the distribution, not from simulation."""


def assert_variance(normalised: npt.ArrayLike, *, defect: float) -> None:
    """Assert that independent Gaussian values of mean zero have unit variance.

    Their sum of squares is chi-square with n degrees of freedom. ``defect`` is a factor, and its inverse, by which
    the variance could be wrong and would be noticed with a chance of at least `POWER`.
    """
    values = np.asarray(normalised, dtype=np.float64).ravel()
    n = values.size
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, n), stats.chi2.isf(FALSE_ALARM / 2, n)
    for factor in (defect, 1 / defect):
        missed = stats.chi2.cdf(high / factor, n) - stats.chi2.cdf(low / factor, n)
        assert missed <= 1 - POWER, f"{n} values cannot see a factor of {factor:.4g}: it is missed with {missed:.3g}"
    statistic = float(values @ values)
    assert low <= statistic <= high, f"mean square {statistic / n:.5f}, expected in [{low / n:.5f}, {high / n:.5f}]"


def assert_mean(values: npt.ArrayLike, expected: float, *, deviation: float, defect: float) -> None:
    """Assert that n values of known standard ``deviation`` have the ``expected`` mean (normal limit of the mean).

    ``defect`` is the smallest shift of the mean that is noticed with a chance of at least `POWER`.
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    error = deviation / array.size**0.5
    allowed = error * float(stats.norm.isf(FALSE_ALARM / 2))
    needed = allowed + error * float(stats.norm.isf(1 - POWER))
    assert defect >= needed, f"{array.size} values cannot see a shift of {defect:.4g}, only one of {needed:.4g}"
    assert abs(array.mean() - expected) <= allowed, f"mean {array.mean():.6g}, expected {expected:.6g} ± {allowed:.3g}"


def assert_mean_at_most(values: npt.ArrayLike, largest: float, *, defect: float) -> None:
    """Assert that the mean of what ``values`` are drawn from is at most ``largest`` (one-sided, Student's t).

    The values need finite variance and enough of them for the normal limit. ``defect`` is the smallest true mean
    above ``largest`` that is noticed with a chance of at least `POWER`, by the standard error that was seen.
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    error = float(array.std(ddof=1)) / array.size**0.5
    allowed = error * float(stats.norm.isf(FALSE_ALARM))
    needed = largest + allowed + error * float(stats.norm.isf(1 - POWER))
    assert defect >= needed, f"{array.size} values cannot see a mean of {defect:.4g}, only one of {needed:.4g}"
    assert array.mean() <= largest + allowed, f"mean {array.mean():.5g} ± {error:.2g}, expected at most {largest:.5g}"
