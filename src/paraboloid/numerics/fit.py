"""The fit: a full quadratic by penalised least squares on all evidence, defined from a handful of measurements on.

Minimise over (c, b, H), with rss the weighted residual sum of squares and x₀ = -H⁻¹b,

    rss/2σ² + (νd/2) log(tr H/d) - (ν/2) log det H + |x₀|²/2r².

The penalty on H is the divergence of a Wishart prior: free of scale, the same in all directions, keeps H > 0, and its
uncertainty of H_jk goes as λ_jλ_k/ν, so that small eigenvalues are not drowned by large ones. It is worth ν
measurements in each coefficient and fades as data come: with n → ∞ the fit is least squares.

==================  ======================  =====================================================
symbol              code                    meaning
==================  ======================  =====================================================
θ = (c, b, vech H)  ``theta``               coefficients, (p,)
M, v                ``M``, ``v``            Σ n φφᵀ and Σ n φ ȳ over distinct points
Σ                   ``covariance``          inverse curvature of the penalised objective, (p, p)
ν, r²               ``NU``, ``r2``          strength of the prior on H; spread of x₀ per knob
γ                   ``used``                effective number of coefficients, tr ΣM/σ²
==================  ======================  =====================================================
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from paraboloid.core import Counts, Evidence, Matrix, Shape, Vector
from paraboloid.numerics.positive import Factor, factored, positive_inverse
from paraboloid.numerics.quadratic_model import (
    features,
    gradient_map,
    identity,
    matrix_to_vector,
    trace_form,
    upper_triangle,
    vector_to_matrix,
)
from paraboloid.numerics.region import minimise_on_region

__all__ = ["QuadraticFit", "fit_quadratic", "prior_precision"]

NOISE_FLOOR = 1e-5  # one pseudo-measurement says that the noise variance is this part of the values' variance,
NOISE_SEEN = 4.0  # or this many times what residuals and repeats show, once they show something
NOISE_WEIGHT = 1.0  # how many measurements that is worth
LEFT_OVER = 2  # measurements beyond p, from which on residuals tell the noise
NOISES = 10.0 ** np.arange(-1.0, -8.1, -0.5)  # parts of the values' variance, of which one is chosen where none is told
DOUBT = 4.0  # how many measurements count as one: where each is needed, what it tells of the noise hangs on all others
LARGEST_R2 = 4.0
ONE_START = 4  # times p measurements: least squares is then near enough to be the only start
SINGULAR = 1e-7  # ratio of the Cholesky factor's diagonal, at which the inverse has lost all digits
NEWTON_STEPS = 40
NOISE_STEPS = 12
R2_STEPS = 3
ROUNDING = 1e-9  # of a leverage


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticFit:
    """The fitted quadratic in unit coordinates.

    Parameters
    ----------
    theta
        Coefficients (c, b, vech H), shape (p,).
    covariance
        Of ``theta``, prior included, for noise that is the same everywhere, shape (p, p).
    sigma2
        Noise variance of one measurement: estimated, or the typical one where standard errors are known.
    freedom
        Measurements minus the number of coefficients they had to determine.
    minimiser
        Of the model over the region, shape (d,).
    information
        What the measurements alone tell of ``theta``: the inverse covariance without the prior, shape (p, p).
    """

    theta: Vector
    covariance: Matrix
    sigma2: float
    freedom: float
    minimiser: Vector
    information: Matrix | None = None

    @property
    def linear(self) -> Vector:
        """The slope b at the centre."""
        return self.theta[1 : self.minimiser.size + 1]

    @property
    def hessian(self) -> Matrix:
        """The curvature H, positive definite."""
        return vector_to_matrix(self.theta[self.minimiser.size + 1 :], self.minimiser.size)

    def value(self, z: Vector) -> float:
        """Return the model's value at a point in unit coordinates."""
        return float(features(z[None, :])[0] @ self.theta)

    def expecting(self, points: Matrix, repeats: Counts | None = None) -> "QuadraticFit":
        """Return the fit with the covariance that one measurement more, or several, at each point (m, d) will leave."""
        if len(points) == 0:
            return self
        counts = np.ones(len(points)) if repeats is None else repeats.astype(np.float64)
        phi = features(points) * np.sqrt(counts / self.sigma2)[:, None]  # in units of the noise
        reach = phi @ self.covariance
        told = linalg.solve(np.eye(len(points)) + reach @ phi.T, reach, assume_a="pos")
        covariance = self.covariance - reach.T @ told
        information = None if self.information is None else self.information + phi.T @ phi
        return replace(self, covariance=(covariance + covariance.T) / 2, information=information)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Of weighted measurements: the sum of squared residuals is θᵀMθ - 2v·θ + yy."""

    M: Matrix
    v: Vector
    yy: float

    @classmethod
    def of(cls, phi: Matrix, y: Vector, weights: Vector, scatter: float) -> "_Moments":
        if not weights.any():
            p = phi.shape[1]
            return cls(np.zeros((p, p)), np.zeros(p), scatter)
        weighted = phi.T * weights
        return cls(weighted @ phi, weighted @ y, float(weights @ y**2) + scatter)

    def squares(self, theta: Vector) -> float:
        return float(theta @ (self.M @ theta - 2 * self.v)) + self.yy


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The data in standard units (mean 0, variance 1 of the values), and the strength of the prior.

    Measurements of unknown variance have weight 1/σ² each, those with a standard error 1/sem². Of σ², ``floor`` is what
    a pseudo-measurement says, and ``seen`` where the fit begins: from far too small a noise it takes twice as long.
    """

    unknown: _Moments
    known: _Moments
    n_unknown: int
    n: int
    d: int
    nu: float
    floor: float
    seen: float

    def objective(self, sigma2: float, r2: float) -> "_Objective":
        """Return what is minimised for this noise and this spread of x₀."""
        new, old = self.unknown, self.known
        data = _Moments(new.M / sigma2 + old.M, new.v / sigma2 + old.v, new.yy / sigma2 + old.yy)
        return _Objective(data, self.d, self.nu, r2)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """Coefficients, the objective there, and what its derivatives are made of."""

    theta: Vector
    value: float
    slope: Vector
    root: Matrix
    trace: float
    x0: Vector


