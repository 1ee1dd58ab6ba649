"""The model: exact value, gradient and regret, measuring, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.core import UsageError
from paraboloid.problems import NoisyQuadratic, Rademacher
from tests.support import ball_point, random_hessian

seeds = st.integers(0, 2**32 - 1)


def test_values_by_hand() -> None:
    # A = diag(1, 4), x₀ = (½, 0), offset 7. At (½, 1): ½·4·1² = 2. At (-½, ½): ½(1·1 + 4·¼) = 1; gradient (-1, 2).
    problem = NoisyQuadratic(np.diag([1.0, 4.0]), [0.5, 0.0], offset=7.0)
    assert problem.value([0.5, 1.0]) == 9.0
    assert problem.regret([-0.5, 0.5]) == 1.0
    assert problem.gradient([-0.5, 0.5]).tolist() == [-1.0, 2.0]
    assert (problem.regret(problem.minimiser), problem.value(problem.minimiser)) == (0.0, 7.0)


@given(seeds, st.integers(1, 6))
def test_the_gradient_is_that_of_the_value_and_regret_is_never_negative(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    A = random_hessian(rng, 10 ** rng.uniform(-3, 2, d) * (rng.random(d) > 0.3))
    problem = NoisyQuadratic(A, ball_point(rng, d, 1.0), offset=3.0)
    x, step = ball_point(rng, d, 0.7), ball_point(rng, d, 0.5)
    # A central difference of a quadratic is exact, up to eps of values ≤ 100·(1.7)².
    slope = problem.value(x + step) - problem.value(x - step)
    assert slope == pytest.approx(2 * float(problem.gradient(x) @ step), abs=1e-11)
    assert problem.regret(x) >= 0


def test_measuring_adds_noise_to_the_value_at_each_point() -> None:
    problem = NoisyQuadratic(np.eye(2), [0.0, 0.0], offset=10.0, noise=Rademacher())
    values = problem.measure([[1.0, 0.0], [0.0, 0.0]], 50, rng=np.random.default_rng(0))
    assert values.shape == (2, 50)
    assert set(values[0]) == {9.5, 11.5}
    assert set(values[1]) == {9.0, 11.0}
    single = problem.measure([[1.0, 0.0]], 5, rng=np.random.default_rng(0))
    assert single.shape == (1, 5)


@pytest.mark.parametrize(
    ("hessian", "minimiser", "message"),
    [
        ([[1.0, 2.0], [0.0, 1.0]], [0, 0], r"must be symmetric, but entry \[0, 1\] is 2 and entry \[1, 0\] is 0. Give"),
        ([[1.0, 2.0], [2.0, 1.0]], [0, 0], r"positive semidefinite, but its smallest eigenvalue is -1 .*largest is 3"),
        (np.zeros((0, 0)), [], r"square matrix with at least one row, got shape \(0, 0\)"),
        (np.ones((2, 3)), [0, 0], r"square matrix .*got shape \(2, 3\)"),
        (np.eye(2), [0.8, 0.8], r"must lie in the unit ball, but its norm is 1.13137. Scale the problem"),
        (np.eye(2), [0.1], r"minimiser has 1 entries, but the dimension is 2"),
        (np.eye(2), [np.nan, 0.0], r"minimiser holds a value that is not a finite number"),
        ([[np.inf]], [0.0], r"hessian holds a value that is not a finite number"),
        ([[1j]], [0.0], r"hessian must be an array of real numbers .*complex"),
        ([["a"]], [0.0], r"hessian must be an array of real numbers with 2 axes, got \[\['a'\]\]"),
    ],
)
def test_what_is_no_problem_is_named(hessian: object, minimiser: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NoisyQuadratic(hessian, minimiser)  # type: ignore[arg-type]  # wrong on purpose


def test_points_repeats_and_offset_are_checked() -> None:
    problem = NoisyQuadratic(np.eye(2), [0.0, 0.0])
    with pytest.raises(UsageError, match=r"points must have 2 entries each, got shape \(1, 3\)"):
        problem.measure([[0.0, 0.0, 0.0]], 3, np.random.default_rng(0))
    with pytest.raises(UsageError, match=r"0 is too small for measuring: the smallest that works is 1"):
        problem.measure([[0.0, 0.0]], 0, np.random.default_rng(0))
    with pytest.raises(UsageError, match="offset holds a value that is not a finite number"):
        NoisyQuadratic(np.eye(1), [0.0], offset=float("nan"))


def test_a_problem_keeps_its_own_read_only_copies() -> None:
    A = np.eye(2)
    problem = NoisyQuadratic(A, [0.0, 0.0])
    A[0, 0] = 5.0
    assert problem.hessian[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.hessian[0, 0] = 2.0
