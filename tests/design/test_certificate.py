"""The certificate: its regret is that of simulation, and there is no bound where none can be given."""

import numpy as np
import pytest

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.design import assess, free_inverse, regret_weight, robust_covariance, without_bound
from paraboloid.numerics import QuadraticFit, features, fit_quadratic, fit_saddle, gradient_map, n_terms
from tests.support import random_hessian

SIGMA = 0.2
H = np.array([[4.0, 1.0], [1.0, 2.0]])
X0 = np.array([0.3, -0.4])


def values(z: Matrix, hessian: Matrix = H, minimiser: Vector = X0) -> Vector:
    away = z - minimiser
    found: Vector = np.einsum("mi,ij,mj->m", away, hessian, away) / 2
    return found


def evidence_of(z: Matrix, truth: Vector, repeats: int, rng: np.random.Generator, sigma: Vector | float) -> Evidence:
    y = truth[:, None] + np.broadcast_to(sigma, truth.shape)[:, None] * rng.standard_normal((len(z), repeats))
    return Evidence.empty(z.shape[1]).with_measurements(z, Measurements.from_values(y))


def spread(n: int, d: int, seed: int) -> tuple[Matrix, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-1.0, 1.0, (n, d)), rng


@pytest.mark.parametrize("shape", [Shape.BALL, Shape.BOX])
def test_the_expected_regret_is_the_mean_over_simulated_experiments(shape: Shape) -> None:
    """20,000 least-squares fits have a mean regret known to 1 %; σ̂² of 1000 values and Ĥ add about 10 %."""
    repeats = 50
    z, rng = spread(20, 2, 1)
    if shape is Shape.BALL:
        z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
    evidence = evidence_of(z, values(z), repeats, rng, SIGMA)
    quality = assess(fit_quadratic(evidence, shape), evidence, shape, 0.95)
    means = values(z) + SIGMA / repeats**0.5 * rng.standard_normal((20_000, 20))
    theta = means @ np.linalg.pinv(features(z)).T
    hessians = np.stack([theta[:, 3], theta[:, 4], theta[:, 4], theta[:, 5]], axis=1).reshape(-1, 2, 2)
    away = -np.linalg.solve(hessians, theta[:, 1:3, None])[:, :, 0] - X0
    regrets = np.einsum("mi,ij,mj->m", away, H, away) / 2
    assert quality.regret == pytest.approx(regrets.mean(), rel=0.3)
    assert np.allclose(quality.z_covariance, np.cov(away.T), rtol=0.5, atol=0.1 * np.trace(np.cov(away.T)))
    assert quality.regret < quality.regret_bound < 20 * quality.regret
    assert np.mean(regrets <= quality.regret_bound) > 0.9


def test_the_bound_grows_with_confidence_and_the_interval_with_it() -> None:
    z, rng = spread(30, 2, 2)
    evidence = evidence_of(z, values(z), 4, rng, SIGMA)
    fit = fit_quadratic(evidence, Shape.BOX)
    qualities = [assess(fit, evidence, Shape.BOX, confidence) for confidence in (0.5, 0.9, 0.99)]
    bounds = [quality.regret_bound for quality in qualities]
    widths = [np.diff(quality.z_interval, axis=1).ravel() for quality in qualities]
    assert 0 < bounds[0] < bounds[1] < bounds[2] < np.inf
    assert np.all(widths[0] < widths[1]) and np.all(widths[1] < widths[2])
    for quality in qualities:
        assert np.all(quality.z_interval[:, 0] <= fit.minimiser) and np.all(fit.minimiser <= quality.z_interval[:, 1])


def test_noise_that_differs_between_points_is_seen_by_the_robust_covariance() -> None:
    """Least squares with variances σ_i²: Cov θ̂ = M⁻¹(Σ n σ_i² φφᵀ)M⁻¹, estimated from 200 repeats at each point."""
    repeats = 200
    z, rng = spread(25, 2, 3)
    sigma = np.where(z[:, 0] > 0, 0.3, 0.1)
    evidence = evidence_of(z, values(z), repeats, rng, sigma)
    fit = fit_quadratic(evidence, Shape.BOX)
    phi = features(z)
    inverse = np.linalg.inv(repeats * phi.T @ phi)
    expected = inverse @ (phi.T * (repeats * sigma**2)) @ phi @ inverse
    found = robust_covariance(fit, evidence)
    assert np.allclose(np.diag(found), np.diag(expected), rtol=0.35)
    assert np.any(np.abs(np.diag(fit.covariance) / np.diag(expected) - 1) > 0.35)  # the plain one would be noticed


def test_equal_noise_leaves_the_covariance_as_it_is() -> None:
    z, rng = spread(25, 2, 4)
    evidence = evidence_of(z, values(z), 200, rng, SIGMA)
    fit = fit_quadratic(evidence, Shape.BOX)
    # Each of 25 variances is known to √(2/200) = 10 %, their average over a coefficient better than that.
    assert np.allclose(np.diag(robust_covariance(fit, evidence)), np.diag(fit.covariance), rtol=0.2)


