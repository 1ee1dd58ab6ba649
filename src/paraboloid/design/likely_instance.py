"""The instance as it probably is: the fitted one, less what noise has done to its curvatures.

The eigenvalues of a matrix that is known with noise lie farther apart than those of the truth, for noise repels them:
with twenty knobs and 3p measurements a round bowl seems to be curved three to five times as much one way as another. A
design for the fitted Hessian would serve these differences. Given the fitted eigenvectors, the best eigenvalues are

    ξ_i = λ_i - 2 Σ_j s_ij² (λ_i - λ_j) / ((λ_i - λ_j)² + s_ij²),

s_ij² the variance of v_iᵀĤv_j: for noise that is the same in all entries this is the estimator of Bun, Allez, Bouchaud
and Potters (Rotational invariant estimator for general noisy matrices, IEEE Trans. Inform. Theory 62, 2016), with poles
smoothed over s_ij; eigenvalues that are far apart beside the noise stay what they are. Their order is restored by
isotonic regression, as Stein did for covariances. The slope follows by its regression on the curvature.

Designs are made for this instance, and its minimiser is the place that is recommended: on round bowls it is nearer to
the true one. How sure that place is, is judged by the data alone: bound and intervals count all that least squares do
not know.
"""

from dataclasses import replace

import numpy as np
from scipy import optimize

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.numerics import QuadraticFit, minimise_on_region, n_terms
from paraboloid.numerics.positive import solve_positive
from paraboloid.numerics.quadratic_model import upper_triangle

__all__ = ["believed", "likely_instance", "recommended"]

TOLD = 2  # times p measurements: with fewer, the prior and not noise has spread the fitted curvatures


def believed(fit: QuadraticFit, evidence: Evidence, shape: Shape) -> QuadraticFit:
    """Return the likely instance, or the fit itself where so little was measured that its curvatures are the prior's.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> believed(fit, evidence, Shape.BOX) is fit  # a single knob has no curvatures to be spread
    True
    """
    is_told = evidence.n_measurements >= TOLD * n_terms(evidence.dimension)
    return likely_instance(fit, shape) if is_told else fit


def recommended(fit: QuadraticFit, evidence: Evidence, shape: Shape) -> QuadraticFit:
    """Return the fit with the place to recommend in place of its minimiser; all else is what the data say.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> recommended(fit_quadratic(evidence, Shape.BOX), evidence, Shape.BOX).minimiser.round(3)
    array([0.5])
    """
    return replace(fit, minimiser=believed(fit, evidence, shape).minimiser)


def likely_instance(fit: QuadraticFit, shape: Shape) -> QuadraticFit:
    """Return the fit with curvatures as far apart as they probably are, and the slope and minimiser that go with them.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic, random_points
    >>> rng = np.random.default_rng(0)
    >>> z = random_points(Shape.BALL, 80, 5, rng) * rng.uniform(0, 1, (80, 1))
    >>> y = 5 * np.sum(z**2, axis=1, keepdims=True) + rng.standard_normal((80, 1))  # a round bowl, its curvature is 10
    >>> evidence = Evidence.empty(5).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BALL)
    >>> likely = likely_instance(fit, Shape.BALL)
    >>> bool(np.linalg.cond(likely.hessian) < np.linalg.cond(fit.hessian) / 2)
    True
    """
    d = fit.minimiser.size
    if d == 1 or fit.information is None:
        return fit
    unit = float(np.trace(fit.hessian))  # else rounding, in eigh for one, would depend on the unit of the values
    theta, covariance = fit.theta / unit, fit.covariance / (unit * unit)
    noise = covariance @ (fit.information * (unit * unit)) @ covariance  # what the prior holds no noise has spread
    eigenvalues, Q = np.linalg.eigh(fit.hessian / unit)
    H: Matrix = (Q * _nearer(eigenvalues, _variances(noise[d + 1 :, d + 1 :], Q))) @ Q.T
    i, j = upper_triangle(d)
    told = solve_positive(covariance[d + 1 :, d + 1 :], H[i, j] - theta[d + 1 :])
    theta = np.concatenate([theta[: d + 1] + covariance[: d + 1, d + 1 :] @ told, H[i, j]])
    return replace(fit, theta=unit * theta, minimiser=minimise_on_region(shape, H, theta[1 : d + 1]))


def _variances(covariance: Matrix, Q: Matrix) -> Matrix:
    """Return the variance of v_iᵀHv_j for all columns v of Q, from the covariance (q, q) of the entries H_kl, k ≤ l."""
    i, j = upper_triangle(len(Q))
    products = Q[np.ix_(i, i)] * Q[np.ix_(j, j)] + Q[np.ix_(j, i)] * Q[np.ix_(i, j)]
    products[i == j] /= 2
    variances = np.empty_like(Q)
    variances[i, j] = variances[j, i] = np.maximum(np.sum(products * (covariance @ products), axis=0), 0.0)
    return variances


def _nearer(eigenvalues: Vector, variances: Matrix) -> Vector:
    """Return ξ in the order of the eigenvalues, and within their range."""
    apart = eigenvalues[:, None] - eigenvalues
    repelled = np.sum(variances * apart / (apart**2 + variances + np.finfo(np.float64).tiny), axis=1)
    ordered = optimize.isotonic_regression(eigenvalues - 2 * repelled).x
    return np.clip(ordered, eigenvalues[0], eigenvalues[-1])
