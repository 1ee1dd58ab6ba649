"""A quadratic and a smooth discrepancy, in function space: what is fitted once the response is surely not quadratic.

    f = q + δ + η,   Cov q(x), q(y) = Λ φ(x)·φ(y),   Cov δ(x), δ(y) = a(x) a(y) [u k(x, y) + v k(x, 2c - y)],
    k(x, y) = exp(-|x - y|²/2l²),   a(x) = (1 + |x - c|²/l²)^g,   Cov η(x), η(y) = Σ w ψ(x) ψ(y).

The quadratic is trusted near c, less far away, as the remainder of a Taylor series is. δ has a part that is even about
c and one that is odd, of sizes u + v and u - v: only the odd one moves the minimiser; where the function is symmetric
the data say that there is none. η is a sum of curves of single knobs (`numerics.single_knobs`), on a box only.

The mean of n_i values at a point has the variance σ²v_i/n_i + κ²h_i², h_i its height above the least value: far up the
model need only be right to a fraction κ, so that values of many orders of magnitude do not dictate what happens at the
bottom. The noise differs over the domain by v, where the data surely show it (`numerics.profile`); else v = 1. What is
fitted is in `numerics.smooth_likelihood`, how in `numerics.smooth_fit`.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
Λ                   ``FLAT``                prior variance of the coefficients, in units of the values' variance
u + v, u - v        ``even``, ``odd``       sizes of the even and the odd part
l², g               ``length2``, ``growth`` range and growth of the discrepancy
w                   ``curves``              variances of the coefficients of curves of single knobs; none on a ball
κ, h                ``relative``            relative error far up, heights
σ², v               ``sigma2``, ``profile`` variance of one measurement, and how it differs; None: v = 1 everywhere
α                   ``alpha``               K⁻¹y: the mean of f at z is k(z)·α
==================  ======================  =========================================================
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Vector
from paraboloid.numerics.profile import Profile
from paraboloid.numerics.quadratic_model import features, gradient_map, n_terms, vector_to_matrix
from paraboloid.numerics.single_knobs import knob_curves, knob_slopes, knob_sums

__all__ = ["FLAT", "JITTER", "SmoothFit", "made_positive", "squared_distances"]

FLAT = 1e3
FLOOR = 0.03  # of the largest eigenvalue: the least curvature that a design believes in
JITTER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SmoothFit:
    """The fitted function in unit coordinates; values are in units of their spread inside, and as measured outside.

    Made by `fit_smooth`. ``points`` were measured, ``centre`` is where the discrepancy is smallest, ``minimiser`` the
    answer; the other fields are the symbols above.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements, Shape
    >>> from paraboloid.numerics import fit_smooth
    >>> z = np.linspace(-1, 1, 21)[:, None]
    >>> y = np.exp(3 * z) - 3 * z + 0.01 * np.random.default_rng(0).standard_normal((21, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_smooth(evidence, Shape.BOX, np.array([-0.4]))
    >>> bool(fit.value(np.zeros((1, 1)))[0] - 1 < 3 * fit.deviation(np.zeros((1, 1)))[0])
    True
    """

    points: Matrix
    centre: Vector
    minimiser: Vector
    length2: float
    growth: float
    even: float
    odd: float
    curves: Vector
    relative: float
    sigma2: float
    alpha: Vector
    theta: Vector
    root: Matrix
    shift: float
    scale: float
    profile: Profile | None = None

    def noise(self, z: Matrix) -> Vector:
        """Return the variance of one measurement at points (m, d), in units of the values' variance."""
        return np.full(len(z), self.sigma2) if self.profile is None else self.sigma2 * self.profile(z)

    def value(self, z: Matrix) -> Vector:
        """Return the mean of f at points (m, d)."""
        return self.shift + self.scale * (self.kernel(z, self.points) @ self.alpha)

    def kernel(self, x: Matrix, y: Matrix) -> Matrix:
        """Return Cov f(x), f(y) before any data, in units of the values' variance."""
        a, b = self._growth(x), self._growth(y)
        near = np.exp(-squared_distances(x, y) / (2 * self.length2))
        mirrored = np.exp(-squared_distances(x, 2 * self.centre - y) / (2 * self.length2))
        both = (self.even + self.odd) / 2 * near + (self.even - self.odd) / 2 * mirrored
        return np.asarray((self._features(x) * self._variances) @ self._features(y).T + a[:, None] * both * b)

    def _features(self, x: Matrix) -> Matrix:
        """Return φ and ψ at points (m, d)."""
        return np.hstack([features(x), knob_curves(x, self.centre)]) if self.curves.size else features(x)

    @property
    def _variances(self) -> Vector:
        return np.concatenate([np.full(n_terms(self.centre.size), FLAT), self.curves])

    def _gradient_map(self, z: Vector) -> Matrix:
        """Return the derivatives of φ and ψ at z, a row for each knob."""
        return np.hstack([gradient_map(z), knob_slopes(z, self.centre)]) if self.curves.size else gradient_map(z)

    def _growth(self, x: Matrix) -> Vector:
        grown: Vector = (1 + np.sum((x - self.centre) ** 2, axis=1) / self.length2) ** self.growth
        return grown

    def covariance(self, x: Matrix) -> Matrix:
        """Return the covariance of f at points (m, d), given the data, in units of the values' variance."""
        reach = linalg.solve_triangular(self.root, self.kernel(self.points, x), lower=True, check_finite=False)
        return self.kernel(x, x) - reach.T @ reach

    def deviation(self, x: Matrix) -> Vector:
        """Return the standard deviation of f at points (m, d), given the data."""
        reach = linalg.solve_triangular(self.root, self.kernel(self.points, x), lower=True, check_finite=False)
        mirrored = np.exp(-2 * np.sum((x - self.centre) ** 2, axis=1) / self.length2)
        both = (self.even + self.odd) / 2 + (self.even - self.odd) / 2 * mirrored
        before = self._features(x) ** 2 @ self._variances + both * self._growth(x) ** 2
        return np.asarray(self.scale * np.sqrt(np.maximum(before - np.sum(reach**2, axis=0), 0.0)))

    def gradient_covariance(self, z: Vector, x: Matrix) -> tuple[Matrix, Matrix]:
        """Return Cov ∇f(z), f(x) given the data, (d, m), and Cov ∇f(z), (d, d), in units of the values' variance."""
        at_data = self._gradient_kernel(z, self.points)
        reach = linalg.solve_triangular(self.root, at_data.T, lower=True, check_finite=False)
        across = linalg.solve_triangular(self.root, self.kernel(self.points, x), lower=True, check_finite=False)
        return self._gradient_kernel(z, x) - reach.T @ across, self._gradient_prior(z) - reach.T @ reach

    def _gradient_kernel(self, z: Vector, x: Matrix) -> Matrix:
        """Return Cov ∇f(z), f(x) before any data, (d, m)."""
        a, slope = self._growth_and_slope(z)
        found: Matrix = (self._gradient_map(z) * self._variances) @ self._features(x).T
        for place, size in ((x, (self.even + self.odd) / 2), (2 * self.centre - x, (self.even - self.odd) / 2)):
            near = size * np.exp(-np.sum((place - z) ** 2, axis=1) / (2 * self.length2)) * self._growth(x)
            found = found + slope[:, None] * near + a * ((place - z) / self.length2 * near[:, None]).T
        return found

    def _gradient_prior(self, z: Vector) -> Matrix:
        """Return Cov ∇f(z) before any data, (d, d): the derivative of the kernel by both its arguments."""
        a, slope = self._growth_and_slope(z)
        G, l2 = self._gradient_map(z), self.length2
        u = 2 * (self.centre - z)  # from z to its mirror image
        plus, minus = (self.even + self.odd) / 2, (self.even - self.odd) / 2
        minus *= float(np.exp(-float(u @ u) / (2 * l2)))
        straight = np.outer(slope, slope) + a**2 / l2 * np.eye(z.size)
        across = np.outer(slope, u) * a / l2
        turned = np.outer(slope, slope) + across + across.T - a**2 / l2 * (np.eye(z.size) - np.outer(u, u) / l2)
        prior: Matrix = (G * self._variances) @ G.T + plus * straight + minus * turned
        return prior

    def _growth_and_slope(self, z: Vector) -> tuple[float, Vector]:
        away = z - self.centre
        base = 1 + float(away @ away) / self.length2
        return base**self.growth, 2 * self.growth / self.length2 * base ** (self.growth - 1) * away

    def derivatives(self, z: Vector) -> tuple[float, Vector, Matrix]:
        """Return value, gradient and Hessian of the mean at z, in units of the values' spread."""
        d, l2, g = z.size, self.length2, self.growth
        away = z - self.centre
        base = 1 + float(away @ away) / l2
        a, slope = self._growth_and_slope(z)
        bend = 2 * g / l2 * base ** (g - 1) * np.eye(d) + 4 * g * (g - 1) / l2**2 * base ** (g - 2) * np.outer(
            away, away
        )
        u = np.vstack([self.points, 2 * self.centre - self.points]) - z
        grown = self._growth(self.points) * self.alpha
        E = np.concatenate([(self.even + self.odd) / 2 * grown, (self.even - self.odd) / 2 * grown])
        E = E * np.exp(-np.sum(u**2, axis=1) / (2 * l2))
        S0, S1 = float(E.sum()), E @ u / l2
        S2 = (u.T * E) @ u / l2**2 - S0 / l2 * np.eye(d)
        p = n_terms(d)
        H, b = vector_to_matrix(self.theta[d + 1 : p], d), self.theta[1 : d + 1]
        value = float(self.theta[0] + b @ z + z @ H @ z / 2) + a * S0
        gradient = b + H @ z + S0 * slope + a * S1
        hessian = H + S0 * bend + np.outer(slope, S1) + np.outer(S1, slope) + a * S2
        if not self.curves.size:
            return value, gradient, hessian
        single = knob_sums(z, self.centre, self.theta[p:])
        return value + single[0], gradient + single[1], hessian + np.diag(single[2])

    def expecting(self, points: Matrix) -> "SmoothFit":
        """Return the fit with the covariance that one measurement more at each of the points (m, d) will leave."""
        if len(points) == 0:
            return self
        across = linalg.solve_triangular(self.root, self.kernel(self.points, points), lower=True, check_finite=False)
        corner = self.kernel(points, points) + np.diag(self.noise(points) + JITTER) - across.T @ across
        below = linalg.cholesky(corner, lower=True, check_finite=False)
        root = np.block([[self.root, np.zeros((len(self.points), len(points)))], [across.T, below]])
        alpha = np.concatenate([self.alpha, np.zeros(len(points))])  # values as expected tell nothing new of the mean
        return replace(self, points=np.vstack([self.points, points]), root=root, alpha=alpha)

    def curvature(self, z: Vector) -> Matrix:
        """Return the Hessian at z made positive: absolute eigenvalues, none below a part of the largest."""
        return made_positive(self.derivatives(z)[2])


def made_positive(H: Matrix) -> Matrix:
    """Return the matrix with absolute eigenvalues, none below a small part of the largest.

    >>> import numpy as np
    >>> made_positive(np.diag([1.0, -2.0, 0.0])).diagonal().round(2)
    array([1.  , 2.  , 0.06])
    """
    eigenvalues, Q = np.linalg.eigh((H + H.T) / 2)
    size = np.abs(eigenvalues)
    positive: Matrix = (Q * np.maximum(size, max(FLOOR * float(size.max()), 1e-12))) @ Q.T
    return positive


def squared_distances(x: Matrix, y: Matrix) -> Matrix:
    """Return |x_i - y_j|² for points (m, d) and (n, d), shape (m, n).

    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[25.]])
    """
    square: Matrix = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)
    square -= 2 * x @ y.T
    return np.maximum(square, 0.0, out=square)
