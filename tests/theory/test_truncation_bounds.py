"""The bounds of Appendix D, against exact values for discrete distributions and exact binomial tails."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from paraboloid import theory
from paraboloid.core import UsageError
from paraboloid.numerics import Quantiser, quantise

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(2, 6), st.floats(1.001, 20.0))
def test_bias_and_variance_bounds_hold_exactly_for_discrete_distributions(seed: int, n: int, factor: float) -> None:
    rng = np.random.default_rng(seed)
    values, chances = rng.standard_normal(n) * 10 ** rng.uniform(-1, 3, n), rng.dirichlet(np.full(n, 0.3))
    mean = float(chances @ values)
    variance = float(chances @ (values - mean) ** 2)
    bound = abs(mean) * factor + 1e-6
    Z = np.clip(values, -bound, bound)
    rounding = 1e-12 * (np.abs(values).max() + 1)  # sums of six terms
    assert abs(float(chances @ Z) - mean) <= theory.truncation_bias_bound(variance, mean, bound) + rounding
    moment = float(chances @ (Z - mean) ** 2)
    assert moment <= theory.truncation_variance_bound(variance, mean, bound) * (1 + 1e-12) + rounding**2


def test_the_bias_bound_is_attained() -> None:
    # |x| - m ≤ x²/4m is an equality at x = 2m. X = 2m with chance q, else a little below 0 so that the mean is 0: as
    # q -> 0 the bias qm tends to Var/4m = q(2m)²/4m = qm.
    m, q = 5.0, 1e-9
    low = -2 * m * q / (1 - q)
    variance = q * (2 * m) ** 2 + (1 - q) * low**2
    bias = abs(q * m + (1 - q) * low)
    assert bias / theory.truncation_bias_bound(variance, 0.0, m) == pytest.approx(1.0, abs=1e-8)


def test_bounds_by_hand() -> None:
    # 1/(4·5) and 2/(4·(3 - 1)), for either sign of the mean.
    assert theory.truncation_bias_bound(1.0, 0.0, 5.0) == 0.05
    assert theory.truncation_bias_bound(2.0, 1.0, 3.0) == theory.truncation_bias_bound(2.0, -1.0, 3.0) == 0.25
    # Two terms, Var 1 and 2, means 1 and -1, m = 3, z = 12: 1/(3·2) + 2/(3·2) = ½, z/m = 4: 2 exp(-3.5).
    bound = theory.truncation_tail_bound([1.0, 2.0], [1.0, -1.0], 3.0, 12.0)
    assert bound == pytest.approx(2 * np.exp(-3.5), rel=1e-14)
    # With b = ½ for each of the two: (z - 1)/3 = 11/3.
    rounded = theory.truncation_tail_bound([1.0, 2.0], [1.0, -1.0], 3.0, 12.0, rounding=0.5)
    assert rounded == pytest.approx(2 * np.exp(0.5 - 11 / 3), rel=1e-14)
    assert theory.truncation_tail_bound(1.0, 0.0, 1.0, 1e-9) == 1.0  # never above one


@pytest.mark.parametrize("n", [4, 25, 100, 1000])
@pytest.mark.parametrize("relative", [0.5, 1.0, 1.5, 2.0])
def test_the_tail_bound_holds_for_sums_of_signs(n: int, relative: float) -> None:
    # X = ±1, m = √n: nothing is clipped, and Σ = 2K - n with K binomial.
    m, z = n**0.5, relative * 2 * n**0.5
    # sf(k) is P[K > k], so P[K ≥ (n + z)/2] is sf(⌈(n + z)/2⌉ - 1); the shift of 1e-9 covers whole numbers.
    exact = float(stats.binom.cdf(np.floor((n - z) / 2 + 1e-9), n, 0.5))
    exact += float(stats.binom.sf(np.ceil((n + z) / 2 - 1e-9) - 1, n, 0.5))
    assert exact <= theory.truncation_tail_bound(np.ones(n), np.zeros(n), m, z) + 1e-15


@given(st.integers(5, 500), st.floats(1e-4, 0.3), st.floats(0.1, 4.0), st.floats(0.5, 40.0))
def test_the_tail_bound_holds_for_rare_large_values(n: int, q: float, relative_bound: float, relative: float) -> None:
    # X = √((1-q)/q) with chance q, else -√(q/(1-q)): mean 0, variance 1. The sum of the clipped values is
    # K·high + (n - K)·low with K binomial(n, q): an exact tail for every z.
    m = relative_bound * n**0.5
    high, low = np.clip([((1 - q) / q) ** 0.5, -((q / (1 - q)) ** 0.5)], -m, m)
    z = relative * n**0.5
    K = np.arange(n + 1)
    far = np.abs(K * high + (n - K) * low) >= z
    exact = float(stats.binom.pmf(K, n, q)[far].sum())
    assert exact <= theory.truncation_tail_bound(np.ones(n), np.zeros(n), m, z) + 1e-12


@given(st.integers(20, 300), st.floats(1e-3, 0.3), st.integers(2, 8), st.floats(1.0, 30.0))
def test_the_corollary_holds_for_quantised_values(n: int, q: float, bits: int, relative: float) -> None:
    quantiser = Quantiser(bound=n**0.5, bits=bits)
    high, low = quantise([((1 - q) / q) ** 0.5, -((q / (1 - q)) ** 0.5)], quantiser)
    z = relative * n**0.5
    assume(z > quantiser.rounding * n)
    K = np.arange(n + 1)
    far = np.abs(K * high + (n - K) * low) >= z
    exact = float(stats.binom.pmf(K, n, q)[far].sum())
    bound = theory.truncation_tail_bound(np.ones(n), np.zeros(n), n**0.5, z, rounding=quantiser.rounding)
    assert exact <= bound + 1e-12


@pytest.mark.parametrize(
    ("variance", "mean", "bound"), [(-1.0, 0.0, 1.0), (1.0, 2.0, 2.0), (1.0, -3.0, 2.0), (float("nan"), 0.0, 1.0)]
)
def test_means_must_lie_inside_the_interval_and_variances_be_variances(
    variance: float, mean: float, bound: float
) -> None:
    with pytest.raises(UsageError, match=r"variances must be at least 0 and means below the bound"):
        theory.truncation_bias_bound(variance, mean, bound)
    with pytest.raises(UsageError, match=r"Truncate around a centre nearer to the mean, or at a larger bound"):
        theory.truncation_tail_bound(variance, mean, bound, 1.0)


def test_the_tail_bound_names_a_bad_deviation_or_rounding() -> None:
    with pytest.raises(UsageError, match="deviation must be a finite number above 0, got -1"):
        theory.truncation_tail_bound(1.0, 0.0, 1.0, -1.0)
    with pytest.raises(UsageError, match=r"rounding must be at least 0, got -0.5"):
        theory.truncation_tail_bound(1.0, 0.0, 1.0, 1.0, rounding=-0.5)
