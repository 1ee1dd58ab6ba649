"""Noise that is a huge factor on one side: seen where it is there, not where it is not, and the low values used."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from paraboloid import Box, minimize
from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.design import scattered_once
from paraboloid.numerics import (
    Closed,
    close_in_low,
    close_in_on_lowest,
    features,
    fit_quadratic,
    limit_tails,
    project_onto_region,
)
from paraboloid.numerics.low_values import repeats_differ_hugely
from paraboloid.numerics.quantile_curve import Heights, _even, _growing, fit_curve

HESSIAN = np.array([[4.0, 1.0], [1.0, 2.0]])
BEST = np.array([0.3, -0.2])


def heights(points: Matrix, best: Vector = BEST) -> Vector:
    away = points - best
    return np.asarray(np.sum((away @ HESSIAN) * away, axis=1) / 2)


def huge_factor(n: int, rng: np.random.Generator) -> Vector:
    """COCO's severe uniform noise at height 1: between next to nothing and a thousand million, evenly in logarithms."""
    return np.asarray(rng.random(n) * 1e9 ** rng.random(n))


def closed_in(points: Matrix, values: Vector) -> Closed | None:
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    return close_in_low(evidence, limit_tails(evidence, Shape.BOX), fit_quadratic(evidence, Shape.BOX), Shape.BOX)


def noise_of(kind: str, n: int, rng: np.random.Generator) -> Vector:
    if kind == "t(2.5)":
        return rng.standard_t(2.5, n)
    if kind == "lognormal":
        return rng.lognormal(0.0, 1.0, n)
    return rng.standard_cauchy(n) if kind == "cauchy" else rng.standard_normal(n)


@pytest.mark.parametrize("size", [0.1, 1.0])
@pytest.mark.parametrize("kind", ["normal", "t(2.5)", "lognormal", "cauchy"])
def test_noise_that_is_the_same_everywhere_is_left_alone(kind: str, size: float) -> None:
    """All values are positive. It closed in on none of 800 other draws of 40 and 120 values; a rate of 10 % would be
    caught in 98.5 % of cases."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        points = rng.uniform(-1, 1, (int(rng.choice([40, 120])), 2))
        values = heights(points) + size * noise_of(kind, len(points), rng)
        assert closed_in(points, values - values.min() + 0.1) is None


@pytest.mark.parametrize("sigma", [0.3, 1.0])
def test_a_factor_that_is_not_huge_is_left_to_the_logarithmic_scale(sigma: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        points = rng.uniform(-1, 1, (120, 2))
        assert closed_in(points, heights(points) * rng.lognormal(0.0, sigma, 120)) is None


def test_low_values_tell_where_the_minimum_is_when_the_factor_is_huge() -> None:
    """A regret below a twentieth of the average height, in the median of 12 draws: it was a fiftieth on others."""
    rng = np.random.default_rng(2)
    regrets, levels = [], []
    for _ in range(12):
        points = rng.uniform(-1, 1, (300, 2))
        closed = closed_in(points, 100.0 + heights(points) * huge_factor(300, rng))
        assert closed is not None and closed.level is not None
        levels.append(closed.level)
        regrets.append(heights(closed.window.from_local(closed.fit.minimiser[None, :]))[0])
    assert max(levels) <= 0.1
    assert float(np.median(regrets)) < float(heights(rng.uniform(-1, 1, (1000, 2))).mean()) / 20


@pytest.mark.parametrize("unit, offset", [(1e9, 0.0), (1e-9, 0.0), (1.0, 1e4)])
def test_units_and_offsets_of_the_values_change_nothing(unit: float, offset: float) -> None:
    rng = np.random.default_rng(3)
    points = rng.uniform(-1, 1, (200, 2))
    values = heights(points) * huge_factor(200, rng)
    plain, changed = closed_in(points, values), closed_in(points, offset + unit * values)
    assert plain is not None and changed is not None
    assert plain.level == changed.level
    assert np.allclose(plain.window.centre, changed.window.centre, atol=1e-3)


def test_in_a_valley_that_leads_out_of_the_domain_the_lowest_place_inside_is_found() -> None:
    rng = np.random.default_rng(4)
    points = rng.uniform(-1, 1, (400, 2))
    steep = np.array([[100.0, 99.0], [99.0, 100.0]])  # along the diagonal from (0.3, -0.2) to (1.3, -1.2) it is flat
    away = points - [1.3, -1.2]
    values = np.sum((away @ steep) * away, axis=1) * huge_factor(400, rng)
    closed = closed_in(points, values)
    assert closed is not None
    found = closed.window.from_local(closed.fit.minimiser[None, :])[0]
    assert np.abs(found).max() <= 1 + 1e-9
    assert abs(found[0] + found[1] - 0.1) < 0.15


def test_the_gradients_are_those_of_the_likelihoods() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (30, 3))
    values = Heights(points, np.arange(30), rng.lognormal(0.0, 2.0, 30), np.ones(30))
    logs, phi = np.log(values.heights), features(points)
    v = rng.normal(0.0, 0.3, 3 + 6 + 2)

    def growing(v: Vector) -> float:
        return _growing(v, values, logs, 0.2)[0]

    def even(v: Vector) -> float:
        return _even(v, values, phi, 0.2)[0]

    numeric = approx_fprime(v, growing, 1e-7)
    assert np.allclose(numeric, _growing(v, values, logs, 0.2)[1], rtol=1e-4, atol=1e-4)
    v = rng.normal(0.0, 0.3, phi.shape[1] + 2)
    numeric = approx_fprime(v, even, 1e-7)
    assert np.allclose(numeric, _even(v, values, phi, 0.2)[1], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("level", [0.1, 0.3])
def test_about_the_share_of_the_values_lies_below_the_curve(level: float) -> None:
    """Of 2000 values: 0.02 is some three standard deviations, and the corner's width is a small part of the range."""
    rng = np.random.default_rng(6)
    points = rng.uniform(-1, 1, (2000, 2))
    values = Heights(points, np.arange(2000), heights(points) * huge_factor(2000, rng), np.ones(2000))
    assert abs(float(np.mean(fit_curve(values, level).residuals(values) < 0)) - level) < 0.05


