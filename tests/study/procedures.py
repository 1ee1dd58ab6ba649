"""Procedures for the tests of studies, and what the processes do that are killed while they follow one."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid import Ball, Box, Knob, Study
from paraboloid.algorithms import universal
from paraboloid.core import Domain, Estimate, Experiment, Procedure, Result, Status, measure
from paraboloid.numerics import CENTRED
from paraboloid.study import Trial

BALL = Ball([5.0, 50.0], radius=2.0, names=["flow", "heat"])
HESSIAN = [[4.0, 0.0], [0.0, 1.0]]
CENTRE = np.array([0.3, -0.2])


def value_at(trial: Trial, domain: Domain = BALL) -> float:
    """Return a noisy value; the noise is a function of the trial's number, so that every process measures the same."""
    z = domain.to_unit(np.array(list(trial.x.values()))) - CENTRE
    return float(z @ np.array(HESSIAN) @ z / 2 + 0.1 * np.random.default_rng([3, trial.id]).standard_normal())


def zoom(domain: Box, budget: int, seed: int = 0, shrink: float = 0.5) -> Procedure:
    """Measure three points of the first knob, then three about the best of them, and so on; in knob units."""
    knob = domain.knobs[0]
    middle, half, left = (knob.low + knob.high) / 2, (knob.high - knob.low) / 2, budget
    while left >= 6:
        points = np.clip([[middle - half / 2], [middle], [middle + half / 2]], knob.low, knob.high)
        y = yield from measure(Experiment(points, 2, about=f"about {middle:g}"))
        middle, half, left = float(points[np.argmin(y.means), 0]), half * shrink, left - 6
    return Result(Estimate(np.array([middle])), Status.BUDGET_SPENT)


def forgiving(dimension: int, budget: int) -> Procedure:
    """Measure the two ends of the first axis, and go on when some fail."""
    ends = np.eye(dimension)[:1] * [[1.0], [-1.0]]
    y = yield from measure(Experiment(ends, budget // 2, allows_failures=True))
    x = np.where(y.counts[0] >= y.counts[1], 0.5, -0.5) * np.eye(dimension)[0]
    return Result(Estimate(x), Status.BUDGET_SPENT)


def centred(dimension: int, budget: int) -> Procedure:
    """Return the universal algorithm with the other truncation, which plain arguments cannot say."""
    return universal(dimension, budget, truncation=CENTRED)


def outside(dimension: int) -> Procedure:
    """Ask for a point that the domain does not have."""
    yield Experiment(2 * np.eye(dimension)[:1], 1)
    raise AssertionError("never answered")


def fragile(dimension: int) -> Procedure:
    """Raise when it is told."""
    y = yield Experiment(np.eye(dimension)[:1], 1)
    raise ZeroDivisionError(f"of {y.means[0]}")


def no_steps(budget: int) -> Any:
    """Return no generator at all."""
    return budget


LINE = Box([Knob("dose", 0.0, 16.0, "mg")])


def zoomed(path: Path, **options: Any) -> Study:
    """Return an open study that zooms in on a line."""
    return Study.open(path, LINE, **{"algorithm": zoom, "budget": 30, "rng": 0, **options})


def dose_value(trial: Trial) -> float:
    return float((trial.x["dose"] - 11) ** 2 + 0.01 * np.random.default_rng([4, trial.id]).standard_normal())


def work(path: Path, n: int) -> None:
    """Follow the procedure to its end."""
    with zoomed(path, timeout=30.0) as study:
        while trials := study.ask(n):
            for trial in trials:
                time.sleep(0.02)  # a measurement takes its time: whoever kills this one must find it at work
                study.tell(trial.id, dose_value(trial))


def finish(study: Study, value: Callable[[Trial], float] = value_at, n: int = 7) -> list[Trial]:
    """Measure a study to its end; return its trials."""
    while trials := study.ask(n):
        for trial in trials:
            study.tell(trial.id, value(trial))
    return study.trials()


if __name__ == "__main__":
    # By the name of its module, and not as __main__, so that the study finds the same function.
    from tests.study import procedures

    procedures.work(Path(sys.argv[1]), int(sys.argv[2]))
