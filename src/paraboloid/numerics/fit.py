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

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.numerics.quadratic_model import (
    features,
    gradient_map,
    matrix_to_vector,
    trace_form,
    upper_triangle,
    vector_to_matrix,
)
from paraboloid.numerics.region import minimise_on_region

__all__ = ["QuadraticFit", "fit_quadratic", "positive_inverse", "prior_precision"]

NOISE_FLOOR = 1e-5  # one pseudo-measurement says that the noise variance is this part of the values' variance,
COMPLETE_FLOOR = 1e-6  # or this part, as soon as there are p measurements,
NOISE_SEEN = 4.0  # or this many times what residuals and repeats show, once they show something
NOISE_WEIGHT = 1.0  # how many measurements that is worth
LARGEST_R2 = 4.0
ONE_START = 4  # times p measurements: least squares is then near enough to be the only start
SINGULAR = 1e-7  # ratio of the Cholesky factor's diagonal, at which the inverse has lost all digits
NEWTON_STEPS = 40
NOISE_STEPS = 12


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

    def expecting(self, points: Matrix) -> "QuadraticFit":
        """Return the fit with the covariance that one measurement more at each of the points (m, d) will leave."""
        if len(points) == 0:
            return self
        phi = features(points)
        reach = phi @ self.covariance
        covariance = self.covariance - reach.T @ linalg.solve(
            self.sigma2 * np.eye(len(points)) + reach @ phi.T, reach, assume_a="pos"
        )
        information = None if self.information is None else self.information + phi.T @ phi / self.sigma2
        return replace(self, covariance=(covariance + covariance.T) / 2, information=information)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """The data in standard units (mean 0, variance 1 of the values), and the strength of the prior.

    Measurements of unknown variance have weight 1/σ² each, those with a standard error 1/sem².
    """

    unknown: tuple[Matrix, Vector, float]
    known: tuple[Matrix, Vector, float]
    n_unknown: int
    n: int
    d: int
    nu: float
    floor: float

    def weighed(self, sigma2: float) -> tuple[Matrix, Vector, float]:
        """Return (M, v, yy) with every measurement weighed by its precision: rss is θᵀMθ - 2v·θ + yy."""
        (M, v, yy), (M_known, v_known, yy_known) = self.unknown, self.known
        return M / sigma2 + M_known, v / sigma2 + v_known, yy / sigma2 + yy_known


def fit_quadratic(evidence: Evidence, shape: Shape) -> QuadraticFit:
    """Return the quadratic that explains the evidence best, its covariance and its minimiser on the region.

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
    problem = _Problem(
        _moments(phi, y, np.where(is_known, 0, counts), float(scatter[~is_known].sum()) / scale**2),
        _moments(phi, y, precision * scale**2, 0.0),
        int(counts[~is_known].sum()),
        n,
        d,
        nu=_nu(d),
        floor=_noise_floor(
            phi[~is_known], y[~is_known], counts[~is_known].astype(np.float64), scatter[~is_known] / scale**2
        ),
    )
    r0 = _first_r2(shape, d)
    found = min((_fit_from(problem, start, r0) for start in _starts(problem)), key=lambda fit: fit.objective)
    sigma2 = found.sigma2 * scale**2 if problem.n_unknown else float(counts.sum() / precision.sum())
    theta = found.theta * scale
    theta[0] += shift
    return QuadraticFit(
        theta,
        found.covariance * scale**2,
        sigma2,
        max(n - found.used, 0.0),
        minimise_on_region(shape, vector_to_matrix(found.theta[d + 1 :], d), found.theta[1 : d + 1]),
        problem.weighed(found.sigma2)[0] / scale**2,
    )


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
    precision = CG.T @ CG / _spread_of(x0, _first_r2(shape, d))
    precision[d + 1 :, d + 1 :] += _nu(d) / 2 * trace_form(C, C)
    return precision


def _nu(d: int) -> float:
    return (d + 1) / 2


def _first_r2(shape: Shape, d: int) -> float:
    return 1 / (d + 2) if shape is Shape.BALL else 0.2


def _spread_of(x0: Vector, r0: float) -> float:
    """Return r² after a minimiser was seen: Student's prior, by reweighting."""
    return min(LARGEST_R2, (x0.size * r0 + float(x0 @ x0)) / (2 * x0.size))