def quality_of(z: Matrix, truth: Vector, repeats: int, rng: np.random.Generator, shape: Shape) -> tuple[float, bool]:
    evidence = evidence_of(z, truth, repeats, rng, SIGMA)
    quality = assess(fit_quadratic(evidence, shape), evidence, shape, 0.95)
    return quality.regret_bound, bool(quality.is_flat.any())


@pytest.mark.parametrize("shape", [Shape.BALL, Shape.BOX])
@pytest.mark.parametrize("surface", ["flat", "valley", "saddle"])
def test_there_is_no_bound_without_curvature(surface: str, shape: Shape) -> None:
    z, rng = spread(40, 2, 5)
    z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
    truth = {
        "flat": np.zeros(40),
        "valley": (z[:, 0] - 0.2) ** 2,
        "saddle": z[:, 0] ** 2 - z[:, 1] ** 2,
    }[surface]
    bound, is_flat = quality_of(z, truth, 2, rng, shape)
    assert bound == np.inf and is_flat


def test_a_slope_is_answered_at_the_edge_and_a_bound_there_holds() -> None:
    """The edge holds the answer, so its regret over the region is known although no curvature is."""
    z, rng = spread(40, 2, 5)
    evidence = evidence_of(z, z[:, 0] + z[:, 1], 2, rng, SIGMA)
    fit = fit_quadratic(evidence, Shape.BOX)
    assert np.array_equal(fit.minimiser, [-1.0, -1.0])
    assert assess(fit, evidence, Shape.BOX, 0.95).regret_bound >= 0.0


def test_there_is_no_bound_from_too_few_points() -> None:
    """Fewer distinct points than coefficients cannot tell the curvature, however often they are measured."""
    z, rng = spread(n_terms(2) - 1, 2, 6)
    assert quality_of(z, values(z), 100, rng, Shape.BOX)[0] == np.inf
    z, rng = spread(1, 2, 7)
    assert quality_of(z, values(z), 1, rng, Shape.BOX)[0] == np.inf


def test_a_saddle_has_no_bound_and_says_how_it_bends() -> None:
    z, rng = spread(60, 2, 8)
    evidence = evidence_of(z, z[:, 0] ** 2 - z[:, 1] ** 2, 4, rng, 0.05)
    saddle = fit_saddle(evidence, Shape.BOX)
    assert saddle is not None
    quality = without_bound(saddle, assess(fit_quadratic(evidence, Shape.BOX), evidence, Shape.BOX, 0.95))
    assert quality.regret == quality.regret_bound == np.inf
    assert quality.eigenvalues == pytest.approx([-2.0, 2.0], abs=0.2)
    assert quality.is_flat.tolist() == [True, False]
    assert np.abs(quality.directions[:, 0]) == pytest.approx([0.0, 1.0], abs=0.1)


def exact_fit(hessian: Matrix, linear: Vector, minimiser: Vector, error: float) -> QuadraticFit:
    theta = np.concatenate([[0.0], linear, hessian[np.triu_indices(linear.size)]])
    return QuadraticFit(theta, error**2 * np.eye(theta.size), 1.0, 50.0, minimiser)


def test_inside_every_direction_is_free_and_at_a_held_edge_it_is_not() -> None:
    inside = exact_fit(H, -H @ X0, X0, 0.01)
    for shape in (Shape.BALL, Shape.BOX):
        assert np.allclose(free_inverse(inside, shape), np.linalg.inv(H))
    edge = exact_fit(np.diag([2.0, 4.0]), np.array([-6.0, 0.0]), np.array([1.0, 0.0]), 0.01)
    assert np.allclose(free_inverse(edge, Shape.BOX), np.diag([0.0, 0.25]))
    # On the ball the multiplier is 6 - 2 = 4, by which the sphere bends: 1/(4 + 4).
    assert np.allclose(free_inverse(edge, Shape.BALL), np.diag([0.0, 1 / 8]))
    unsure = exact_fit(np.diag([2.0, 4.0]), np.array([-2.1, 0.0]), np.array([1.0, 0.0]), 0.5)
    for shape in (Shape.BALL, Shape.BOX):
        assert np.allclose(free_inverse(unsure, shape), np.diag([0.5, 0.25]))


def test_the_weight_is_that_of_the_gradient_once_the_place_is_known() -> None:
    rng = np.random.default_rng(9)
    hessian = random_hessian(rng, [1.0, 3.0, 9.0])
    z = np.array([0.1, 0.2, -0.3])
    G = gradient_map(z)
    sure = exact_fit(hessian, -hessian @ z, z, 1e-6)
    W = regret_weight(sure, Shape.BALL)
    assert np.allclose(W, G.T @ np.linalg.inv(hessian) @ G, atol=1e-9)
    unsure = regret_weight(exact_fit(hessian, -hessian @ z, z, 0.1), Shape.BALL) - W
    assert np.linalg.eigvalsh(unsure)[0] > -1e-9 and np.trace(unsure[4:, 4:]) > 1e-3  # learns all of H
    assert np.allclose(unsure[:4], 0.0, atol=1e-9)
