"""A change of units changes nothing but the units; a rotated, reflected or renamed system has the same answer, moved.

A search is a chain of choices, and a last bit can turn one of them. Units that differ by powers of two change no bit,
so there whole searches are compared, exactly. Offsets, rotations, reflections and permutations are compared in the fit,
the answer and the certificate of the same evidence.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import paraboloid
from paraboloid.algorithms import conclude
from paraboloid.core import Ball, Box, Domain, Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import random_points

BUDGET = 60
CURVATURE = np.array([[30.0, 8.0], [8.0, 6.0]])
MINIMISER = np.array([0.35, -0.2])

powers = st.integers(-20, 20)


def noisy_bowl(seed: int) -> Callable[[Vector], float]:
    """Return a function of unit coordinates whose noise depends on the number of the call alone."""
    noise = np.random.default_rng(seed)

    def measure(z: Vector) -> float:
        away = z - MINIMISER
        return float(away @ CURVATURE @ away) / 2 + float(noise.standard_t(4))

    return measure


@settings(max_examples=8, deadline=None)
@given(scales=st.tuples(powers, powers), seed=st.integers(0, 100))
def test_units_of_the_knobs_of_a_box(scales: tuple[int, int], seed: int) -> None:
    half = 2.0 ** np.array(scales)
    one = paraboloid.minimize(noisy_bowl(seed), [(-1, 1), (-1, 1)], budget=BUDGET, rng=seed)
    measure = noisy_bowl(seed)
    other = paraboloid.minimize(lambda x: measure(x / half), [(-h, h) for h in half], budget=BUDGET, rng=seed)
    np.testing.assert_array_equal(other.x / half, one.x)
    np.testing.assert_array_equal(other.x_ci / half[:, None], one.x_ci)
    for field in ("regret", "regret_bound", "regret_bound_if_quadratic"):
        assert other[field] == one[field]
    np.testing.assert_allclose(other.x_cov / np.outer(half, half), one.x_cov, rtol=1e-12)
    np.testing.assert_allclose(other.hess * np.outer(half, half), one.hess, rtol=1e-12)


@settings(max_examples=8, deadline=None)
@given(scale=powers, seed=st.integers(0, 100))
def test_unit_of_the_knobs_of_a_ball(scale: int, seed: int) -> None:
    radius = 2.0**scale
    one = paraboloid.minimize(noisy_bowl(seed), Ball([0.0, 0.0]), budget=BUDGET, rng=seed)
    measure = noisy_bowl(seed)
    other = paraboloid.minimize(lambda x: measure(x / radius), Ball([0.0, 0.0], radius), budget=BUDGET, rng=seed)
    np.testing.assert_array_equal(other.x / radius, one.x)
    assert other.regret_bound == one.regret_bound


@settings(max_examples=8, deadline=None)
@given(scale=st.one_of(st.integers(-40, 40), st.sampled_from([-300, 300])), seed=st.integers(0, 100), up=st.booleans())
def test_unit_and_sign_of_the_values(scale: int, seed: int, up: bool) -> None:
    factor = 2.0**scale
    one = paraboloid.minimize(noisy_bowl(seed), [(-1, 1), (-1, 1)], budget=BUDGET, rng=seed)
    measure = noisy_bowl(seed)
    if up:
        other = paraboloid.maximize(lambda x: -factor * measure(x), [(-1, 1)] * 2, budget=BUDGET, rng=seed)
    else:
        other = paraboloid.minimize(lambda x: factor * measure(x), [(-1, 1)] * 2, budget=BUDGET, rng=seed)
    np.testing.assert_array_equal(other.x, one.x)
    for field in ("regret", "regret_bound", "regret_bound_if_quadratic", "sigma"):
        assert other[field] == factor * one[field]
    assert other.regret_bound_if_quadratic <= other.regret_bound
    assert (-other.fun if up else other.fun) == factor * one.fun


@pytest.mark.parametrize("power", [-300, 300])
@pytest.mark.parametrize("domain", [Box([(-1, 1)] * 2), Ball([0.0, 0.0])], ids=["box", "ball"])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_values_as_small_as_their_fourth_powers_can_be(power: int, domain: Domain, noise: float) -> None:
    """Squares of variances are fourth powers, of values around 1e-90 no numbers: numpy's warnings are errors here."""
    for sharp in (False, True):
        one, other = (paraboloid.minimize(f, domain, budget=80, rng=1) for f in in_both_units(sharp, noise, power))
        np.testing.assert_allclose(other.x, one.x, rtol=0, atol=1e-6)
        assert other.sigma == pytest.approx(2.0**power * one.sigma, rel=1e-6)
        assert (other.regret_bound is None) == (one.regret_bound is None)


