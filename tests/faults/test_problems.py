"""Problems outside the assumptions: a minimum beyond the edge, none at all, settings that cannot be (FAULTS D)."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraboloid import Ball, Box, Knob, Study
from paraboloid.core import Vector
from tests.faults.support import CONFIDENT, DOORS, Door, Measure, bowl, noisy

NAMED_BOX = Box([Knob("heat", -1, 1), Knob("flow", -1, 1)])
NAMED_BALL = Ball([0, 0], names=["heat", "flow"])


def with_noise(surface: Measure, seed: int = 0) -> Measure:
    stream = np.random.default_rng([13, seed])
    return lambda x: surface(x) + 0.3 * stream.standard_normal()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("domain", [NAMED_BOX, NAMED_BALL], ids=["box", "ball"])
def test_a_minimum_beyond_the_edge_is_answered_at_the_edge_with_advice(
    door: Door, domain: Any, tmp_path: Path
) -> None:  # D1
    answer = door(with_noise(lambda x: 10 * (x[0] - 2) ** 2 + 10 * x[1] ** 2), tmp_path, budget=60, domain=domain)
    assert answer.x[0] > 0.95 and np.linalg.norm(answer.x) >= 1 - 1e-9 and np.all(np.abs(answer.x) <= 1)
    edge = next(caveat for caveat in answer.caveats if "edge of" in caveat)
    assert ("heat" in edge or "the ball" in edge) and "move that range" in edge


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("surface", "knob"),
    [(lambda x: 10 * x[0] ** 2 - 10 * x[1] ** 2, "flow"), (lambda x: -10 * (x[0] ** 2 + x[1] ** 2), "heat")],
    ids=["saddle", "maximum"],
)
def test_without_a_minimum_there_is_no_certificate_and_the_direction_is_named(
    door: Door, surface: Measure, knob: str, tmp_path: Path
) -> None:  # D2
    answer = door(with_noise(surface), tmp_path, budget=60, domain=NAMED_BOX)
    assert answer.regret_bound == math.inf
    assert any("no curvature was seen along" in caveat and knob in caveat for caveat in answer.caveats)
    assert np.all(np.abs(answer.x) <= 1) and np.all(np.isfinite(answer.x_cov))  # no inverse blows up


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("curvature", [0.0, 1e-6])
def test_along_a_flat_direction_nothing_blows_up_and_the_bound_holds(
    door: Door, curvature: float, tmp_path: Path
) -> None:  # D2
    """Where a direction makes no difference, noise may pass for curvature; the regret is that of the other knob."""

    def surface(x: Vector) -> float:
        return float(10 * (x[0] - 0.2) ** 2 + curvature * x[1] ** 2)

    for seed in range(3):
        answer = door(with_noise(surface, seed), tmp_path, budget=60, domain=NAMED_BOX, confidence=CONFIDENT)
        assert surface(answer.x) <= answer.regret_bound
        assert np.all(np.abs(answer.x) <= 1) and np.all(np.isfinite(answer.x_cov))
        width = answer.x_ci[:, 1] - answer.x_ci[:, 0]
        assert width[1] >= width[0]  # the flat knob is known worse, and its interval says so


def test_an_instrument_that_rounds_its_settings_is_told_as_it_was_set(tmp_path: Path) -> None:  # D4
    """Without noise the minimum is found to rounding from the executed settings, and is missed from the asked ones."""
    answers = []
    for tells_executed in (True, False):
        with Study.open(tmp_path / f"{tells_executed}.db", NAMED_BOX, budget=40, rng=4) as study:
            while trials := study.ask(4):
                for trial in trials:
                    executed = {name: round(4 * setting) / 4 for name, setting in trial.x.items()}
                    value = bowl(np.array(list(executed.values())))
                    study.tell(trial.id, value, x=executed if tells_executed else None)
            answers.append(study.recommend().x)
    assert bowl(answers[0]) < 1e-9 < 1e-6 < bowl(answers[1])


@pytest.mark.parametrize("door", DOORS)
def test_a_corner_that_always_fails_is_left_and_the_rest_goes_on(door: Door, tmp_path: Path) -> None:  # D5
    tried: list[Vector] = []
    measure = noisy(6)

    def fails_in_a_corner(x: Vector) -> float:
        tried.append(x)
        return math.nan if x[0] > 0.6 and x[1] > 0.6 else measure(x)

    answer = door(fails_in_a_corner, tmp_path, budget=60, confidence=CONFIDENT)
    late = [x for x in tried[30:] if x[0] > 0.6 and x[1] > 0.6]
    assert len(late) <= 3 and 0 < answer.nfail < 15 and answer.nfev == 60
    assert bowl(answer.x) <= answer.regret_bound


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("surface", "least"),
    [
        (lambda x: 10 * (abs(x[0] - 0.3) + abs(x[1])), (0.3, 0.0)),
        (lambda x: 5.0 * ((x[0] ** 2 - 0.4) ** 2 * 10 + x[0] + x[1] ** 2), (-0.77, 0.0)),
        (lambda x: 0.0 if abs(x[0] - 0.3) + abs(x[1]) < 0.5 else 10.0, (0.3, 0.0)),
    ],
    ids=["kink", "two basins", "step"],
)
def test_where_the_response_is_no_bowl_no_bound_is_claimed_that_does_not_hold(
    door: Door, surface: Measure, least: tuple[float, float], tmp_path: Path
) -> None:  # D3
    """Either it is said that the response is not quadratic and there is no bound, or the bound holds."""
    answer = door(with_noise(surface), tmp_path, budget=300, domain=NAMED_BOX)
    regret = surface(answer.x) - surface(np.array(least))
    assert np.all(np.abs(answer.x) <= 1)
    assert regret <= answer.regret_bound
    if not np.isfinite(answer.regret_bound):
        assert answer.caveats
