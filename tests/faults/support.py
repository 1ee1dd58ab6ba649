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

Measure = Callable[[Vector], float]
Door = Callable[..., OptimizeResult]


def bowl(x: Vector) -> float:
    """Return a value whose minimum is 0; also the regret. A hundredth of a range off in each knob costs 0.006."""
    return float(10 * (x[0] - MINIMUM[0]) ** 2 + 5 * (x[1] - MINIMUM[1]) ** 2)


def noisy(seed: int) -> Measure:
    stream = np.random.default_rng([11, seed])
    return lambda x: bowl(x) + SIGMA * stream.standard_normal()


def by_minimize(measure: Measure, folder: Path, *, budget: int, rng: Any = 0, domain: Any = UNIT) -> OptimizeResult:
    return minimize(measure, domain, budget=budget, rng=rng)


def by_study(measure: Measure, folder: Path, *, budget: int, rng: Any = 0, domain: Any = UNIT) -> OptimizeResult:
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with Study.open(path, domain, budget=budget, rng=rng) as study:
        while trials := study.ask(4):
            for trial in trials:
                study.tell(trial.id, measure(np.array(list(trial.x.values()))))
        return study.recommend()


DOORS: list[Door] = [by_minimize, by_study]
