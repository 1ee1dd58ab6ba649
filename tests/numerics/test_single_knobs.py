"""Curves of single knobs: derivatives against differences, parity, and that they are what a sum of curves needs."""

import numpy as np
import pytest

from paraboloid.core import Evidence, Measurements, Shape
from paraboloid.numerics import fit_smooth
from paraboloid.numerics.single_knobs import (
    knob_curves,
    knob_degrees,
    knob_polynomials,
    knob_slopes,
    knob_sums,
    knob_variances,
)

STEP = 1e-5


def test_slopes_and_bends_are_derivatives() -> None:
    z, centre = np.array([0.3, -0.6]), np.array([0.1, -0.4])
    coefficients = np.random.default_rng(0).standard_normal(30)
    sums = knob_polynomials(centre, coefficients)
    value, slope, bend = (each[0] for each in knob_sums(z[None, :], centre, sums))
    assert value == pytest.approx(float(knob_curves(z[None, :], centre)[0] @ coefficients))
    assert slope == pytest.approx(knob_slopes(z, centre) @ coefficients)
    for k, e in enumerate(STEP * np.eye(2)):
        values, slopes, _ = knob_sums(np.stack([z + e, z - e]), centre, sums)
        assert slope[k] == pytest.approx((values[0] - values[1]) / (2 * STEP), rel=1e-5)
        assert bend[k] == pytest.approx((slopes[0] - slopes[1])[k] / (2 * STEP), rel=1e-5)


def test_a_reflection_of_a_knob_changes_no_covariance() -> None:
    rng = np.random.default_rng(0)
    points, centre = rng.uniform(-1, 1, (7, 3)), rng.uniform(-0.5, 0.5, 3)
    turned = np.array([1.0, -1.0, 1.0])
    w = knob_variances(3, 0.6, 2.0, 1.0)

    def covariance(
        sign: np.ndarray[tuple[int], np.dtype[np.float64]],
    ) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        curves = knob_curves(points * sign, centre * sign)
        return np.asarray((curves * w) @ curves.T)

    assert covariance(turned) == pytest.approx(covariance(np.ones(3)), abs=1e-12)


def test_variances_add_up_and_fall_with_the_degree() -> None:
    """To the sizes given, at a place drawn so that T_k² is one half on average."""
    w, degrees = knob_variances(4, 0.5, 2.0, 3.0), knob_degrees(4)
    assert w[:40].sum() / 2 == pytest.approx(2.0) and w[40:].sum() / 2 == pytest.approx(3.0)
    assert w[1] / w[0] == pytest.approx(0.25) and degrees[1] - degrees[0] == 1


def test_a_steep_edge_is_learnt_from_few_measurements() -> None:
    """x + a/x of four knobs, 150 values: with functions of all knobs only, as on a ball, the regret is twice that.

    The mean log ratio of 16 runs is -0.85 ± 0.25: it is above -0.2 by chance once in two hundred times, if ever the
    draws change.
    """
    costs = np.array([0.4, 1.0, 1.7, 2.5])
    regrets: dict[Shape, list[float]] = {shape: [] for shape in Shape}
    for seed in range(16):
        rng = np.random.default_rng(seed)
        points = rng.uniform(-1, 1, (150, 4))
        x = 2.525 + 2.475 * points
        values = np.sum(x + costs / x, axis=1) + 0.3 * rng.standard_normal(150)
        evidence = Evidence.empty(4).with_measurements(points, Measurements.from_values(values[:, None]))
        for shape in Shape:
            best = 2.525 + 2.475 * fit_smooth(evidence, shape, np.zeros(4)).minimiser
            regrets[shape].append(float(np.sum(best + costs / best - 2 * np.sqrt(costs))))
    assert np.mean(np.log(regrets[Shape.BOX]) - np.log(regrets[Shape.BALL])) < -0.2
