"""The instance limit in closed form: against values by hand, its symmetries, and in two hundred dimensions."""

import itertools
import math
import os
import subprocess
import sys

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid.core import Ball, Box, Knob, Matrix, UsageError
from paraboloid.design import optimal_design
from paraboloid.theory import elliptope_minimum, instance_limit_bounds, minimax_limit
from paraboloid.theory.instance_limit_box import mirrored_value, realised_signs
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


@pytest.mark.parametrize(("d", "seed_count"), [(1, 2), (2, 3), (3, 2), (5, 2), (10, 1)])
@pytest.mark.parametrize("shape", ["ball", "box"])
def test_the_solver_s_limit_lies_between_the_bounds(d: int, seed_count: int, shape: str) -> None:
    for seed, rho in itertools.product(range(seed_count), (0.3, 0.6, 0.9)):
        rng = np.random.default_rng([seed, d, 77])
        A = random_hessian(rng, 10.0 ** rng.uniform(0.0, 2.0, d))
        domain: Ball | Box = Ball(np.zeros(d)) if shape == "ball" else unit_box(d)
        x0 = ball_point(rng, d, rho)
        lower, upper = instance_limit_bounds(A, x0, domain)
        design = optimal_design(A, x0, domain)
        # V* is at most half the design's value, and at least that over 1 + gap. The solver adds 1e-13 to a singular M.
        assert lower <= design.value / 2 * (1 + 1e-6)
        assert design.value / 2 / (1 + design.gap) <= upper * (1 + 1e-6)
        assert design.gap <= 0.03


