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

import functools
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from paraboloid.core import Matrix, Vector
from paraboloid.numerics.profile import Profile
from paraboloid.numerics.quadratic_model import features, gradient_map, n_terms, vector_to_matrix
from paraboloid.numerics.single_knobs import knob_curves, knob_polynomials, knob_slopes, knob_sums

__all__ = ["FLAT", "JITTER", "Posterior", "SmoothFit", "made_positive", "squared_distances"]

FLAT = 1e3
FLOOR = 0.03  # of the largest eigenvalue: the least curvature that a design believes in
JITTER = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Points (m, d) with what the kernel needs of them: φ and ψ, and a."""

    points: Matrix
    basis: Matrix
    grown: Vector


@dataclass(frozen=True, slots=True, eq=False)
class SmoothFit:
    """The fitted function in unit coordinates; values are in units of their spread inside, and as measured outside.

    Made by `fit_smooth`. ``points`` were measured, ``basis`` and ``grown`` are φ with ψ, and a, at them; ``centre`` is
    where the discrepancy is smallest, ``minimiser`` the answer; the other fields are the symbols above.

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
    >>> there = fit.at(np.array([[0.0], [0.5]]))
    >>> there.value.shape, there.deviation.shape, there.covariance.shape
    ((2,), (2,), (2, 2))
    """

    points: Matrix
    basis: Matrix
    grown: Vector
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
        return self.shift + self.scale * (self.alpha @ self._kernel(self._data, self._places(z)))

    def kernel(self, x: Matrix, y: Matrix) -> Matrix:
        """Return Cov f(x), f(y) before any data, in units of the values' variance."""
        return self._kernel(self._places(x), self._places(y))

    @property
    def _data(self) -> _Places:
        return _Places(self.points, self.basis, self.grown)

    def _places(self, x: Matrix) -> _Places:
        return _Places(x, self._features(x), self._growth(x))

    def _kernel(self, x: _Places, y: _Places) -> Matrix:
        near = squared_distances(x.points, y.points)
        mirrored = squared_distances(x.points, 2 * self.centre - y.points)
        for kernel in (near, mirrored):  # in place: finding memory takes longer than the arithmetic
            kernel *= -0.5 / self.length2
            np.exp(kernel, out=kernel)
        near *= (self.even + self.odd) / 2
        mirrored *= (self.even - self.odd) / 2
        near += mirrored
        near *= x.grown[:, None]
        near *= y.grown
        near += (x.basis * self._variances) @ y.basis.T
        return near

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
        return self.at(x).covariance

    def deviation(self, x: Matrix) -> Vector:
        """Return the standard deviation of f at points (m, d), given the data."""
        return self.at(x).deviation

    @property
    def expected_regret(self) -> float:
        """What the fit says that its minimiser has to expect."""
        _, covariance = self.gradient_covariance(self.minimiser, self.minimiser[None, :])
        return self.scale * float(np.trace(np.linalg.solve(self.curvature(self.minimiser), covariance))) / 2

    def gradient_covariance(self, z: Vector, x: Matrix) -> tuple[Matrix, Matrix]:
        """Return Cov ∇f(z), f(x) given the data, (d, m), and Cov ∇f(z), (d, d), in units of the values' variance."""
        return self.at(x).gradient_covariance(z)

    def at(self, x: Matrix) -> "Posterior":
        """Return what is known of f at points (m, d)."""
        there = self._places(x)
        at_data = self._kernel(self._data, there)
        value = self.shift + self.scale * (self.alpha @ at_data)
        return Posterior(self, there, value, self._solved(at_data))

    def _solved(self, at_data: Matrix) -> Matrix:
        """Return root⁻¹ times the matrix, in its place: transposed it has the order in which BLAS takes it uncopied."""
        return np.asarray(linalg.blas.dtrsm(1.0, self.root, at_data.T, side=1, lower=1, trans_a=1, overwrite_b=1).T)

    def _gradient_kernel(self, z: Vector, x: _Places) -> Matrix:
        """Return Cov ∇f(z), f(x) before any data, (d, m)."""
        a, slope = self._growth_and_slope(z)
        found: Matrix = (self._gradient_map(z) * self._variances) @ x.basis.T
        mirrored = 2 * self.centre - x.points
        for place, size in ((x.points, (self.even + self.odd) / 2), (mirrored, (self.even - self.odd) / 2)):
            near = size * np.exp(-np.sum((place - z) ** 2, axis=1) / (2 * self.length2)) * x.grown
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
        value, gradient, hessian = self.derivatives_at(z[None, :])
        return float(value[0]), gradient[0], hessian[0]

    def derivatives_at(self, places: Matrix) -> tuple[Vector, Matrix, Matrix]:
        """Return values (m,), gradients (m, d) and Hessians (m, d, d) of the mean at the places (m, d)."""
        d, l2, g = self.centre.size, self.length2, self.growth
        one, away, mean = np.eye(d), places - self.centre, _mean(self)
        outer = away[:, :, None] * away[:, None, :]
        square = np.einsum("mi,mi->m", away, away) / l2
        base = 1 + square
        a, steep = base**g, 2 * g / l2 * base ** (g - 1)
        slope, bend = steep[:, None] * away, _times(steep, one) + _times(2 * (g - 1) / l2 * steep / base, outer)
        S0, pull, spread = mean.sums(away, square)
        S1 = pull - S0[:, None] * away / l2  # the sums of E(w - away)/l² and of its square, from those about the centre
        S2 = spread - _twice(pull, away) / l2 + _times(S0, outer / l2**2 - one / l2)
        H, b = mean.hessian, self.theta[1 : d + 1]
        bent = places @ H
        value = self.theta[0] + places @ b + np.einsum("mi,mi->m", bent, places) / 2 + a * S0
        gradient = b + bent + S0[:, None] * slope + a[:, None] * S1
        hessian = H + _times(S0, bend) + _twice(slope, S1) + _times(a, S2)
        if self.curves.size:
            single = knob_sums(places, self.centre, mean.polynomials)
            value, gradient = value + single[0], gradient + single[1]
            hessian[:, range(d), range(d)] += single[2]
        return value, gradient, hessian

    def expecting(self, points: Matrix) -> "SmoothFit":
        """Return the fit with the covariance that one measurement more at each of the points (m, d) will leave."""
        if len(points) == 0:
            return self
        across = self.at(points).reach
        corner = self.kernel(points, points) + np.diag(self.noise(points) + JITTER) - across.T @ across
        below = linalg.cholesky(corner, lower=True, check_finite=False)
        root = np.block([[self.root, np.zeros((len(self.points), len(points)))], [across.T, below]])
        alpha = np.concatenate([self.alpha, np.zeros(len(points))])  # values as expected tell nothing new of the mean
        basis, grown = np.vstack([self.basis, self._features(points)]), np.append(self.grown, self._growth(points))
        return replace(self, points=np.vstack([self.points, points]), basis=basis, grown=grown, root=root, alpha=alpha)

    def curvature(self, z: Vector) -> Matrix:
        """Return the Hessian at z made positive: absolute eigenvalues, none below a part of the largest."""
        return made_positive(self.derivatives(z)[2])


