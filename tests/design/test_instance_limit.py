"""The numerical instance limit: between its closed-form bounds, with a gap that is honest, in any units."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid import instance_limit
from paraboloid.core import Ball, Box, Domain, Matrix, Vector
from paraboloid.design import optimal_design
from paraboloid.numerics import features, gradient_map
from paraboloid.theory import instance_limit_bounds, minimax_limit
from tests.support import ball_point, random_hessian

ROUNDING = 1e-6  # the solver adds 1e-13 to a scaled information matrix that is singular at the centre of the ball
seeds = st.integers(0, 2**32 - 1)


def instance(seed: int, d: int, name: str, rho: float) -> tuple[Matrix, Vector, Domain]:
    rng = np.random.default_rng([seed, d])
    A = random_hessian(rng, 10.0 ** rng.uniform(0.0, 1.5, d))
    if name == "ball":
        return A, ball_point(rng, d, rho), Ball(np.zeros(d))
    return A, rng.uniform(-rho, rho, d), Box([(-1.0, 1.0)] * d)


@pytest.mark.parametrize("name", ["ball", "box"])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_the_limit_lies_between_its_bounds_and_its_gap_is_small(d: int, name: str, rho: float) -> None:
    for seed in range(2):
        A, x0, domain = instance(seed, d, name, rho)
        lower, upper = instance_limit_bounds(A, x0, domain)
        design = optimal_design(A, x0, domain)
        value = design.value / 2
        assert design.gap <= 0.02
        assert lower <= value * (1 + ROUNDING)
        assert value <= upper * (1 + design.gap) / (1 - design.gap)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_at_the_centre_of_the_ball_the_limit_is_the_paper_s(d: int) -> None:
    for seed in range(3):
        A, _, domain = instance(seed, d, "ball", 0.0)
        assert instance_limit(A, np.zeros(d), domain) == pytest.approx(minimax_limit(A), rel=0.02)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
def test_at_the_centre_of_the_ball_the_gap_is_small(d: int) -> None:
    """The optimum there is singular: it leaves the curvature unlearnt. The certificate must bear that."""
    for seed in range(3):
        A, _, domain = instance(seed, d, "ball", 0.0)
        assert optimal_design(A, np.zeros(d), domain).gap <= 0.02


@settings(max_examples=25)
@given(st.integers(1, 2), st.floats(0.0, 0.5), seeds)
def test_the_gap_is_no_smaller_than_the_true_one(d: int, size: float, seed: int) -> None:
    """On the box with |x₀|_∞ ≤ ½ the limit is known exactly, so the equivalence theorem can be checked."""
    A, x0, domain = instance(seed, d, "box", size)
    exact = instance_limit_bounds(A, x0, domain)[0]
    for gap in (0.3, 0.02):
        design = optimal_design(A, x0, domain, gap=gap)
        assert 2 * exact <= design.value * (1 + ROUNDING)
        assert design.value - 2 * exact <= (design.gap + ROUNDING) * design.value


@pytest.mark.parametrize("name", ["ball", "box"])
def test_no_random_design_is_better(name: str) -> None:
    A, x0, domain = instance(7, 2, name, 0.6)
    design = optimal_design(A, x0, domain)
    rng = np.random.default_rng(0)
    W = gradient_map(x0).T @ np.linalg.inv(A) @ gradient_map(x0)
    for _ in range(200):
        z = rng.uniform(-1, 1, (30, 2))
        if name == "ball":
            z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)
        phi = features(z)
        M = (phi.T * rng.dirichlet(np.ones(30))) @ phi
        assert np.trace(np.linalg.solve(M, W)) >= design.value * (1 - design.gap)


@pytest.mark.parametrize("name", ["ball", "box"])
def test_the_design_lies_in_the_region_and_has_the_value_it_says(name: str) -> None:
    A, x0, domain = instance(8, 3, name, 0.5)
    design = optimal_design(A, x0, domain)
    size = np.linalg.norm(design.points, axis=1) if name == "ball" else np.abs(design.points).max(axis=1)
    # New candidates are rounded to six digits so that equal ones are found.
    assert size.max() <= 1 + 1e-6
    assert design.weights.sum() == pytest.approx(1.0) and design.weights.min() >= 0
    phi = features(design.points)
    W = gradient_map(x0).T @ np.linalg.inv(A) @ gradient_map(x0)
    assert np.trace(np.linalg.solve((phi.T * design.weights) @ phi, W)) == pytest.approx(design.value, rel=1e-5)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_a_change_of_units_changes_nothing(factor: float) -> None:
    A, z, _ = instance(9, 2, "box", 0.4)
    factors = np.array([factor, 1 / factor])
    box = Box([(5 * f, 7 * f) for f in factors])
    limit = instance_limit(A, z, [(-1, 1), (-1, 1)])
    assert instance_limit(A / np.outer(factors, factors), box.from_unit(z), box) == pytest.approx(limit, rel=1e-6)
    ball = Ball(np.array([3.0, -4.0]) * factor, factor)
    limit = instance_limit(A, z, Ball([0.0, 0.0]))
    assert instance_limit(A / factor**2, ball.from_unit(z), ball) == pytest.approx(limit, rel=1e-6)


@pytest.mark.parametrize("name", ["ball", "box"])
def test_a_scale_of_the_hessian_scales_the_limit(name: str) -> None:
    A, x0, domain = instance(10, 2, name, 0.4)
    limit = instance_limit(A, x0, domain)
    for scale in (1e-12, 1e12):
        assert instance_limit(scale * A, x0, domain) == pytest.approx(limit / scale, rel=1e-6)