@settings(max_examples=30)
@given(st.integers(1, 2), st.floats(0.0, 4.0), st.floats(0.0, 0.5), seeds)
def test_on_the_box_the_bounds_are_equal_up_to_half_way_to_the_edge(
    d: int, decades: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    A = random_hessian(rng, 10.0 ** rng.uniform(0.0, decades, d))
    lower, upper = instance_limit_bounds(A, rng.uniform(-size, size, d), unit_box(d))
    assert upper == pytest.approx(lower, rel=1e-6)


@settings(max_examples=40)
@given(st.integers(3, 12), st.floats(0.0, 4.0), st.floats(0.0, 0.5), seeds)
def test_on_the_box_the_bounds_are_equal_where_the_best_correlation_is_one_of_signs(
    d: int, decades: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    A, x0 = random_hessian(rng, 10.0 ** rng.uniform(0.0, decades, d)), rng.uniform(-size, size, d)
    lower, upper = instance_limit_bounds(A, x0, unit_box(d))
    reach = 1 - np.abs(x0)
    S = elliptope_minimum(np.linalg.inv(A) / np.outer(reach, reach))[2]
    if np.linalg.eigvalsh(np.sin(np.pi / 2 * S))[0] > 1e-9:
        assert upper == pytest.approx(lower, rel=1e-6)
    assert lower <= upper < math.inf


def test_a_correlation_that_signs_cannot_have_is_known_from_a_worked_example() -> None:
    """docs/instance-limit.md: c = -0.45 where signs reach -1/3 only. V* = 1.592, and the bounds are on either side."""
    S = np.full((3, 3), -0.45) + 1.45 * np.eye(3)
    lower, upper = instance_limit_bounds(np.linalg.inv(S @ S), np.zeros(3), unit_box(3))
    limit = (2 * 1.45**2 * 0.75 + 0.1**2 * 3) / 2
    assert lower == pytest.approx(1.5, rel=1e-6)
    assert limit <= upper * (1 + 1e-9)
    assert upper <= 1.001 * limit


def test_where_all_coordinates_are_equally_far_out_the_box_is_known_too() -> None:
    rng = np.random.default_rng(12)
    for a in (0.6, 0.8, 1.0):
        A = random_hessian(rng, [1.0, 20.0])
        lower, upper = instance_limit_bounds(A, [a, -a], unit_box(2))
        assert upper == pytest.approx(lower, rel=1e-5)  # the far design is solved to 1e-5


@pytest.mark.parametrize("a", [(0.2, 0.4), (0.9, 0.3), (0.6, 0.9), (1.0, 0.0), (1.0, 1.0)])
def test_the_mirrored_value_is_that_of_its_points(a: tuple[float, float]) -> None:
    """Pairs ±τa ± r∘s with E s₁s₂ = c: equal signs with probability (1+c)/2. The covariance is added up by hand."""
    C, far = np.array([[1.0, 0.3], [0.3, 0.2]]), np.array(a)
    tau, value, S = mirrored_value(C, far)
    reach = 1 - tau * far
    covariance = np.zeros((2, 2))
    for centre, share in ((tau * far, (1 + tau) / 2), (-tau * far, (1 - tau) / 2)):
        assert np.abs(centre[:, None] + reach[:, None] * [[1, 1, -1, -1], [1, -1, 1, -1]]).max() <= 1 + 1e-12
        # A mass w on mirrored pairs z ± t measures w E(ttᵀ) of information about the gradient at z ...
        information = np.outer(reach, reach) * np.array([[1.0, S[0, 1]], [S[0, 1], 1.0]])
        # ... which enters the gradient at a with the weight (1 ± 1/τ)/2: a = Σ weight · centre, Σ weight = 1.
        weight = (1 + 1 / tau) / 2 if share == (1 + tau) / 2 else (1 - 1 / tau) / 2
        if share > 0:
            covariance += weight**2 / share * np.linalg.inv(information)
    assert value == pytest.approx(np.trace(C @ covariance) / 2, rel=1e-9)


def test_the_best_place_of_the_mirrored_pairs_is_found() -> None:
    """Against a scan of τ, each with its own correlation."""
    rng = np.random.default_rng(31)
    for d, far_out in itertools.product((2, 4), (0.7, 0.95)):
        C = random_hessian(rng, 10.0 ** rng.uniform(-2.0, 0.0, d))
        far = rng.uniform(0.0, far_out, d)
        far[0] = far_out
        scanned = math.inf
        for tau in np.linspace(0.3, 1.0, 71):
            reach = tau * (1 - tau * far)
            B = C / np.outer(reach, reach)
            scanned = min(scanned, float(np.trace(np.linalg.solve(realised_signs(elliptope_minimum(B)[2]), B))) / 2)
        assert mirrored_value(C, far)[1] <= scanned * (1 + 1e-3)


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
    assert np.allclose(one, other, rtol=1e-7)


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
    factors = np.array([10.0**decade, 10.0**-decade])
    middle = np.array([3.0, -2.0]) * factors  # farther out the box itself would be lost in rounding
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


TWO_HUNDRED = """
import sys, time
import numpy as np
from paraboloid.core import Ball, Box
from paraboloid.theory import instance_limit_bounds
from tests.support import ball_point, random_hessian
rng = np.random.default_rng(4)
A = random_hessian(rng, np.geomspace(1.0, 1e4, 200))
for domain, size in ((Ball(np.zeros(200)), 0.6), (Box([(-1.0, 1.0)] * 200), 0.5), (Box([(-1.0, 1.0)] * 200), 0.9)):
    x0 = ball_point(rng, 200, 1.0)
    x0 *= size / (np.linalg.norm(x0) if isinstance(domain, Ball) else np.abs(x0).max())
    started = time.process_time()
    lower, upper = instance_limit_bounds(A, x0, domain)
    print(time.process_time() - started, upper / lower)
"""


def test_two_hundred_dimensions_take_under_a_second_of_processor_time() -> None:
    """One thread, and the processor's clock: neither other programs nor waiting threads are measured."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()}
    run = subprocess.run(
        [sys.executable, "-c", TWO_HUNDRED], env=environment, capture_output=True, text=True, check=True
    )
    ball, near, far = [[float(number) for number in line.split()] for line in run.stdout.splitlines()]
    assert max(ball[0], near[0], far[0]) < 1.0
    assert 1 <= ball[1] <= 1.034 and 1 <= near[1] <= 1.2 and 1 <= far[1] <= 2


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