@dataclass(frozen=True, slots=True, eq=False)
class _Objective:
    """The penalised sum of squares, every measurement weighed by its precision.

    A search evaluates it thousands of times: at few knobs the number of calls to NumPy is what counts.
    """

    data: _Moments
    d: int
    nu: float
    r2: float

    def at(self, theta: Vector) -> _Place | None:
        """Return the objective at θ; None so near to the edge of H > 0 that no step could follow."""
        d = self.d
        H = vector_to_matrix(theta[d + 1 :], d)
        root, failed = linalg.lapack.dpotrf(H, lower=1, clean=0)
        pivots = root.diagonal().tolist()
        if failed or not min(pivots) > SINGULAR * max(pivots):
            return None
        x0 = -linalg.lapack.dpotrs(root, theta[1 : d + 1], lower=1)[0]
        trace = float(np.add.reduce(H.diagonal()))
        prior = self.nu / 2 * (d * math.log(trace / d) - 2 * sum(map(math.log, pivots)))
        slope = self.data.M @ theta
        slope -= self.data.v
        squares = float(theta @ (slope - self.data.v)) + self.data.yy
        value = squares / 2 + prior + float(x0 @ x0) / (2 * self.r2)
        return _Place(theta, value, slope, root, trace, x0) if math.isfinite(value) else None

    def derivatives(self, place: _Place) -> tuple[Vector, Matrix]:
        """Return gradient and curvature (log tr majorised, Gauss-Newton for x₀)."""
        d, one = self.d, identity(self.d)
        C = linalg.lapack.dpotrs(place.root, one, lower=1)[0]
        C = (C + C.T) / 2
        gradient, curvature = place.slope.copy(), self.data.M.copy()
        gradient[d + 1 :] += self.nu / 2 * matrix_to_vector(d / place.trace * one - C)
        form = trace_form(C, C)
        form *= self.nu / 2
        curvature[d + 1 :, d + 1 :] += form
        if math.isfinite(self.r2):
            pull = C @ gradient_map(place.x0)
            gradient -= place.x0 @ pull / self.r2
            curvature += pull.T @ pull / self.r2
        return gradient, curvature


