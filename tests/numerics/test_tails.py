"""Limiting of heavy tails: nothing for normal noise, much for outliers, little where the skew changes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import features, fit_quadratic, limit_tails, random_points

D = 2
CURVATURE = np.diag([20.0, 5.0])
MINIMISER = np.array([0.2, -0.3])


def values_at(points: Matrix) -> Vector:
    away: Matrix = points - MINIMISER
    values: Vector = np.sum((away @ CURVATURE) * away, axis=1) / 2
    return values


def evidence_of(points: Matrix, y: Vector) -> Evidence:
    return Evidence.empty(points.shape[1]).with_measurements(points, Measurements.from_values(y[:, None]))


def design(n: int, seed: int) -> Matrix:
    rng = np.random.default_rng(seed)
    points: Matrix = random_points(Shape.BALL, n, D, rng) * rng.choice([0.0, 0.5, 1.0], (n, 1))
    return points


def test_normal_noise_is_left_alone() -> None:
    """False alarm: at n = 300 the share of variance that limiting saves has mean -5 % and deviation 3 %; 20 % is
    reached with a probability far below 1e-6 a run."""
    for seed in range(30):
        points = design(300, seed)
        y = values_at(points) + np.random.default_rng(seed).standard_normal(300)
        evidence = evidence_of(points, y)
        limited = limit_tails(evidence, Shape.BALL)
        assert limited.weight == 0
        assert limited.evidence is evidence


def test_few_normal_values_do_not_pass_for_exact_ones_with_some_far_away() -> None:
    """Of twelve values six coefficients explain six, whatever they are. Before the scale of residuals left so many out,
    twelve measurements at nine places were taken for noise a thousand times too small in two draws of 1000; now none is
    limited at all. At a rate of 1 % this fails by chance with a probability of 1e-6."""
    rng = np.random.default_rng(0)
    n_limited = 0
    for _ in range(1000):
        points = rng.uniform(-1, 1, (9, D))[np.arange(12) % 9]
        evidence = evidence_of(points, rng.standard_normal(12))
        limited = limit_tails(evidence, Shape.BOX)
        if limited.evidence is not evidence:
            n_limited += 1
            assert fit_quadratic(limited.evidence, Shape.BOX).sigma2 > 0.01 * fit_quadratic(evidence, Shape.BOX).sigma2
    assert n_limited < 30


@pytest.mark.parametrize("seed", [3, 4, 43])
def test_exact_values_are_recognised_though_hubers_steps_end_early(seed: int) -> None:
    """A fifth of the values are wild, all to one side: with these seeds a hundred steps leave residuals of 1e-9 to
    1e-4 where there are none, and the search closed in on the rounding."""
    rng = np.random.default_rng(seed)
    points = np.vstack([rng.uniform(-1, 1, (60, 3)), 0.3 + 1e-3 * rng.standard_normal((10, 3))])
    exact = np.sum((points - 0.3) ** 2 * np.array([1.0, 3.0, 10.0]), axis=1)
    is_wild = rng.random(70) < 0.2
    limited = limit_tails(
        evidence_of(points, exact + np.where(is_wild, np.abs(rng.standard_cauchy(70)), 0.0)), Shape.BOX
    )
    assert limited.is_exact
    assert limited.n_far == is_wild.sum()
    np.testing.assert_allclose(np.sort(limited.evidence.means), np.sort(exact), atol=1e-7)


def test_one_wild_value_has_a_bounded_effect_and_is_counted() -> None:
    points = design(40, 1)
    y = values_at(points) + 0.1 * np.random.default_rng(1).standard_normal(40)
    clean = fit_quadratic(evidence_of(points, y), Shape.BALL).minimiser
    for size in (1e3, 1e6, 1e12):
        wild = y.copy()
        wild[7] += size
        limited = limit_tails(evidence_of(points, wild), Shape.BALL)
        assert limited.n_far == 1
        # Limited to 1.345 scales, one of 40 values moves the minimiser by about a standard error, whatever its size.
        assert np.linalg.norm(fit_quadratic(limited.evidence, Shape.BALL).minimiser - clean) < 0.02


def test_heavy_tails_that_are_alike_everywhere_are_limited_fully_or_nearly() -> None:
    weights = []
    for seed in range(40):
        points = design(400, seed)
        y = values_at(points) + np.random.default_rng(seed).standard_t(2.5, 400)
        weights.append(limit_tails(evidence_of(points, y), Shape.BALL).weight)
    # w = min(1, 2/q), q exponential with mean 2: mean 0.85, deviation 0.22 a run. 40 runs: 6 deviations below is 0.64.
    assert np.mean(weights) > 0.64


def test_a_skew_that_changes_over_the_domain_is_seen() -> None:
    """Huber's estimate is then biased by a fixed amount; q grows like n, so that the weight falls like 1/n."""
    weights = []
    for n in (400, 6400):
        points = design(n, 3)
        skewed = np.random.default_rng(3).standard_exponential(n) ** 2 - 2.0
        y = values_at(points) + 2 * points[:, 0] * skewed
        weights.append(limit_tails(evidence_of(points, y), Shape.BALL).weight)
    assert weights[1] < 0.1
    assert weights[1] < weights[0]