def _noise_floor(phi: Matrix, y: Vector, counts: Vector, scatter: Vector) -> float:
    """Return what the pseudo-measurement says of the noise variance, in standard units.

    Below p measurements the model fits them all and nothing is known of the noise: then it is the stated part of the
    values' variance. With p of them least squares tells all coefficients, so that to take the noise for too small costs
    little, while the prior bends the answer where it is taken for too large. With values over many orders of magnitude
    both are far too much: what least squares leaves over takes their place as soon as at least two measurements are
    left over.
    """
    n, p = int(counts.sum()), phi.shape[1]
    if n < p + 2:
        return NOISE_FLOOR if n < p else COMPLETE_FLOOR
    theta, rank = _least_squares(phi, y, counts)
    left_over = float(counts @ (y - phi @ theta) ** 2 + scatter.sum()) / max(n - rank, 1)
    return max(min(NOISE_FLOOR, NOISE_SEEN * left_over), 1e-24)  # values without noise leave nothing over


def _least_squares(phi: Matrix, y: Vector, counts: Vector) -> tuple[Vector, int]:
    """Return the weighted least-squares coefficients and the rank of the problem."""
    p = phi.shape[1]
    if len(phi) > ONE_START * p:  # the normal equations are ten times faster, and well determined by then
        try:
            return _solve((phi.T * counts) @ phi, phi.T @ (counts * y)), p
        except linalg.LinAlgError:
            pass
    root = np.sqrt(counts)
    theta, _, rank, _ = np.linalg.lstsq(phi * root[:, None], y * root, rcond=None)
    return theta.astype(np.float64), int(rank)


def _moments(phi: Matrix, y: Vector, weights: Vector, scatter: float) -> tuple[Matrix, Vector, float]:
    weighted = phi.T * weights
    return weighted @ phi, weighted @ y, float(weights @ y**2) + scatter


