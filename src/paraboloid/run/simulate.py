"""Simulation: a problem answers the experiments of a procedure, with exact accounting and bounded memory."""

from typing import Protocol, TypeVar

import numpy as np

from paraboloid.core import Experiment, Log, Matrix, Measurements, Steps
from paraboloid.run.ask_tell import Session

__all__ = ["Simulable", "simulate"]

T = TypeVar("T")

BLOCK = 2**16
"""At most this many noisy values are held at once where only their summary is needed."""


class Simulable(Protocol):
    """Anything that gives noisy values at points, as `paraboloid.problems.NoisyQuadratic` does."""

    def measure(self, points: Matrix, repeats: int, rng: np.random.Generator) -> Matrix:
        """Return ``repeats`` noisy values at each of the points (k, d), shape (k, repeats)."""
        ...


def simulate(
    procedure: Steps[T],
    problem: Simulable,
    *,
    rng: int | np.random.SeedSequence | np.random.Generator | None = None,
    log: Log | None = None,
) -> T:
    """Run the procedure on a simulated problem and return its result, with its counts filled in.

    Parameters
    ----------
    procedure
        A procedure, or other steps such as `paraboloid.algorithms.estimate_hessian`.
    problem
        Gives the noisy values.
    rng
        Stream of the noise alone; an algorithm that draws at random has its own.
    log
        Told of every experiment, see `Record`.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid import algorithms, problems, run
    >>> problem = problems.NoisyQuadratic(np.diag([1.0, 0.25]), [0.3, -0.4])
    >>> result = run.simulate(algorithms.hessian_dependent(problem.hessian, 10_000), problem, rng=0)
    >>> print(result)
    x              (0.309..., -0.306...)
    status         The budget is spent; x is the answer from all of it.
    measurements   9,996 at 4 points in 2 experiments
    """
    stream = np.random.default_rng(rng)
    session = Session(procedure, log=log)
    while not session.is_done:
        session.tell(_measure(session.ask(), problem, stream))
    return session.result


def _measure(experiment: Experiment, problem: Simulable, rng: np.random.Generator) -> Measurements:
    repeats = experiment.repeats
    is_small = experiment.n_measurements <= BLOCK
    if np.all(repeats == repeats[0]) and (experiment.needs_values or is_small):
        return Measurements.from_values(problem.measure(experiment.points, int(repeats[0]), rng))
    if experiment.needs_values or is_small:
        rows = [
            problem.measure(point[None, :], int(n), rng)[0] for point, n in zip(experiment.points, repeats, strict=True)
        ]
        return Measurements.from_values(rows)
    summaries = np.array(
        [_summary(point[None, :], int(n), problem, rng) for point, n in zip(experiment.points, repeats, strict=True)]
    )
    return Measurements(repeats, summaries[:, 0], summaries[:, 1])


def _summary(point: Matrix, n: int, problem: Simulable, rng: np.random.Generator) -> tuple[float, float]:
    """Return mean and scatter of ``n`` values at one point, merged block by block (Chan et al. 1979)."""
    count, mean, scatter = 0, 0.0, 0.0
    while count < n:
        values = problem.measure(point, min(BLOCK, n - count), rng)[0]
        block_mean = float(values.mean())
        values -= block_mean
        difference, total = block_mean - mean, count + values.size
        scatter += float(values @ values) + difference**2 * count * values.size / total
        mean += difference * values.size / total
        count = total
    return mean, scatter
