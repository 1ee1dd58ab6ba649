"""A window: an ellipsoid about the minimiser, which in its own coordinates is the unit ball."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from paraboloid.core import Evidence, Matrix, Vector
from paraboloid.numerics.fit import QuadraticFit
from paraboloid.numerics.quadratic_model import n_terms, upper_triangle

__all__ = ["Window", "selected"]

REACH = 3.0  # in window radii: what lies farther away is used only while there is too little
ENOUGH = 4  # times p measurements are enough


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """An ellipsoid in unit coordinates, z = centre + spread·w with |w| ≤ 1.

    >>> import numpy as np
    >>> window = Window(np.array([0.5, 0.0]), np.diag([0.1, 0.2]))
    >>> window.to_local(window.from_local(np.array([[1.0, -1.0]]))).round(12)
    array([[ 1., -1.]])
    """

    centre: Vector
    spread: Matrix

    @property
    def is_everything(self) -> bool:
        """Whether its coordinates are those of the domain."""
        return not np.any(self.centre) and np.array_equal(self.spread, np.eye(self.centre.size))

    def to_local(self, points: Matrix) -> Matrix:
        """Return points (m, d) of unit coordinates in those of the window."""
        return np.asarray(np.linalg.solve(self.spread, (points - self.centre).T).T, dtype=np.float64)

    def from_local(self, points: Matrix) -> Matrix:
        """Return points (m, d) of the window in unit coordinates."""
        return np.asarray(self.centre + points @ self.spread.T, dtype=np.float64)

    def seen(self, evidence: Evidence) -> Evidence:
        """Return the evidence in the window's coordinates, without what lies far outside and is not needed."""
        local = self.to_local(evidence.points)
        away = np.linalg.norm(local, axis=1)
        order = np.argsort(away, kind="stable")
        total = np.cumsum(evidence.counts[order])
        enough = int(np.searchsorted(total, ENOUGH * n_terms(evidence.dimension)))
        reach = max(REACH, float(away[order[min(enough, len(order) - 1)]]))
        return selected(evidence, local, (away <= reach) & (evidence.counts > 0))

    def pulled_back(self, fit: QuadraticFit) -> QuadraticFit:
        """Return the same quadratic, fitted in the window's coordinates, in unit coordinates.

        Its values, covariances and minimiser are the same ones. Far from the window's centre it extrapolates; and
        rounding of coefficients of the domain's size hides what is tiny in a tiny window: evaluate it there.

        >>> import numpy as np
        >>> fit = QuadraticFit(np.array([1.0, 0.0, 2.0]), np.eye(3), 1.0, 9.0, np.zeros(1))  # 1 + w²
        >>> back = Window(np.array([0.5]), np.array([[0.1]])).pulled_back(fit)  # 1 + 100 (z - ½)²
        >>> back.theta.round(9), back.minimiser
        (array([  26., -100.,  200.]), array([0.5]))
        """
        A = self._feature_map()
        covariance = A.T @ fit.covariance @ A
        return replace(
            fit,
            theta=A.T @ fit.theta,
            covariance=(covariance + covariance.T) / 2,
            minimiser=self.from_local(fit.minimiser[None, :])[0],
        )

    def carried(self, fit: QuadraticFit, other: "Window") -> QuadraticFit:
        """Return a fit in the window's coordinates with its coefficients in those of another, and all else as it was.

        >>> import numpy as np
        >>> fit = QuadraticFit(np.array([1.0, 0.0, 2.0]), np.eye(3), 1.0, 9.0, np.zeros(1))  # 1 + z²
        >>> everything, half = Window(np.zeros(1), np.eye(1)), Window(np.array([1.0]), np.array([[0.5]]))
        >>> everything.carried(fit, half).theta  # 1 + (1 + w/2)²
        array([2. , 1. , 0.5])
        """
        centre, B = self.to_local(other.centre[None, :])[0], np.linalg.solve(self.spread, other.spread)
        H = B.T @ fit.hessian @ B
        slope = (fit.linear + fit.hessian @ centre) @ B
        return replace(fit, theta=np.concatenate([[fit.value(centre)], slope, H[upper_triangle(centre.size)]]))

    def _feature_map(self) -> Matrix:
        """Return A, shape (p, p), with φ(w) = A φ(z) for w = B(z - c), B the inverse of ``spread``."""
        d = self.centre.size
        B = np.linalg.inv(self.spread)
        g = B @ self.centre
        i, j = upper_triangle(d)
        half = np.where(i == j, 0.5, 1.0)[:, None]
        A = np.zeros((n_terms(d), n_terms(d)))
        A[0, 0] = 1.0
        A[1 : d + 1, 0] = -g
        A[1 : d + 1, 1 : d + 1] = B
        # w_i w_j = (B_i·z - g_i)(B_j·z - g_j); its coefficient of z_k z_l, or of ½z_k², is B_ik B_jl + B_il B_jk.
        A[d + 1 :, 0] = half[:, 0] * g[i] * g[j]
        A[d + 1 :, 1 : d + 1] = -half * (g[j, None] * B[i] + g[i, None] * B[j])
        A[d + 1 :, d + 1 :] = half * (B[i][:, i] * B[j][:, j] + B[i][:, j] * B[j][:, i])
        return A


def selected(evidence: Evidence, points: Matrix, rows: npt.NDArray[np.bool_]) -> Evidence:
    """Return the chosen rows of the evidence, at points (m, d) in other coordinates, without single values."""
    return Evidence(
        points[rows],
        evidence.counts[rows],
        evidence.failures[rows],
        evidence.means[rows],
        evidence.scatter[rows],
        evidence.precision[rows],
    )
