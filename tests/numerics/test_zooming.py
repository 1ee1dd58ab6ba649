"""Exact values: windows that shrink to the minimum."""

from collections.abc import Callable

import numpy as np
import pytest

from paraboloid import minimize
from paraboloid.core import Evidence, Measurements, Vector
from paraboloid.numerics.zooming import is_exact


def rosenbrock(x: Vector) -> float:
    """Return Rosenbrock's banana on [-1, 1]², least, and zero, at (½, ½)."""
    u, v = 2 * x
    return float(100 * (v - u**2) ** 2 + (1 - u) ** 2)


def uneven(x: Vector) -> float:
    """Return a bowl with ripples that are finer the nearer the minimum is, which is zero at 0.3."""
    z = 5 * (x - 0.3)
    size = np.log(np.maximum(np.abs(z), 1e-300))
    fast, slow = np.where(z > 0, 10.0, 5.5), np.where(z > 0, 7.9, 3.1)
    bent = np.sign(z) * np.exp(size + 0.049 * (np.sin(fast * size) + np.sin(slow * size)))
    return float(np.sum(bent**2 * np.array([1.0, 100.0])))


@pytest.mark.parametrize(("fun", "budget", "within"), [(rosenbrock, 1000, 1e-9), (uneven, 400, 1e-5)])
def test_a_deterministic_function_is_followed_to_many_digits(
    fun: Callable[[Vector], float], budget: int, within: float
) -> None:
    """The median of five. One model over the whole range stays at 1e-3 and 4e-3."""
    left = [fun(minimize(fun, [(-1, 1)] * 2, budget=budget, rng=seed).x) for seed in range(5)]
    assert np.median(left) < within


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1.0])
def test_values_are_exact_where_all_repeats_agree(noise: float) -> None:
    z = np.linspace(-1, 1, 9)[:, None]
    values = z**2 + noise * np.random.default_rng(0).standard_normal((9, 2))
    assert is_exact(Evidence.empty(1).with_measurements(z, Measurements.from_values(values))) == (noise == 0.0)


def test_nothing_is_known_of_exactness_without_repeats() -> None:
    z = np.linspace(-1, 1, 9)[:, None]
    assert not is_exact(Evidence.empty(1).with_measurements(z, Measurements.from_values(z**2)))
    assert not is_exact(Evidence.empty(1))