def fit_quadratic(evidence: Evidence, shape: Shape, near: QuadraticFit | None = None) -> QuadraticFit:
    """Return the quadratic that explains the evidence best, its covariance and its minimiser on the region.

    ``near`` is a fit of about the same evidence in the same coordinates: where data are many there is one minimum, and
    it is reached from there in fewer steps.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.array([[-1.0], [-0.5], [0.0], [0.5], [1.0]])
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(100 * (z - 0.3) ** 2))
    >>> fit_quadratic(evidence, Shape.BOX).minimiser.round(2)
    array([0.3])
    """
    measured = evidence.counts > 0
    counts, means = evidence.counts[measured], evidence.means[measured]
    precision, scatter = evidence.precision[measured], evidence.scatter[measured]
    n, d = int(counts.sum()), evidence.dimension
    shift = float(counts @ (means - means[0])) / n + float(means[0])
    total = float(counts @ (means - shift) ** 2 + scatter.sum())
    scale = float(np.sqrt(total / max(n - 1, 1))) if total > 0 else 1.0
    y = (means - shift) / scale
    phi = features(evidence.points[measured])
    is_known = precision > 0
    free = np.where(is_known, 0.0, counts)  # how many measurements of unknown variance
    unknown = _Moments.of(phi, y, free, float(scatter[~is_known].sum()) / (scale * scale))
    floor, seen = _noise_seen(unknown, phi, y, free, float(scatter[~is_known].sum()) / (scale * scale))
    problem = _Problem(
        unknown,
        _Moments.of(phi, y, precision * (scale * scale), 0.0),
        int(free.sum()),
        n,
        d,
        nu=_nu(d),
        floor=floor,
        seen=seen,
    )
    r0 = _first_r2(shape, d)
    begin = _begun(problem, near, shift, scale, r0) if n > ONE_START * phi.shape[1] else None
    if begin is not None:
        found = _settled(problem, begin, r0)
    elif 0 <= problem.n_unknown - phi.shape[1] < LEFT_OVER and not is_known.any():
        found = _most_foretelling(problem, phi, y, free, r0)
    else:
        found = _best_fit(problem, r0)
    sigma2 = found.sigma2 * (scale * scale) if problem.n_unknown else float(counts.sum() / precision.sum())
    theta = found.theta * scale
    theta[0] += shift
    return QuadraticFit(
        theta,
        found.covariance * (scale * scale),
        sigma2,
        max(n - found.used, 0.0),
        minimise_on_region(shape, vector_to_matrix(found.theta[d + 1 :], d), found.theta[1 : d + 1]),
        problem.objective(found.sigma2, found.r2).data.M / (scale * scale),
    )


def _begun(problem: _Problem, near: QuadraticFit | None, shift: float, scale: float, r0: float) -> Vector | None:
    """Return the coefficients of another fit in these units, None if rounding takes them over the edge of H > 0."""
    if near is None:
        return None
    begin = near.theta / scale
    begin[0] -= shift / scale
    return begin if problem.objective(problem.seen, r0).at(begin) is not None else None


def prior_precision(fit: QuadraticFit, shape: Shape) -> Matrix:
    """Return the part of the inverse covariance that comes from the prior and not from measurements, shape (p, p).

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.array([[-1.0], [0.0], [1.0]])
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.3) ** 2))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> bool(np.allclose(fit.information + prior_precision(fit, Shape.BOX), np.linalg.inv(fit.covariance), rtol=0.01))
    True
    """
    d = fit.minimiser.size
    C = positive_inverse(fit.hessian)
    x0 = -C @ fit.linear
    CG = C @ gradient_map(x0)
    precision: Matrix = CG.T @ CG / _spread_of(x0, _first_r2(shape, d))
    precision[d + 1 :, d + 1 :] += _nu(d) / 2 * trace_form(C, C)
    return precision


