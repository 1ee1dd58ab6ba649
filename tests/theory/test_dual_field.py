"""The field that bounds the instance limit from below: the lemmas of docs/instance-limit.md, checked by machine.

The proofs rest on |q| ≤ 1 on the domain. At a fixed place s along the axis |q|² is a convex function of τ = t², so
its maximum is on the axis or on the sphere. There 1 - |q|² factors into terms whose signs can be read off. Both sides
of such a factorisation are, after multiplication by the denominators, polynomials in (ρ, s). Two polynomials of
degree at most m in ρ and n in s that agree on a grid of m + 1 by n + 1 points are the same. We evaluate in exact
rational arithmetic, so a test that passes is a proof of the identity for all ρ and s, not a sample.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from paraboloid.core import Ball, Matrix, Vector
from paraboloid.theory.instance_limit import ball_field_slopes, elliptope_minimum, instance_limit_bounds
from tests.support import ball_point, random_hessian

HALF, ONE = Fraction(1, 2), Fraction(1)
Rational2 = Callable[[Fraction, Fraction], Fraction]

# --- the fields -------------------------------------------------------------------------------------------------------
# s is the place along u, τ the squared distance from the axis. ``along`` is q·u. The part of q across the axis is
# (x - su)·(1 - 2ρ² + ρs)(1-ρ²)^-3/2 for ρ ≤ 1/√2; its square, τ(1 - 2ρ² + ρs)²/(1-ρ²)³, is rational in (ρ, s, τ).


def along_near(rho: Fraction, s: Fraction, tau: Fraction) -> Fraction:
    """ρ ≤ ½: a stretched Chebyshev polynomial, 1 at the pole, -1 at s = 2ρ - 1."""
    return -1 + (s - 2 * rho + 1) ** 2 / (2 * (1 - rho) ** 2) + tau / (2 * (1 - rho**2))


def along_middle(rho: Fraction, s: Fraction, tau: Fraction) -> Fraction:
    """½ ≤ ρ ≤ 1/√2."""
    return 2 * s**2 - 1 + tau * (1 - 2 * rho**2) / (1 - rho**2)


def across_factor_squared(rho: Fraction, s: Fraction) -> Fraction:
    """ρ ≤ 1/√2: |across|²/τ."""
    return (1 - 2 * rho**2 + rho * s) ** 2 / (1 - rho**2) ** 3


def ball_field(rho: float, u: Vector, x: Vector) -> Vector:
    """The field that belongs to x₀ = ρu, at the point x, in floating point."""
    s = float(u @ x)
    off_axis = x - s * u
    tau = float(off_axis @ off_axis)
    if rho > np.sqrt(0.5):
        field: Vector = 2 * s * x - u
        return field
    if rho <= 0.5:
        along = -1 + (s - 2 * rho + 1) ** 2 / (2 * (1 - rho) ** 2) + tau / (2 * (1 - rho**2))
    else:
        along = 2 * s**2 - 1 + tau * (1 - 2 * rho**2) / (1 - rho**2)
    field = along * u + off_axis * (1 - 2 * rho**2 + rho * s) / (1 - rho**2) ** 1.5
    return field


def same_rational_function(left: Rational2, right: Rational2, *, rho_degree: int, s_degree: int) -> bool:
    """Whether two functions agree that are polynomials of these degrees after multiplication by a common denominator.

    The denominators here are powers of (1-ρ) and (1+ρ), and no ρ of the grid is ±1.
    """
    rhos = [Fraction(k, rho_degree + 3) for k in range(1, rho_degree + 2)]
    places = [Fraction(2 * k - s_degree, s_degree + 1) for k in range(s_degree + 1)]
    return all(left(rho, s) == right(rho, s) for rho in rhos for s in places)


# --- the slopes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "kappa", "eta"),
    [
        (0.0, 1.0, 1.0),
        (0.28, 1 / 0.96, 1 / 0.72),  # 0.28² + 0.96² = 1
        (0.5, 2 / 3**0.5, 2.0),  # where 1/(1-ρ) = 4ρ
        (0.6, 1.25, 2.4),  # 0.6² + 0.8² = 1
        (0.8, 1.6, 3.2),
        (1.0, 2.0, 4.0),
    ],
)
def test_the_slopes_of_the_ball_field_are_those_worked_out_by_hand(rho: float, kappa: float, eta: float) -> None:
    assert ball_field_slopes(rho) == pytest.approx((kappa, eta), rel=1e-14)


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.5001, 0.65, 0.7071, 0.7072, 0.9, 1.0])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_jacobian_of_the_field_at_the_minimiser_has_the_coded_slopes(rho: float, d: int) -> None:
    rng = np.random.default_rng(d)
    u = ball_point(rng, d, 1.0)
    kappa, eta = ball_field_slopes(rho)
    # q is quadratic, so that central differences are exact for any step.
    step = 0.5
    columns = [ball_field(rho, u, rho * u + step * e) - ball_field(rho, u, rho * u - step * e) for e in np.eye(d)]
    jacobian = np.stack(columns, axis=1) / (2 * step)
    expected = kappa * (np.eye(d) - np.outer(u, u)) + eta * np.outer(u, u)
    np.testing.assert_allclose(jacobian, expected, atol=1e-12)


def test_the_slopes_of_the_rational_fields_are_exact() -> None:
    # along is quadratic in s with τ = 0, so half the central difference with step 1 is the derivative.
    for k in range(1, 12):
        rho = Fraction(k, 24)
        near = (along_near(rho, rho + 1, Fraction(0)) - along_near(rho, rho - 1, Fraction(0))) / 2
        assert near == 1 / (1 - rho)
        middle = (along_middle(rho, rho + 1, Fraction(0)) - along_middle(rho, rho - 1, Fraction(0))) / 2
        assert middle == 4 * rho
        assert across_factor_squared(rho, rho) == 1 / (1 - rho**2)  # κ²


# --- |q| ≤ 1 on the ball ----------------------------------------------------------------------------------------------


def test_near_the_centre_one_minus_q_squared_on_the_sphere_factors_exactly() -> None:
    # 1 - |q|² = 2ρ²(s-ρ)²(1-s)(1 - 2ρ² + ρs) / ((1-ρ)⁴(1+ρ)³) at τ = 1 - s².
    # Times (1-ρ)⁴(1+ρ)³ both sides are polynomials, of degree at most 7 in ρ and 4 in s: 1 gives ρ⁷; along is
    # N/(2(1-ρ)²(1+ρ)) with N of degree 3 in ρ, so its square gives N²(1+ρ)/4, ρ⁷; the part across gives (1-ρ) times ρ⁴;
    # the right side has ρ²·ρ²·ρ².
    def left(rho: Fraction, s: Fraction) -> Fraction:
        tau = 1 - s**2
        return 1 - along_near(rho, s, tau) ** 2 - tau * across_factor_squared(rho, s)

    def right(rho: Fraction, s: Fraction) -> Fraction:
        sphere = 2 * rho**2 * (s - rho) ** 2 * (1 - s) * (1 - 2 * rho**2 + rho * s)
        return sphere / ((1 - rho) ** 4 * (1 + rho) ** 3)

    assert same_rational_function(left, right, rho_degree=10, s_degree=6)


def test_in_the_middle_range_one_minus_q_squared_on_the_sphere_factors_exactly() -> None:
    # 1 - |q|² = (1-2ρ²)(s-ρ)²(1-s²)/(1-ρ²)³; times (1-ρ²)³ of degree at most 6 in ρ and 4 in s.
    def left(rho: Fraction, s: Fraction) -> Fraction:
        tau = 1 - s**2
        return 1 - along_middle(rho, s, tau) ** 2 - tau * across_factor_squared(rho, s)

    def right(rho: Fraction, s: Fraction) -> Fraction:
        return (1 - 2 * rho**2) * (s - rho) ** 2 * (1 - s**2) / (1 - rho**2) ** 3

    assert same_rational_function(left, right, rho_degree=10, s_degree=6)


def test_the_factors_on_the_sphere_are_not_negative_for_any_radius_of_their_range() -> None:
    # 1 - 2ρ² + ρs is affine in s and for ρ ≥ 0 smallest at s = -1, where it is (1-2ρ)(1+ρ) ≥ 0 for ρ ≤ ½. All other
    # factors are squares, 1 ± s, or 1 - 2ρ². The identity at s = -1 is of degree 2 in ρ.
    assert same_rational_function(
        lambda rho, s: 1 - 2 * rho**2 + rho * (-1), lambda rho, s: (1 - 2 * rho) * (1 + rho), rho_degree=2, s_degree=0
    )


def test_on_the_axis_the_field_stays_between_minus_one_and_one() -> None:
    # ρ ≤ ½: along + 1 is a square, hence ≥ 0, and 1 - along = (1-s)(s + 3 - 4ρ)/(2(1-ρ)²), where
    # s + 3 - 4ρ ≥ 2 - 4ρ ≥ 0 for s ≥ -1. Times (1-ρ)² of degree 2 in ρ and 2 in s.
    def left(rho: Fraction, s: Fraction) -> Fraction:
        return 1 - along_near(rho, s, Fraction(0))

    def right(rho: Fraction, s: Fraction) -> Fraction:
        return (1 - s) * (s + 3 - 4 * rho) / (2 * (1 - rho) ** 2)

    assert same_rational_function(left, right, rho_degree=4, s_degree=2)
    # ρ ≥ ½: along is the Chebyshev polynomial 2s² - 1.
    assert same_rational_function(
        lambda rho, s: along_middle(rho, s, Fraction(0)), lambda rho, s: 2 * s**2 - 1, rho_degree=2, s_degree=2
    )


def test_between_axis_and_sphere_the_squared_field_is_convex_in_the_squared_distance() -> None:
    # |q|² = (P + cτ)² + τL² with P, c, L free of τ: its second difference in τ is 2c² ≥ 0. Both are exact.
    for along, curvature in (
        (along_near, lambda rho: 1 / (2 * (1 - rho**2))),
        (along_middle, lambda rho: (1 - 2 * rho**2) / (1 - rho**2)),
    ):

        def second_difference(
            rho: Fraction, s: Fraction, along: Callable[[Fraction, Fraction, Fraction], Fraction] = along
        ) -> Fraction:
            def squared(tau: Fraction) -> Fraction:
                return along(rho, s, tau) ** 2 + tau * across_factor_squared(rho, s)

            return squared(ONE) - 2 * squared(Fraction(0)) + squared(-ONE)

        def expected(rho: Fraction, s: Fraction, curvature: Callable[[Fraction], Fraction] = curvature) -> Fraction:
            return 2 * curvature(rho) ** 2

        assert same_rational_function(second_difference, expected, rho_degree=14, s_degree=6)


def test_each_field_is_too_long_just_beyond_its_range() -> None:
    # So the ranges are sharp, and the identities above would notice a field that is used where it must not be.
    rho = Fraction(51, 100)
    assert along_near(rho, -ONE, Fraction(0)) > 1
    rho, s = Fraction(71, 100), Fraction(0)  # 1 - 2ρ² < 0
    assert along_middle(rho, s, ONE) ** 2 + across_factor_squared(rho, s) > 1


def test_the_reflection_field_has_norm_at_most_one_for_every_axis() -> None:
    # |2(e·x)x - e|² = 4a²r - 4a² + 1 = 1 - 4a²(1 - r) with a = e·x, r = |x|², for unit e. A spot check of that line of
    # algebra on vectors with rational entries; e from Pythagorean triples.
    for e in ((Fraction(3, 5), Fraction(4, 5)), (Fraction(5, 13), Fraction(-12, 13)), (ONE, Fraction(0))):
        for i in range(-3, 4):
            for j in range(-3, 4):
                x = (Fraction(i, 4), Fraction(j, 5))
                a, r = e[0] * x[0] + e[1] * x[1], x[0] ** 2 + x[1] ** 2
                norm = sum((2 * a * xk - ek) ** 2 for xk, ek in zip(x, e, strict=True))
                assert 1 - norm == 4 * a**2 * (1 - r)


@pytest.mark.parametrize("scale", [1.0, 1.001])
def test_random_points_of_the_ball_find_a_field_that_is_too_long_and_only_that(scale: float) -> None:
    # With scale 1.001 the field is wrong by a thousandth, and the same search must say so.
    rng = np.random.default_rng(7)
    longest = 0.0
    for rho in np.append(rng.uniform(0, 1, 60), [0.0, 0.5, 0.5**0.5, 1.0]):
        u = ball_point(rng, 3, 1.0)
        directions = rng.standard_normal((200, 3))
        points = directions / np.linalg.norm(directions, axis=1)[:, None] * rng.uniform(0, 1, (200, 1)) ** 0.1
        points = np.vstack([points, u, rho * u, -u, (2 * rho - 1) * u])
        longest = max(longest, *(float(np.linalg.norm(scale * ball_field(float(rho), u, x))) for x in points))
    assert (longest <= 1 + 1e-12) == (scale == 1.0)


# --- |q_k| ≤ 1 on an interval, for the box ----------------------------------------------------------------------------


def test_no_quadratic_bounded_by_one_on_the_interval_is_steeper_than_the_box_field() -> None:
    # The slope at a of every quadratic is Σ w_i f(x_i) with Σ|w_i| = η: then |f| ≤ 1 gives |f'(a)| ≤ η, and the field
    # attains it. The identities are of degree at most 3 in a, and more than 4 values of a are tried on
    # either side of ½.
    for k in range(0, 13):
        a = Fraction(k, 12)
        points: tuple[Fraction, ...]
        weights: tuple[Fraction, ...]
        if a <= HALF:
            points, weights = (ONE, 2 * a - 1), (1 / (2 * (1 - a)), -1 / (2 * (1 - a)))
            eta = 1 / (1 - a)
        else:
            points, weights = (ONE, Fraction(0), -ONE), (a + HALF, -2 * a, a - HALF)
            eta = 4 * a
        for power in range(3):  # f = 1, x, x²: slope 0, 1, 2a
            slope = (Fraction(0), ONE, 2 * a)[power]
            assert sum(w * x**power for w, x in zip(weights, points, strict=True)) == slope
        assert sum(abs(w) for w in weights) == eta


# --- weak duality on random designs -----------------------------------------------------------------------------------


def quadratic_terms(points: Matrix) -> Matrix:
    """φ(z) = (1, z, z_i z_j for i ≤ j), one row per point."""
    i, j = np.triu_indices(points.shape[1])
    return np.hstack([np.ones((len(points), 1)), points, points[:, i] * points[:, j]])


def gradient_map(x: Vector) -> Matrix:
    """G(x): the coefficients of φ to the gradient at x. Central differences of φ are exact."""
    steps = np.eye(x.size)
    return (quadratic_terms(x + steps) - quadratic_terms(x - steps)) / 2


def design_value(A: Matrix, x: Vector, points: Matrix, weights: Vector) -> float:
    """½ tr(A⁻¹ G M⁻¹ Gᵀ)."""
    terms = quadratic_terms(points)
    G = gradient_map(x)
    M = terms.T @ (weights[:, None] * terms)
    return float(np.trace(np.linalg.solve(A, G @ np.linalg.solve(M, G.T)))) / 2


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_no_random_design_on_the_ball_is_better_than_the_lower_bound(d: int) -> None:
    rng = np.random.default_rng(10 + d)
    p = 1 + d + d * (d + 1) // 2
    ratios = []
    for rho in (0.0, 0.2, 0.45, 0.6, 0.8, 1.0):
        for _ in range(25):
            A = random_hessian(rng, 10 ** rng.uniform(0, 3, d))
            x = ball_point(rng, d, rho)
            directions = rng.standard_normal((4 * p, d))
            points = directions / np.linalg.norm(directions, axis=1)[:, None]
            points[: p // 2] *= rng.uniform(0, 1, (p // 2, 1))
            # On a sphere alone |z|² is constant; a few points inside, at random, keep M regular.
            lower, _ = instance_limit_bounds(A, x * (1 - 1e-12), Ball(np.zeros(d)))
            ratios.append(design_value(A, x, points, rng.dirichlet(np.ones(4 * p))) / lower)
    assert min(ratios) >= 1 - 1e-9


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_no_random_design_on_the_box_is_better_than_the_lower_bound(d: int) -> None:
    rng = np.random.default_rng(20 + d)
    p = 1 + d + d * (d + 1) // 2
    ratios = []
    for reach in (0.0, 0.3, 0.5, 0.8, 1.0):
        for _ in range(25):
            A = random_hessian(rng, 10 ** rng.uniform(0, 3, d))
            x = rng.uniform(-reach, reach, d)
            points = rng.choice([-1.0, 0.0, 1.0], size=(6 * p, d), p=[0.4, 0.2, 0.4])
            points[:p] = rng.uniform(-1, 1, (p, d))
            lower, _ = instance_limit_bounds(A, x, [(-1.0, 1.0)] * d)
            ratios.append(design_value(A, x, points, rng.dirichlet(np.ones(6 * p))) / lower)
    assert min(ratios) >= 1 - 1e-9


def test_a_one_dimensional_limit_is_exact_and_attained() -> None:
    # d = 1: two points at ρ ± (1-ρ) or three at 1, 0, -1 with masses ∝ |w_i| above give ½η²/A exactly.
    for rho, points, masses in (
        (0.25, [1.0, -0.5, 0.0], [0.5, 0.5, 0.0]),
        (0.8, [1.0, 0.0, -1.0], [1.3 / 3.2, 1.6 / 3.2, 0.3 / 3.2]),
    ):
        _, eta = ball_field_slopes(rho)
        terms = quadratic_terms(np.array(points)[:, None])
        G = gradient_map(np.array([rho]))
        M = terms.T @ (np.array(masses)[:, None] * terms)
        assert (G @ np.linalg.pinv(M) @ G.T).item() == pytest.approx(eta**2, rel=1e-12)
        lower, upper = instance_limit_bounds([[2.0]], [rho], Ball([0.0]))
        assert (lower, upper) == pytest.approx((eta**2 / 4, eta**2 / 4), rel=1e-12)


def test_the_correlation_problem_has_no_smaller_value_than_its_lower_bound_at_random_correlations() -> None:
    rng = np.random.default_rng(3)
    for d in (2, 3, 6):
        B = random_hessian(rng, 10 ** rng.uniform(-2, 2, d))
        lower, upper, _ = elliptope_minimum(B)
        assert lower <= upper * (1 + 1e-12)
        for _ in range(200):
            rows = rng.standard_normal((d, d + 1))
            rows /= np.linalg.norm(rows, axis=1)[:, None]
            assert float(np.trace(np.linalg.solve(rows @ rows.T, B))) >= lower * (1 - 1e-9)