def test_a_search_closes_in_and_says_what_it_minimised() -> None:
    rng = np.random.default_rng(7)
    best = np.array([0.4, 0.1])

    def measure(points: Matrix) -> Vector:
        return heights(np.atleast_2d(points), best) * huge_factor(len(np.atleast_2d(points)), rng)

    result = minimize(measure, Box([(-1.0, 1.0)] * 2), budget=600, rng=0, vectorized=True)
    assert heights(np.asarray(result.x)[None, :], best)[0] < 0.05
    assert np.isinf(result.regret_bound)
    assert any("often huge" in caveat for caveat in result.caveats)


def ordinary(kind: str, truth: Matrix, repeats: int, rng: np.random.Generator) -> Matrix:
    """Values (m, repeats) of noise that is no huge factor, about the truth (m, 1)."""
    noise = noise_of(kind, len(truth) * repeats, rng).reshape(-1, repeats)
    if kind == "a part":
        return np.asarray(truth * (1 + 0.3 * noise))
    if kind == "lognormal factor":
        return np.asarray(truth * np.exp(noise))
    if kind == "unequal":
        return np.asarray(truth + noise * 1e3 ** rng.random((len(truth), 1)))
    return np.asarray(truth + (0.01 if kind == "small" else 1.0) * noise)


@pytest.mark.parametrize(
    "kind", ["normal", "small", "t(2.5)", "cauchy", "lognormal", "a part", "lognormal factor", "unequal"]
)
def test_few_repeats_under_ordinary_noise_do_not_differ_hugely(kind: str) -> None:
    """None of 1600 other draws of each did; a rate of 2 % would be caught in 99 % of cases."""
    rng = np.random.default_rng(8)
    for places, repeats in [(3, 3), (8, 2), (12, 3), (30, 2)] * 60:
        points = rng.choice([-1.0, 0.0, 1.0], (places, 2)) + 1e-9 * rng.random((places, 2))
        values = Measurements.from_values(ordinary(kind, heights(points)[:, None], repeats, rng))
        assert not repeats_differ_hugely(Evidence.empty(2).with_measurements(points, values))


