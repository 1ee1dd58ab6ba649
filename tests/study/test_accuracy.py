"""Studies that are after an accuracy: when they end, and what they measure once only the shape is in doubt."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paraboloid import Study
from paraboloid.algorithms.accuracy import VOUCHING, progress_towards
from paraboloid.core import Evidence, Measurements, Shape
from paraboloid.numerics import modelled

BOX = [(-1.0, 1.0), (-1.0, 1.0)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def noisy_bowl(places: np.ndarray, repeats: int) -> np.ndarray:
    """Return values whose noise is half of what the bowl varies by: it hides many another shape."""
    noise = np.random.default_rng(5).standard_normal((len(places), repeats))
    return np.asarray(2 * np.sum((places - 0.2) ** 2, axis=1, keepdims=True) + noise)


def grid(levels: int) -> np.ndarray:
    steps = np.linspace(-1, 1, levels)
    return np.array([(x, y) for x in steps for y in steps])


def evidence_of(places: np.ndarray, repeats: int) -> Evidence:
    return Evidence.empty(2).with_measurements(places, Measurements.from_values(noisy_bowl(places, repeats)))


def bounds(evidence: Evidence) -> tuple[float, float]:
    """Return the bound as it is, and that of a response that is known to be a quadratic."""
    model = modelled(evidence, Shape.BOX, True)
    both = (progress_towards(1.0, evidence, one, 0.95).bound for one in (model, replace(model, lack=None)))
    return next(both), next(both)


def test_half_of_a_round_are_checks_once_only_the_shape_is_in_doubt(path: Path) -> None:
    places, n = grid(4), 40
    found, as_quadratic = bounds(evidence_of(places, 40))
    assert as_quadratic < found / 1.5  # else this is no case of it
    settings: dict[str, set[tuple[float, ...]]] = {}
    for name, eps in (("doubted", float(np.sqrt(found * as_quadratic))), ("not doubted", as_quadratic / 2)):
        with Study.open(path.with_suffix(f".{len(settings)}"), BOX, eps=eps, batch=n, rng=0) as study:
            for x, values in zip(places, noisy_bowl(places, 40), strict=True):
                study.tell(None, values.tolist(), x=x)
            settings[name] = {tuple(trial.x.values()) for trial in study.ask(n)}
    # Twenty checks, at places of their own but for some that coincide: more than half of them are distinct.
    assert len(settings["doubted"]) > n // 4 + len(settings["not doubted"])


def test_few_contrasts_are_no_ground_to_end_on(path: Path) -> None:
    places = grid(3)  # nine places, six coefficients: three contrasts, and a bound that no search ends on
    assert len(places) - 6 < VOUCHING
    with Study.open(path, BOX, eps=1e3, rng=0) as study:
        for x, values in zip(places, noisy_bowl(places, 40), strict=True):
            study.tell(None, values.tolist(), x=x)
        answer = study.recommend()
        assert answer.regret_bound < 1e3 and answer.stop_reason == "RUNNING"
        assert study.status().phase != "ACCURACY_REACHED" and study.ask(1)


def test_enough_contrasts_end_it(path: Path) -> None:
    places = grid(4)
    assert len(places) - 6 >= VOUCHING
    with Study.open(path, BOX, eps=1e3, rng=0) as study:
        for x, values in zip(places, noisy_bowl(places, 40), strict=True):
            study.tell(None, values.tolist(), x=x)
        assert study.recommend().stop_reason == "ACCURACY_REACHED" and study.ask(1) == []
