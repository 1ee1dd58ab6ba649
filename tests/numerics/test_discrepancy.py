"""Likelihoods of sizes, against dense formulas, and bounds by which most of them need not be formed."""

import math

import numpy as np
import pytest

from paraboloid.core import Matrix
from paraboloid.numerics.discrepancy import HOPELESS, SIZES, Discrepancy, Seen, _Tried

MANY = tuple(np.geomspace(0.01, 1e7, 40).tolist())


def seen_of(U: Matrix, u: Matrix, scatter: float, freedom: float) -> Seen:
    return Seen(U.T @ U, u @ U, float(u @ u), scatter, freedom, np.zeros((1, U.shape[1])), 1.0)


def dense(U: Matrix, u: Matrix, scatter: float, freedom: float, size: float) -> _Tried:
    """By eigenvalues, with neither Woodbury's identity nor a factor."""
    squares, Q = np.linalg.eigh(U @ U.T)
    spread = 1 + size * np.maximum(squares, 0.0)
    return _Tried(size, float(np.sum(np.log(spread))) / 2, float(np.sum((Q.T @ u) ** 2 / spread)))


@pytest.mark.parametrize(("seed", "is_shape"), [(0, False), (1, False), (2, True), (3, True)])
@pytest.mark.parametrize("sizes", [SIZES, MANY], ids=["known", "other"])
def test_log_bayes_factors_are_those_of_the_dense_formula_or_hopeless(
    seed: int, is_shape: bool, sizes: tuple[float, ...]
) -> None:
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((60, 50)) * np.geomspace(1, 1e-3, 50)
    u = rng.standard_normal(60) + (10 * U @ rng.standard_normal(50) if is_shape else 0.0)
    scatter, freedom = 400.0, 460.0
    seen = seen_of(U, u, scatter, freedom)
    n_hopeless = 0
    for size, found in zip(sizes, seen.log_bayes_factors(sizes), strict=True):
        one = dense(U, u, scatter, freedom, size)
        exact = -one.level - freedom / 2 * math.log((one.left + scatter) / (u @ u + scatter))
        if found < HOPELESS:
            n_hopeless += 1
            assert exact <= found + 1e-9
        else:
            assert found == pytest.approx(exact, abs=1e-6)  # eigenvalues to 1e-14, times sizes up to 1e7
    assert n_hopeless > 0 or sizes == SIZES or is_shape


@pytest.mark.parametrize("seed", range(5))
def test_no_size_is_more_likely_than_others_let_it_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((20, 8)) * np.geomspace(1, 1e-2, 8)
    u = rng.standard_normal(20) + U @ rng.standard_normal(8)
    seen = seen_of(U, u, 3.0, 25.0)
    each = [dense(U, u, 3.0, 25.0, size) for size in MANY]
    for k, one in enumerate(each):
        for others in (each[:k], each[max(k - 3, 0) : k : 2], [*each[:k:4], *each[k + 1 :: 3]], each[k + 1 :]):
            assert seen.at_most(one.size, tuple(others)) >= seen.of(one) - 1e-9


@pytest.mark.parametrize("n", [3, 50])
def test_draws_have_the_root_of_the_covariance(n: int) -> None:
    """Three draws at nine places are solved for, and fifty are not: both are the same."""
    rng = np.random.default_rng(0)
    lower = np.asfortranarray(np.tril(rng.standard_normal((6, 6))) + 3 * np.eye(6))
    one = Discrepancy(0.0, np.zeros(9), 5.0, rng.standard_normal((9, 6)), rng.standard_normal((9, 2)), lower)
    covariance = one.follows @ np.linalg.inv(lower @ lower.T) @ one.follows.T + one.unseen @ one.unseen.T
    np.testing.assert_allclose(one.root @ one.root.T, covariance, atol=1e-12)
    normal = rng.standard_normal((n, one.n_parts))
    np.testing.assert_allclose(one.drawn(normal), normal @ one.root.T, atol=1e-12)