def test_without_noise_nothing_happens() -> None:
    points = design(60, 4)
    evidence = evidence_of(points, values_at(points))
    assert limit_tails(evidence, Shape.BALL).evidence is evidence


def test_rounding_is_not_far_where_most_measurements_are_repeats_of_one_value() -> None:
    """Fifty at the minimum and ten elsewhere, all exact but for the last digits: the spread is that of the places."""
    points = np.vstack([np.tile([[0.5]], (50, 1)), np.linspace(-1, 1, 10)[:, None]])
    exact = 3 * (points[:, 0] - 0.5) ** 2
    values = exact + 1e-16 * np.random.default_rng(0).standard_t(2, 60)
    limited = limit_tails(evidence_of(points, values), Shape.BOX)
    assert (limited.n_far, limited.weight) == (0, 0.0)


def test_exact_values_elsewhere_are_not_far_where_most_are_repeats_at_few_places() -> None:
    """Four places on a grid, which many a quadratic fits, have most of the values; a tenth of all is wild."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        grid = np.array([[-0.8, -1.0], [-0.8, 0.2], [1.0, -1.0], [1.0, 0.2]])
        points = np.vstack([np.repeat(grid, 40, axis=0), rng.uniform(-1, 1, (30, 2))])
        exact = 25 * np.sum((points - [0.1, -0.4]) ** 2, axis=1)
        is_wild = rng.random(len(points)) < 0.1
        wild = 1000 * is_wild * rng.standard_cauchy(len(points))
        limited = limit_tails(evidence_of(points, exact + wild), Shape.BOX)
        assert limited.is_exact and limited.n_far == is_wild.sum()
        assert fit_quadratic(limited.evidence, Shape.BOX).minimiser == pytest.approx([0.1, -0.4], abs=1e-6)


def test_exact_values_are_found_among_many_wild_ones() -> None:
    """Three measurements for each of 66 coefficients, every fifth wild, and upwards. With other draws (seeds from 5000)
    5 of 40 were missed, and 37 of 40 by what was there before. At a rate of 1 in 8 more than 5 of 10 have a chance of
    5e-4; a rate of 0.9 is caught in 99.8 %."""
    missed = 0
    for seed in range(10):
        rng = np.random.default_rng(1000 + seed)
        points = rng.uniform(-1, 1, (200, 10))
        points = np.where(rng.random((200, 1)) < 0.5, points, np.sign(points))
        exact = 100 * np.sum((points - 0.2) ** 2, axis=1)
        wild = (rng.random(200) < 0.2) * (100 + 100 * np.abs(rng.standard_cauchy(200)))
        missed += not limit_tails(evidence_of(points, exact + wild), Shape.BOX).is_exact
    assert missed <= 5


def test_exact_values_of_another_shape_are_not_called_quadratic() -> None:
    """Repeats tell exact values from wild ones, and nothing of the shape; a search may then close in on its minimum."""
    rng = np.random.default_rng(0)
    points = np.repeat(rng.uniform(-1, 1, (30, 2)), 6, axis=0)
    wild = (rng.random(180) < 0.1) * 1000 * rng.standard_cauchy(180)
    bowl, wavy = 25 * np.sum(points**2, axis=1), np.sum(np.cosh(3 * points), axis=1)
    found = [limit_tails(evidence_of(points, shape + wild), Shape.BOX) for shape in (bowl, wavy)]
    assert [(one.is_exact, one.is_quadratic) for one in found] == [(True, True), (True, False)]


def test_values_that_only_rounding_makes_exact_are_not_taken_for_exact_ones() -> None:
    """Noise of one per cent of the height; most was measured so low that it is below what a double can tell."""
    for seed, size in enumerate([1e-7, 1e-5, 1e-3] * 5):
        rng = np.random.default_rng(seed)
        points = np.vstack([rng.uniform(-1, 1, (40, 2)), size * rng.uniform(-1, 1, (60, 2))])
        height = 100 * np.sum(points**2, axis=1)
        noisy = height * (1 + 0.01 * rng.standard_normal(100))
        assert not limit_tails(evidence_of(points, noisy), Shape.BOX).is_exact


def test_a_shape_that_is_quadratic_at_the_corners_is_not_taken_for_a_quadratic_with_wild_values() -> None:
    """Rosenbrock's function on a grid of corners and middles, where most was measured: it is none in between."""
    grid = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.0, 1.0)])
    points = np.vstack([np.repeat(grid, 6, axis=0), np.random.default_rng(0).uniform(-1, 1, (20, 2))])
    x, y = 2 * points.T
    values = 100 * (y - x**2) ** 2 + (1 - x) ** 2
    assert not limit_tails(evidence_of(points, values), Shape.BOX).is_exact