def _starts(problem: _Problem) -> list[Vector]:
    """Return least squares with its negative curvature turned up and, while data are few, a bowl in the middle."""
    d, p = problem.d, problem.unknown[1].size
    bowl = np.zeros(p)
    bowl[d + 1 :] = np.eye(d)[upper_triangle(d)]
    M, v, _ = problem.weighed(1.0)
    ridge = 1e-6 * np.trace(M) / p
    least_squares = _solve(M + ridge * np.eye(p), v)
    eigenvalues, Q = np.linalg.eigh(vector_to_matrix(least_squares[d + 1 :], d))
    floor = 1e-3 * max(float(np.abs(eigenvalues).max()), 1e-3)
    H = (Q * np.maximum(np.abs(eigenvalues), floor)) @ Q.T
    least_squares[d + 1 :] = H[upper_triangle(d)]
    return [least_squares] if problem.n > ONE_START * p else [least_squares, bowl]


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Where one start has led, in standard units."""

    objective: float
    theta: Vector
    covariance: Matrix
    sigma2: float
    used: float


def _fit_from(problem: _Problem, theta: Vector, r0: float) -> _Found:
    """Return what one start leads to: Newton for θ, in turn with the noise and the spread of x₀."""
    sigma2, r2 = problem.floor, r0
    theta = _newton(problem, theta, sigma2, np.inf)
    for step in range(NOISE_STEPS):
        theta = _newton(problem, theta, sigma2, r2)
        _, curvature, x0 = _derivatives(problem, theta, sigma2, r2)
        covariance = positive_inverse(curvature)
        following = _noise_variance(problem, theta, covariance, sigma2)
        # Heavy-tailed prior of x₀ (Student by reweighting): a minimum far outside is not pulled in.
        r2 = _spread_of(x0, r0)
        settled = abs(np.log(following / sigma2)) < 0.02
        sigma2 = following
        if settled and step > 0:
            break
    weight = problem.n_unknown + NOISE_WEIGHT
    noise = weight / 2 * float(np.log(sigma2)) + NOISE_WEIGHT * problem.floor / (2 * sigma2)
    used = float(np.sum(covariance * problem.weighed(sigma2)[0]))
    return _Found(_objective(problem, theta, sigma2, r2) + noise, theta, covariance, sigma2, used)


def _noise_variance(problem: _Problem, theta: Vector, covariance: Matrix, sigma2: float) -> float:
    """Return σ² from the residuals of measurements whose variance is unknown; the floor keeps it above zero."""
    M, v, yy = problem.unknown
    rss = max(float(theta @ M @ theta - 2 * v @ theta + yy), 0.0)
    used = float(np.sum(covariance * M)) / sigma2
    return (rss + NOISE_WEIGHT * problem.floor) / max(problem.n_unknown - used + NOISE_WEIGHT, 0.5)


def _objective(problem: _Problem, theta: Vector, sigma2: float, r2: float) -> float:
    d = problem.d
    H = vector_to_matrix(theta[d + 1 :], d)
    try:
        root = np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        return np.inf
    if float(root.diagonal().min()) <= SINGULAR * float(root.diagonal().max()):
        return np.inf  # a step that ends so near to the edge of H > 0 cannot be followed by another
    x0 = -linalg.lapack.dpotrs(root, theta[1 : d + 1], lower=1)[0]
    log_det = 2 * float(np.sum(np.log(np.diag(root))))
    prior = problem.nu / 2 * (d * np.log(np.trace(H) / d) - log_det)
    M, v, yy = problem.weighed(sigma2)
    return float((theta @ M @ theta - 2 * v @ theta + yy) / 2 + prior + x0 @ x0 / (2 * r2))


def _derivatives(problem: _Problem, theta: Vector, sigma2: float, r2: float) -> tuple[Vector, Matrix, Vector]:
    """Return gradient, curvature (log tr majorised, Gauss-Newton for x₀) and x₀."""
    d = problem.d
    H = vector_to_matrix(theta[d + 1 :], d)
    try:
        C = np.linalg.inv(H)
    except np.linalg.LinAlgError:  # positive by less than rounding
        C = positive_inverse(H)
    C = (C + C.T) / 2
    x0 = -C @ theta[1 : d + 1]
    M, v, _ = problem.weighed(sigma2)
    gradient = M @ theta - v
    gradient[d + 1 :] += problem.nu / 2 * matrix_to_vector(d / np.trace(H) * np.eye(d) - C)
    curvature = M
    curvature[d + 1 :, d + 1 :] += problem.nu / 2 * trace_form(C, C)
    if np.isfinite(r2):
        CG = C @ gradient_map(x0)
        gradient -= CG.T @ x0 / r2
        curvature = curvature + CG.T @ CG / r2
    return gradient, curvature, x0


def _newton(problem: _Problem, theta: Vector, sigma2: float, r2: float) -> Vector:
    """Return the minimiser of the objective for this noise, by Newton steps that keep H > 0."""
    value = _objective(problem, theta, sigma2, r2)
    for _ in range(NEWTON_STEPS):
        gradient, curvature, _ = _derivatives(problem, theta, sigma2, r2)
        step = -_solve(curvature, gradient)
        decrease = -float(gradient @ step)
        if decrease < 1e-6:
            break
        length = 1.0
        while length > 1e-8:
            moved = theta + length * step
            reached = _objective(problem, moved, sigma2, r2)
            if np.isfinite(reached) and reached <= value - 0.1 * length * decrease:
                break
            length /= 3 if not np.isfinite(reached) else 2
        else:
            break
        theta, value = moved, reached
    return theta


def _scaled_factor(curvature: Matrix) -> tuple[Matrix, Vector]:
    """Return the lower Cholesky factor of the curvature scaled to unit diagonal: its entries span many orders.

    By LAPACK itself: a search factors thousands of small matrices, and SciPy's checks would take longer than the work.
    """
    scale = 1 / np.sqrt(np.maximum(curvature.diagonal(), 1e-300))  # zero where nothing was measured yet
    scaled = scale[:, None] * curvature * scale
    scaled.flat[:: len(scaled) + 1] += 1e-12
    factor, failed = linalg.lapack.dpotrf(scaled.T, lower=1, overwrite_a=1)
    if failed:
        raise linalg.LinAlgError("the curvature is not positive definite")
    return factor, scale


def _solve(curvature: Matrix, gradient: Vector) -> Vector:
    factor, scale = _scaled_factor(curvature)
    solution: Vector = scale * linalg.lapack.dpotrs(factor, scale * gradient, lower=1)[0]
    return solution


def positive_inverse(curvature: Matrix) -> Matrix:
    """Return the inverse of a positive definite matrix whose diagonal may span many orders of magnitude.

    >>> import numpy as np
    >>> positive_inverse(np.diag([1e-30, 1.0])).diagonal().round(3)
    array([1.e+30, 1.e+00])
    """
    factor, scale = _scaled_factor(curvature)
    inverse: Matrix = scale[:, None] * linalg.lapack.dpotrs(factor, np.diag(scale), lower=1)[0]
    return (inverse + inverse.T) / 2
