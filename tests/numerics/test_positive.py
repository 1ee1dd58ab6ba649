"""Matrices factored at unit diagonal, and many small systems at once, against LAPACK one by one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg

from paraboloid.core import Evidence, Measurements, Shape
from paraboloid.numerics import fit_quadratic, matrix_to_vector
from paraboloid.numerics.positive import factored, positive_inverse, solve_each, solve_positive


@pytest.mark.parametrize("d", [1, 2, 5, 20])
def test_many_systems_are_solved_as_one_by_one(d: int) -> None:
    rng = np.random.default_rng(d)
    A = rng.standard_normal((700, d, d))
    H = A + A.transpose(0, 2, 1) + 2 * np.sqrt(d) * rng.uniform(0, 2, (700, 1, 1)) * np.eye(d)
    right = rng.standard_normal((700, d))
    solutions, is_positive = solve_each(H, right)
    eigenvalues = np.linalg.eigvalsh(H)[:, 0]
    clear = np.abs(eigenvalues) > 1e-9  # of those nearer to singular rounding decides
    assert np.array_equal(is_positive[clear], eigenvalues[clear] > 0)
    assert is_positive.any() and (d == 1 or not is_positive.all())
    left_over = np.einsum("nij,nj->ni", H, solutions) - right
    assert np.abs(left_over[is_positive & (eigenvalues > 1e-3)]).max() < 1e-9


def test_a_factor_solves_whatever_the_scales() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 9))
    scales = np.geomspace(1e-9, 1e9, 6)
    M = scales[:, None] * (A @ A.T) * scales
    exact = np.linalg.inv(A @ A.T) / np.outer(scales, scales)
    assert positive_inverse(M) == pytest.approx(exact, rel=1e-8)
    right = rng.standard_normal((6, 2))
    both = factored(M).solve(right)
    assert both == pytest.approx(exact @ right, rel=1e-8)
    assert factored(M).solve(right[:, 0]) == pytest.approx(both[:, 0], rel=1e-12)
    with pytest.raises(linalg.LinAlgError):
        factored(np.array([[1.0, 2.0], [2.0, 1.0]]))


def noisy_bowl(seed: int, more: float = 0.0) -> Evidence:
    """Eighty values of a bowl of condition 100, with unit noise and so much more on top of the same."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-1, 1, (80, 3))
    y = np.sum((z - 0.3) ** 2 * [100, 10, 1], axis=1) + rng.standard_normal(80) + more * rng.standard_normal(80)
    return Evidence.empty(3).with_measurements(z, Measurements.from_values(y[:, None]))


def test_a_fit_begun_near_another_is_the_same() -> None:
    evidence, other = noisy_bowl(1), noisy_bowl(1, more=0.3)
    alone = fit_quadratic(evidence, Shape.BALL)
    near = fit_quadratic(evidence, Shape.BALL, near=fit_quadratic(other, Shape.BALL))
    error = np.sqrt(alone.covariance.diagonal())
    assert np.abs((near.theta - alone.theta) / error).max() < 1e-2
    assert near.sigma2 == pytest.approx(alone.sigma2, rel=1e-3)


def test_a_fit_that_rounding_takes_over_the_edge_is_no_place_to_begin() -> None:
    """In other units the Hessian of a fit may be singular by rounding: the search for the best must not end there."""
    evidence = noisy_bowl(1)
    alone = fit_quadratic(evidence, Shape.BALL)
    theta = alone.theta.copy()
    theta[4:] = matrix_to_vector(np.diag([1.0, 1.0, 0.0]))
    assert fit_quadratic(evidence, Shape.BALL, near=replace(alone, theta=theta)).theta == pytest.approx(alone.theta)


def test_a_system_that_is_not_positive_definite_is_refused() -> None:
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        solve_positive(np.diag([1.0, -1.0]), np.ones(2))
    matrix, right = np.array([[2.0, 1.0], [1.0, 3.0]]), np.eye(2)
    np.testing.assert_allclose(matrix @ solve_positive(matrix, right), right, atol=1e-15)
