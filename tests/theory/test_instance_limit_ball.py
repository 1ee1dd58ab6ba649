"""The ball: fields with a free vector f, proved in exact arithmetic; the design that meets them; how near they are."""

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid.core import Ball, Matrix, Vector
from paraboloid.numerics import features, gradient_map
from paraboloid.theory import instance_limit_bounds
from paraboloid.theory.instance_limit_equator import equator_design, line_design
from paraboloid.theory.instance_limit_secant import secant_point
from paraboloid.theory.instance_limit_tilt import axis_complement, ball_slopes, equator_tilt, line_terms
from tests.support import ball_point, random_hessian, rotation

HALF = Fraction(1, 2)
seeds = st.integers(0, 2**32 - 1)
Rational3 = Callable[[Fraction, Fraction, Fraction], Fraction]

WIDEST = 1.034
"""sup (N/N_field)² over ½ < ρ < 1/√2 and all tilts: docs/instance-limit.md, tested below."""

# --- |q| ≤ 1 in exact arithmetic --------------------------------------------------------------------------------------
# q = a + c f. With s = u·x, h = s - ρ, E = 1 - |x|² and τ = 1 - E - s² all squared lengths are rational in (ρ, s, E).


def same(left: Rational3, right: Rational3) -> bool:
    """Whether two rational functions of (ρ, s, E) agree everywhere.

    Times (1-ρ²)⁴ both sides are polynomials of degree at most 12 in ρ, 4 in s and 2 in E (κ² and 1/(1-ρ) occur at most
    four times, beside at most ρ⁴), and the grid has more places than that in each of them.
    """
    rhos = [Fraction(k, 30) for k in range(1, 27)]
    places = [Fraction(k, 5) for k in range(-5, 5)]
    depths = [Fraction(k, 5) for k in range(5)]
    return all(left(*at) == right(*at) for at in itertools.product(rhos, places, depths))


def square_slope(rho: Fraction) -> Fraction:
    return 1 / (1 - rho**2)  # κ²


def near_length(rho: Fraction, s: Fraction, E: Fraction) -> Fraction:
    """|a|², a = κ(1+g)(κhu + x - su), g = ρκ²h."""
    k, h, tau = square_slope(rho), s - rho, 1 - E - s**2
    return k * (1 + rho * k * h) ** 2 * (k * h**2 + tau)


def middle_length(rho: Fraction, s: Fraction, E: Fraction) -> Fraction:
    """|a|², a = (h(κ²(s+ρ) - γh) + ½κ²(4ρ²-1)E)u + κ(1+g)(x - su)."""
    k, h, tau = square_slope(rho), s - rho, 1 - E - s**2
    along = h * (k * (s + rho) - gamma(rho) * h) + HALF * k * (4 * rho**2 - 1) * E
    return along**2 + tau * k * (1 + rho * k * h) ** 2


def gamma(rho: Fraction) -> Fraction:
    return HALF * square_slope(rho) ** 2 * (1 - 2 * rho**2)


def test_near_the_centre_the_two_squares_of_the_proof_are_identities() -> None:
    def g(rho: Fraction, s: Fraction) -> Fraction:
        return rho * square_slope(rho) * (s - rho)

    assert same(
        near_length,
        lambda rho, s, E: (1 - g(rho, s) ** 2) ** 2 - square_slope(rho) * (1 + g(rho, s)) ** 2 * E,
    )
    assert same(
        lambda rho, s, E: (1 + g(rho, s) ** 2 - HALF * square_slope(rho) * E) ** 2 - near_length(rho, s, E),
        lambda rho, s, E: (2 * g(rho, s) + HALF * square_slope(rho) * E) ** 2,
    )


