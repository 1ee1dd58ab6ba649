"""What an algorithm believes and returns."""

import enum
from dataclasses import dataclass

import numpy.typing as npt

from paraboloid.core.arrays import Matrix, Vector, frozen_array

__all__ = ["Estimate", "Result", "Status"]


class Status(enum.Enum):
    """How a run ended, each with its sentence."""

    BUDGET_SPENT = "The budget is spent; x is the answer from all of it."
    NOTHING_TO_LEARN = "No direction is curved enough to be worth a measurement; x is the centre."


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """What is believed of the minimiser: its place, and the covariance of its error where that is known.

    Parameters
    ----------
    x
        The estimated minimiser, shape (d,).
    covariance
        Covariance of ``x`` for noise of unit variance, shape (d, d), or None where the algorithm gives none.
    """

    x: Vector
    covariance: Matrix | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "x", frozen_array("x", self.x, 1))
        if self.covariance is not None:
            object.__setattr__(self, "covariance", frozen_array("covariance", self.covariance, 2))


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What an algorithm returns; the driver fills in the counts.

    Parameters
    ----------
    estimate
        The answer, see `Estimate`.
    status
        How the run ended.
    hessian
        The Hessian that the algorithm was given or has estimated, shape (d, d), if it has one.
    n_measurements, n_points, n_rounds
        Single measurements, measured points (a point measured in two experiments counts twice), experiments.
    """

    estimate: Estimate
    status: Status
    hessian: Matrix | None = None
    n_measurements: int = 0
    n_points: int = 0
    n_rounds: int = 0

    @property
    def x(self) -> Vector:
        """The estimated minimiser."""
        return self.estimate.x

    def __str__(self) -> str:
        return "\n".join(
            [
                f"x              {_short(self.x)}",
                f"status         {self.status.value}",
                f"measurements   {self.n_measurements:,} at {self.n_points:,} points in {self.n_rounds:,} experiments",
            ]
        )


def _short(x: npt.ArrayLike) -> str:
    numbers = [f"{float(value):.6g}" for value in frozen_array("x", x, 1)]
    shown = numbers if len(numbers) <= 8 else [*numbers[:7], f"... ({len(numbers)} in all)"]
    return "(" + ", ".join(shown) + ")"