def _nu(d: int) -> float:
    return (d + 1) / 2


def _first_r2(shape: Shape, d: int) -> float:
    return 1 / (d + 2) if shape is Shape.BALL else 0.2


def _spread_of(x0: Vector, r0: float) -> float:
    """Return r² after a minimiser was seen: Student's prior, by reweighting."""
    return min(LARGEST_R2, (x0.size * r0 + float(x0 @ x0)) / (2 * x0.size))


def _noise_seen(unknown: _Moments, phi: Matrix, y: Vector, counts: Vector, scatter: float) -> tuple[float, float]:
    """Return what the pseudo-measurement says of the noise variance, and what least squares does, in standard units.

    Below p measurements the model fits them all and nothing is known of the noise: then it is the stated part of the
    values' variance. With values over many orders of magnitude that is far too much: what least squares leaves over
    takes its place as soon as at least two measurements are left over.
    """
    n, p = int(counts.sum()), phi.shape[1]
    if n < p + LEFT_OVER:
        return NOISE_FLOOR, NOISE_FLOOR
    theta, rank = _least_squares(unknown, phi, y, counts)
    left_over = float(counts @ (y - phi @ theta) ** 2 + scatter) / max(n - rank, 1)
    floor = max(min(NOISE_FLOOR, NOISE_SEEN * left_over), 1e-24)  # values without noise leave nothing over
    return floor, max(floor, left_over)


def _least_squares(unknown: _Moments, phi: Matrix, y: Vector, counts: Vector) -> tuple[Vector, int]:
    """Return the weighted least-squares coefficients and the rank of the problem."""
    p = phi.shape[1]
    if np.count_nonzero(counts) > ONE_START * p:  # the normal equations are ten times faster, and well determined then
        try:
            return factored(unknown.M).solve(unknown.v), p
        except linalg.LinAlgError:
            pass
    root = np.sqrt(counts)
    theta, _, rank, _ = np.linalg.lstsq(phi * root[:, None], y * root, rcond=None)
    return theta.astype(np.float64), int(rank)


