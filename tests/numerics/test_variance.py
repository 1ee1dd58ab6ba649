"""The variance profile: seen where it is there, not where it is not, and never from single points."""

import numpy as np
import pytest

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.numerics import fit_quadratic, random_points, weigh_by_variance


def weighted(points: Matrix, y: Vector) -> tuple[Evidence, Evidence]:
    evidence = Evidence.empty(points.shape[1]).with_measurements(points, Measurements.from_values(y[:, None]))
    return evidence, weigh_by_variance(evidence, fit_quadratic(evidence, Shape.BALL))


def design(n: int, seed: int) -> Matrix:
    rng = np.random.default_rng(seed)
    points: Matrix = random_points(Shape.BALL, n, 2, rng) * rng.choice([0.0, 0.5, 1.0], (n, 1))
    return points


@pytest.mark.parametrize("tails", ["normal", "heavy"])
def test_the_same_noise_everywhere_is_left_unweighted(tails: str) -> None:
    """False alarm: one in a thousand by design; more than 6 of 200 has probability 1e-8 at that rate, 1e-3 at 1 %."""
    alarms = 0
    for seed in range(200):
        points, rng = design(60, seed), np.random.default_rng([seed, 1])
        noise = rng.standard_normal(60) if tails == "normal" else np.clip(rng.standard_t(3, 60), -4, 4)
        evidence, result = weighted(points, np.sum(points**2, axis=1) + noise)
        alarms += result is not evidence
    assert alarms <= 6


def test_noise_that_grows_outwards_is_seen_and_measured() -> None:
    points = design(600, 0)
    deviation = 0.2 + 0.8 * np.linalg.norm(points, axis=1)
    y = np.sum(points**2, axis=1) + deviation * np.random.default_rng(0).standard_normal(600)
    evidence, result = weighted(points, y)
    inner = np.linalg.norm(evidence.points, axis=1) < 0.1
    outer = np.linalg.norm(evidence.points, axis=1) > 0.9
    variance = evidence.counts / result.precision
    # Truth 0.04 and 1.0; the profile is smooth and |z|² is not |z|, so that it need not be exact.
    assert 10 < variance[outer].mean() / variance[inner].mean() < 60


def test_repeats_that_agree_by_chance_do_not_get_all_the_weight() -> None:
    """Two repeats at each of 30 points: scatters differ by factors of thousands, weights by less than ten."""
    rng = np.random.default_rng(5)
    points = random_points(Shape.BALL, 30, 2, rng) * rng.uniform(0, 1, (30, 1))
    y = rng.standard_normal((30, 2))
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(y))
    result = weigh_by_variance(evidence, fit_quadratic(evidence, Shape.BALL))
    precision = np.where(result.precision > 0, result.precision, 1.0)
    assert precision.max() / precision.min() < 10


def test_known_standard_errors_are_not_touched() -> None:
    ones = np.ones(40, dtype=np.int64)
    points = design(40, 3)
    known = Evidence.empty(2).with_measurements(
        points, Measurements(ones, np.ones(40), np.zeros(40), precision=np.ones(40))
    )
    assert weigh_by_variance(known, fit_quadratic(known, Shape.BALL)) is known
