"""The one type that all rooms speak: an algorithm is a generator of experiments."""

from collections.abc import Generator
from typing import Protocol, TypeAlias, TypeVar

from paraboloid.core.experiment import Experiment, Measurements
from paraboloid.core.result import Result

__all__ = ["Log", "Procedure", "Steps", "measure"]

T = TypeVar("T")

Steps: TypeAlias = Generator[Experiment, Measurements, T]
"""A piece of an algorithm: yields experiments, is sent their measurements, returns a ``T``."""

Procedure: TypeAlias = Steps[Result]
"""A whole algorithm: a generator of experiments that returns a `Result`."""


def measure(experiment: Experiment) -> Steps[Measurements]:
    """Yield the experiment and return its measurements, once they are known to answer it.

    Algorithms write ``y = yield from measure(Experiment(...))`` for a "sample" line of their pseudo-code.
    """
    measurements = yield experiment
    measurements.check_answer_to(experiment)
    return measurements


class Log(Protocol):
    """Where a driver records what happens: a request before it is measured, measurements as they arrive."""

    def requested(self, experiment: Experiment) -> None:
        """Record that ``experiment`` was asked for."""

    def measured(self, experiment: Experiment, measurements: Measurements) -> None:
        """Record the measurements of ``experiment``."""
