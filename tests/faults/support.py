"""A bowl with a known minimum, measured through both doors: `minimize` and a study."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from paraboloid import Study, minimize
from paraboloid.core import Vector

UNIT = [(-1.0, 1.0), (-1.0, 1.0)]
MINIMUM = np.array([0.3, -0.2])
SIGMA = 0.3
CONFIDENT = 0.9999
"""Of bounds and intervals that one run is asked to keep: at 95 % such a test would fail once in twenty times."""

Measure = Callable[[Vector], float]
Door = Callable[..., OptimizeResult]


def bowl(x: Vector) -> float:
    """Return a value whose minimum is 0; also the regret. A hundredth of a range off in each knob costs 0.006."""
    return float(10 * (x[0] - MINIMUM[0]) ** 2 + 5 * (x[1] - MINIMUM[1]) ** 2)


def noisy(seed: int) -> Measure:
    stream = np.random.default_rng([11, seed])
    return lambda x: bowl(x) + SIGMA * stream.standard_normal()


def by_minimize(
    measure: Measure, folder: Path, *, budget: int, rng: Any = 0, domain: Any = UNIT, confidence: float = 0.95
) -> OptimizeResult:
    return minimize(measure, domain, budget=budget, rng=rng, confidence=confidence)


def by_study(
    measure: Measure, folder: Path, *, budget: int, rng: Any = 0, domain: Any = UNIT, confidence: float = 0.95
) -> OptimizeResult:
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with Study.open(path, domain, budget=budget, rng=rng, confidence=confidence) as study:
        while trials := study.ask(4):
            for trial in trials:
                study.tell(trial.id, measure(np.array(list(trial.x.values()))))
        return study.recommend()


DOORS: list[Door] = [by_minimize, by_study]
