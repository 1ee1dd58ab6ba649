"""Noise families: zero mean, unit variance, the stated scale and skew, and streams that do not interfere."""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from scipy import stats

from paraboloid import problems
from paraboloid.core import UsageError
from paraboloid.problems import (
    Exponential,
    Gaussian,
    Heteroscedastic,
    Laplace,
    LogNormal,
    Noise,
    Noiseless,
    NoisyQuadratic,
    Rademacher,
    StudentT,
    TwoPoint,
    Uniform,
    VaryingSkew,
    named_noise,
)
from tests.statistical import FALSE_ALARM, assert_mean

N = 400_000
ORIGIN = np.zeros(2)

# Families with a fourth moment, and E w⁴ worked by hand: the sample variance then has deviation √((E w⁴ - 1)/n).
FOURTH: dict[str, tuple[Noise, float]] = {
    "gaussian": (Gaussian(), 3.0),
    "uniform": (Uniform(), 9 / 5),  # (√3)⁴/5
    "rademacher": (Rademacher(), 1.0),
    "laplace": (Laplace(), 6.0),
    "exponential": (Exponential(), 9.0),
    "log-normal ½": (LogNormal(0.5), 3 + np.exp(1.0) + 2 * np.exp(0.75) + 3 * np.exp(0.5) - 6),
    "two-point 0.1": (TwoPoint(0.1), 0.9**2 / 0.1 + 0.1**2 / 0.9),
    "student 10": (StudentT(10.0), 3 * 8 / 6),  # 3(ν - 2)/(ν - 4)
    "heteroscedastic on the sphere": (Heteroscedastic(), 3.0),
    "varying skew": (VaryingSkew([1.0, 0.0]), 3 + 6 * 0.6**4),  # excess 6 s⁴ of the exponential part, s = 0.6
}


@pytest.mark.parametrize("name", FOURTH)
def test_mean_is_zero_and_variance_is_one(name: str) -> None:
    """False alarm 1e-6 each; a mean off by 1.3 % of a deviation, a variance off by 8 % (1.3 % for the light ones)."""
    noise, fourth = FOURTH[name]
    values = noise.draw(np.array([0.6, 0.8]), N, np.random.default_rng(1))
    assert values.shape == (N,)
    assert_mean(values, 0.0, deviation=1.0, defect=0.013)
    spread = max(float(fourth) - 1, 0.0) ** 0.5
    assert_mean(values**2, 1.0, deviation=spread + 1e-12, defect=0.0127 * spread + 1e-9)


@pytest.mark.parametrize("df", [2.1, 2.5, 3.0, 30.0])
def test_student_noise_is_the_t_distribution_scaled_to_unit_variance(df: float) -> None:
    """Heavy tails have no fourth moment, so the distribution itself is tested (Kolmogorov-Smirnov, false alarm 1e-6).

    The critical distance at n = 400,000 is 0.0043. A scale wrong by 4 % moves the distribution function by more than
    that and 3.1 deviations ½/√n of it, so it is caught with a chance of 0.999.
    """
    values = StudentT(df).draw(ORIGIN, N, np.random.default_rng(2))
    scale = ((df - 2) / df) ** 0.5
    exact = stats.t(df, scale=scale)
    assert np.isclose(exact.var(), 1.0)
    critical = float(stats.kstwo.isf(FALSE_ALARM, N))
    grid = np.linspace(-3, 3, 1001) * scale
    assert np.abs(exact.cdf(grid) - exact.cdf(grid * 1.04)).max() > critical + 3.1 * 0.5 / N**0.5
    assert stats.kstest(values, exact.cdf).statistic <= critical


@pytest.mark.parametrize("shape", [0.3, 1.0, 3.0])
def test_log_normal_noise_is_centred_and_scaled_in_closed_form(shape: float) -> None:
    values = LogNormal(shape).draw(ORIGIN, N, np.random.default_rng(3))
    raw = stats.lognorm(shape)
    assert stats.kstest(values * raw.std() + raw.mean(), raw.cdf).statistic <= stats.kstwo.isf(FALSE_ALARM, N)


@pytest.mark.parametrize("q", [1e-3, 0.1, 0.9])
def test_two_point_noise_takes_its_two_values_as_often_as_it_says(q: float) -> None:
    # q·√((1-q)/q) - (1-q)·√(q/(1-q)) = 0 and (1-q) + q = 1: mean and variance follow from values and chance.
    values = TwoPoint(q).draw(ORIGIN, N, np.random.default_rng(4))
    assert np.unique(values) == pytest.approx([-((q / (1 - q)) ** 0.5), ((1 - q) / q) ** 0.5], rel=1e-12)
    rare = int(np.sum(values > 0))
    assert stats.binom.ppf(FALSE_ALARM / 2, N, q) <= rare <= stats.binom.isf(FALSE_ALARM / 2, N, q)


