"""Arguments that people pass by mistake, or at the edge of what is possible (FAULTS E1, E2, E3, E6)."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraboloid import Ball, Box, Knob, Study, UsageError, minimize, plan
from paraboloid.core import Vector
from tests.faults.support import DOORS, UNIT, Door, bowl, by_minimize, noisy


class Untouched:
    """A function that must not be called."""

    def __call__(self, x: Vector) -> float:
        raise AssertionError("measured although the call was wrong")


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        ([(1.0, -1.0)], "low < high"),
        ([(1.0, 1.0)], "low < high"),
        ([(math.nan, 1.0)], "finite"),
        ([(0.0, math.inf)], "finite"),
        ([], "at least one knob"),
        ([(0.0, 1.0, 2.0)], "knob 1 must be"),
        ([("a", "b")], "low of knob"),
        (5, "domain must be"),
        (lambda: Box([Knob("a", 0, 1), Knob("a", 0, 1)]), "different names"),
        (lambda: Box([Knob("", 0, 1)]), "name"),
        (lambda: Ball([], 1.0), "at least one knob"),
        (lambda: Ball([0.0], 0.0), "radius"),
        (lambda: Ball([0.0], math.nan), "radius"),
    ],
)
@pytest.mark.parametrize("door", DOORS)
def test_a_domain_that_is_none_is_refused_by_name_and_leaves_no_file(
    door: Door, domain: Any, message: str, tmp_path: Path
) -> None:  # E1
    with pytest.raises(UsageError, match=message):
        door(Untouched(), tmp_path, budget=20, domain=domain() if callable(domain) else domain)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("d", [1, 20])
def test_one_and_twenty_knobs_work(door: Door, d: int, tmp_path: Path) -> None:  # E1
    answer = door(lambda x: float(np.sum((x - 0.1) ** 2)), tmp_path, budget=2 * d + 3, domain=[(-1.0, 1.0)] * d)
    # From 2d + 3 values a quadratic in 20 knobs is not known: better than the centre is all that can be asked for.
    assert np.sum((answer.x - 0.1) ** 2) < d * 0.1**2


@pytest.mark.parametrize("budget", [0, -3, 2.5, "10", True, math.nan, [5]])
@pytest.mark.parametrize("door", DOORS)
def test_a_budget_that_is_none_is_refused_before_anything_is_measured(
    door: Door, budget: Any, tmp_path: Path
) -> None:  # E2
    with pytest.raises(UsageError, match="budget"):
        door(Untouched(), tmp_path, budget=budget)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5])
def test_a_budget_below_the_number_of_terms_gives_an_answer_without_a_bound(
    door: Door, budget: int, tmp_path: Path
) -> None:  # E2
    answer = door(noisy(1), tmp_path, budget=budget)
    assert answer.nfev == budget and np.all(np.abs(answer.x) <= 1)
    assert answer.regret_bound == math.inf and answer.caveats


def test_the_plan_states_the_least_number_that_can_give_a_bound() -> None:  # E2
    assert plan(UNIT, eps=0.1, rise=10, sigma=0.3).smallest == 6 + 2


def test_a_huge_budget_costs_nothing_until_it_is_asked_for(tmp_path: Path) -> None:  # E2
    with Study.open(tmp_path / "study.db", UNIT, budget=10**15, rng=0) as study:
        assert len(study.ask(3)) == 3
        with pytest.raises(UsageError, match="at most 100,000 trials"):
            study.ask(10**6)
        assert study.status().left == 10**15 - study.status().counts["WAITING"] - 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *(({"eps": eps}, "eps") for eps in (0.0, -1.0, math.nan, math.inf, "small")),
        *(({"budget": 9, "confidence": share}, "confidence") for share in (0.0, 1.0, -0.5, 95, math.nan)),
    ],
)
def test_eps_and_confidence_out_of_range_are_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):  # E3
        minimize(Untouched(), UNIT, **options)
    with pytest.raises(UsageError, match=message):
        Study.open(tmp_path / "study.db", UNIT, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"sigma": 0.0}, {"sigma": -1.0}, {"sigma": math.nan}, {"eps": 0.0}, {"rise": 0.0}])
def test_a_plan_needs_noise_and_an_accuracy(wrong: dict[str, Any]) -> None:  # E3
    with pytest.raises(UsageError, match=next(iter(wrong))):
        plan(UNIT, **{"eps": 0.1, "rise": 10, "sigma": 0.3, **wrong})


@pytest.mark.parametrize("door", DOORS)
def test_rng_is_whatever_default_rng_takes(door: Door, tmp_path: Path) -> None:  # E6, SPEC 7
    def path_of(rng: Any) -> list[list[float]]:
        places: list[list[float]] = []

        def measure(x: Vector) -> float:
            places.append(x.tolist())
            return bowl(x)

        door(measure, tmp_path, budget=6, rng=rng, domain=Ball([0.0, 0.0]))  # its pilot is a random frame
        return places

    seven = path_of(7)
    assert path_of(np.int64(7)) == path_of(np.random.SeedSequence(7)) == path_of(np.random.default_rng(7)) == seven
    assert path_of(8) != seven
    generator = np.random.default_rng(7)
    assert path_of(generator) == seven != path_of(generator)  # a generator goes on: it is not a seed
    assert path_of(np.random.RandomState(7)) == path_of(np.random.RandomState(7))
    assert path_of(None) != path_of(None)
    state = np.random.get_state(legacy=False)
    path_of(7)
    assert np.array_equal(np.random.get_state(legacy=False)["state"]["key"], state["state"]["key"])
    for wrong in ("seven", 1.5, -1):
        with pytest.raises((TypeError, ValueError)):
            by_minimize(Untouched(), tmp_path, budget=9, rng=wrong)
