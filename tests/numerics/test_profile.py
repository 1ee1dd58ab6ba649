"""The profile of the noise: its unit, its limits, and what it is fitted to."""

import numpy as np
import pytest

from paraboloid.numerics.profile import Profile, fit_profile

CURVED = Profile(level=2.0, beta=np.array([0.1, 1.0, -0.5, 0.7]), least=0.5, most=6.0)


def test_in_another_unit_the_profile_is_the_same() -> None:
    z = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    assert CURVED.relative_to(4.0)(z) == pytest.approx(CURVED(z) / 4)


def test_a_profile_is_found_again_from_the_variances_it_gives() -> None:
    rng = np.random.default_rng(1)
    z, w = rng.uniform(-1, 1, (300, 2)), rng.integers(1, 4, 300) / 2
    truth = Profile(2.0, np.array([0.0, 1.0, -0.5, 0.7]), 1e-3, 1e3)
    found = fit_profile(z, truth(z) * rng.gamma(w) / w, w)
    assert found is not None
    # Each coefficient has a standard error of about sqrt(1/Σw)/0.58 = 0.1, that of |z|² the same over 0.42.
    assert found(z) == pytest.approx(truth(z), rel=0.6)


def test_beyond_what_was_measured_the_variance_stays_what_it_was_at_the_edge() -> None:
    z = np.linspace(-0.5, 0.5, 41)[:, None]
    found = fit_profile(z, np.exp(4 * z[:, 0]), np.full(41, 5.0))
    assert found is not None
    assert found(np.array([[1.0], [-1.0]])) == pytest.approx(found(np.array([[0.5], [-0.5]])))
