"""The quadratic as a linear model: each map against the explicit formula it stands for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.core import Matrix, Vector
from paraboloid.numerics import (
    features,
    gradient_map,
    matrix_to_vector,
    n_terms,
    trace_form,
    vector_to_matrix,
)

dimensions = st.integers(1, 6)
seeds = st.integers(0, 2**32 - 1)


def symmetric(rng: np.random.Generator, d: int) -> Matrix:
    S = rng.standard_normal((d, d))
    return (S + S.T) / 2


def coefficients(rng: np.random.Generator, d: int) -> tuple[float, Vector, Matrix, Vector]:
    """Return c, b, H and θ = (c, b, vech H)."""
    c, b, H = float(rng.standard_normal()), rng.standard_normal(d), symmetric(rng, d)
    return c, b, H, np.concatenate([[c], b, H[np.triu_indices(d)]])


def basis(d: int) -> list[Matrix]:
    """Return the matrices E_a of the module's table, one by one."""
    found = []
    for i, j in zip(*np.triu_indices(d), strict=True):
        E = np.zeros((d, d))
        E[i, j] = E[j, i] = 1.0
        found.append(E)
    return found


@given(dimensions, seeds)
def test_features_times_coefficients_is_the_value(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    c, b, H, theta = coefficients(rng, d)
    z = rng.standard_normal((7, d))
    values = c + z @ b + np.einsum("mi,ij,mj->m", z, H, z) / 2
    assert np.allclose(features(z) @ theta, values, rtol=1e-12, atol=1e-12)


@given(dimensions, seeds)
def test_the_gradient_map_gives_the_gradient(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    _, b, H, theta = coefficients(rng, d)
    z = rng.standard_normal(d)
    assert np.allclose(gradient_map(z) @ theta, b + H @ z, rtol=1e-12, atol=1e-12)


@given(dimensions, seeds)
def test_vector_and_matrix_are_one_hessian(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = rng.standard_normal(d * (d + 1) // 2)
    H = vector_to_matrix(h, d)
    assert np.array_equal(H, H.T) and np.array_equal(H[np.triu_indices(d)], h)
    assert np.allclose(H, sum(value * E for value, E in zip(h, basis(d), strict=True)))


@given(dimensions, seeds)
def test_matrix_to_vector_is_the_trace_with_each_basis_matrix(d: int, seed: int) -> None:
    S = symmetric(np.random.default_rng(seed), d)
    assert np.allclose(matrix_to_vector(S), [np.trace(S @ E) for E in basis(d)], rtol=1e-12, atol=1e-12)


def test_matrix_to_vector_turns_a_derivative_by_the_matrix_into_one_by_its_entries() -> None:
    """The derivative of log det H by H is H⁻¹; by the entries of vech H central differences must agree."""
    rng = np.random.default_rng(2)
    d, step = 4, 1e-5
    R = rng.standard_normal((d, d))
    H = R @ R.T + d * np.eye(d)
    h = H[np.triu_indices(d)]
    differences = [
        (
            np.linalg.slogdet(vector_to_matrix(h + step * e, d))[1]
            - np.linalg.slogdet(vector_to_matrix(h - step * e, d))[1]
        )
        / (2 * step)
        for e in np.eye(h.size)
    ]
    # Truncation step²·|third derivative| ~ 1e-10, rounding eps/step·|log det| ~ 1e-10.
    assert np.allclose(matrix_to_vector(np.asarray(np.linalg.inv(H), dtype=np.float64)), differences, rtol=0, atol=1e-8)


@given(dimensions, seeds)
def test_the_trace_form_is_that_of_explicit_matrices(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    C, S = symmetric(rng, d), symmetric(rng, d)
    explicit = np.array([[np.trace(C @ Ea @ S @ Eb) for Eb in basis(d)] for Ea in basis(d)])
    assert np.allclose(trace_form(C, S), (explicit + explicit.T) / 2, rtol=1e-12, atol=1e-12)


def test_the_trace_form_is_the_curvature_of_minus_log_det() -> None:
    """The second derivative of -log det H in directions E_a, E_b is tr(H⁻¹E_a H⁻¹E_b)."""
    rng = np.random.default_rng(3)
    d, step = 3, 1e-3
    R = rng.standard_normal((d, d))
    H = R @ R.T + d * np.eye(d)
    C = np.linalg.inv(H)

    def minus_log_det(matrix: Matrix) -> float:
        return -float(np.linalg.slogdet(matrix)[1])

    form = trace_form((C + C.T) / 2, (C + C.T) / 2)
    for a, E in enumerate(basis(d)):
        middle, ends = minus_log_det(H), minus_log_det(H + step * E) + minus_log_det(H - step * E)
        # Truncation step²/12·(fourth derivative ≤ 1), rounding 4·eps·|log det|/step² ~ 1e-9.
        assert form[a, a] == pytest.approx((ends - 2 * middle) / step**2, abs=1e-6)


@pytest.mark.parametrize(("d", "p"), [(1, 3), (2, 6), (5, 21), (20, 231), (200, 20301)])
def test_the_number_of_terms_is_counted_by_hand(d: int, p: int) -> None:
    assert n_terms(d) == p
    if d <= 20:
        assert features(np.zeros((1, d))).shape == (1, p) and gradient_map(np.zeros(d)).shape == (d, p)
