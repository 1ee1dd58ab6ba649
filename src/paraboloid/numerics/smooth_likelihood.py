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
FIRST = 0.5  # greatest length of the first step: where a long one leads K may be indefinite, and the ascent would end
GAIN = 0.003  # in log likelihood: after two steps in a row that gain less the ascent ends
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
        self.curves: Matrix = np.asfortranarray(
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
        self._room = np.empty((3, len(means.points), len(means.points)))  # both kernels, and K or half of its inverse

    def best(self, start: Vector, steps: int) -> Vector:
        """Return the numbers of the largest likelihood that so many steps find from the best of several starts."""
        inside = self._inside(start)
        larger = [np.array([inside[0], size, size, *inside[3:]]) for size in LARGE]
        single = [np.array([inside[0], SMALL, SMALL, *inside[3:6], size, size, inside[8]]) for size in (0.0, *LARGE)]
        begin = min([inside, *larger, *(single if self.curves.size else [])], key=self.value)
        found, least = self._ascent(begin, steps)
        if found[5] > MISFIT:  # perhaps a local optimum: the other one is where the discrepancy explains it all
            other, value = self._ascent(np.array([found[0], *larger[0][1:5], *EXPECTED[5:]]), steps)
            found = other if value < least else found
        return found

    def refined(self, start: Vector, steps: int) -> Vector:
        """Return the numbers of the largest likelihood that so many steps find from this start alone."""
        return self._ascent(self._inside(start), steps)[0]

    def _ascent(self, start: Vector, steps: int) -> tuple[Vector, float]:
        """Return the numbers where the ascent ends, and minus the log likelihood there.

        The units of the numbers are half way, in proportion, from one to what is known of each beforehand. With those
        a third fewer steps lead as far; with the latter more ascents would end in a local optimum.
        """
        known = SPREAD**-2.0
        known[0] += self.means.freedom / 2  # from the repeats
        unit = known**-0.25
        begin, there, reached = start / unit, self(start), [np.inf, np.inf]
        steep = max(1.0, float(np.linalg.norm(unit * there[1])) / FIRST)  # the first step is the gradient

        def scaled(x: Vector) -> tuple[float, Vector]:
            value, gradient = there if np.array_equal(x, begin) else self(unit * x)
            return value / steep, unit * gradient / steep

        def stop(intermediate_result: optimize.OptimizeResult) -> None:
            reached.append(steep * float(intermediate_result.fun))
            if reached[-2] - reached[-1] < GAIN and reached[-3] - reached[-2] < GAIN:
                raise StopIteration

        bounds = list(zip(*(limit / unit for limit in self._range()), strict=True))
        found = optimize.minimize(
            scaled, begin, jac=True, method="L-BFGS-B", bounds=bounds, callback=stop, options={"maxiter": steps}
        )
        return self._inside(unit * found.x), steep * float(found.fun)

    def _inside(self, numbers: Vector) -> Vector:
        return np.asarray(np.clip(numbers, *self._range()))

    def _range(self) -> tuple[Vector, Vector]:
        lowest, highest = LOWEST.copy(), HIGHEST.copy()
        # Where most was measured near the minimum, the noise of one measurement is many times the spread of the means.
        lowest[0], highest[0] = min(lowest[0], self.expected[0] - 4), max(highest[0], self.expected[0] + 4)
        return lowest, highest

    def covariance(self, numbers: Vector) -> Matrix:
        """Return the lower half of the covariance of the means, noise included; the other half means nothing."""
        return self._added(numbers, *self._kernels(numbers)[:3])

    def variances(self, numbers: Vector) -> Vector:
        """Return the prior variances of curves of single knobs, none on a ball."""
        if not self.curves.size:
            return np.zeros(0)
        size, even, decay = np.exp(numbers[6:]).tolist()
        return knob_variances(self.means.points.shape[1], decay, size, even)

    def _kernels(self, numbers: Vector) -> tuple[Matrix, Matrix, Vector, float]:
        """Return both kernels, without the growth, base and range; they are overwritten when others are asked for."""
        l2 = self.means.points.shape[1] * float(np.exp(2 * numbers[3]))
        near, mirrored, _ = self._room
        for square, kernel in ((self.square, near), (self.mirrored, mirrored)):
            np.exp(np.multiply(square, -0.5 / l2, out=kernel), out=kernel)
        return near, mirrored, 1 + self.away / l2, l2

    def _added(self, numbers: Vector, near: Matrix, mirrored: Matrix, base: Vector) -> Matrix:
        """Return the lower half of the covariance of the means; it, too, is overwritten by the next one."""
        plus, minus = _halves(numbers)
        a = base ** numbers[4]
        K: Matrix = np.multiply(mirrored, minus / plus, out=self._room[2])
        K += near
        K *= (plus * a)[:, None]
        K *= a
        K += self.quadratic
        noise = np.exp(numbers[0]) / self.means.counts + np.exp(2 * numbers[5]) * self.heights2 + JITTER
        K.flat[:: len(K) + 1] += noise
        if not self.curves.size:
            return K.T
        curves = self.curves * np.sqrt(self.variances(numbers))
        return np.asarray(linalg.blas.dsyrk(1.0, curves, beta=1.0, c=K.T, lower=1, overwrite_c=1))

    def value(self, numbers: Vector) -> float:
        """Return the value alone."""
        return self._solved(numbers, *self._kernels(numbers)[:3])[0]

    def __call__(self, numbers: Vector) -> tuple[float, Vector]:
        """Return the value and its gradient."""
        near, mirrored, base, l2 = self._kernels(numbers)
        value, root, alpha = self._solved(numbers, near, mirrored, base)
        if not np.isfinite(value):
            return value, np.zeros(len(numbers))
        means = self.means
        single = self._gradient_of_curves(numbers, root, alpha)
        upper = linalg.lapack.dpotri(root, lower=1, overwrite_c=1)[0].T  # half of K⁻¹; below its diagonal is nothing
        gradient = np.array([*self._gradient(numbers, upper, alpha, (near, mirrored), base, l2), *single])
        gradient[0] += (means.freedom - means.scatter * np.exp(-numbers[0])) / 2
        return value, gradient + (numbers - self.expected) / SPREAD**2

    def _solved(self, numbers: Vector, near: Matrix, mirrored: Matrix, base: Vector) -> tuple[float, Matrix, Vector]:
        """Return the value, infinite where rounding makes K indefinite, the Cholesky root of K, and α = K⁻¹y."""
        root, failed = linalg.lapack.dpotrf(self._added(numbers, near, mirrored, base), lower=1, overwrite_a=1)
        means, y = self.means, self.means.y
        if failed:
            return np.inf, root, y
        alpha = linalg.lapack.dpotrs(root, y, lower=1)[0]
        miss = (numbers - self.expected) / SPREAD
        spent = means.scatter * np.exp(-numbers[0])
        value = float(y @ alpha) / 2 + float(np.sum(np.log(np.diag(root)))) + float(miss @ miss) / 2
        return value + float(means.freedom * numbers[0] + spent) / 2, root, alpha

    def _gradient_of_curves(self, numbers: Vector, root: Matrix, alpha: Vector) -> Vector:
        """Return the gradient by both sizes and the decay: -½ Σ ∂w ψᵀMψ, a number for each curve."""
        if not self.curves.size:
            return np.zeros(3)
        w, degrees = self.variances(numbers), knob_degrees(self.means.points.shape[1])
        reach = linalg.blas.dtrsm(1.0, root, self.curves, lower=1)
        parts = w * ((alpha @ self.curves) ** 2 - np.einsum("ij,ij->j", reach, reach))
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
        kernels: tuple[Matrix, Matrix],
        base: Vector,
        l2: float,
    ) -> Vector:
        """Return the gradient of the likelihood of the means: -½ tr(M ∂K), M = ααᵀ - K⁻¹, ``upper`` half of K⁻¹.

        Kernels and K⁻¹ are overwritten: with new matrices in their place finding memory would take most of the time.
        """
        diagonal = alpha**2 - np.diag(upper)
        a = base ** numbers[4]
        upper *= a[:, None]
        upper *= a
        half = linalg.blas.dsyr(-1.0, a * alpha, lower=1, a=upper.T, overwrite_a=1).T  # of -M, with the growth
        half.flat[:: len(half) + 1] /= 2
        rows, stretched = [], []
        for kernel, square in zip(kernels, (self.square, self.mirrored), strict=True):
            kernel *= half
            rows.append(-np.sum(kernel, axis=0) - np.sum(kernel, axis=1))  # of M times the kernel, element by element
            stretched.append(-2 * float(np.vdot(kernel, square)))
        plus, minus = _halves(numbers)
        both = plus * rows[0] + minus * rows[1]
        along, across = float(rows[0].sum()), float(rows[1].sum())
        widened = plus * stretched[0] + minus * stretched[1]
        return np.array(
            [
                -np.exp(numbers[0]) * float(diagonal @ (1 / self.means.counts)) / 2,
                -np.exp(numbers[1]) * (along + across) / 4,
                -np.exp(numbers[2]) * (along - across) / 4,
                -widened / (2 * l2) + 2 * numbers[4] * float((self.away / l2 / base) @ both),
                -float(np.log(base) @ both),
                -np.exp(2 * numbers[5]) * float(diagonal @ self.heights2),
            ]
        )


def _halves(numbers: Vector) -> tuple[float, float]:
    """Return the sizes u and v of the kernel and of the mirrored one."""
    even, odd = np.exp(numbers[1:3]).tolist()
    return (even + odd) / 2, (even - odd) / 2
