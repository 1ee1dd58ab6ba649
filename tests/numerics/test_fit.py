"""The fit: least squares in the limit, a bowl always, and the same answer in other units, orders and frames."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from paraboloid.core import Counts, Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import (
    QuadraticFit,
    features,
    fit_quadratic,
    matrix_to_vector,
    n_terms,
    random_points,
    vector_to_matrix,
)
from tests.statistical import FALSE_ALARM, POWER
from tests.support import ball_point, random_hessian, rotation

SHAPES = [Shape.BALL, Shape.BOX]
SIGMA = 0.3
NEWTON = 2e-3  # the fit stops when a step would gain less than 1e-6: √(2·1e-6) standard errors from its minimum


def evidence_of(
    points: Matrix,
    means: npt.ArrayLike,
    counts: int | Counts = 1,
    scatter: npt.ArrayLike = 0.0,
    precision: npt.ArrayLike | None = None,
) -> Evidence:
    k = len(points)
    measurements = Measurements(
        np.broadcast_to(np.asarray(counts, dtype=np.int64), k),
        np.asarray(means, dtype=np.float64),
        np.broadcast_to(np.asarray(scatter, dtype=np.float64), k),
        precision=None if precision is None else np.asarray(precision, dtype=np.float64),
    )
    return Evidence.empty(points.shape[1]).with_measurements(points, measurements)


class Bowl:
    """A random quadratic with its minimum inside, and random points to measure it at."""

    def __init__(self, seed: int, d: int, shape: Shape = Shape.BOX, *, n_points: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)
        self.H = random_hessian(self.rng, np.geomspace(1.0, 5.0, d))
        self.x0 = ball_point(self.rng, d, 0.4)
        lengths = self.rng.uniform(0.3, 1.0, (n_points or 4 * n_terms(d), 1))
        self.points = lengths * random_points(shape, len(lengths), d, self.rng)
        if shape is Shape.BOX:
            self.points = self.rng.uniform(-1.0, 1.0, self.points.shape)

    def values(self, points: Matrix) -> Vector:
        away = points - self.x0
        values: Vector = 7.0 + np.einsum("mi,ij,mj->m", away, self.H, away) / 2
        return values

    def noisy(self, repeats: int) -> tuple[Vector, Vector]:
        """Return means and scatter of ``repeats`` Gaussian measurements at each point."""
        k = len(self.points)
        means = self.values(self.points) + SIGMA * self.rng.standard_normal(k) / repeats**0.5
        return means, SIGMA**2 * self.rng.chisquare(repeats - 1, k) if repeats > 1 else np.zeros(k)


def pull_of_the_prior(theta: Vector, covariance: Matrix, shape: Shape) -> float:
    """Return √(gᵀΣg), g the gradient of the prior at θ: no coefficient moves by more standard errors (Cauchy)."""
    d = next(d for d in range(1, 50) if n_terms(d) == theta.size)
    C = np.linalg.inv(vector_to_matrix(theta[d + 1 :], d))
    x0 = -C @ theta[1 : d + 1]
    r0 = 1 / (d + 2) if shape is Shape.BALL else 0.2
    r2 = min(4.0, (d * r0 + float(x0 @ x0)) / (2 * d))
    g = np.zeros(theta.size)
    g[d + 1 :] = (d + 0.5) / 2 * matrix_to_vector(d * np.eye(d) * np.trace(np.linalg.inv(C)) ** -1 - C)
    g[1 : d + 1] -= C @ x0 / r2
    g[d + 1 :] -= matrix_to_vector(np.outer(C @ x0, x0) + np.outer(x0, C @ x0)) / (2 * r2)
    return float(np.sqrt(g @ covariance @ g))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_with_many_repeats_the_fit_is_least_squares(d: int, shape: Shape) -> None:
    bowl = Bowl(1, d, shape)
    phi = features(bowl.points)
    for repeats in (100, 10_000, 1_000_000):
        means, scatter = bowl.noisy(repeats)
        fit = fit_quadratic(evidence_of(bowl.points, means, repeats, scatter), shape)
        least_squares = np.asarray(np.linalg.lstsq(phi, means, rcond=None)[0], dtype=np.float64)
        covariance = np.asarray(SIGMA**2 * np.linalg.inv(repeats * phi.T @ phi), dtype=np.float64)
        away = np.abs(fit.theta - least_squares) / np.sqrt(np.diag(covariance))
        allowed = 2 * pull_of_the_prior(least_squares, covariance, shape) + NEWTON
        assert away.max() <= allowed
    assert allowed < 0.01  # so that the last comparison is one with least squares and not with the tolerance


@pytest.mark.parametrize("d", [1, 2, 5])
def test_with_many_repeats_the_covariance_is_that_of_least_squares(d: int) -> None:
    repeats = 10_000
    bowl = Bowl(2, d)
    means, scatter = bowl.noisy(repeats)
    fit = fit_quadratic(evidence_of(bowl.points, means, repeats, scatter), Shape.BOX)
    phi = features(bowl.points)
    expected = SIGMA**2 * np.linalg.inv(repeats * phi.T @ phi)
    root = np.linalg.inv(np.linalg.cholesky(expected))
    ratios = np.linalg.eigvalsh(root @ fit.covariance @ root.T)
    # σ² has a relative error of √(2/n), n ≥ 120,000: 5 of them are 2 %; the prior only takes away, ν/n·condition.
    assert np.all(np.abs(ratios - 1) < 0.05)


def test_known_standard_errors_weigh() -> None:
    d = 2
    bowl = Bowl(3, d)
    sem = np.geomspace(1e-4, 1e-2, len(bowl.points))
    y = bowl.values(bowl.points) + sem * bowl.rng.standard_normal(len(sem))
    fit = fit_quadratic(evidence_of(bowl.points, y, 1, 0.0, sem**-2), Shape.BOX)
    phi = features(bowl.points)
    information = (phi.T / sem**2) @ phi
    weighted = np.asarray(np.linalg.solve(information, (phi.T / sem**2) @ y), dtype=np.float64)
    plain = np.linalg.lstsq(phi, y, rcond=None)[0]
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    errors = np.sqrt(np.diag(covariance))
    allowed = 2 * pull_of_the_prior(weighted, covariance, Shape.BOX) + NEWTON
    assert np.max(np.abs(fit.theta - weighted) / errors) <= allowed < 0.05
    assert np.max(np.abs(plain - weighted) / errors) > 20 * allowed  # plain least squares would have been noticed
    assert np.allclose(np.sqrt(np.diag(fit.covariance)), errors, rtol=0.02)
    assert fit.sigma2 == pytest.approx(len(sem) / np.sum(sem**-2), rel=1e-12)


def test_measurements_with_and_without_standard_error_are_weighed_together() -> None:
    """Half the points have a known error, half one that must be found: the fit is that of all weights known."""
    bowl = Bowl(4, 2, n_points=60)
    repeats, sem = 4000, 1e-3
    means, scatter = bowl.noisy(repeats)
    first = np.arange(60) < 30
    known = bowl.values(bowl.points) + sem * bowl.rng.standard_normal(60)
    unknown_part = evidence_of(bowl.points[first], means[first], repeats, scatter[first])
    one = Measurements(np.ones(30, dtype=np.int64), known[~first], np.zeros(30), precision=np.full(30, sem**-2))
    fit = fit_quadratic(unknown_part.with_measurements(bowl.points[~first], one), Shape.BOX)
    phi = features(bowl.points)
    weights = np.where(first, repeats / SIGMA**2, sem**-2)
    y = np.where(first, means, known)
    covariance = np.asarray(np.linalg.inv((phi.T * weights) @ phi), dtype=np.float64)
    weighted = covariance @ (phi.T * weights) @ y
    # σ² of 30 points × 4000 is known to 0.4 %, which moves the answer by as small a part of a standard error.
    allowed = 2 * pull_of_the_prior(weighted, covariance, Shape.BOX) + NEWTON + 0.03
    assert np.max(np.abs(fit.theta - weighted) / np.sqrt(np.diag(covariance))) <= allowed < 0.2
    assert fit.sigma2 == pytest.approx(SIGMA**2, rel=0.03)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_noise_the_minimum_is_found(d: int, shape: Shape) -> None:
    for seed in range(3):
        bowl = Bowl(10 + seed, d, shape)
        fit = fit_quadratic(evidence_of(bowl.points, bowl.values(bowl.points)), shape)
        # The noise floor says σ² ≥ 1e-4/(n+1) of the values' variance (about 1), the prior pulls by σ²ν·condition.
        assert np.abs(fit.minimiser - bowl.x0).max() < 1e-3
        assert fit.value(bowl.x0) == pytest.approx(7.0, abs=1e-3)
        assert fit.sigma2 < 1e-4


@settings(max_examples=15)
@given(
    st.sampled_from(SHAPES),
    st.integers(1, 4),
    st.floats(-12.0, 12.0),
    st.floats(-1e9, 1e9),
    st.integers(0, 2**32 - 1),
)
def test_scale_and_offset_of_the_values_change_the_units_of_the_answer_only(
    shape: Shape, d: int, decade: float, offset: float, seed: int
) -> None:
    bowl, scale = Bowl(seed, d, shape, n_points=3 * n_terms(d)), 10.0**decade
    means, scatter = bowl.noisy(3)
    one = fit_quadratic(evidence_of(bowl.points, means, 3, scatter), shape)
    other = fit_quadratic(evidence_of(bowl.points, scale * (means + offset), 3, scale**2 * scatter), shape)
    # A value of 1e9 is rounded to 1.2e-7, a millionth of the noise; the iteration's end moves by as little, but may
    # come one step sooner or later: Newton's tolerance, in standard errors.
    errors = np.sqrt(np.diag(one.covariance))
    assert np.all(np.abs(one.theta - other.theta / scale)[1:] <= 0.05 * errors[1:])
    assert np.allclose(one.minimiser, other.minimiser, rtol=0, atol=0.02)
    assert one.sigma2 == pytest.approx(other.sigma2 / scale**2, rel=0.05)


def test_a_power_of_two_as_the_scale_changes_no_bit() -> None:
    bowl = Bowl(5, 3)
    means, scatter = bowl.noisy(3)
    one = fit_quadratic(evidence_of(bowl.points, means, 3, scatter), Shape.BOX)
    other = fit_quadratic(evidence_of(bowl.points, means * 2.0**40, 3, scatter * 2.0**80), Shape.BOX)
    assert np.array_equal(one.minimiser, other.minimiser)
    assert np.array_equal(one.theta * 2.0**40, other.theta)
    assert one.sigma2 * 2.0**80 == other.sigma2


def fitted_in_frame(bowl: Bowl, frame: Matrix, shape: Shape) -> tuple[QuadraticFit, QuadraticFit]:
    """Return the fit of few noisy data, and that of the same data with every point z turned into ``frame`` z."""
    means, scatter = bowl.noisy(2)
    plain = fit_quadratic(evidence_of(bowl.points, means, 2, scatter), shape)
    return plain, fit_quadratic(evidence_of(bowl.points @ frame.T, means, 2, scatter), shape)


@pytest.mark.parametrize("seed", range(6))
def test_a_rotation_of_the_ball_rotates_the_fitted_minimiser(seed: int) -> None:
    bowl = Bowl(20 + seed, 3, Shape.BALL, n_points=12)
    frame = rotation(bowl.rng, 3)
    plain, turned = fitted_in_frame(bowl, frame, Shape.BALL)
    assert np.allclose(frame @ plain.minimiser, turned.minimiser, rtol=0, atol=1e-6)
    assert np.allclose(frame @ plain.hessian @ frame.T, turned.hessian, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_a_permutation_and_reflection_of_the_box_moves_the_fitted_minimiser_along(seed: int) -> None:
    bowl = Bowl(30 + seed, 3, Shape.BOX, n_points=12)
    frame = np.eye(3)[bowl.rng.permutation(3)] * bowl.rng.choice([-1.0, 1.0], 3)
    plain, turned = fitted_in_frame(bowl, frame, Shape.BOX)
    assert np.allclose(frame @ plain.minimiser, turned.minimiser, rtol=0, atol=1e-6)
    assert np.allclose(frame @ plain.hessian @ frame.T, turned.hessian, rtol=1e-5, atol=1e-5)


@settings(max_examples=25)
@given(
    st.sampled_from(SHAPES),
    st.integers(1, 5),
    st.integers(1, 30),
    st.sampled_from(["bowl", "equal", "noise", "saddle", "linear", "dome"]),
    st.integers(0, 2**32 - 1),
)
def test_the_curvature_is_positive_from_one_measurement_on(
    shape: Shape, d: int, n: int, surface: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    z = random_points(shape, n, d, rng) * rng.uniform(0.1, 1.0, (n, 1))
    y = {
        "bowl": np.sum((z - 0.3) ** 2, axis=1),
        "equal": np.full(n, 4.0),
        "noise": rng.standard_normal(n),
        "saddle": z[:, 0] ** 2 - z[:, -1] ** 2,
        "linear": z[:, 0],
        "dome": -np.sum(z**2, axis=1),
    }[surface]
    fit = fit_quadratic(evidence_of(z, y), shape)
    assert np.linalg.eigvalsh(fit.hessian)[0] > 0
    assert np.all(np.isfinite(fit.theta)) and np.all(np.isfinite(fit.covariance)) and fit.sigma2 > 0
    assert np.linalg.eigvalsh(fit.covariance)[0] > -1e-9 * np.abs(fit.covariance).max()
    size = np.linalg.norm(fit.minimiser) if shape is Shape.BALL else np.abs(fit.minimiser).max()
    assert size <= 1 + 1e-12
    assert 0 <= fit.freedom <= n


def test_failed_measurements_change_nothing() -> None:
    bowl = Bowl(6, 2)
    means, scatter = bowl.noisy(2)
    evidence = evidence_of(bowl.points, means, 2, scatter)
    failed = Measurements(np.zeros(2, dtype=np.int64), np.array([1e12, -1e12]), np.zeros(2), failures=np.array([1, 3]))
    one = fit_quadratic(evidence, Shape.BOX)
    other = fit_quadratic(evidence.with_measurements([[2.0, 2.0], [-1.0, 1.0]], failed), Shape.BOX)
    assert np.allclose(one.theta, other.theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_noise_variance_is_estimated_without_bias(repeats: int) -> None:
    """Over 100 fits the mean of σ̂²/σ² is 1 within FALSE_ALARM; the smallest defect that is caught is asserted.

    With n - p = f degrees of freedom σ̂²/σ² is χ²_f/f, so the sum over the fits is chi-square with 100·f. The prior and
    the floor's pseudo-measurement change f by one at most, which widens the range by 1/f on either side.
    """
    d, fits = 2, 100
    ratios, n = [], 0
    for seed in range(fits):
        bowl = Bowl(1000 + seed, d)
        n = repeats * len(bowl.points)
        means, scatter = bowl.noisy(repeats)
        ratios.append(fit_quadratic(evidence_of(bowl.points, means, repeats, scatter), Shape.BOX).sigma2 / SIGMA**2)
    f = n - n_terms(d)
    low, high = stats.chi2.ppf(FALSE_ALARM / 2, fits * f), stats.chi2.isf(FALSE_ALARM / 2, fits * f)
    low, high = low / (fits * f) - 1 / f, high / (fits * f) + 1 / f
    defect = 1.45 if repeats == 1 else 1.18
    for factor in (defect, 1 / defect):
        missed = stats.chi2.cdf(high * fits * f / factor, fits * f) - stats.chi2.cdf(low * fits * f / factor, fits * f)
        assert missed <= 1 - POWER
    assert low <= np.mean(ratios) <= high


@pytest.mark.parametrize("shape", SHAPES)
def test_as_many_measurements_as_coefficients_tell_large_noise_from_small(shape: Shape) -> None:
    """Of twelve instances of eight knobs, values of 45 places and noise of 3 % or of 0.003 % of their spread.

    The median of the noise found must differ by ten at least, a hundredth of the true ratio: a fit that takes the noise
    for a fixed part of the spread, or for what its own residuals say, would see no difference, or any.
    """
    d, rng = 8, np.random.default_rng(0)
    found = {3e-2: list[float](), 3e-5: list[float]()}
    for _ in range(12):
        H, z = random_hessian(rng, np.geomspace(1, 100, d)), ball_point(rng, d, 0.5)
        points = random_points(shape, n_terms(d), d, rng) * rng.uniform(0.2, 1.0, (n_terms(d), 1))
        values = np.sum(((points - z) @ H) * (points - z), axis=1) / 2
        for part, noises in found.items():
            noisy = values + part * values.std() * rng.standard_normal(len(values))
            noises.append(fit_quadratic(evidence_of(points, noisy), shape).sigma2 / float(values.var()))
    assert np.median(found[3e-2]) > 10 * np.median(found[3e-5])