def test_in_the_middle_range_the_two_differences_of_the_proof_are_identities() -> None:
    def c1(rho: Fraction, s: Fraction) -> Fraction:
        return gamma(rho) * (s - rho) ** 2

    assert same(
        lambda rho, s, E: (1 + c1(rho, s) - HALF * square_slope(rho) * E) ** 2 - middle_length(rho, s, E),
        lambda rho, s, E: 4 * gamma(rho) * (s - rho + rho * E) ** 2,
    )
    assert same(
        lambda rho, s, E: (1 - c1(rho, s) + HALF * square_slope(rho) * E) ** 2 - middle_length(rho, s, E),
        lambda rho, s, E: (
            E * (8 * rho * gamma(rho) * (s - rho) + 2 * square_slope(rho)) + 4 * rho**2 * gamma(rho) * E**2
        ),
    )


def test_the_signs_in_the_proof_of_the_middle_range_can_be_read_off() -> None:
    # At the worst place s = -1: both are squares over positive numbers.
    assert same(
        lambda rho, s, E: 2 * square_slope(rho) - 8 * rho * gamma(rho) * (1 + rho),
        lambda rho, s, E: 2 * square_slope(rho) * (1 + rho) * (2 * rho - 1) ** 2 / (1 - rho),
    )
    assert same(
        lambda rho, s, E: 1 - gamma(rho) * (1 + rho) ** 2,
        lambda rho, s, E: (1 - 2 * rho) ** 2 / (2 * (1 - rho) ** 2),
    )


def test_far_out_the_reflected_point_has_the_squared_length_of_the_point() -> None:
    # |2s x - |x|²u|² = (s² - τ)² + 4s²τ = |x|⁴, so that |q| ≤ |x|² + (1 - |x|²).
    assert same(lambda _, s, E: (s**2 - (1 - E - s**2)) ** 2 + 4 * s**2 * (1 - E - s**2), lambda _, s, E: (1 - E) ** 2)


def free_field(rho: float, u: Vector, f: Vector, x: Vector) -> Vector:
    """The field of x₀ = ρu and f at the point x, as docs/instance-limit.md writes it."""
    s, E = float(u @ x), 1 - float(x @ x)
    across, h = x - s * u, s - rho
    if rho > np.sqrt(0.5):
        far: Vector = 2 * s * x - (1 - E) * u - E * f
        return far
    k = 1 / (1 - rho**2)
    L = np.sqrt(k) * (1 + rho * k * h)
    if rho <= 0.5:
        near: Vector = L * (np.sqrt(k) * h * u + across) + ((rho * k * h) ** 2 - k * E / 2) * f
        return near
    g = k**2 * (1 - 2 * rho**2) / 2
    along = h * (k * (s + rho) - g * h) + k * (4 * rho**2 - 1) * E / 2
    middle: Vector = along * u + L * across + (g * h**2 - k * E / 2) * f
    return middle


@pytest.mark.parametrize("rho", [0.0, 0.2, 0.5, 0.5001, 0.65, 0.7071, 0.7072, 0.9, 1.0])
@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_jacobian_of_the_free_field_has_the_coded_slopes(rho: float, d: int) -> None:
    rng = np.random.default_rng(d)
    u, f = ball_point(rng, d, 1.0), ball_point(rng, d, 1.0)
    kappa, alpha, beta = ball_slopes(rho)
    # q is quadratic, so that central differences are exact for any step.
    columns = [free_field(rho, u, f, rho * u + e / 2) - free_field(rho, u, f, rho * u - e / 2) for e in np.eye(d)]
    expected = kappa * (np.eye(d) - np.outer(u, u)) + np.outer(alpha * u + beta * f, u)
    np.testing.assert_allclose(np.stack(columns, axis=1), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1.001])
def test_random_points_find_a_free_field_that_is_too_long_and_only_that(scale: float) -> None:
    # With scale 1.001 the field is wrong by a thousandth, and the same search must say so.
    rng = np.random.default_rng(8)
    longest = 0.0
    for rho in np.append(rng.uniform(0, 1, 100), [0.0, 0.5, 0.5**0.5, 1.0]):
        u, f = ball_point(rng, 3, 1.0), ball_point(rng, 3, 1.0)
        points = [ball_point(rng, 3, size) for size in rng.uniform(0, 1, 60) ** 0.1] + [u, -u, f]
        longest = max(longest, *(float(np.linalg.norm(scale * free_field(float(rho), u, f, x))) for x in points))
    assert (longest <= 1 + 1e-12) == (scale == 1.0)


