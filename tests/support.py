"""What several rooms' tests need: random Hessians, exact answers, procedures driven by hand."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from paraboloid.core import Experiment, Matrix, Measurements, Steps, Vector
from paraboloid.problems import NoisyQuadratic
from paraboloid.run import Session

T = TypeVar("T")


def rotation(rng: np.random.Generator, d: int) -> Matrix:
    """Return a random orthogonal matrix (Haar up to signs)."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0].astype(np.float64)


def random_hessian(rng: np.random.Generator, eigenvalues: npt.ArrayLike) -> Matrix:
    """Return Q diag(eigenvalues) Qᵀ, exactly symmetric, with a random Q."""
    values = np.asarray(eigenvalues, dtype=np.float64)
    Q = rotation(rng, values.size)
    A: Matrix = (Q * values) @ Q.T
    return (A + A.T) / 2


def ball_point(rng: np.random.Generator, d: int, norm: float) -> Vector:
    """Return a random point of that norm."""
    x = rng.standard_normal(d)
    point: Vector = x * (norm / np.linalg.norm(x))
    return point


def answer(experiment: Experiment, value: Callable[[Vector], float]) -> Measurements:
    """Return noiseless measurements: every repeat at a point is ``value`` there."""
    pairs = zip(experiment.points, experiment.repeats, strict=True)
    return Measurements.from_values([np.full(n, value(point)) for point, n in pairs])


def noisy_answer(experiment: Experiment, problem: NoisyQuadratic, rng: np.random.Generator) -> Measurements:
    """Return noisy measurements with all their values, one point after the other."""
    pairs = zip(experiment.points, experiment.repeats, strict=True)
    return Measurements.from_values([problem.measure(point[None, :], int(n), rng)[0] for point, n in pairs])


def drive(steps: Steps[T], value: Callable[[Vector], float]) -> tuple[T, list[Experiment]]:
    """Run the steps on noiseless values; return what they return and every experiment they asked for."""
    session = Session(steps)
    asked: list[Experiment] = []
    while not session.is_done:
        asked.append(session.ask())
        session.tell(answer(session.ask(), value))
    return session.result, asked
