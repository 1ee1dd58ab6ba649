"""Surfaces that bend down, and the exact minimiser on the box: both against brute force."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import features, fit_saddle, minimise_on_region, n_terms, random_points
from tests.support import random_hessian

SHAPES = [Shape.BALL, Shape.BOX]


def lowest_by_faces(H: Matrix, b: Vector) -> float:
    """Return the least of ½zᵀHz + b·z on the box: the stationary point of every face that lies in it, 3^d faces."""
    d, best = b.size, np.inf
    for face in itertools.product((-1.0, 0.0, 1.0), repeat=d):
        z = np.array(face)
        free = z == 0
        if free.any():
            inner = H[np.ix_(free, free)]
            if abs(np.linalg.det(inner)) < 1e-12:
                continue
            z[free] = -np.linalg.solve(inner, b[free] + H[np.ix_(free, ~free)] @ z[~free])
        if np.abs(z).max() <= 1 + 1e-12:
            best = min(best, float(z @ H @ z / 2 + b @ z))
    return best


@settings(max_examples=40)
@given(st.integers(1, 5), st.floats(0.0, 4.0), st.floats(0.1, 5.0), st.integers(0, 2**32 - 1))
def test_the_minimiser_on_the_box_is_that_of_brute_force(d: int, decades: float, slope: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    H = random_hessian(rng, np.geomspace(1.0, 10.0**decades, d) if d > 1 else [10.0**decades])
    b = slope * 10.0**decades * rng.standard_normal(d)
    z = minimise_on_region(Shape.BOX, H, b)
    value = float(z @ H @ z / 2 + b @ z)
    assert np.abs(z).max() <= 1
    # Nobody is below the least value; a rounding error of eps·(|H| + |b|)·d is allowed for.
    assert value <= lowest_by_faces(H, b) + 1e-9 * (np.abs(H).sum() + np.abs(b).sum())


def least_by_scipy(H: Matrix, b: Vector) -> tuple[float, Vector]:
    def value(x: Vector) -> float:
        return float(x @ H @ x / 2 + b @ x)

    def slope(x: Vector) -> Vector:
        return np.asarray(H @ x + b, dtype=np.float64)

    edges = optimize.Bounds(-np.ones(b.size), np.ones(b.size))
    found = optimize.minimize(value, np.zeros(b.size), jac=slope, bounds=edges, method="L-BFGS-B", tol=1e-14)
    return float(found.fun), np.asarray(found.x, dtype=np.float64)


def test_the_minimiser_on_the_box_is_that_of_scipy_in_twenty_dimensions() -> None:
    rng = np.random.default_rng(4)
    for condition in (1.0, 1e3):
        H = random_hessian(rng, np.geomspace(1.0, condition, 20))
        b = condition * rng.standard_normal(20)
        z = minimise_on_region(Shape.BOX, H, b)
        value, other = least_by_scipy(H, b)
        assert z @ H @ z / 2 + b @ z <= value + 1e-9 * abs(value)
        assert np.allclose(z, other, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_minimum_inside_is_the_stationary_point(shape: Shape) -> None:
    rng = np.random.default_rng(5)
    H = random_hessian(rng, [1.0, 3.0, 10.0])
    x0 = np.array([0.3, -0.2, 0.5])
    assert np.allclose(minimise_on_region(shape, H, -H @ x0), x0, rtol=0, atol=1e-12)


def evidence_of(z: Matrix, y: Vector, sem: float | None = None) -> Evidence:
    k = len(z)
    precision = None if sem is None else np.full(k, sem**-2.0)
    measurements = Measurements(np.ones(k, dtype=np.int64), y, np.zeros(k), precision=precision)
    return Evidence.empty(z.shape[1]).with_measurements(z, measurements)


def spread(shape: Shape, n: int, d: int, seed: int) -> tuple[Matrix, np.random.Generator]:
    rng = np.random.default_rng(seed)
    if shape is Shape.BOX:
        return rng.uniform(-1.0, 1.0, (n, d)), rng
    return random_points(shape, n, d, rng) * rng.uniform(0.2, 1.0, (n, 1)), rng


@pytest.mark.parametrize("shape", SHAPES)
def test_a_saddle_s_lowest_point_on_the_edge_is_found(shape: Shape) -> None:
    z, rng = spread(shape, 80, 2, 6)
    y = 2 * z[:, 0] ** 2 - z[:, 1] ** 2 + 0.3 * z[:, 1] + 0.05 * rng.standard_normal(80)
    fit = fit_saddle(evidence_of(z, y), shape)
    assert fit is not None
    # By hand: the slope decides for the end z₂ = -1; the noise moves z₁ by 0.05/√80/4 or so.
    assert np.allclose(fit.minimiser, [0.0, -1.0], atol=0.05)
    eigenvalues = np.linalg.eigvalsh(fit.hessian)
    assert eigenvalues[0] == pytest.approx(-2.0, abs=0.3) and eigenvalues[1] == pytest.approx(4.0, abs=0.3)
    assert fit.sigma2 == pytest.approx(0.05**2, rel=0.6)


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_without_noise_the_lowest_point_of_an_indefinite_surface_on_the_box_is_found(d: int, seed: int) -> None:
    z, rng = spread(Shape.BOX, 3 * n_terms(d) + 10, d, seed)
    H = random_hessian(rng, np.append(-1.0, rng.uniform(-2.0, 2.0, d - 1)))
    b = rng.standard_normal(d)
    theta = np.concatenate([[0.0], b, H[np.triu_indices(d)]])
    fit = fit_saddle(evidence_of(z, features(z) @ theta), Shape.BOX)
    assert fit is not None
    x = fit.minimiser
    assert x @ H @ x / 2 + b @ x == pytest.approx(lowest_by_faces(H, b), abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_bowl_a_slope_and_pure_noise_are_no_saddle(shape: Shape) -> None:
    """A false saddle needs an eigenvalue 3 standard errors below zero; these fixed draws have none."""
    for seed in range(5):
        z, rng = spread(shape, 60, 2, 100 + seed)
        noise = 0.1 * rng.standard_normal(60)
        assert fit_saddle(evidence_of(z, np.sum(z**2, axis=1) + noise), shape) is None
    z, _ = spread(shape, n_terms(2), 2, 7)
    assert fit_saddle(evidence_of(z, -np.sum(z**2, axis=1)), shape) is None  # too few to say
    line = np.column_stack([np.linspace(-1, 1, 30), np.zeros(30)])
    assert fit_saddle(evidence_of(line, -(line[:, 0] ** 2)), shape) is None  # one knob was never moved


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_a_saddle_measured_with_known_standard_errors_is_seen_in_any_unit(scale: float) -> None:
    """Two measurements at each point, so that there is scatter beside the known standard errors."""
    z, rng = spread(Shape.BOX, 40, 2, 8)
    sem = 0.05 * scale
    evidence = evidence_of(z, scale * (z[:, 0] ** 2 - z[:, 1] ** 2) + sem * rng.standard_normal(40), sem)
    again = Measurements(
        np.ones(40, dtype=np.int64),
        scale * (z[:, 0] ** 2 - z[:, 1] ** 2) + sem * rng.standard_normal(40),
        np.zeros(40),
        precision=np.full(40, sem**-2.0),
    )
    fit = fit_saddle(evidence.with_measurements(z, again), Shape.BOX)
    assert fit is not None
    assert abs(fit.minimiser[1]) == 1.0
    # σ of one measurement is what the standard errors say, in the value's unit, as `fit_quadratic` has it.
    assert np.sqrt(fit.sigma2) == pytest.approx(sem, rel=0.35)
