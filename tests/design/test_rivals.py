"""Rival basins are measured as long as they may be lower, and no longer."""

import numpy as np

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.design import next_smooth_batch
from paraboloid.design.rivals import find_rivals
from paraboloid.numerics import SmoothFit, fit_smooth

SIGMA = 0.5


def two_basins(x: Matrix, rise: float) -> Vector:
    """Return a curve that is least near -0.5 and has a second minimum, higher by ``rise``, near 0.5."""
    return np.asarray(16 * (x[:, 0] ** 2 - 0.25) ** 2 + rise * (x[:, 0] + 0.5))


def fitted(rise: float, seed: int) -> SmoothFit:
    """Return a fit of a few values everywhere, and of many in the basin near -0.5."""
    rng = np.random.default_rng(seed)
    points = np.concatenate([np.linspace(-1, 1, 41), np.full(40, -0.5), np.full(40, -0.4), np.full(40, -0.6)])[:, None]
    values = two_basins(points, rise) + SIGMA * rng.standard_normal(len(points))
    evidence = Evidence.empty(1).with_measurements(points, Measurements.from_values(values[:, None]))
    return fit_smooth(evidence, Shape.BOX, np.array([-0.5]))


def share_in_the_rival(fit: SmoothFit) -> float:
    points, repeats = next_smooth_batch(fit, Shape.BOX, 100, np.random.default_rng(0))
    return float(repeats[np.abs(points[:, 0] - 0.5) < 0.2].sum()) / 100


def test_a_basin_that_may_be_lower_is_measured() -> None:
    shares = [share_in_the_rival(fitted(0.0, seed)) for seed in range(5)]
    assert np.median(shares) > 0.3  # seen 0.7 to 0.8; without rivals 0.01


def test_a_basin_that_is_surely_higher_is_left_alone() -> None:
    shares = [share_in_the_rival(fitted(2.0, seed)) for seed in range(5)]
    assert np.median(shares) < 0.05  # seen 0.01: one measurement of fifty goes where none has been


def test_rivals_are_local_minima_apart_from_the_answer() -> None:
    fit = fitted(0.0, 0)
    rivals = find_rivals(fit, Shape.BOX, np.random.default_rng(1))
    assert len(rivals.points) == 1
    assert abs(rivals.points[0, 0] - fit.minimiser[0]) > 0.5
    assert abs(fit.derivatives(rivals.points[0])[1][0]) < 1e-3
    assert rivals.worth[0] > 0


def test_a_bowl_has_no_rival() -> None:
    z = np.linspace(-1, 1, 41)[:, None]
    y = np.exp(2 * z) - 2 * z + 0.1 * np.random.default_rng(0).standard_normal((41, 1))
    evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    rivals = find_rivals(fit_smooth(evidence, Shape.BOX, np.zeros(1)), Shape.BOX, np.random.default_rng(0))
    assert rivals.points.shape == (0, 1)
    assert rivals.worth.shape == (0,)
