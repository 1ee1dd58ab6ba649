"""The minimiser of any quadratic on the ball, by the conditions of Moré and Sorensen and by brute force."""

import functools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from paraboloid.core import Matrix, Vector
from paraboloid.numerics import minimise_on_ball
from tests.support import random_hessian, rotation

seeds = st.integers(0, 2**32 - 1)
dimensions = st.sampled_from([1, 2, 3, 5, 20])
EPS = float(np.finfo(np.float64).eps)


def value(H: Matrix, b: Vector, v: Vector) -> float:
    return float(v @ H @ v / 2 + b @ v)


def assert_optimal(H: Matrix, b: Vector, v: Vector, r: float) -> None:
    """Assert (H + μI)v = -b, H + μI ⪰ 0, μ ≥ 0 and μ(r - |v|) = 0: necessary and sufficient (Moré & Sorensen 1983)."""
    scale = float(np.linalg.norm(H, 2)) * r + float(np.linalg.norm(b))
    allowed = 1e4 * len(b) * EPS * scale  # a solver exact to some eps of μ ≤ scale/r, in a basis exact to d eps |H|
    norm = float(np.linalg.norm(v))
    assert norm <= r
    mu = -float(v @ (H @ v + b)) / norm**2 if norm >= r * (1 - 1e-9) else 0.0
    assert np.linalg.norm(H @ v + mu * v + b) <= allowed
    assert mu * r >= -allowed
    assert (np.linalg.eigvalsh(H)[0] + mu) * r >= -allowed


@given(seeds, dimensions, st.sampled_from([0.5, 1.0, 3.0]))
def test_the_conditions_hold_for_every_kind_of_quadratic(seed: int, d: int, r: float) -> None:
    rng = np.random.default_rng(seed)
    eigenvalues = rng.standard_normal(d) * 10 ** rng.uniform(-2, 2, d)
    H = random_hessian(rng, rng.choice([np.abs(eigenvalues), eigenvalues, -np.abs(eigenvalues)]))
    b = rng.standard_normal(d) * 10 ** rng.uniform(-3, 3)
    assert_optimal(H, b, minimise_on_ball(H, b, radius=r), r)


@given(seeds, st.sampled_from([2, 3, 5, 20]), st.one_of(st.just(0.0), st.floats(1e-9, 0.9)))
def test_the_conditions_hold_in_the_hard_case(seed: int, d: int, size: float) -> None:
    # The slope has no part along the lowest eigenvector, and the rest reaches only to ``size`` inside the ball.
    rng = np.random.default_rng(seed)
    lam = np.concatenate([[-1.0], rng.uniform(0.0, 5.0, d - 1)])
    inside = np.concatenate([[0.0], rng.standard_normal(d - 1)])
    inside *= size / np.linalg.norm(inside)
    v = minimise_on_ball(np.diag(lam), -(lam + 1) * inside)
    assert_optimal(np.diag(lam), -(lam + 1) * inside, v, 1.0)
    assert np.abs(v[1:]) == pytest.approx(np.abs(inside[1:]), abs=1e-12)
    assert abs(v[0]) == pytest.approx((1 - size**2) ** 0.5, abs=1e-12)
    # Turned, the slope is no longer exactly across; the value must still be the least.
    Q = rotation(rng, d)
    H: Matrix = (Q * lam) @ Q.T
    b = -Q @ ((lam + 1) * inside)
    least = value(np.diag(lam), -(lam + 1) * inside, v)
    assert value(H, b, minimise_on_ball((H + H.T) / 2, b)) == pytest.approx(least, abs=1e-12)


def test_brute_force_finds_nothing_lower() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        d = int(rng.integers(1, 4))
        H, b = random_hessian(rng, rng.uniform(-2, 2, d)), rng.standard_normal(d) * rng.uniform(0, 1)
        least = value(H, b, minimise_on_ball(H, b))
        points = rng.standard_normal((4000, d))
        points *= (rng.random(4000) ** (1 / d) / np.linalg.norm(points, axis=1))[:, None]
        values = np.einsum("ij,jk,ik->i", points, H, points) / 2 + points @ b
        best = points[values.argmin()]
        inside = optimize.NonlinearConstraint(lambda v: v @ v, -np.inf, 1.0)
        polished = optimize.minimize(functools.partial(value, H, b), best, method="SLSQP", constraints=inside)
        assert least <= values.min()
        assert least == pytest.approx(float(polished.fun), abs=1e-5)  # SLSQP stops at 1e-6 of the value


@pytest.mark.parametrize("d", [2, 3, 6])
def test_a_singular_hessian_with_minimisers_inside_gives_the_one_of_least_norm(d: int) -> None:
    rng = np.random.default_rng(d)
    for _ in range(20):
        H = random_hessian(rng, np.where(np.arange(d) < d - 1, rng.uniform(0.5, 2.0, d), 0.0))
        b = H @ rng.uniform(-0.2, 0.2, d)
        least: Vector = -np.linalg.pinv(H, rcond=1e-10, hermitian=True) @ b
        assert np.abs(minimise_on_ball(H, b) - least).max() < 1e-12


def test_a_slope_where_there_is_no_curvature_is_followed_to_the_sphere() -> None:
    # ½ v₁² + 0.1 v₂ over the unit ball: v₁ = 0, v₂ = -1.
    assert minimise_on_ball(np.diag([1.0, 0.0]), [0.0, 0.1]) == pytest.approx([0.0, -1.0], abs=1e-12)
    assert minimise_on_ball(np.zeros((2, 2)), [3.0, 4.0]) == pytest.approx([-0.6, -0.8], abs=1e-15)
    assert minimise_on_ball(np.zeros((2, 2)), [0.0, 0.0]).tolist() == [0.0, 0.0]


def test_worked_by_hand() -> None:
    # H = diag(1, -1), b = (-1, -1): (1 + μ)v₁ = 1, (μ - 1)v₂ = 1. With r² = 1/9 + 1 and μ = 2: v = (1/3, 1).
    found = minimise_on_ball(np.diag([1.0, -1.0]), [-1.0, -1.0], radius=(10 / 9) ** 0.5)
    assert found == pytest.approx([1 / 3, 1.0], abs=1e-14)