@dataclass(frozen=True, slots=True, eq=False)
class _Mean:
    """What the derivatives of the mean of a fit need at all places: a descent asks for them at hundreds of them."""

    w: Matrix
    fallen: Vector
    weight: Vector
    turned_weight: Vector
    squares: Matrix
    hessian: Matrix
    polynomials: Matrix

    def sums(self, away: Matrix, square: Vector) -> tuple[Vector, Matrix, Matrix]:
        """Return ΣE, ΣEw/l² and ΣEwwᵀ/l⁴ over the points and their mirror images, E = αka, w from the centre."""
        turned = away @ self.w.T
        fallen = self.fallen - square[:, None] / 2
        E = self.weight * np.exp(fallen + turned)
        mirrored = self.turned_weight * np.exp(fallen - turned)
        both = E + mirrored
        return both.sum(axis=1), (E - mirrored) @ self.w, (both @ self.squares).reshape(*away.shape, -1)


@functools.lru_cache(maxsize=1)
def _mean(fit: SmoothFit) -> _Mean:
    d, p, weight = fit.centre.size, n_terms(fit.centre.size), fit.grown * fit.alpha
    w = (fit.points - fit.centre) / fit.length2
    return _Mean(
        w,
        -fit.length2 / 2 * np.einsum("ni,ni->n", w, w),
        (fit.even + fit.odd) / 2 * weight,
        (fit.even - fit.odd) / 2 * weight,
        (w[:, :, None] * w[:, None, :]).reshape(len(w), -1),
        vector_to_matrix(fit.theta[d + 1 : p], d),
        knob_polynomials(fit.centre, fit.theta[p:]) if fit.curves.size else np.zeros(0),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Posterior:
    """What is known of a fitted function at places (m, d).

    Parameters
    ----------
    value
        The mean, (m,).
    reach
        What the data say, (N, m): they lower Cov f(x), f(y) by reach(x)·reach(y).

    Made by `SmoothFit.at`, where the example is.
    """

    fit: SmoothFit
    places: _Places
    value: Vector
    reach: Matrix

    @property
    def deviation(self) -> Vector:
        """The standard deviation, (m,)."""
        fit, x = self.fit, self.places
        mirrored = np.exp(-2 * np.sum((x.points - fit.centre) ** 2, axis=1) / fit.length2)
        both = (fit.even + fit.odd) / 2 + (fit.even - fit.odd) / 2 * mirrored
        before = x.basis**2 @ fit._variances + both * x.grown**2
        left = before - np.einsum("ij,ij->j", self.reach, self.reach)
        return np.asarray(fit.scale * np.sqrt(np.maximum(left, 0.0)))

    @property
    def covariance(self) -> Matrix:
        """The covariance, (m, m), in units of the values' variance."""
        found = self.fit._kernel(self.places, self.places)
        found -= self.reach.T @ self.reach
        return found

    def gradient_covariance(self, z: Vector) -> tuple[Matrix, Matrix]:
        """Return Cov ∇f(z), f(x), (d, m), and Cov ∇f(z), (d, d), in units of the values' variance."""
        fit = self.fit
        own = fit._solved(fit._gradient_kernel(z, fit._data).T)
        across = fit._gradient_kernel(z, self.places) - own.T @ self.reach
        return across, fit._gradient_prior(z) - own.T @ own


def made_positive(H: Matrix, floor: float = FLOOR) -> Matrix:
    """Return the matrix, or each of (m, d, d), with absolute eigenvalues, none below a small part of the largest.

    >>> import numpy as np
    >>> made_positive(np.diag([1.0, -2.0, 0.0])).diagonal().round(2)
    array([1.  , 2.  , 0.06])
    """
    eigenvalues, Q = np.linalg.eigh((H + H.swapaxes(-1, -2)) / 2)
    size = np.abs(eigenvalues)
    least = np.maximum(floor * size.max(axis=-1, keepdims=True), 1e-12)
    positive: Matrix = (Q * np.maximum(size, least)[..., None, :]) @ Q.swapaxes(-1, -2)
    return positive


def squared_distances(x: Matrix, y: Matrix) -> Matrix:
    """Return |x_i - y_j|² for points (m, d) and (n, d), shape (m, n).

    >>> import numpy as np
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0]]))
    array([[25.]])
    """
    square: Matrix = np.add.reduce(x * x, axis=1)[:, None] + np.add.reduce(y * y, axis=1)
    square -= 2 * x @ y.T
    return np.maximum(square, 0.0, out=square)


def _times(factors: Vector, matrices: Matrix) -> Matrix:
    """Return a matrix, or one of (m, d, d), times each of the factors (m,)."""
    return factors[:, None, None] * matrices


def _twice(x: Matrix, y: Matrix) -> Matrix:
    """Return x yᵀ + y xᵀ for each of the vectors (m, d)."""
    product = x[:, :, None] * y[:, None, :]
    return product + product.transpose(0, 2, 1)
