"""The instance limit in closed form: against values by hand, its symmetries, and in two hundred dimensions."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid.core import Ball, Box, Domain, Knob, Matrix, UsageError
from paraboloid.theory import elliptope_minimum, instance_limit_bounds, minimax_limit
from tests.support import ball_point, random_hessian, rotation

seeds = st.integers(0, 2**32 - 1)


def unit_box(d: int) -> Box:
    return Box([(-1.0, 1.0)] * d)


@settings(max_examples=30)
@given(st.integers(1, 8), st.floats(0.0, 4.0), seeds)
def test_at_the_centre_of_the_ball_both_bounds_are_the_paper_s_limit(d: int, decades: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    eigenvalues = 10.0 ** rng.uniform(0.0, decades, d)
    lower, upper = instance_limit_bounds(random_hessian(rng, eigenvalues), np.zeros(d), Ball(np.zeros(d)))
    expected = np.sum(eigenvalues**-0.5) ** 2 / 2
    assert lower == pytest.approx(expected, rel=1e-9) and upper == pytest.approx(expected, rel=1e-9)
    assert minimax_limit(np.diag(eigenvalues)) == pytest.approx(expected, rel=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 6), st.floats(0.0, 0.99), seeds)
def test_the_lower_bound_is_below_the_upper_on_ball_and_box(d: int, rho: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = random_hessian(rng, 10.0 ** rng.uniform(0.0, 3.0, d))
    for domain, x0 in ((Ball(np.zeros(d)), ball_point(rng, d, rho)), (unit_box(d), rng.uniform(-rho, rho, d))):
        lower, upper = instance_limit_bounds(A, x0, domain)
        assert 0 < lower <= upper < math.inf


@pytest.mark.parametrize(("d", "condition", "ratio"), [(2, 1.0, 1.2), (2, 1e2, 1.2), (20, 1.0, 1.05), (20, 1e2, 1.05)])
def test_on_the_ball_the_bounds_are_near_to_each_other(d: int, condition: float, ratio: float) -> None:
    rng = np.random.default_rng(d)
    for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
        A = random_hessian(rng, np.geomspace(1.0, condition, d))
        lower, upper = instance_limit_bounds(A, ball_point(rng, d, rho), Ball(np.zeros(d)))
        assert upper / lower <= ratio


def test_on_the_ball_the_bounds_stay_within_a_tenth_for_very_skewed_hessians() -> None:
    """DESIGN.md: within 0.2 to 10 %. (The issue asks 5 % at d ≥ 20.)"""
    rng = np.random.default_rng(20)
    for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
        A = random_hessian(rng, np.geomspace(1.0, 1e4, 20))
        lower, upper = instance_limit_bounds(A, ball_point(rng, 20, rho), Ball(np.zeros(20)))
        assert upper / lower <= 1.1


@settings(max_examples=30)
@given(st.integers(1, 2), st.floats(0.0, 2.0), st.floats(0.0, 0.5), seeds)
def test_on_the_box_the_bounds_are_equal_up_to_half_way_to_the_edge(
    d: int, decades: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    A = random_hessian(rng, 10.0 ** rng.uniform(0.0, decades, d))
    lower, upper = instance_limit_bounds(A, rng.uniform(-size, size, d), unit_box(d))
    assert upper == pytest.approx(lower, rel=1e-6)


def test_one_knob_is_worked_by_hand() -> None:
    """The slope of a parabola at a ≤ ½ from the middle: ends measured as if about a, variance (1 - a)^-2; then 16a²."""
    for a, variance in ((0.0, 1.0), (0.25, 16 / 9), (0.5, 4.0), (0.75, 9.0), (1.0, 16.0)):
        for domain in (Ball([0.0]), unit_box(1)):
            for sign in (-1.0, 1.0):
                lower, upper = instance_limit_bounds([[2.0]], [sign * a], domain)
                assert lower == pytest.approx(variance / 4, rel=1e-6)
                assert upper == pytest.approx(variance / 4, rel=1e-6)


def test_a_diagonal_hessian_at_the_centre_of_the_box_is_worked_by_hand() -> None:
    """Corners of independent signs measure every slope with variance one: V* = ½ tr A⁻¹."""
    lower, upper = instance_limit_bounds(np.diag([1.0, 4.0, 100.0]), np.zeros(3), unit_box(3))
    # The elliptope problem is solved to a relative gap of 1e-7.
    assert lower == pytest.approx((1 + 0.25 + 0.01) / 2, rel=2e-7)
    assert upper == pytest.approx(lower, rel=2e-7)


@settings(max_examples=20)
@given(seeds, st.floats(0.0, 0.95))
def test_a_rotation_of_the_ball_changes_nothing(seed: int, rho: float) -> None:
    rng = np.random.default_rng(seed)
    A, x0, Q = random_hessian(rng, [1.0, 5.0, 30.0]), ball_point(rng, 3, rho), rotation(rng, 3)
    turned = Q @ A @ Q.T
    one = instance_limit_bounds(A, x0, Ball(np.zeros(3)))
    other = instance_limit_bounds((turned + turned.T) / 2, Q @ x0, Ball(np.zeros(3)))
    # The tilt of the line is searched to 1e-3, and the value is flat there.
    assert np.allclose(one, other, rtol=1e-4)


@settings(max_examples=20)
@given(seeds, st.floats(0.0, 0.95))
def test_a_permutation_and_reflection_of_the_box_changes_nothing(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    A, x0 = random_hessian(rng, [1.0, 5.0, 30.0]), rng.uniform(-size, size, 3)
    P = np.eye(3)[rng.permutation(3)] * rng.choice([-1.0, 1.0], 3)
    one, other = instance_limit_bounds(A, x0, unit_box(3)), instance_limit_bounds(P @ A @ P.T, P @ x0, unit_box(3))
    assert np.allclose(one, other, rtol=1e-6)


@settings(max_examples=20)
@given(seeds, st.floats(-6.0, 6.0))
def test_a_change_of_units_changes_nothing(seed: int, decade: float) -> None:
    rng = np.random.default_rng(seed)
    A, z = random_hessian(rng, [1.0, 5.0]), rng.uniform(-0.6, 0.6, 2)
    factors, middle = np.array([10.0**decade, 10.0**-decade]), np.array([3.0, -2.0]) * 10.0**-decade
    box = Box(list(zip(middle - factors, middle + factors, strict=True)))
    in_units = instance_limit_bounds(A / np.outer(factors, factors), box.from_unit(z), box)
    assert np.allclose(in_units, instance_limit_bounds(A, z, unit_box(2)), rtol=1e-5)
    ball = Ball([5.0, -1.0], 10.0 ** (decade / 3))
    in_units = instance_limit_bounds(A / ball.radius**2, ball.from_unit(z), ball)
    assert np.allclose(in_units, instance_limit_bounds(A, z, Ball([0.0, 0.0])), rtol=1e-4)


def test_a_box_is_better_than_its_inscribed_ball() -> None:
    rng = np.random.default_rng(3)
    A, x0 = random_hessian(rng, np.geomspace(1, 10, 5)), ball_point(rng, 5, 0.3)
    assert instance_limit_bounds(A, x0, unit_box(5))[1] < instance_limit_bounds(A, x0, Ball(np.zeros(5)))[0] / 2


@pytest.mark.parametrize("domain", [Ball(np.zeros(200)), unit_box(200)], ids=["ball", "box"])
def test_two_hundred_dimensions_are_bounded(domain: Domain) -> None:
    rng = np.random.default_rng(4)
    A = random_hessian(rng, np.geomspace(1.0, 100.0, 200))
    lower, upper = instance_limit_bounds(A, ball_point(rng, 200, 0.5), domain)
    assert 0 < lower <= upper < 3 * lower


@settings(max_examples=20)
@given(st.integers(1, 6), seeds)
def test_the_elliptope_s_bounds_meet_and_its_matrix_is_a_correlation(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = random_hessian(rng, 10.0 ** rng.uniform(-1.0, 1.0, d))
    lower, upper, S = elliptope_minimum(B)
    assert lower <= upper * (1 + 1e-12) and upper <= lower * (1 + 1e-6)
    assert np.allclose(np.diag(S), 1.0) and np.linalg.eigvalsh(S)[0] > 0
    assert np.trace(np.linalg.solve(S, B)) == pytest.approx(upper, rel=1e-9)
    for _ in range(20):  # no other correlation matrix is better
        R = rng.standard_normal((d, d + 1))
        R /= np.linalg.norm(R, axis=1, keepdims=True)
        assert np.trace(np.linalg.solve(R @ R.T, B)) >= lower * (1 - 1e-9)


@pytest.mark.parametrize(
    ("hessian", "minimiser", "message"),
    [
        (np.eye(3), [0.0, 0.0], "must have the same dimension"),
        (np.eye(2), [0.9, 0.9, 0.9], "must have the same dimension"),
        (np.diag([1.0, 0.0]), [0.0, 0.0], "positive definite"),
        (np.diag([1.0, -1.0]), [0.0, 0.0], "positive semidefinite"),
        (np.eye(2), [0.9, 0.9], "outside the domain"),
        (np.array([[1.0, 2.0], [0.0, 1.0]]), [0.0, 0.0], "symmetric"),
    ],
)
def test_what_is_no_instance_is_refused(hessian: Matrix, minimiser: npt.ArrayLike, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        instance_limit_bounds(hessian, minimiser, Ball([0.0, 0.0]))


def test_a_hessian_is_not_defined_for_log_knobs() -> None:
    with pytest.raises(UsageError, match="log scale"):
        instance_limit_bounds([[1.0]], [0.5], [Knob("rate", 0.1, 1.0, log=True)])
