"""The adaptive search where the response is not quadratic: what it says, where it goes, what it does not promise."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult
from scipy.stats import poisson

from paraboloid import Ball, Box, minimize
from paraboloid.algorithms import adaptive, conclude, propose
from paraboloid.algorithms.proposal import Batch, proposed
from paraboloid.core import Domain, Evidence, Matrix, Measurements, Procedure, Shape, Vector
from paraboloid.design import is_suspected
from paraboloid.numerics import Window, close_in, fit_quadratic, lack_of_fit, modelled
from paraboloid.numerics.lack_of_fit import OPEN, SURE

Truth = Callable[[Matrix], Vector]


def rosenbrock(points: Matrix) -> Vector:
    """On [-2, 2]², scaled to unit coordinates; least, 0, at (0.5, 0.5)."""
    x, y = 2 * points[:, 0], 2 * points[:, 1]
    return np.asarray(100 * (y - x**2) ** 2 + (1 - x) ** 2)


def skewed(points: Matrix) -> Vector:
    """Least at the origin, exponential on one side."""
    return np.asarray(np.sum(np.exp(3 * points) - 3 * points - 1, axis=1))


def search(
    truth: Truth, domain: Domain, budget: int, seed: int, sigma: float, **options: Any
) -> tuple[float, OptimizeResult]:
    """Return the true regret of the answer, and the answer."""
    rng = np.random.default_rng([seed, 1])

    def noisy(points: Matrix) -> Vector:
        return np.asarray(truth(points) + sigma * rng.standard_normal(len(points)))

    result = minimize(noisy, domain, budget=budget, rng=seed, vectorized=True, **options)
    return float(truth(result.x[None, :])[0]), result


SQUARE = Box([(-1.0, 1.0)] * 2)


def test_rosenbrock_without_noise_is_found() -> None:
    """A first thing that people try. Of 40 searches on other seeds the worst ended at 0.005, so that one of 8 is above
    0.5 with a chance below 60 % even at the rate that this leaves possible (11 %), and hardly ever at a small one. In
    the version before one of 40 ended in a corner, at 400; where a quadratic through a few corners passed for exact
    values, three of these 8 did."""
    for seed in range(8):
        result = minimize(rosenbrock, Box([(-1, 1)] * 2), budget=100, rng=seed, vectorized=True)
        assert float(rosenbrock(result.x[None, :])[0]) < 0.5


@pytest.mark.parametrize("seed", range(5))
def test_rosenbrock_is_found_and_no_bound_is_claimed(seed: int) -> None:
    """The minimum of the global quadratic lies 400 above the least value; half of the noise is 5."""
    regret, result = search(rosenbrock, SQUARE, 300, seed, sigma=10.0)
    assert regret < 5.0
    assert result.regret_bound == np.inf and not result.is_quadratic
    assert "not a paraboloid" in result.message


@pytest.mark.parametrize("domain", [SQUARE, Ball([0.0, 0.0])], ids=["box", "ball"])
def test_a_skewed_bowl_is_better_answered_than_by_the_quadratic(domain: Domain) -> None:
    """Sum over eight seeds, against the same search with the discrepancy forced off: its bias is 50 times its noise."""

    def quadratic(where: Domain, **options: Any) -> Procedure:
        return adaptive(where, smooth=False, **options)

    ours = sum(search(skewed, domain, 200, seed, 0.1)[0] for seed in range(8))
    off = sum(search(skewed, domain, 200, seed, 0.1, algorithm=quadratic)[0] for seed in range(8))
    assert ours < off / 4


def bent(points: Matrix) -> Vector:
    """A fold along each of three oblique directions, straight on both sides of it; least, 1.9095, near the middle."""
    axes = np.linalg.qr(np.random.default_rng(7).standard_normal((3, 3)))[0]
    u = (points - [0.3, -0.4, 0.1]) @ axes
    return np.asarray(np.sum(np.logaddexp(5 * u, -2.5 * u), axis=1) - 1.9095)


def test_a_shape_that_noise_nearly_hides_is_found_by_asking_for_it() -> None:
    """Noise of a fifth of the spread, 200 measurements. The sum of eight regrets over that of the quadratic was 0.35
    and 0.29 on two sets of seeds; 0.80 and 0.74 before half of a round asked for a shape that is suspected."""

    def quadratic(where: Domain, **options: Any) -> Procedure:
        return adaptive(where, smooth=False, **options)

    cube = Box([(-1.0, 1.0)] * 3)
    ours = sum(search(bent, cube, 200, seed, 0.6)[0] for seed in range(8))
    off = sum(search(bent, cube, 200, seed, 0.6, algorithm=quadratic)[0] for seed in range(8))
    assert ours < 0.55 * off


def test_half_of_a_round_asks_where_a_shape_is_suspected_and_none_where_it_is_not() -> None:
    """A paraboloid with ever deeper pits at its minimum passes, is suspected of being none, and is followed."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (40, 2))
    away, noise = np.sum(points**2, axis=1), 0.3 * rng.standard_normal(40)
    near: dict[str, int] = {}
    for depth in np.linspace(0, 6, 121):
        values = 3 * away - depth * np.exp(-8 * away) + noise
        evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
        fit = fit_quadratic(evidence, Shape.BOX)
        lack = lack_of_fit(evidence, fit, Shape.BOX)
        kind = "followed" if lack.is_sure else "suspected" if is_suspected(fit, Shape.BOX, lack) else "none"
        if kind not in near:
            found, repeats = propose(evidence, 20, shape=Shape.BOX, seed=1)
            assert repeats.sum() == 20
            near[kind] = int(repeats[np.abs(found).max(axis=1) < 0.9].sum())
    assert list(near) == ["none", "suspected", "followed"]
    assert near["none"] <= 4  # the checks
    assert near["none"] + 4 <= near["suspected"] <= near["followed"]


