"""The paper's model: f(x) = ½(x-x₀)ᵀA(x-x₀) on the unit ball, measured as y = f(x) + w (Section 2, (1)-(3)).

==================  ==================  ==================================================
paper               code                meaning
==================  ==================  ==================================================
A                   ``hessian``         PSD of any rank, (d, d)
x₀                  ``minimiser``       anywhere in the unit ball, (d,)
w_t                 ``noise``           zero mean, variance at most one
==================  ==================  ==================================================

Deviation: a constant ``offset`` may be added to f. No algorithm of the paper sees it, they all take differences.
"""

from dataclasses import dataclass
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from paraboloid.core import (
    Matrix,
    UsageError,
    Vector,
    check_budget,
    check_hessian,
    check_point_in_ball,
    frozen_array,
)
from paraboloid.problems.noise import Gaussian, Noise, named_noise

__all__ = ["NoisyQuadratic"]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class NoisyQuadratic:
    """A noisy quadratic with known minimum, for simulation, tests, benchmarks and docs.

    Parameters
    ----------
    hessian
        A, symmetric positive semidefinite, of any rank.
    minimiser
        x₀, anywhere in the unit ball.
    offset
        Value at the minimum.
    noise
        A `Noise`, or the name of one, see `named_noise`.

    Examples
    --------
    >>> import numpy as np
    >>> problem = NoisyQuadratic(np.diag([1.0, 4.0]), [0.5, 0.0], offset=7.0, noise="uniform")
    >>> problem.value([0.5, 1.0]), problem.gradient([0.5, 1.0]), problem.regret([0.5, 1.0])
    (9.0, array([0., 4.]), 2.0)
    >>> problem.measure([[0.0, 0.0], [1.0, 0.0]], 3, rng=np.random.default_rng(0)).shape
    (2, 3)
    """

    hessian: Matrix
    minimiser: Vector
    offset: float
    noise: Noise

    def __init__(
        self,
        hessian: npt.ArrayLike,
        minimiser: npt.ArrayLike,
        offset: float = 0.0,
        noise: Noise | str | None = None,
    ) -> None:
        matrix = check_hessian(hessian)
        chosen = Gaussian() if noise is None else named_noise(noise) if isinstance(noise, str) else noise
        if isinstance(chosen, type) or not isinstance(chosen, Noise):  # a class has the method too
            raise UsageError(f"noise must be a noise such as problems.Gaussian(), or its name, got {noise!r}.")
        object.__setattr__(self, "hessian", matrix)
        object.__setattr__(self, "minimiser", check_point_in_ball("minimiser", minimiser, matrix.shape[0]))
        object.__setattr__(self, "offset", float(frozen_array("offset", offset, 0)))
        object.__setattr__(self, "noise", chosen)

    @property
    def dimension(self) -> int:
        """Number of knobs, d."""
        return self.minimiser.size

    def value(self, x: npt.ArrayLike) -> float:
        """Return f(x), without noise."""
        return self.offset + self.regret(x)

    def gradient(self, x: npt.ArrayLike) -> Vector:
        """Return ∇f(x) = A(x - x₀)."""
        return self.hessian @ (self._points(x, 1) - self.minimiser)

    def regret(self, x: npt.ArrayLike) -> float:
        """Return f(x) - f(x₀) = ½(x-x₀)ᵀA(x-x₀), exact and at least zero."""
        return float(self._regrets(self._points(x, 1)[None, :])[0])

    def measure(self, points: npt.ArrayLike, repeats: SupportsIndex, rng: np.random.Generator) -> Matrix:
        """Return ``repeats`` noisy values at each of the points (k, d), shape (k, repeats)."""
        where = self._points(points, 2)
        n = check_budget(repeats, smallest=1, what_for="measuring")
        values = self.offset + self._regrets(where)
        draws = [self.noise.draw(point, n, rng) for point in where]
        measured = draws[0][None, :] if len(draws) == 1 else np.stack(draws)
        measured += values[:, None]
        return measured

    def _points(self, given: npt.ArrayLike, n_axes: int) -> Matrix:
        points = frozen_array("x" if n_axes == 1 else "points", given, n_axes)
        if points.shape[-1] != self.dimension:
            raise UsageError(f"points must have {self.dimension} entries each, got shape {points.shape}.")
        return points

    def _regrets(self, points: Matrix) -> Vector:
        away = points - self.minimiser
        regrets: Vector = np.maximum(np.sum((away @ self.hessian) * away, axis=1) / 2, 0.0)
        return regrets
