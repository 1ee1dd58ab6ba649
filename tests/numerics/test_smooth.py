"""The quadratic with discrepancy: derivatives against differences, the likelihood's gradient, and the answer."""

import numpy as np
import pytest

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import SmoothFit, fit_smooth
from paraboloid.numerics.smooth_fit import _root
from paraboloid.numerics.smooth_likelihood import EXPECTED, Likelihood, Means

STEP = 1e-5


def exponential(points: Matrix) -> Vector:
    """Least at zero, far from symmetric."""
    return np.asarray(np.sum(np.exp(2 * points) - 2 * points - 1, axis=1))


@pytest.fixture(scope="module")
def fit() -> SmoothFit:
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (60, 2))
    values = exponential(points) + 0.1 * rng.standard_normal(60)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    return fit_smooth(evidence, Shape.BOX, np.array([-0.3, -0.3]))


def test_the_answer_is_near_the_minimum_and_the_noise_is_found(fit: SmoothFit) -> None:
    assert exponential(fit.minimiser[None, :])[0] < 0.02
    assert fit.scale * np.sqrt(fit.sigma2) == pytest.approx(0.1, rel=0.5)


def test_gradient_and_hessian_are_those_of_the_mean(fit: SmoothFit) -> None:
    z = np.array([0.3, -0.2])
    value, gradient, hessian = fit.derivatives(z)
    assert fit.shift + fit.scale * value == pytest.approx(fit.value(z[None, :])[0], rel=1e-9)
    for k, e in enumerate(STEP * np.eye(2)):
        up, down = fit.derivatives(z + e), fit.derivatives(z - e)
        assert gradient[k] == pytest.approx((up[0] - down[0]) / (2 * STEP), abs=1e-5)
        assert hessian[k] == pytest.approx((up[1] - down[1]) / (2 * STEP), abs=1e-5)


def test_the_covariance_of_the_gradient_is_the_derivative_of_that_of_the_values(fit: SmoothFit) -> None:
    z, x = np.array([0.3, -0.2]), np.array([[0.5, 0.5], [0.1, -0.7]])
    across, own = fit.gradient_covariance(z, x)
    step = 1e-3  # covariances are small differences of large numbers
    for k, e in enumerate(step * np.eye(2)):
        both = fit.covariance(np.vstack([z + e, z - e, x]))
        assert across[k] == pytest.approx((both[0, 2:] - both[1, 2:]) / (2 * step), rel=0.02, abs=1e-6)
        assert own[k, k] == pytest.approx((both[0, 0] - 2 * both[0, 1] + both[1, 1]) / (4 * step**2), rel=0.02)


def test_the_deviation_is_the_root_of_the_covariance(fit: SmoothFit) -> None:
    x = np.array([[0.5, 0.5], [0.1, -0.7]])
    assert (fit.deviation(x) / fit.scale) ** 2 == pytest.approx(np.diag(fit.covariance(x)), rel=1e-6, abs=1e-9)


def test_measurements_to_come_lower_the_covariance_and_leave_the_mean(fit: SmoothFit) -> None:
    x = np.array([[0.9, 0.9]])
    expecting = fit.expecting(np.repeat(x, 5, axis=0))
    assert expecting.covariance(x)[0, 0] < fit.covariance(x)[0, 0] / 2
    assert expecting.value(x) == pytest.approx(fit.value(x))


@pytest.mark.parametrize("shape", list(Shape))
def test_the_gradient_of_the_likelihood_is_right(shape: Shape) -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (30, 2))
    means = Means(points, rng.standard_normal(30), rng.integers(1, 5, 30).astype(float), 0.7, 40.0)
    likelihood = Likelihood(means, np.array([0.1, 0.2]), -1.0, 0.01, shape)
    numbers = EXPECTED + 0.3
    _, gradient = likelihood(numbers)
    for k, e in enumerate(STEP * np.eye(len(numbers))):
        difference = (likelihood(numbers + e)[0] - likelihood(numbers - e)[0]) / (2 * STEP)
        assert gradient[k] == pytest.approx(difference, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("shape", list(Shape))
def test_where_the_function_is_symmetric_the_answer_is_drawn_to_the_quadratic_s(shape: Shape) -> None:
    """In most runs it is that one: the gradient there, of d squared standard errors, is what chance makes it."""
    kept = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1, 1, (80, 2))
        values = np.sum(np.cosh(3 * points), axis=1) + 0.1 * rng.standard_normal(80)
        evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
        kept += np.array_equal(fit_smooth(evidence, shape, np.zeros(2)).minimiser, np.zeros(2))
    assert kept >= 5


