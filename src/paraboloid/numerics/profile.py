"""How the variance of the noise differs over the domain: a smooth profile, where the data surely show one.

Variances from the scatter at single points would follow chance: with a few repeats a point that happened to agree with
itself would seem free of noise. The profile

    log v(z) = β₀ + β·z + γ|z|²

has d + 2 coefficients for all points together. They are fitted to what squared residuals and the scatter of repeats
say of the variance at each point, by maximum likelihood (gamma, so that squares of normal values have their right
spread), drawn a little towards zero. It counts only if the likelihood gains more than chance would give it once in a
thousand times, its spread judged by the data themselves (tails heavier than normal make squares more unequal). Beyond
what was measured it is not believed: there the variance is held between the least and the largest at measured places.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
v_i                 ``v``                   variance of one measurement at point i
s_i                 ``s``                   what the data say of it
w_i                 ``w``                   half its degrees of freedom
==================  ======================  =========================================================
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from paraboloid.core import Matrix, Vector
from paraboloid.numerics.positive import factored

__all__ = ["Profile", "fit_profile"]

CHANCE = 1e-3
SHRINKAGE = 1.0  # pseudo-measurements that say that the variance is the same everywhere
WIDEST = 100.0  # ratio of variances beyond which the profile is not believed
STEPS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The variance of one measurement at any place, in unit coordinates.

    Parameters
    ----------
    level, beta
        log v(z) = log level + β·(1, z, |z|²).
    least, most
        At the places measured: v is held between the two everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> grows = Profile(level=1.0, beta=np.array([0.0, 2.0, 0.0]), least=0.2, most=5.0)
    >>> grows(np.array([[-1.0], [0.0], [0.5]])).round(2)
    array([0.2 , 1.  , 2.72])
    """

    level: float
    beta: Vector
    least: float
    most: float

    def __call__(self, z: Matrix) -> Vector:
        """Return the variances at points (m, d)."""
        held: Vector = np.clip(self.level * np.exp(_terms(z) @ self.beta), self.least, self.most)
        return held

    def relative_to(self, variance: float) -> "Profile":
        """Return the same in another unit of the values' square."""
        return Profile(self.level / variance, self.beta, self.least / variance, self.most / variance)


def fit_profile(points: Matrix, s: Vector, w: Vector) -> Profile | None:
    """Return the profile of variances s seen with 2w degrees of freedom at points (m, d); None where it may be flat.

    >>> import numpy as np
    >>> z = np.linspace(-1, 1, 21)[:, None]
    >>> fit_profile(z, np.exp(2 * z[:, 0]), np.full(21, 50.0))(np.array([[0.0], [0.5]])).round(1)
    array([1. , 2.7])
    """
    if len(s) <= points.shape[1] + 3 or not np.all(s >= 0) or float(w @ s) <= 0:
        return None
    middle = float(w @ s / w.sum())
    u = _terms(points)
    beta = np.zeros(u.shape[1])
    ridge = SHRINKAGE * np.diag([0.0] + [1.0] * (len(beta) - 1))
    curvature = factored((u.T * w) @ u + ridge, ridge=0.0)
    v: Vector = np.full(len(s), middle)
    for _ in range(STEPS):
        step = curvature.solve(u.T @ (w * (s / v - 1)) - ridge @ beta)
        step *= min(1.0, 1.0 / max(float(np.abs(u @ step).max()), 1e-300))  # never more than a factor e at once
        beta = beta + step
        v = middle * np.exp(u @ beta)
        if float(np.abs(u @ step).max()) < 1e-4:
            break
    gain = 2 * float(w @ (np.log(middle / v) + s / middle - s / v))
    freedom = len(beta) - 1
    dispersion = max(1.0, float(w @ (s / v - 1) ** 2) / (len(s) - len(beta)))
    if gain <= dispersion * float(special.chdtri(freedom, CHANCE)) or v.max() > WIDEST**2 * v.min():
        return None
    most = float(v.max())
    return Profile(middle, beta, max(float(v.min()), most / WIDEST), most)


def _terms(points: Matrix) -> Matrix:
    return np.column_stack([np.ones(len(points)), points, np.sum(points**2, axis=1)])
