"""The marginal likelihood of a quadratic with discrepancy, `numerics.smooth`, and its gradient.

Nine numbers: log σ², log of the even and of the odd size, log l/√d, g, log κ; on a box also the logs of the sizes of
curves of single knobs, of any and of the even ones, and of their decay. Values have mean 0 and variance 1. What is
expected of each number is worth less than a handful of measurements; it decides only where the data say nothing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics.quadratic_model import features
from paraboloid.numerics.single_knobs import knob_curves, knob_degrees, knob_variances
from paraboloid.numerics.smooth import FLAT, JITTER, squared_distances

__all__ = ["Likelihood", "Means"]

EXPECTED = np.array([-4.0, -2.0, -3.0, -0.2, 0.5, -3.0, -3.0, -3.0, -0.7])
SPREAD = np.array([4.0, 3.0, 3.0, 0.7, 0.5, 1.0, 3.0, 3.0, 0.5])
LOWEST = np.array([-16.0, -12.0, -12.0, np.log(0.05), -2.0, -9.0, -12.0, -12.0, np.log(0.05)])
HIGHEST = np.array([4.0, 12.0, 12.0, np.log(3.0), 2.0, 0.0, 12.0, 12.0, 0.0])

LARGE = (4.0, 8.0)  # logs of sizes of the discrepancy, from which the ascent may begin, too
SMALL = -6.0  # the same, where curves of single knobs may explain it all
MISFIT = np.log(0.1)  # of the height: that the discrepancy leaves so much is suspicious


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Means at distinct points in standard units, with counts, and the scatter of repeats with its freedom."""

    points: Matrix
    y: Vector
    counts: Vector
    scatter: float
    freedom: float


