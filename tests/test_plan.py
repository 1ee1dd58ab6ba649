"""How many measurements an accuracy costs: by hand on one knob, and against what a search then reaches."""

import numpy as np
import pytest

import paraboloid
from paraboloid import Ball, UsageError, algorithms, problems, run


def test_one_knob_in_the_middle_by_hand() -> None:
    # Unit coordinates: H = 2·rise = 8, V* = ½/8 at the centre; σ²V*/ε = 4/16/0.001 = 250. χ²_1 at 95 %: 3.84.
    planned = paraboloid.plan([(0, 10)], eps=0.001, rise=4, sigma=2.0, distance=0.0)
    assert planned.measurements == 250
    assert planned.measurements_certain == pytest.approx(250 * 3.84, rel=0.03)  # 100,000 draws: ± 1 % at two errors
    assert planned.smallest == 5


def test_a_search_with_the_planned_number_reaches_the_planned_regret() -> None:
    rise, eps = np.array([50.0, 5.0]), 0.002  # some 12 measurements per coefficient: the plan is for large numbers
    planned = paraboloid.plan(Ball([0.0, 0.0]), eps=eps, rise=rise, sigma=1.0, distance=0.3)
    problem = problems.NoisyQuadratic(np.diag(2 * rise), [0.3 / 2**0.5] * 2)
    regrets = [
        problem.regret(
            run.simulate(algorithms.adaptive(Ball([0.0, 0.0]), budget=planned.measurements, seed=s), problem, rng=s).x
        )
        for s in range(60)
    ]
    # The mean of 60 regrets, each a weighted sum of two χ²_1: relative deviation at most √(2/60) = 0.18. Beyond five of
    # them, or a factor 1.92, chance is below 1e-6; a plan that is wrong by a factor 3 is caught.
    assert np.mean(regrets) < 1.92 * eps


@pytest.mark.parametrize(
    "wrong", [{"eps": 0.0}, {"sigma": -1.0}, {"rise": 0.0}, {"rise": [1, 2, 3]}, {"distance": 2.0}, {"confidence": 1.0}]
)
def test_a_guess_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    arguments: dict[str, object] = {"eps": 0.1, "rise": 1.0, "sigma": 1.0} | wrong
    with pytest.raises(UsageError):
        paraboloid.plan([(0, 1), (0, 1)], **arguments)  # type: ignore[arg-type]  # the mistakes are the point