def test_few_repeats_tell_a_huge_factor() -> None:
    """Nine values do in more than two of three draws; less than two in five would be one in 1000 by chance."""
    rng = np.random.default_rng(9)
    told = []
    for _ in range(40):
        points = rng.uniform(-1, 1, (3, 2))
        values = heights(points)[:, None] * huge_factor(9, rng).reshape(3, 3)
        told.append(
            repeats_differ_hugely(Evidence.empty(2).with_measurements(points, Measurements.from_values(values)))
        )
    assert float(np.mean(told)) > 0.4


@pytest.mark.parametrize("shape", [Shape.BOX, Shape.BALL])
def test_places_are_scattered_inside_the_domain_each_measured_once(shape: Shape) -> None:
    """Over the whole of it while there are few, and about the lowest from 2p on."""
    rng = np.random.default_rng(10)
    few, many = rng.uniform(-0.7, 0.7, (6, 2)), rng.uniform(-0.7, 0.7, (60, 2))
    for points, is_everything in [(few, True), (many, False)]:
        values = heights(points)[:, None] * huge_factor(3 * len(points), rng).reshape(-1, 3)
        evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values))
        closed = close_in_on_lowest(evidence, shape)
        assert closed is not None and closed.is_low and closed.window.is_everything == is_everything
        local, repeats = scattered_once(closed.window, 50, shape, rng)
        there = closed.window.from_local(local)
        assert np.all(repeats == 1) and len(np.unique(there, axis=0)) == 50
        assert np.allclose(project_onto_region(shape, there), there)


def test_a_few_places_are_too_few_and_equal_values_tell_nothing() -> None:
    points = np.random.default_rng(11).uniform(-1, 1, (9, 2))
    same = Evidence.empty(2).with_measurements(points, Measurements.from_values(np.ones((9, 3))))
    assert close_in_on_lowest(same, Shape.BOX) is None
    few = Evidence.empty(2).with_measurements(points[:3], Measurements.from_values(np.arange(9.0).reshape(3, 3)))
    assert close_in_on_lowest(few, Shape.BOX) is None


@pytest.mark.parametrize("kind", ["a half wild", "one over a power"])
def test_a_search_closes_in_on_the_lowest_values(kind: str) -> None:
    """The median regret of five runs of 200 measurements is below a thousandth of that in the middle, 0.77.

    On nine other seeds it was 2e-5 and 7e-5; with windows about the minimiser of a low quantile, 0.16 and 0.0016. A
    factor of (1e9/f)^(0.6 u) is no case for a test: 0.0020 and 0.0049 are not told apart by five runs.
    """
    best, regrets = np.array([0.4, 0.5]), []
    for seed in range(5):
        rng = np.random.default_rng(seed)

        def measure(points: Matrix, rng: np.random.Generator = rng) -> Vector:
            true = heights(np.atleast_2d(points), best)
            u, chance = rng.random(len(true)), rng.random(len(true))
            factor = {
                "a half wild": np.where(chance < 0.5, 1e9**u, 1 + 0.3 * rng.random(len(true))),
                "one over a power": u**-5.0,
            }
            return np.asarray(70.0 + true * factor[kind])

        result = minimize(measure, Box([(-1.0, 1.0)] * 2), budget=200, rng=seed, vectorized=True)
        regrets.append(heights(np.asarray(result.x)[None, :], best)[0])
        assert np.isinf(result.regret_bound) and result.nit <= 8
    assert float(np.median(regrets)) < heights(np.zeros((1, 2)), best)[0] / 1000


def test_repeats_tell_a_huge_factor_from_a_steep_shape() -> None:
    """Over the range the shape rises by a factor of 10⁸, as the noise does at every place, or does not.

    Normal and lognormal noise of size 1 and Cauchy's never differ a hundredfold between the tenths; 20 draws of each.
    """
    z = np.linspace(-1, 1, 40)[:, None]
    steep = np.exp(9 * (z + 1))
    for seed in range(20):
        rng = np.random.default_rng(seed)
        noisy = [steep + noise_of(kind, 120, rng).reshape(40, 3) for kind in ("normal", "cauchy")]
        for values in [*noisy, steep * rng.lognormal(0.0, 1.0, (40, 3))]:
            told = Evidence.empty(1).with_measurements(z, Measurements.from_values(values))
            assert not repeats_differ_hugely(told)
        factor = huge_factor(120, rng).reshape(40, 3)
        assert repeats_differ_hugely(Evidence.empty(1).with_measurements(z, Measurements.from_values(steep * factor)))