def in_both_units(sharp: bool, noise: float, power: int) -> Iterator[Callable[[Vector], float]]:
    """Yield the same response with the same noise in units of one and of a power of two."""
    for factor in (1.0, 2.0**power):
        stream = np.random.default_rng(4)

        def measure(z: Vector, factor: float = factor, stream: np.random.Generator = stream) -> float:
            away = z - MINIMISER
            height = np.sqrt(0.01 + away @ away) if sharp else away @ CURVATURE @ away / 30
            return factor * float(height + noise * stream.standard_normal())

        yield measure


@settings(max_examples=15, deadline=None)
@given(shift=st.floats(-1e6, 1e6), middle=st.floats(-1e6, 1e6), seed=st.integers(0, 1000))
def test_offsets_of_values_and_knobs(shift: float, middle: float, seed: int) -> None:
    points = np.random.default_rng(seed).uniform(-1, 1, (40, 2))
    evidence = evidence_at(points, seed)
    assert evidence.sample is not None
    sample = replace(evidence.sample, values=evidence.sample.values + shift)
    shifted = replace(evidence, means=evidence.means + shift, sample=sample)
    one = conclude(evidence, Box([(-1, 1), (-1, 1)]))
    other = conclude(shifted, Box([(middle - 1, middle + 1), (-1, 1)]))
    assert one.certificate is not None and other.certificate is not None
    assert_same_minimiser(other.x - [middle, 0.0], one.x, one.estimate.covariance)
    assert other.certificate.fun - shift == pytest.approx(one.certificate.fun, abs=1e-3 * one.certificate.fun_se + 1e-8)
    assert other.certificate.regret == pytest.approx(one.certificate.regret, rel=1e-3)


def assert_same_minimiser(x: Vector, expected: Vector, covariance: Matrix | None) -> None:
    """Newton's method ends within √2e-6 of a standard error of the minimum, Huber's within a thousandth of one in each
    coefficient: together below a fiftieth."""
    assert covariance is not None
    away = x - expected
    assert float(away @ np.linalg.pinv(covariance) @ away) < 0.02**2


def evidence_at(points: Matrix, seed: int) -> Evidence:
    d = points.shape[1]
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((d, d))
    away = points - rng.uniform(-0.4, 0.4, d)
    y = np.sum((away @ (root @ root.T + np.eye(d))) * away, axis=1)[:, None] + 0.3 * rng.standard_t(3, (len(points), 2))
    return Evidence.empty(d).with_measurements(points, Measurements.from_values(y))


def moved(evidence: Evidence, Q: Matrix, seed: int, points: Matrix) -> Evidence:
    """Return the same values at the points moved by Q."""
    values = [evidence.means[np.all(evidence.points == point, axis=1)][0] for point in points + 0.0]
    spread = [evidence.scatter[np.all(evidence.points == point, axis=1)][0] for point in points + 0.0]
    pairs = np.array(values)[:, None] + np.sqrt(np.array(spread) / 2)[:, None] * np.array([-1.0, 1.0])
    return Evidence.empty(points.shape[1]).with_measurements(points @ Q.T, Measurements.from_values(pairs))


def check_moved(Q: Matrix, points: Matrix, domain: Domain, seed: int) -> None:
    evidence = moved(evidence_at(points, seed), np.eye(len(Q)), seed, points)
    one = conclude(evidence, domain)
    other = conclude(moved(evidence, Q, seed, points), domain)
    assert_same_minimiser(Q.T @ other.x, one.x, one.estimate.covariance)
    assert one.certificate is not None and other.certificate is not None
    assert other.certificate.regret == pytest.approx(one.certificate.regret, rel=1e-3)
    np.testing.assert_allclose(other.certificate.hess_eig, one.certificate.hess_eig, rtol=1e-3, atol=1e-3)
    if np.isfinite(one.certificate.regret_bound):
        # A quantile of 4000 draws each: its standard error is about 4 %; beyond six of two such, chance is below 1e-8.
        assert other.certificate.regret_bound == pytest.approx(one.certificate.regret_bound, rel=0.35)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(2, 4))
def test_rotations_and_reflections_of_the_ball(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    points = np.unique(random_points(Shape.BALL, 40, d, rng) * rng.uniform(0.2, 1, (40, 1)), axis=0)
    check_moved(stats.ortho_group.rvs(d, random_state=rng), points, Ball(np.zeros(d)), seed)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), d=st.integers(2, 4))
def test_permutations_and_reflections_of_the_box(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (40, d))
    Q = np.eye(d)[rng.permutation(d)] * rng.choice([-1.0, 1.0], d)[:, None]
    check_moved(Q, points, Box([(-1, 1)] * d), seed)