def test_half_of_a_round_asks_where_the_fit_to_all_denies_a_window() -> None:
    """The noise is 30 % of the height; the model is told that the window is not sure."""
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (24, 2))
    away, (factor, same) = points - [0.3, -0.2], rng.standard_normal((2, 24))
    heights = np.sum((away @ np.array([[4.0, 1.0], [1.0, 2.0]])) * away, axis=1) / 2
    values = heights * (1 + 0.3 * factor) + 0.03 * same
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    fit = fit_quadratic(evidence, Shape.BOX)
    closed = close_in(evidence, fit, Shape.BOX)
    assert closed is not None and closed.is_sure
    model = replace(modelled(evidence, Shape.BOX, True), fit=fit, window=Window(np.zeros(2), np.eye(2)))
    model = replace(model, evidence=evidence, shape=Shape.BOX, level=None, suspected=closed)
    assert model.is_plain and np.array_equal(model.minimiser, fit.minimiser)

    def n_inside(n: int, seed: int) -> int:
        found, repeats = proposed(evidence, model, Batch(n, seed, 24, np.zeros((0, 2)), 100), Shape.BOX)
        assert repeats.sum() == n
        return int(repeats[np.linalg.norm(closed.window.to_local(found), axis=1) <= 1 + 1e-9].sum())

    assert 6 <= n_inside(12, 1) <= 8
    assert 2 <= sum(n_inside(1, seed) for seed in range(20)) <= 18  # coins: outside with a chance of 4e-5


def test_an_exact_quadratic_is_called_one_and_keeps_its_bound() -> None:
    _, result = search(lambda z: np.asarray(5 * np.sum((z - 0.3) ** 2, axis=1)), SQUARE, 200, 3, sigma=0.5)
    assert result.is_quadratic and np.isfinite(result.regret_bound) and result.lack_of_fit < SURE


def test_eps_on_a_response_without_bound_ends_and_says_so() -> None:
    _, result = search(rosenbrock, SQUARE, 100_000, 0, sigma=10.0, eps=0.5)
    assert result.stop_reason in ("NO_BOUND", "BUDGET_SPENT") and not result.is_quadratic


def test_at_most_eight_rounds_and_the_whole_budget() -> None:
    for budget in (60, 300, 2000):
        _, result = search(rosenbrock, SQUARE, budget, 1, sigma=10.0)
        assert result.nfev == budget and result.nit <= 8


def test_rounds_and_batch_are_respected() -> None:
    def batched(where: Domain, **options: Any) -> Procedure:
        return adaptive(where, batch=16, **options)

    _, result = search(rosenbrock, SQUARE, 160, 1, sigma=10.0, algorithm=batched)
    assert result.nfev == 160 and result.nit == 10


def test_failed_regions_are_gone_round_also_there() -> None:
    def fails(points: Matrix) -> Vector:
        return np.where(points[:, 0] < -0.8, np.nan, rosenbrock(points))

    rng = np.random.default_rng(0)
    result = minimize(lambda z: fails(z) + 10 * rng.standard_normal(len(z)), SQUARE, budget=300, rng=0, vectorized=True)
    assert rosenbrock(result.x[None, :])[0] < 10.0 and result.nfail < 150


def test_old_data_of_a_skewed_bowl_are_seen_before_the_first_round() -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (60, 2))
    values = skewed(points) + 0.1 * rng.standard_normal(60)
    regret, result = search(skewed, SQUARE, 40, 5, 0.1, data=(points, values))
    assert not result.is_quadratic and result.nfev == 40 and regret < 0.1