# --- the design -------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.integers(1, 4), st.floats(0.01, 1.0), st.floats(0.0, 20.0), seeds)
def test_the_line_design_gives_the_slope_of_every_quadratic_at_its_stated_cost(
    d: int, rho: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    u = ball_point(rng, d, 1.0)
    tilt = axis_complement(u) @ (ball_point(rng, d - 1, size) if d > 1 else np.zeros(0))
    points, coefficients = line_design(rho, u, tilt)
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12
    slope = coefficients @ features(points)
    expected = (u + tilt) @ gradient_map(rho * u)
    total = float(np.sum(np.abs(coefficients)))
    assert np.abs(slope - expected).max() <= 1e-10 * total  # rounding, of numbers that add to the total
    o, a, c = line_terms(rho, float(tilt @ tilt))
    assert total == pytest.approx(o + np.hypot(a, c * np.linalg.norm(tilt)), rel=1e-9)


def inverse(A: Matrix) -> Matrix:
    return np.linalg.inv(A).astype(np.float64)


def value_of(A: Matrix, x0: Vector, points: Matrix, masses: Vector) -> float:
    """½ tr(A⁻¹ Cov), Cov that of the best unbiased linear estimate of the gradient, by least squares on the support."""
    rows = np.sqrt(masses)[:, None] * features(points)
    combination = np.linalg.lstsq(rows.T, gradient_map(x0).T, rcond=1e-11)[0]
    assert np.abs(rows.T @ combination - gradient_map(x0).T).max() <= 1e-6  # the gradient can be estimated at all
    return float(np.sum(combination * (combination @ np.linalg.inv(A)))) / 2


@settings(max_examples=60)
@given(st.integers(1, 5), st.floats(0.02, 1.0), st.floats(0.0, 2.0), seeds)
def test_the_upper_bound_is_the_value_of_a_design_on_the_ball(d: int, rho: float, decades: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, x0 = random_hessian(rng, 10.0 ** rng.uniform(0.0, decades, d)), ball_point(rng, d, rho)
    points, masses = equator_design(inverse(A), x0)
    assert np.linalg.norm(points, axis=1).max() <= 1 + 1e-12
    assert masses.min() >= 0 and masses.sum() == pytest.approx(1.0, rel=1e-12)
    lower, upper = instance_limit_bounds(A, x0, Ball(np.zeros(d)))
    value = value_of(A, x0, points, masses)
    # The best estimate may use the points better than the split that the bound adds up, but no better than `lower`.
    assert lower * (1 - 1e-6) <= value <= upper * (1 + 1e-6)


# --- how near the bounds are ------------------------------------------------------------------------------------------


def spectrum(kind: str, d: int, condition: float) -> Vector:
    if kind == "geometric":
        return np.geomspace(1.0, condition, d)
    values = np.full(d, condition)
    values[: {"one sloppy": 1, "two sloppy": 2, "one stiff": d - 1}[kind]] = 1.0
    return values


KINDS = ["geometric", "one sloppy", "two sloppy", "one stiff"]


def instance(
    rng: np.random.Generator, kind: str, d: int, condition: float, power: float, rho: float
) -> tuple[Matrix, Vector]:
    """A Hessian of that spectrum and a minimiser that leans to its sloppy (power < 0) or stiff (> 0) directions."""
    values, Q = spectrum(kind, d, condition), rotation(rng, d)
    x0 = Q @ (rng.standard_normal(d) * values**power)
    A = (Q * values) @ Q.T
    symmetric: Matrix = (A + A.T) / 2
    return symmetric, x0 * (rho / np.linalg.norm(x0))


def is_exact(rho: float) -> bool:
    return rho <= 0.5 or rho >= 0.5**0.5


@pytest.mark.parametrize("d", [2, 3, 7, 20, 40])
@pytest.mark.parametrize("condition", [1.0, 30.0, 1e4])
def test_the_bounds_are_equal_or_nearly_so_on_a_grid(d: int, condition: float) -> None:
    rng = np.random.default_rng([d, int(condition)])
    rhos = (1e-13, 0.05, 0.3, 0.5, 0.53, 0.6, 0.65, 0.7, 0.75, 0.95, 1.0)
    for kind, power, rho in itertools.product(KINDS, (-0.5, -0.25, 0.0, 0.25), rhos):
        lower, upper = instance_limit_bounds(*instance(rng, kind, d, condition, power, rho), Ball(np.zeros(d)))
        assert 0 < lower <= upper <= lower * (1 + 1e-8 if is_exact(rho) else WIDEST)


@settings(max_examples=100)
@given(
    st.integers(1, 12), st.floats(0.0, 4.0), st.floats(0.0, 1.0), st.sampled_from(KINDS), st.floats(-0.5, 0.5), seeds
)
def test_the_bounds_are_equal_or_nearly_so_anywhere(
    d: int, decades: float, rho: float, kind: str, power: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = instance_limit_bounds(*instance(rng, kind, d, 10.0**decades, power, rho), Ball(np.zeros(d)))
    assert 0 < lower <= upper <= lower * (1 + 1e-8 if is_exact(float(rho)) else WIDEST)


def test_the_line_costs_what_the_field_allows_but_for_the_middle_range() -> None:
    """The design's sum is at most max N/N_field times the field's: this bounds the ratio for every C and d."""
    worst = 0.0
    for rho in np.linspace(0.0, 1.0, 401):
        kappa, alpha, beta = ball_slopes(float(rho))
        for size2 in np.append(0.0, np.geomspace(1e-4, 1e6, 300)):
            o, a, c = line_terms(float(rho), float(size2))
            ratio = (o + np.sqrt(a**2 + c**2 * size2)) / (beta + np.sqrt(alpha**2 + kappa**2 * size2))
            if is_exact(float(rho)):
                assert ratio == pytest.approx(1.0, abs=1e-12)
            worst = max(worst, ratio**2)
    assert 1.033 <= worst <= WIDEST - 5e-4  # room for what lies between the places of the grid


def test_the_krylov_space_loses_nothing_in_many_dimensions() -> None:
    rng = np.random.default_rng(6)
    for kind, rho in itertools.product(KINDS, (0.3, 0.9)):
        A, x0 = instance(rng, kind, 120, 1e4, -0.25, rho)
        lower, upper = instance_limit_bounds(A, x0, Ball(np.zeros(120)))
        assert upper <= lower * (1 + 1e-6)


def test_the_tilt_is_stationary() -> None:
    """No small change of m is better: a fixed point that stops too soon would fail."""
    rng = np.random.default_rng(9)
    for rho in (0.3, 0.6, 0.8):
        A, x0 = instance(rng, "geometric", 5, 1e3, 0.0, rho)
        C, u = inverse(A), x0 / rho
        m, N = equator_tilt(C, u, rho), axis_complement(u)

        def value(m: Vector, C: Matrix = C, u: Vector = u, N: Matrix = N, rho: float = rho) -> float:
            o, a, c = line_terms(rho, float(m @ m))
            tilted = N.T - np.outer(m, u)
            pairs = float(np.sum(np.sqrt(np.linalg.eigvalsh(tilted @ C @ tilted.T))))
            return ball_slopes(rho)[0] * pairs + float(np.sqrt(u @ C @ u)) * (
                o + float(np.hypot(a, c * np.sqrt(m @ m)))
            )

        for _ in range(20):
            assert value(m + ball_point(rng, 4, 1e-3 * float(np.linalg.norm(m)))) >= value(m)


def test_a_secant_ends_an_affine_iteration_on_a_line_at_once() -> None:
    def image(x: Vector) -> Vector:
        half_way: Vector = (x + np.array([1.0, 2.0])) / 2
        return half_way

    first = np.array([3.0, 5.0])
    second = image(first)
    point = secant_point(image(second), image(second) - second, second, second - first)
    np.testing.assert_allclose(point, [1.0, 2.0], atol=1e-14)
