"""The one type that all rooms speak: an algorithm is a generator of experiments."""

from collections.abc import Generator
from typing import Protocol, TypeAlias, TypeVar

from paraboloid.core.errors import MeasurementError
from paraboloid.core.experiment import Experiment, Measurements
from paraboloid.core.result import Result

__all__ = ["Log", "Procedure", "Steps", "check_answer", "measure"]

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
    check_answer(measurements, experiment)
    return measurements


def check_answer(measurements: object, experiment: Experiment) -> None:
    """Raise a `MeasurementError` unless what was sent are measurements of just this experiment."""
    if not isinstance(measurements, Measurements):
        raise MeasurementError(
            f"an experiment is answered with Measurements, got {measurements!r}. "
            f"Build them with Measurements.from_values([[...], ...]), one list of values for each point."
        )
    measurements.check_answer_to(experiment)


class Log(Protocol):
    """Where a driver records what happens: a request before it is measured, measurements as they arrive."""

    def requested(self, experiment: Experiment) -> None:
        """Record that ``experiment`` was asked for."""

    def measured(self, experiment: Experiment, measurements: Measurements) -> None:
        """Record the measurements of ``experiment``."""