def test_where_it_is_skewed_the_answer_is_not_drawn_to_the_quadratic_s() -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-1, 1, (80, 2))
    values = exponential(points) + 0.05 * rng.standard_normal(80)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    found = fit_smooth(evidence, Shape.BOX, np.array([-0.2, -0.2]))  # ten standard errors from the minimum
    assert np.abs(found.minimiser).max() < 0.05


def test_a_quadratic_s_corner_that_was_never_measured_is_not_recommended() -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(-0.5, 0.5, (60, 2))
    values = exponential(points) + 0.05 * rng.standard_normal(60)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    found = fit_smooth(evidence, Shape.BOX, np.array([-1.0, 1.0]))
    assert np.abs(found.minimiser).max() < 0.3


def growing(n: int, seed: int, steep: float) -> Evidence:
    """Return n values of a skewed function, whose noise has e^steep times the deviation where the first knob ends."""
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (n, 2))
    deviation = 0.2 * np.exp(steep * points[:, 0])
    values = exponential(points) + deviation * rng.standard_normal(n)
    return Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))


def test_noise_that_grows_with_a_knob_is_known_to_the_model() -> None:
    ends = np.array([[-0.9, 0.0], [0.9, 0.0]])
    fit = fit_smooth(growing(200, 0, 1.2), Shape.BOX, np.array([-0.3, -0.3]))
    assert fit.profile is not None
    # Truth 0.068 and 0.59; with 200 values the slope of log v, 2.4, has a standard error of sqrt(2/200)/0.58 = 0.17.
    assert fit.scale * np.sqrt(fit.noise(ends)) == pytest.approx(0.2 * np.exp(1.2 * ends[:, 0]), rel=0.5)
    assert fit.expecting(ends[:1]).deviation(ends[:1]) < fit.expecting(ends[1:]).deviation(ends[:1])


def test_the_same_noise_everywhere_is_not_taken_for_a_profile() -> None:
    """By design one alarm in a thousand; two of 20 would come once in 5000 such tests."""
    fits = [fit_smooth(growing(60, seed, 0.0), Shape.BOX, np.array([-0.3, -0.3])) for seed in range(20)]
    assert sum(fit.profile is not None for fit in fits) <= 1


def test_many_points_all_enter_and_not_only_those_with_lucky_noise() -> None:
    evidence = growing(700, 5, 0.0)
    fit = fit_smooth(evidence, Shape.BOX, np.array([-0.3, -0.3]))
    assert len(fit.points) == 700
    # The lowest 300 of 700 values would have noise below zero: the truth is 0.2, known to a part of sqrt(1/600).
    assert fit.scale * np.sqrt(fit.sigma2) == pytest.approx(0.2, rel=0.15)


@pytest.mark.parametrize("size", [1.0, 1e8, 1e16])
def test_a_covariance_whose_rounding_exceeds_the_noise_has_a_factor(size: float) -> None:
    """Places far outside a tiny window: a search stopped with a LinAlgError once in forty (f118, two knobs)."""
    rng = np.random.default_rng(5)
    few = rng.standard_normal((30, 4)) * np.geomspace(1, np.sqrt(size), 30)[:, None]
    covariance = few @ few.T
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    covariance.flat[::31] *= 1 - 1e-9
    root = _root(covariance) / scale[:, None]
    added = 1e-6 + 0.12 / np.outer(scale, scale)  # 0.11 at most where all get the same, in proportion then
    assert np.all(np.abs(root @ root.T - correlation) <= added)
