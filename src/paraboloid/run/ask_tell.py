"""The one caller of ``next`` and ``send``: a session that asks for experiments and is told their measurements.

Every driver is a few lines over it, so sample accounting, checks and logging are the same in all of them.
"""

from dataclasses import replace
from typing import Generic, TypeVar

from paraboloid.core import Experiment, Log, Measurements, Result, Steps, UsageError, check_answer

__all__ = ["Session"]

T = TypeVar("T")


class Session(Generic[T]):
    """Steps of an algorithm, one experiment at a time.

    Parameters
    ----------
    steps
        A procedure, or any steps that yield experiments, not yet started.
    log
        Told of each request before it is measured, and of its measurements.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.algorithms import hessian_dependent
    >>> session = Session(hessian_dependent(np.eye(1), 6))
    >>> session.ask().points.ravel()
    array([ 1., -1.])
    >>> session.tell(Measurements.from_values([[0.0, 1.0], [1.0, 2.0]]))
    >>> session.is_done, session.n_measurements, session.result.x
    (True, 4, array([0.5]))
    """

    def __init__(self, steps: Steps[T], *, log: Log | None = None) -> None:
        self._steps = steps
        self._log = log
        self._experiment: Experiment | None = None
        self._result: T | None = None
        self.n_measurements = 0
        self.n_points = 0
        self.n_rounds = 0
        self.n_failures = 0
        self._advance(None)

    @property
    def is_done(self) -> bool:
        """Whether the algorithm has returned."""
        return self._experiment is None

    def ask(self) -> Experiment:
        """Return the experiment that is wanted now; asking again returns the same until it is told."""
        if self._experiment is None:
            raise UsageError("the algorithm has returned and asks for nothing more; read session.result.")
        return self._experiment

    def tell(self, measurements: Measurements) -> None:
        """Give the measurements of the experiment asked for. If they do not answer it, nothing changes."""
        experiment = self.ask()
        check_answer(measurements, experiment)
        if self._log is not None:
            self._log.measured(experiment, measurements)
        self.n_measurements += measurements.n_measurements
        self.n_failures += measurements.n_failures
        self.n_points += experiment.n_points
        self.n_rounds += 1
        self._advance(measurements)

    @property
    def result(self) -> T:
        """What the algorithm returned; a `Result` has its counts filled in."""
        if self._experiment is not None:
            raise UsageError("the algorithm has not returned yet: ask, measure and tell until session.is_done.")
        return self._result  # type: ignore[return-value]  # set when the experiment became None

    def _advance(self, measurements: Measurements | None) -> None:
        try:
            self._experiment = next(self._steps) if measurements is None else self._steps.send(measurements)
        except StopIteration as stop:
            self._experiment, self._result = None, self._counted(stop.value)
        else:
            if self._log is not None:
                self._log.requested(self._experiment)

    def _counted(self, returned: T) -> T:
        if isinstance(returned, Result):
            return replace(
                returned,
                n_measurements=self.n_measurements,
                n_points=self.n_points,
                n_rounds=self.n_rounds,
                n_failures=self.n_failures,
            )
        return returned
