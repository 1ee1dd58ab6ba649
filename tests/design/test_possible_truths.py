"""Truths that are not quadratic, in the bound: counted where checks are few, of no weight where they are many."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.design import Quality, assess, is_suspected, robust_covariance
from paraboloid.design.possible_truths import Truths, _spread, quadratic_truths, with_other_truths
from paraboloid.numerics import QuadraticFit, features, fit_least_squares, fit_quadratic, lack_of_fit, n_terms
from tests.statistical import FALSE_ALARM, POWER

SIGMA = 0.2
CLUSTERS = np.array([-1.0, 0.0, 1.0])


def qualities(points: Matrix, values: Vector, shape: Shape = Shape.BOX) -> tuple[Quality, Quality]:
    """Return what is said if the response is known to be quadratic, and if not."""
    measured = Measurements.from_values(values[:, None])
    evidence = Evidence.empty(points.shape[1]).with_measurements(points, measured)
    fit = fit_quadratic(evidence, shape)
    lack = lack_of_fit(evidence, fit, Shape.BOX)
    return assess(fit, evidence, shape, 0.95), assess(fit, evidence, shape, 0.95, lack)


def bowl(points: Matrix) -> Vector:
    found: Vector = 3 * np.sum((points - 0.2) ** 2, axis=1)
    return found


def test_a_bound_from_three_places_is_far_wider_than_one_from_many() -> None:
    """Twenty points within 0.03 of -1, 0 and 1 fit any parabola: 60 spread ones do not."""
    rng = np.random.default_rng(0)
    near = (CLUSTERS[:, None] + rng.uniform(-0.03, 0.03, (3, 20))).reshape(-1, 1)
    spread = rng.uniform(-1, 1, (60, 1))
    widening = []
    for points in (near, spread):
        plain, whole = qualities(points, bowl(points) + SIGMA * rng.standard_normal(60))
        widening.append(whole.regret_bound / plain.regret_bound)
        assert np.all(whole.z_interval[:, 0] <= plain.z_interval[:, 0] + 0.02)
        assert np.all(whole.z_interval[:, 1] >= plain.z_interval[:, 1] - 0.02)
    assert widening[0] > 100 and widening[1] < 12 and widening[0] > 20 * widening[1]


@pytest.mark.parametrize("shape", list(Shape))
def test_many_measurements_of_a_quadratic_leave_the_bound_nearly_as_it_was(shape: Shape) -> None:
    """With a third of the noise, and not a tenth, it is 1.06 to 1.36 times as wide (four draws)."""
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.7, 0.7, (400, 2))
    plain, whole = qualities(points, bowl(points) + SIGMA / 10 * rng.standard_normal(400), shape)
    assert 0.95 < whole.regret_bound / plain.regret_bound < 1.15
    assert whole.regret_bound_if_quadratic == plain.regret_bound == plain.regret_bound_if_quadratic


def test_where_noise_hides_the_shape_the_bound_of_a_quadratic_is_far_lower_and_holds_for_quadratics() -> None:
    """Wherever a bound is given, a skewed bowl: fewer hold than chance leaves of 95 % once in a million times.

    A level of 0.84 would be caught 999 times in 1000. On these draws 0.97 hold, and the whole bound is 8 times as wide.
    """
    truth = QuadraticFit(np.array([0.0, -0.4, -0.8, 3.0, 1.0, 2.0]), np.eye(6), 1.0, 1.0, np.zeros(2))
    best = truth.value(np.asarray(np.linalg.solve(truth.hessian, -truth.theta[1:3]), dtype=np.float64))
    held, widening = [], []
    for seed in range(500):
        rng = np.random.default_rng([seed, 12])
        points = np.vstack([rng.choice(CLUSTERS, (40, 2)), rng.uniform(-1, 1, (8, 2))])
        values = features(points) @ truth.theta + 2 * SIGMA * rng.standard_normal(48)
        evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
        fit = fit_quadratic(evidence, Shape.BOX)
        quality = assess(fit, evidence, Shape.BOX, 0.95, lack_of_fit(evidence, fit, Shape.BOX))
        if np.isfinite(quality.regret_bound):
            held.append(truth.value(fit.minimiser) - best <= quality.regret_bound_if_quadratic)
            widening.append(quality.regret_bound / quality.regret_bound_if_quadratic)
    least = stats.binom.ppf(FALSE_ALARM, len(held), 0.95)
    assert stats.binom.sf(least - 1, len(held), 0.84) <= 1 - POWER
    assert np.sum(held) >= least
    assert np.min(widening) >= 1 and np.median(widening) > 4


@pytest.mark.parametrize("rate", [1.4, 4.0], ids=["open", "sure"])
def test_where_the_values_speak_against_a_quadratic_no_bound_assumes_one(rate: float) -> None:
    points = np.linspace(-1, 1, 60)[:, None]
    noise = SIGMA * np.random.default_rng(13).standard_normal(60)
    plain, whole = qualities(points, np.exp(rate * points[:, 0]) - rate * points[:, 0] + noise)
    assert np.isfinite(plain.regret_bound_if_quadratic)
    assert whole.regret_bound == whole.regret_bound_if_quadratic == np.inf


@pytest.mark.parametrize("shape", list(Shape))
def test_the_more_of_the_spread_is_noise_the_wider_the_bound(shape: Shape) -> None:
    """A departure of a tenth of the spread is seen under little noise; under much it is not, and may be there."""
    widening = []
    for steepness in (0.3, 30.0):
        rng = np.random.default_rng(7)
        points = np.vstack([rng.choice(CLUSTERS, (60, 2)), rng.uniform(-1, 1, (6, 2))]) / np.sqrt(2)
        plain, whole = qualities(points, steepness * bowl(points) + SIGMA * rng.standard_normal(66), shape)
        widening.append(whole.regret_bound / plain.regret_bound)
    assert widening[0] > 2 and widening[1] < 2 and widening[0] > 1.5 * widening[1]


@pytest.mark.parametrize("shape", list(Shape))
def test_the_spread_is_that_over_the_region(shape: Shape) -> None:
    rng = np.random.default_rng(8)
    theta = rng.standard_normal(n_terms(3))
    fit = QuadraticFit(theta, np.eye(len(theta)), 1.0, 50.0, np.zeros(3))
    places = rng.uniform(-1, 1, (400_000, 3))
    if shape is Shape.BALL:
        places = places[np.sum(places**2, axis=1) <= 1]
    assert _spread(fit, shape) == pytest.approx(np.std(features(places) @ theta), rel=0.01)


@pytest.mark.parametrize(("rate", "least", "gain"), [(0.7, 0.9, 0.15), (1.5, 0.7, 0.6)], ids=["slight", "more"])
def test_a_skewed_curve_that_is_not_seen_has_a_bound_that_counts_it(rate: float, least: float, gain: float) -> None:
    """exp(u) - u, u = r(x - 0.3), 60 measurements, 50 of them at three places, wherever no verdict is reached.

    On other seeds (200 each) all bounds held at r = 0.7 and 85 % at r = 1.5 (95 %: 79 to 90), where the 95 % are NOT
    reached: with three responses in ten taken for quadratics 91 % did, with six 75 %. Of 60 runs fewer than 70 % hold
    once in seven hundred times where 85 % do, and in nineteen of twenty where half do. Without the discrepancy it is
    81 % and none.
    """
    held, plainly = [], []
    for seed in range(60):
        rng = np.random.default_rng([seed, 3])
        points = np.concatenate([rng.choice(CLUSTERS, 50), rng.uniform(-1, 1, 10)])[:, None]
        u = rate * (points[:, 0] - 0.3)
        evidence = Evidence.empty(1).with_measurements(
            points, Measurements.from_values((np.exp(u) - u + SIGMA * rng.standard_normal(60))[:, None])
        )
        fit = fit_quadratic(evidence, Shape.BOX)
        lack = lack_of_fit(evidence, fit, Shape.BOX)
        found = rate * (fit.minimiser[0] - 0.3)
        regret = np.exp(found) - found - 1
        if not lack.is_sure:
            held.append(regret <= assess(fit, evidence, Shape.BOX, 0.95, lack).regret_bound)
            plainly.append(regret <= assess(fit, evidence, Shape.BOX, 0.95).regret_bound)
    assert len(held) > 50
    assert np.mean(held) > least and np.mean(held) - np.mean(plainly) > gain


def test_too_few_contrasts_give_no_bound() -> None:
    """An answer at the edge, its slope known from three places: earlier a bound of zero."""
    rng = np.random.default_rng(4)
    points = np.repeat([-1.0, 0.0, 0.05, 1.0], [6, 1, 1, 1])[:, None]
    plain, whole = qualities(points, 3 * (points[:, 0] + 1.5) ** 2 + 0.01 * rng.standard_normal(9))
    assert plain.regret_bound == 0.0 and whole.regret_bound == np.inf


def dip(seed: int) -> Evidence:
    """Return 745 measurements of log₁₀(x/0.02)² on 0.001 to 1: a dip, just beside the left edge."""
    rng = np.random.default_rng([seed, 10])
    points = np.concatenate([[-1.0, -0.93, 0.0, 1.0], rng.uniform(-1, 1, 40)])[:, None]
    truth = np.log10((0.5005 + 0.4995 * points[:, 0]) / 0.02) ** 2
    repeats = [300, 45, 250, 110] + [1] * 40
    values = [mean + 0.6 * rng.standard_normal(n) for mean, n in zip(truth, repeats, strict=True)]
    return Evidence.empty(1).with_measurements(points, Measurements.from_values(values))


def test_a_dip_that_repeats_agree_on_is_no_wild_value_and_leaves_no_bound() -> None:
    """Forty-five values at the dip: discounted as one far mean, they were followed nowhere, and bounds were false."""
    for seed in range(12):
        evidence = dip(seed)
        fit = fit_quadratic(evidence, Shape.BOX)
        lack = lack_of_fit(evidence, fit, Shape.BOX)
        assert lack.is_sure and lack.is_contradicted
        assert assess(fit, evidence, Shape.BOX, 0.95, lack).regret_bound == np.inf


@pytest.mark.parametrize(("places", "repeats"), [(12, 10), (30, 3)])
@pytest.mark.parametrize("noise", ["normal", "t(3)", "skewed"])
def test_paraboloids_are_never_contradicted_by_repeats(noise: str, places: int, repeats: int) -> None:
    """Of 400 draws the largest was 3.6, 4.0, 2.7 errors with ten repeats, 3.3, 3.6, 4.9 with three; the limit is 6.

    A rate of 7 % would be caught but once in a million times.
    """
    for seed in range(200):
        rng = np.random.default_rng([seed, 11])
        points = rng.uniform(-1, 1, (places, 2))
        draws: dict[str, Callable[..., Any]] = {
            "normal": rng.standard_normal,
            "t(3)": partial(rng.standard_t, 3.0),
            "skewed": rng.exponential,
        }
        values = [level + draws[noise](size=repeats) for level in bowl(points)]
        evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values))
        assert not lack_of_fit(evidence, fit_quadratic(evidence, Shape.BOX), Shape.BOX).is_contradicted


def test_chances_sum_to_one_and_the_quadratics_keep_theirs() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (40, 2))
    evidence = Evidence.empty(2).with_measurements(
        points, Measurements.from_values((bowl(points) + SIGMA * rng.standard_normal(40))[:, None])
    )
    fit = fit_quadratic(evidence, Shape.BOX)
    contrasts = lack_of_fit(evidence, fit, Shape.BOX).contrasts
    alone = fit_least_squares(evidence, fit.minimiser)
    assert contrasts is not None and alone is not None
    covariance = robust_covariance(alone, evidence)
    quadratics = quadratic_truths(alone, covariance, Shape.BOX)
    truths = with_other_truths(quadratics, alone, covariance, Shape.BOX, contrasts)
    assert truths.chances.sum() == pytest.approx(1.0, abs=0.03)  # rare discrepancies are left out
    assert np.array_equal(truths.losses[: len(quadratics.losses)], quadratics.losses)
    assert 0.1 < truths.chances[: len(quadratics.losses)].sum() < 1
    assert np.all(truths.losses >= 0)


def test_the_quantile_is_that_of_the_chances() -> None:
    rng = np.random.default_rng(6)
    losses = rng.standard_normal(5000) ** 2
    truths = Truths(losses, losses[:, None] / 10 - 0.5, np.full(5000, 1 / 5000))
    assert truths.bound(0.95) == pytest.approx(stats.chi2.ppf(0.95, 1), rel=0.1)
    assert truths.interval(0.9)[0] == pytest.approx(np.quantile(losses, [0.05, 0.95]) / 10 - 0.5, abs=0.02)
    heavy = Truths(np.array([0.0, 7.0]), np.zeros((2, 1)), np.array([0.94, 0.06]))
    assert (heavy.bound(0.9), heavy.bound(0.95)) == (0.0, 7.0)


@pytest.mark.parametrize("n_others", [0, 30, 3000])
def test_quantiles_are_those_of_all_values_in_order(n_others: int) -> None:
    rng = np.random.default_rng(n_others)
    values = rng.standard_normal(4000 + n_others)
    values[::9] = np.inf
    chances = np.concatenate([np.full(4000, 0.8 / 4000), np.full(n_others, 0.2 / max(n_others, 1))])
    order = np.argsort(values)
    reached = np.cumsum(chances[order])
    truths = Truths(values, values[:, None], chances)
    for confidence in (0.5, 0.8, 0.88, 0.95, 0.999):
        expected = values[order[np.searchsorted(reached, confidence * reached[-1])]]
        assert truths.bound(confidence) == expected


def suspected(d: int, noise: float) -> int:
    """Return how many of 200 draws of a paraboloid are suspected of being none."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 9])
        points = rng.uniform(-1, 1, (60, d))
        values = 4 * (np.sum((points - 0.3) ** 2, axis=1) + noise * rng.standard_normal(60))
        evidence = Evidence.empty(d).with_measurements(points, Measurements.from_values(values[:, None]))
        fit = fit_quadratic(evidence, Shape.BOX)
        found += is_suspected(fit, Shape.BOX, lack_of_fit(evidence, fit, Shape.BOX))
    return found


def test_a_chance_may_be_next_to_nothing() -> None:
    """Of exact values the quadratic's may be 1e-310, as once with five knobs and 5000 measurements (f103)."""
    truths = Truths(np.arange(3.0), np.arange(3.0)[:, None] - 1, np.array([1e-310, 0.5, 0.5]))
    assert truths.bound(0.95) == 2.0
    assert truths.interval(0.95).tolist() == [[0.0, 1.0]]


def test_paraboloids_are_seldom_suspected_and_hardly_ever_where_noise_is_little() -> None:
    """Under much noise some 4 in 100 are, whatever the number of knobs: more than 20 of 200 have a chance of 1e-4 then.
    Under little noise 0 of 600 were, and 22 of 600 if departures that no response has counted."""
    assert suspected(2, 0.5) <= 20
    assert suspected(4, 0.01) <= 2


def test_three_contrasts_are_needed_for_a_suspicion() -> None:
    points = np.linspace(-1, 1, 5)[:, None]
    evidence = Evidence.empty(1).with_measurements(points, Measurements.from_values(np.exp(3 * points)))
    fit = fit_quadratic(evidence, Shape.BOX)
    assert not is_suspected(fit, Shape.BOX, lack_of_fit(evidence, fit, Shape.BOX))