def test_known_standard_errors_and_too_few_values_are_left_alone() -> None:
    points = design(40, 5)
    y = values_at(points)
    y[3] = 1e9
    ones = np.ones(40, dtype=np.int64)
    known = Evidence.empty(D).with_measurements(points, Measurements(ones, y, np.zeros(40), precision=np.ones(40)))
    few = evidence_of(points[:8], y[:8])
    summary = Evidence.empty(D).with_measurements(points, Measurements(ones, y, np.zeros(40)))
    for evidence in (known, few, summary):
        assert limit_tails(evidence, Shape.BALL).evidence is evidence


@settings(max_examples=25, deadline=None)
@given(scale=st.floats(-6, 6), shift=st.floats(-1e3, 1e3), seed=st.integers(0, 1000))
def test_a_change_of_units_changes_nothing(scale: float, shift: float, seed: int) -> None:
    factor = 10.0**scale
    points = design(60, seed)
    y = values_at(points) + np.random.default_rng(seed).standard_t(1.5, 60)
    one = limit_tails(evidence_of(points, y), Shape.BALL)
    other = limit_tails(evidence_of(points, factor * (y + shift)), Shape.BALL)
    assert other.weight == pytest.approx(one.weight, rel=1e-4, abs=1e-6)
    assert other.n_far == one.n_far
    if one.weight > 0:
        np.testing.assert_allclose(
            other.evidence.means / factor - shift, one.evidence.means, rtol=0, atol=1e-4 * np.ptp(one.evidence.means)
        )


def test_the_mean_of_limited_values_solves_hubers_equation() -> None:
    """With weight one, least squares on the limited values leaves Huber's sum Σφψ(r) at zero."""
    points = design(200, 8)
    noise = np.random.default_rng(8).standard_t(1.2, 100)
    y = values_at(points) + np.concatenate([noise, -noise])
    limited = limit_tails(evidence_of(points, y), Shape.BALL)
    assert limited.weight > 0.5
    phi = features(limited.evidence.points)
    counts, means = limited.evidence.counts, limited.evidence.means
    theta = np.linalg.lstsq(phi * np.sqrt(counts)[:, None], means * np.sqrt(counts), rcond=None)[0]
    r = y - features(points) @ theta
    s = float(np.median(np.abs(r))) / 0.6745
    psi = np.clip(r, -1.345 * s, 1.345 * s)
    # Steps end below a thousandth of a standard error of θ, and of Σφψ alike.
    assert np.abs(features(points).T @ psi).max() < 0.02 * s * np.sqrt(200)