def _starts(problem: _Problem) -> list[Vector]:
    """Return least squares with its negative curvature turned up and, while data are few, a bowl in the middle."""
    d, p = problem.d, problem.unknown.v.size
    M, v = problem.unknown.M + problem.known.M, problem.unknown.v + problem.known.v
    M.flat[:: p + 1] += 1e-6 * M.trace() / p
    least_squares = factored(M).solve(v)
    eigenvalues, Q = np.linalg.eigh(vector_to_matrix(least_squares[d + 1 :], d))
    floor = 1e-3 * max(float(np.abs(eigenvalues).max()), 1e-3)
    H = (Q * np.maximum(np.abs(eigenvalues), floor)) @ Q.T
    least_squares[d + 1 :] = H[upper_triangle(d)]
    if problem.n > ONE_START * p:
        return [least_squares]
    bowl = np.zeros(p)
    bowl[d + 1 :] = matrix_to_vector(identity(d))
    return [least_squares, bowl]


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Where one start has led, in standard units."""

    theta: Vector
    covariance: Matrix
    sigma2: float
    r2: float
    used: float


def _best_fit(problem: _Problem, r0: float) -> _Found:
    """Return the best of what all starts lead to."""
    starts = _starts(problem)
    if len(starts) == 1:  # data are many, and least squares is near
        return _settled(problem, starts[0], r0)
    return min((_fit_from(problem, start, r0) for start in starts), key=lambda one: _total(problem, one))


def _total(problem: _Problem, found: _Found) -> float:
    """Return the objective with what the noise adds to it: fits of different noise are compared by that."""
    sigma2 = found.sigma2
    place = problem.objective(sigma2, found.r2).at(found.theta)
    weight = problem.n_unknown + NOISE_WEIGHT
    noise = weight / 2 * math.log(sigma2) + NOISE_WEIGHT * problem.floor / (2 * sigma2)
    return np.inf if place is None else place.value + noise


def _most_foretelling(problem: _Problem, phi: Matrix, y: Vector, counts: Vector, r0: float) -> _Found:
    """Return the fit by whose noise every measurement is most likely, given all others.

    With as many measurements as coefficients least squares leaves nothing over, and depends on the noise most: taken
    for too small, noise bends the curvature; for too large, the prior does. What residuals say is then of no use, for
    with H > 0 they tell how badly the smallest noise fits; how well each measurement is foretold by the others does say
    it. Each fit begins where the last one, with more noise, has ended.
    """
    theta, best, least = _starts(problem)[-1], None, np.inf
    scatter = problem.unknown.yy - float(counts @ y**2)
    for sigma2 in NOISES:
        r2 = r0
        for _ in range(R2_STEPS):
            place, factor = _newton(problem.objective(sigma2, r2), theta)
            theta, r2 = place.theta, _spread_of(place.x0, r0)
        covariance = factor.inverse()
        leverage = counts * np.sum((phi @ covariance) * phi, axis=1) / sigma2
        own = np.maximum(1 - leverage, ROUNDING)
        squares = float(counts @ ((y - phi @ theta) ** 2 / own)) + scatter
        unlikely = squares / sigma2 + problem.n * math.log(sigma2) - float(np.log(own).sum())
        unlikely = unlikely / DOUBT + math.log10(sigma2 / NOISE_FLOOR) ** 2  # expected within ten times
        if unlikely < least:
            least, best = unlikely, _Found(theta, covariance, sigma2, r2, float(leverage.sum()))
    assert best is not None
    return best


def _fit_from(problem: _Problem, theta: Vector, r0: float) -> _Found:
    """Return what one start leads to, which may be far from the minimum."""
    return _settled(problem, _newton(problem.objective(problem.seen, np.inf), theta)[0].theta, r0)


def _settled(problem: _Problem, theta: Vector, r0: float) -> _Found:
    """Return what a start near the minimum leads to: Newton for θ, in turn with the noise and the spread of x₀."""
    sigma2, r2 = problem.seen, r0
    for step in range(NOISE_STEPS):
        place, factor = _newton(problem.objective(sigma2, r2), theta)
        theta, covariance = place.theta, factor.inverse()
        used = float(np.vdot(covariance, problem.unknown.M))
        following = _noise_variance(problem, theta, used / sigma2)
        # Heavy-tailed prior of x₀ (Student by reweighting): a minimum far outside is not pulled in.
        r2 = _spread_of(place.x0, r0)
        settled = abs(math.log(following / sigma2)) < 0.02
        sigma2 = following
        if settled and step > 0:
            break
    return _Found(theta, covariance, sigma2, r2, used / sigma2 + float(np.vdot(covariance, problem.known.M)))


def _noise_variance(problem: _Problem, theta: Vector, used: float) -> float:
    """Return σ² from the residuals of measurements whose variance is unknown; the floor keeps it above zero."""
    rss = max(problem.unknown.squares(theta), 0.0)
    return (rss + NOISE_WEIGHT * problem.floor) / max(problem.n_unknown - used + NOISE_WEIGHT, 0.5)


def _newton(objective: _Objective, theta: Vector) -> tuple[_Place, Factor]:
    """Return the minimiser, by Newton steps that keep H > 0, and the factor of the curvature there."""
    place = objective.at(theta)
    assert place is not None  # starts have eigenvalues well above zero, and so has what was reached before
    for _ in range(NEWTON_STEPS):
        gradient, curvature = objective.derivatives(place)
        factor = factored(curvature)
        step = -factor.solve(gradient)
        decrease = -float(gradient @ step)
        moved = None if decrease < 1e-6 else _lower(objective, place, step, decrease)
        if moved is None:
            return place, factor
        place = moved
    return place, factored(objective.derivatives(place)[1])


def _lower(objective: _Objective, place: _Place, step: Vector, decrease: float) -> _Place | None:
    """Return a place along the step that is lower by a part of what was expected, or None."""
    length = 1.0
    while length > 1e-8:
        moved = objective.at(place.theta + length * step)
        if moved is not None and moved.value <= place.value - 0.1 * length * decrease:
            return moved
        length /= 3 if moved is None else 2
    return None
