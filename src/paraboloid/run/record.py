"""A log in memory, and the replay of a log into a fresh procedure."""

from collections.abc import Sequence
from typing import TypeVar

from paraboloid.core import Experiment, Measurements, ReplayMismatch, Steps
from paraboloid.run.ask_tell import Session

__all__ = ["Record", "replay"]

T = TypeVar("T")


class Record:
    """A log that keeps all experiments and, if wanted, their measurements in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import algorithms, problems, run
    >>> record = run.Record()
    >>> problem = problems.NoisyQuadratic(np.eye(2), [0.1, 0.2])
    >>> result = run.simulate(algorithms.hessian_dependent(np.eye(2), 50), problem, rng=1, log=record)
    >>> len(record.experiments), len(record.entries)
    (2, 2)
    """

    def __init__(self, *, keep_measurements: bool = True) -> None:
        self._keep_measurements = keep_measurements
        self.experiments: list[Experiment] = []
        self.entries: list[tuple[Experiment, Measurements]] = []

    def requested(self, experiment: Experiment) -> None:
        """Record that ``experiment`` was asked for."""
        self.experiments.append(experiment)

    def measured(self, experiment: Experiment, measurements: Measurements) -> None:
        """Record the measurements of ``experiment``."""
        if self._keep_measurements:
            self.entries.append((experiment, measurements))


def replay(steps: Steps[T], entries: Sequence[tuple[Experiment, Measurements]]) -> Session[T]:
    """Return a session that stands where the log ends: each logged experiment must be what the steps ask for.

    Parameters
    ----------
    steps
        The same procedure, built anew with the same arguments.
    entries
        Logged experiments with their measurements, any prefix of a run.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import algorithms, problems, run
    >>> record = run.Record()
    >>> problem = problems.NoisyQuadratic(np.eye(2), [0.1, 0.2])
    >>> result = run.simulate(algorithms.hessian_dependent(np.eye(2), 50), problem, rng=1, log=record)
    >>> again = replay(algorithms.hessian_dependent(np.eye(2), 50), record.entries)
    >>> bool(np.all(again.result.x == result.x))
    True
    """
    session = Session(steps)
    for number, (experiment, measurements) in enumerate(entries, start=1):
        if session.is_done:
            raise ReplayMismatch(
                f"the log has {len(entries)} entries, but the procedure returned after {number - 1}. "
                f"Replay it with the arguments of the run that was logged."
            )
        asked = session.ask()
        if not asked.same_as(experiment):
            raise ReplayMismatch(
                f"entry {number} of the log measured {experiment.points.tolist()} with repeats {experiment.repeats}, "
                f"but the procedure asks for {asked.points.tolist()} with repeats {asked.repeats}. "
                f"Replay it with the arguments of the run that was logged."
            )
        session.tell(measurements)
    return session
