"""A quadratic of a window in unit coordinates: the same values, errors and minimiser, by another formula."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.numerics import QuadraticFit, Window, features, n_terms, upper_triangle

seeds = st.integers(0, 2**32 - 1)


def window_and_fit(rng: np.random.Generator, d: int) -> tuple[Window, QuadraticFit]:
    """Return an ellipsoid with axes from 0.1 to 1, turned and off-centre, and a bowl in its coordinates."""
    Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
    window = Window(rng.uniform(-1, 1, d), Q * rng.uniform(0.1, 1.0, d))
    root = rng.standard_normal((d, d))
    H, w = root @ root.T + np.eye(d), rng.uniform(-0.5, 0.5, d)
    theta = np.concatenate([[rng.standard_normal()], -H @ w, H[upper_triangle(d)]])
    half = rng.standard_normal((n_terms(d), n_terms(d)))
    return window, QuadraticFit(theta, half @ half.T, 0.25, 7.0, w)


@given(st.integers(1, 6), seeds)
def test_values_and_covariances_are_those_of_the_window(d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    window, fit = window_and_fit(rng, d)
    back = window.pulled_back(fit)
    z = rng.uniform(-1, 1, (20, d))
    here, there = features(z), features(window.to_local(z))
    # |w| ≤ 10·2√d, so that features are below 500 d and sums of p of them round at 1e-9 of the largest at worst.
    largest = np.abs(there) @ np.abs(fit.theta) + 1
    np.testing.assert_array_less(np.abs(here @ back.theta - there @ fit.theta), 1e-9 * largest)
    inside = there @ fit.covariance @ there.T
    deviation = np.sqrt(np.diag(inside))
    bound = 1e-9 * (np.max(deviation) ** 2 + np.outer(deviation, deviation))
    np.testing.assert_array_less(np.abs(here @ back.covariance @ here.T - inside), bound)
    assert (back.sigma2, back.freedom) == (fit.sigma2, fit.freedom)


@given(st.integers(1, 6), seeds)
def test_curvature_and_minimiser_are_those_of_the_change_of_coordinates(d: int, seed: int) -> None:
    window, fit = window_and_fit(np.random.default_rng(seed), d)
    back, B = window.pulled_back(fit), np.linalg.inv(window.spread)
    size = float(np.abs(back.hessian).max())
    np.testing.assert_allclose(back.hessian, B.T @ fit.hessian @ B, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(back.minimiser, window.centre + window.spread @ fit.minimiser, rtol=0, atol=1e-14)
    # There the slope is zero, up to the rounding of what cancels.
    slope = back.linear + back.hessian @ back.minimiser
    np.testing.assert_allclose(slope, 0.0, rtol=0, atol=1e-10 * size)


def test_the_whole_domain_changes_nothing() -> None:
    _, fit = window_and_fit(np.random.default_rng(0), 3)
    back = Window(np.zeros(3), np.eye(3)).pulled_back(fit)
    np.testing.assert_array_equal(back.theta, fit.theta)
    np.testing.assert_array_equal(back.covariance, fit.covariance)
    np.testing.assert_array_equal(back.minimiser, fit.minimiser)