@pytest.mark.parametrize(("point", "scale"), [((0.0, 0.0), 0.2), ((0.3, 0.4), 0.6), ((0.0, 1.0), 1.0)])
def test_heteroscedastic_noise_has_the_deviation_of_its_point(point: tuple[float, float], scale: float) -> None:
    # 0.2 + 0.8·|x|: 0.2, 0.6, 1.
    values = Heteroscedastic().draw(np.array(point), N, np.random.default_rng(5)) / scale
    assert_mean(values, 0.0, deviation=1.0, defect=0.013)
    assert_mean(values**2, 1.0, deviation=2**0.5, defect=0.018)


def test_heteroscedastic_noise_never_exceeds_unit_variance() -> None:
    rng = np.random.default_rng(6)
    for low in (0.0, 0.5, 1.0):
        for point in ([2.0, 0.0], [1.0, 0.0], [0.1, 0.0]):
            drawn = Heteroscedastic(Rademacher(), low=low).draw(np.array(point), 100, rng)
            assert np.abs(drawn).max() <= 1.0


@pytest.mark.parametrize("s", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_varying_skew_is_twice_the_cube_of_the_position(s: float) -> None:
    # E w³ = s³·E(E - 1)³ = 2 s³. E w⁶ ≤ 265 (sixth central moment of the exponential): w³ has a deviation ≤ 16.3.
    values = VaryingSkew([0.0, 2.0]).draw(np.array([0.0, s]), N, np.random.default_rng(7))
    assert_mean(values**3, 2 * s**3, deviation=265**0.5, defect=0.21)
    assert_mean(values, 0.0, deviation=1.0, defect=0.013)


EVERY = [*(noise for noise, _ in FOURTH.values()), StudentT(2.5), LogNormal(2.0), TwoPoint(), Noiseless()]


@pytest.mark.parametrize("noise", EVERY, ids=lambda noise: type(noise).__name__)
def test_the_stream_is_the_callers_and_nothing_else_is_drawn_from(noise: Noise) -> None:
    legacy = repr(np.random.get_state())
    bystander = np.random.default_rng(9)
    first = noise.draw(ORIGIN, 10, np.random.default_rng(8))
    again = noise.draw(ORIGIN, 10, np.random.default_rng(8))
    assert np.array_equal(first, again)
    assert np.array_equal(bystander.random(4), np.random.default_rng(9).random(4))
    assert repr(np.random.get_state()) == legacy


@pytest.mark.parametrize("noise", EVERY, ids=lambda noise: type(noise).__name__)
def test_a_drawn_series_does_not_depend_on_how_it_is_cut(noise: Noise) -> None:
    rng = np.random.default_rng(10)
    parts = np.concatenate([noise.draw(ORIGIN, n, rng) for n in (3, 1, 6)])
    if not isinstance(noise, VaryingSkew):  # it draws two series, one after the other
        assert np.array_equal(parts, noise.draw(ORIGIN, 10, np.random.default_rng(10)))


def test_noise_is_found_by_name_and_an_unknown_name_lists_the_known() -> None:
    assert named_noise("student-t") == StudentT(3.0)
    assert isinstance(NoisyQuadratic(np.eye(1), [0.0], noise="laplace").noise, Laplace)
    with pytest.raises(UsageError, match=r"unknown noise 'pink'. Known are exponential, gaussian, .*uniform; or give"):
        NoisyQuadratic(np.eye(1), [0.0], noise="pink")


@pytest.mark.parametrize("given", [3, problems.Gaussian, object()], ids=["number", "class", "object"])
def test_what_is_no_noise_is_named(given: Noise) -> None:
    with pytest.raises(UsageError, match=r"noise must be a noise such as problems.Gaussian\(\), or its name, got"):
        NoisyQuadratic(np.eye(1), [0.0], noise=given)


@pytest.mark.parametrize("df", [2.0, 1.0, -3.0, float("nan"), float("inf")])
def test_student_noise_needs_a_finite_variance_and_finite_degrees(df: float) -> None:
    with pytest.raises(UsageError, match=r"needs .*df > 2.* got df="):
        StudentT(df)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LogNormal(0.0), r"shape in \(0, 3\], got 0.0. Try shape=1"),
        (lambda: LogNormal(4.0), r"shape in \(0, 3\], got 4.0"),
        (lambda: TwoPoint(0.0), r"probability inside \(0, 1\), got 0.0"),
        (lambda: TwoPoint(1.0), r"probability inside \(0, 1\), got 1.0"),
        (lambda: Heteroscedastic(low=1.5), r"from 0 to 1, got 1.5"),
        (lambda: Heteroscedastic(base=cast(Noise, 3)), r"base must be a noise such as Gaussian\(\), got 3"),
        (lambda: VaryingSkew([0.0, 0.0]), r"direction must not be zero"),
    ],
)
def test_parameters_out_of_range_are_named(build: Callable[[], Noise], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        build()