class Likelihood:
    """Minus the penalised log likelihood for a given centre and least value, as a function of the numbers."""

    def __init__(self, means: Means, centre: Vector, least: float, noise: float, shape: Shape) -> None:
        self.means = means
        self.curves: Matrix = (
            knob_curves(means.points, centre) if shape is Shape.BOX else np.zeros((len(means.points), 0))
        )
        phi = features(means.points)
        self.quadratic: Matrix = FLAT * phi @ phi.T
        self.away: Vector = np.sum((means.points - centre) ** 2, axis=1)
        self.square = squared_distances(means.points, means.points)
        self.mirrored = squared_distances(means.points, 2 * centre - means.points)
        self.heights2: Vector = np.maximum(means.y - least, 0.0) ** 2
        self.expected = EXPECTED.copy()
        self.expected[0] = np.log(noise)

    def best(self, start: Vector, steps: int) -> Vector:
        """Return the numbers of the largest likelihood that so many steps find from the best of several starts."""
        inside = self._inside(start)
        larger = [np.array([inside[0], size, size, *inside[3:]]) for size in LARGE]
        single = [np.array([inside[0], SMALL, SMALL, *inside[3:6], size, size, inside[8]]) for size in (0.0, *LARGE)]
        begin = min([inside, *larger, *(single if self.curves.size else [])], key=lambda numbers: self(numbers)[0])
        found = self._ascent(begin, steps)
        if found.x[5] > MISFIT:  # perhaps a local optimum: the other one is where the discrepancy explains it all
            other = self._ascent(np.array([found.x[0], *larger[0][1:5], *EXPECTED[5:]]), steps)
            found = other if other.fun < found.fun else found
        return np.asarray(found.x, dtype=np.float64)

    def refined(self, start: Vector, steps: int) -> Vector:
        """Return the numbers of the largest likelihood that so many steps find from this start alone."""
        return np.asarray(self._ascent(self._inside(start), steps).x, dtype=np.float64)

    def _ascent(self, start: Vector, steps: int) -> optimize.OptimizeResult:
        bounds = list(zip(*self._range(), strict=True))
        return optimize.minimize(self, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})

    def _inside(self, numbers: Vector) -> Vector:
        return np.asarray(np.clip(numbers, *self._range()))

    def _range(self) -> tuple[Vector, Vector]:
        lowest, highest = LOWEST.copy(), HIGHEST.copy()
        # Where most was measured near the minimum, the noise of one measurement is many times the spread of the means.
        lowest[0], highest[0] = min(lowest[0], self.expected[0] - 4), max(highest[0], self.expected[0] + 4)
        return lowest, highest

    def covariance(self, numbers: Vector) -> Matrix:
        """Return the covariance of the means, noise included."""
        near, mirrored, _, _ = self._kernels(numbers)
        return self._added(numbers, near, mirrored)[0]

    def variances(self, numbers: Vector) -> Vector:
        """Return the prior variances of curves of single knobs, none on a ball."""
        if not self.curves.size:
            return np.zeros(0)
        size, even, decay = np.exp(numbers[6:]).tolist()
        return knob_variances(self.means.points.shape[1], decay, size, even)

    def _kernels(self, numbers: Vector) -> tuple[Matrix, Matrix, Vector, float]:
        l2 = self.means.points.shape[1] * float(np.exp(2 * numbers[3]))
        base = 1 + self.away / l2
        a = base ** numbers[4]
        outer = np.outer(a, a)
        return outer * np.exp(-self.square / (2 * l2)), outer * np.exp(-self.mirrored / (2 * l2)), base, l2

    def _added(self, numbers: Vector, near: Matrix, mirrored: Matrix) -> tuple[Matrix, Matrix]:
        even, odd = np.exp(numbers[1]), np.exp(numbers[2])
        D = (even + odd) / 2 * near + (even - odd) / 2 * mirrored
        K = self.quadratic + D
        if self.curves.size:
            K += (self.curves * self.variances(numbers)) @ self.curves.T
        noise = np.exp(numbers[0]) / self.means.counts + np.exp(2 * numbers[5]) * self.heights2 + JITTER
        K[np.diag_indices_from(K)] += noise
        return K, D

    def __call__(self, numbers: Vector) -> tuple[float, Vector]:
        """Return the value and its gradient."""
        near, mirrored, base, l2 = self._kernels(numbers)
        K, D = self._added(numbers, near, mirrored)
        try:
            root = linalg.cholesky(K, lower=True, check_finite=False)
        except linalg.LinAlgError:
            return np.inf, np.zeros(len(numbers))
        means, y = self.means, self.means.y
        alpha = linalg.cho_solve((root, True), y, check_finite=False)
        single = self._gradient_of_curves(numbers, root, alpha)
        upper = linalg.lapack.dpotri(root, lower=1)[0].T  # half of K⁻¹; below its diagonal is nothing
        miss = (numbers - self.expected) / SPREAD
        spent = means.scatter * np.exp(-numbers[0])
        value = float(y @ alpha) / 2 + float(np.sum(np.log(np.diag(root)))) + float(miss @ miss) / 2
        value += (means.freedom * numbers[0] + spent) / 2
        gradient = np.array([*self._gradient(numbers, upper, alpha, (near, mirrored, D), base, l2), *single])
        gradient[0] += (means.freedom - spent) / 2
        return value, gradient + miss / SPREAD

    def _gradient_of_curves(self, numbers: Vector, root: Matrix, alpha: Vector) -> Vector:
        """Return the gradient by both sizes and the decay: -½ Σ ∂w ψᵀMψ, a number for each curve."""
        if not self.curves.size:
            return np.zeros(3)
        w, degrees = self.variances(numbers), knob_degrees(self.means.points.shape[1])
        reach = linalg.solve_triangular(root, self.curves, lower=True, check_finite=False)
        parts = w * ((alpha @ self.curves) ** 2 - np.sum(reach**2, axis=0))
        found = np.zeros(3)
        over = 10 * self.means.points.shape[1]
        for k, some in enumerate((slice(None, over), slice(over, None))):
            apart = degrees[some] - float(w[some] @ degrees[some]) / float(w[some].sum())
            found[k] = -float(parts[some].sum()) / 2
            found[2] -= float(parts[some] @ apart)
        return found

    def _gradient(
        self,
        numbers: Vector,
        upper: Matrix,
        alpha: Vector,
        kernels: tuple[Matrix, Matrix, Matrix],
        base: Vector,
        l2: float,
    ) -> Vector:
        """Return the gradient of the likelihood of the means: -½ tr(M ∂K), M = ααᵀ - K⁻¹, ``upper`` half of K⁻¹."""
        even, odd = np.exp(numbers[1]), np.exp(numbers[2])
        near, mirrored, D = kernels
        corner = np.diag(upper)

        def trace(X: Matrix) -> float:  # tr(MX) for symmetric X; M itself is never needed
            return float(alpha @ (X @ alpha)) - 2 * float(np.vdot(upper, X)) + float(corner @ np.diag(X))

        along, across = trace(near), trace(mirrored)
        product = upper * D
        rows = alpha * (D @ alpha) - product.sum(axis=0) - product.sum(axis=1) + np.diag(product)
        stretched = (even + odd) / 2 * near * self.square + (even - odd) / 2 * mirrored * self.mirrored
        diagonal = alpha**2 - corner
        return np.array(
            [
                -np.exp(numbers[0]) * float(diagonal @ (1 / self.means.counts)) / 2,
                -even * (along + across) / 4,
                -odd * (along - across) / 4,
                -trace(stretched) / (2 * l2) + 2 * numbers[4] * float((self.away / l2 / base) @ rows),
                -float(np.log(base) @ rows),
                -np.exp(2 * numbers[5]) * float(diagonal @ self.heights2),
            ]
        )