@pytest.mark.parametrize("seed", range(4))
def test_exact_values_that_do_not_tell_a_quadratic_leave_nothing_out(seed: int) -> None:
    """Eighteen exact values at two places of a knob do not tell its curvature: without the others it would be lost."""
    rng = np.random.default_rng(seed)
    corners = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 0.0, 1.0)])
    points = np.vstack([np.tile(corners, (3, 1)), rng.uniform(-1, 1, (12, 2))])
    values = (points[:, 0] - 0.3) ** 2 + (points[:, 1] + 0.2) ** 2
    values[18:] += 0.01 * rng.uniform(0, 1, 12)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    limited = limit_tails(evidence, Shape.BOX)
    assert np.allclose(fit_quadratic(limited.evidence, Shape.BOX).minimiser, [0.3, -0.2], atol=0.02)


def test_exact_values_at_no_more_places_than_a_quadratic_has_coefficients_are_no_sign_of_one() -> None:
    """Three places, one of them measured three times, and four values of a newsvendor elsewhere: a bound of 0 came."""
    z = np.array([-1.0, -0.003, 1.0, 0.11, -1.0, 0.035, -0.35, -1.0, 0.028])[:, None]
    y = np.array([-0.04, 2.5504, 6.0345, 2.1271, -0.04, 2.6893, 2.3453, -0.04, 3.0927])[:, None]
    assert not limit_tails(Evidence.empty(1).with_measurements(z, Measurements.from_values(y)), Shape.BOX).is_exact


def repeated(shape_of: Vector, wild: Vector) -> tuple[Evidence, int]:
    """Return evidence of five repeats at each place, and the number of values that are wild."""
    values = shape_of[:, None] + wild
    z = np.linspace(-1, 1, len(shape_of))[:, None]
    return Evidence.empty(1).with_measurements(z, Measurements.from_values(values)), int(np.sum(wild != 0))


def test_repeats_that_agree_to_the_last_digit_tell_wild_values_whatever_the_shape() -> None:
    """One value in five is wild, at most two of five repeats. Continuous noise never agrees, so that there is no
    false alarm. No quadratic fits these values exactly: before, nothing was left out."""
    z = np.linspace(-1, 1, 15)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wild = np.where(rng.random((15, 5)) < 0.2, 10 * rng.standard_cauchy((15, 5)), 0.0)
        wild[np.sum(wild != 0, axis=1) > 2] = 0.0
        evidence, n_wild = repeated(np.exp(2 * z), wild)
        limited = limit_tails(evidence, Shape.BOX)
        assert limited.is_exact and limited.n_far == n_wild
        assert np.allclose(limited.evidence.means, np.exp(2 * z), atol=1e-12)


@pytest.mark.parametrize("step", [0.0, 0.03, 0.1])
def test_repeats_of_noisy_and_of_coarse_readings_are_no_exact_values(step: float) -> None:
    """Readings in steps of 0.1 with noise of 0.03 agree in most repeats; what differs does so by one step."""
    z = np.linspace(-1, 1, 15)
    for seed in range(50):
        noise = 0.03 * np.random.default_rng(seed).standard_normal((15, 5))
        values = np.exp(2 * z)[:, None] + noise
        read = np.round(values / step) * step if step else values
        assert not limit_tails(repeated(np.zeros(15), read)[0], Shape.BOX).is_exact


def test_two_repeats_at_each_place_tell_wild_values_and_only_those_that_agree_are_left() -> None:
    """Both of two agree at 64 % of the places; fewer than half of 40 do in one of forty draws, then it stays open."""
    z, found = np.linspace(-1, 1, 40), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        wild = np.where(rng.random((40, 2)) < 0.2, 10 * rng.standard_cauchy((40, 2)), 0.0)
        limited = limit_tails(repeated(np.exp(2 * z), wild)[0], Shape.BOX)
        if limited.is_exact:
            assert limited.is_verified and len(limited.evidence.points) == np.sum(np.all(wild == 0, axis=1))
            assert np.allclose(limited.evidence.means, np.exp(2 * limited.evidence.points[:, 0]), atol=1e-12)
            found += 1
    assert found >= 15


def test_noise_that_vanishes_in_a_part_of_the_range_is_no_sign_of_exact_values() -> None:
    """Where nothing can fail the values agree, and where something can they never do: those must not be left out."""
    z = np.linspace(-1, 1, 40)
    for seed in range(20):
        noise = np.where(z > 0.3, 1.0, 0.0)[:, None] * np.random.default_rng(seed).standard_normal((40, 2))
        assert not limit_tails(repeated(np.exp(2 * z), noise)[0], Shape.BOX).is_exact