def shop(x: Matrix, rng: np.random.Generator) -> Vector:
    """Return the costs of days of a shop that orders up to a level at a price; least, at (-0.6, 0.78), is -16.6."""
    level, price = 10 + 5 * x[:, 0], 4 + 2 * x[:, 1]
    demand = rng.poisson(10 - price)
    return np.asarray(level - price * np.minimum(demand, level) + 2 * np.maximum(0.0, demand - level))


def true_shop(x: Vector) -> float:
    level, price, demand = 10 + 5 * x[0], 4 + 2 * x[1], np.arange(60)
    costs = level - price * np.minimum(demand, level) + 2 * np.maximum(0.0, demand - level)
    return float(poisson.pmf(demand, 10 - price) @ costs)


@pytest.mark.parametrize("seed", range(4))
def test_ten_million_measurements_near_the_minimum_give_no_worse_an_answer_than_a_few(seed: int) -> None:
    # Most are taken near the minimum: the noise of one is then hundreds of times the spread of the means, for which the
    # likelihood of the discrepancy had no room; regrets were 0.04 to 2.6, of six seeds three above 0.8.
    result = minimize(shop, [(-1.0, 1.0)] * 2, budget=10**7, rng=seed, vectorized=True)
    assert true_shop(result.x) < -16.6 + 0.2  # 1 % of the range; six seeds gave 0.03 to 0.06


def long_search(truth: Truth, budget: int, seed: int, sigma: float) -> float:
    """Return the true regret of the answer where the noise comes from the search's own generator, block by block."""

    def noisy(points: Matrix, rng: np.random.Generator) -> Vector:
        return np.asarray(truth(points) + sigma * rng.standard_normal(len(points)))

    return float(truth(minimize(noisy, SQUARE, budget=budget, rng=seed, vectorized=True).x[None, :])[0])


@pytest.mark.parametrize("seed", range(4))
def test_of_two_basins_the_lower_one_is_found_where_there_are_measurements_to_spare(seed: int) -> None:
    """The other basin is higher by 0.36; before any measurement looked elsewhere, seed 1 stayed in it."""

    def basins(points: Matrix) -> Vector:
        return np.asarray(10 * (points[:, 0] ** 2 - 0.36) ** 2 + 0.3 * points[:, 0] + points[:, 1] ** 2 + 0.1822)

    assert long_search(basins, 10_000, seed, sigma=0.5) < 0.1


@pytest.mark.parametrize("seed", range(4))
def test_a_million_repeats_are_not_denied_by_the_misfit_of_a_quadratic(seed: int) -> None:
    """The misfit of Rosenbrock's valley passed for noise that grows with the height: a window beyond the square."""
    assert long_search(rosenbrock, 10**7, seed, sigma=10.0) < 0.5


def test_no_bound_where_the_values_speak_more_against_a_paraboloid_than_for_it() -> None:
    """A slight third power: of thirty draws some are sure, some open and some pass for a quadratic."""
    z, likelier = np.linspace(-1, 1, 41)[:, None], OPEN
    kinds = set()
    for seed in range(30):
        y = (z - 0.3) ** 2 + 0.2 * z**3 + 0.05 * np.random.default_rng(seed).standard_normal(z.shape)
        evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
        said = conclude(evidence, Box([(-1.0, 1.0)])).certificate
        assert said is not None and said.lack_of_fit is not None
        kind = "passes" if said.lack_of_fit <= likelier else "open" if said.lack_of_fit <= SURE else "sure"
        kinds.add(kind)
        assert np.isfinite(said.regret_bound) == (kind == "passes")
        assert any("leave it open whether" in caveat for caveat in said.caveats) == (kind == "open")
        assert said.is_quadratic == (kind != "sure")
    assert kinds == {"passes", "open", "sure"}


def test_a_mean_of_several_values_far_from_the_fit_is_named_where_it_takes_the_bound() -> None:
    """Three values that lie 7.5 errors below a bowl: too few to say that it is none, too far for a bound."""
    found = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        z = np.vstack([rng.uniform(-1, 1, (60, 2)), [[0.5, 0.5]]])
        values = [2 * float(one @ one) + 0.1 * rng.standard_normal(1 + k % 2) for k, one in enumerate(z[:-1])]
        values.append(1 - 7.5 * 0.1 / np.sqrt(3) + np.array([-0.1, 0.0, 0.1]))
        evidence = Evidence.empty(2).with_measurements(z, Measurements.from_values(values))
        said = conclude(evidence, Box([(-1.0, 1.0)] * 2)).certificate
        assert said is not None
        if any("standard errors from the fitted paraboloid" in caveat for caveat in said.caveats):
            found += 1
            assert said.is_quadratic and said.regret_bound == np.inf
    assert found >= 3
