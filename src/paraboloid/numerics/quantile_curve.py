"""A paraboloid below which a given share of the values lies, fitted on a logarithmic scale.

With heights y of single values above the lowest of them, the curve g(z) = g₀ + |Lᵀ(z - m)|² is the one of greatest
likelihood for r = log y - log g(z) with the law

    p(r) = S sin(πq)/π / (exp(-(1 - q)Sr) + exp(qSr)),

which is Koenker and Bassett's quantile regression at the level q with a corner of width 1/S in place of a sharp one.
Its score is bounded, so that a value of any size pulls no more than any other on its side. The curvature and m have
the weak priors of `numerics.fit`.

Whether noise is in proportion to the curve is told by a comparison with noise that is the same everywhere: the same law
for r = arsinh((y - g(z))/λ). There a curve through some values and a tiny λ would make any likelihood: λ is at least
the distance within which twice as many values lie as there are coefficients.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
q, S                ``level``, ``rate``     share of the values below the curve; how fast the law falls
g, g₀               ``g``, ``floor``        the curve, its least value
m, L                ``m``, ``L``            its minimiser, and the lower root of half its curvature
λ                   ``scale``               of noise that is the same everywhere
ψ, κ                ``psi``, ``kappa``      score of r, and its mean slope: r tells of the curve what ψ/κ does
==================  ======================  =========================================================
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize
from scipy.special import expit

from paraboloid.core import Counts, Matrix, Vector
from paraboloid.numerics.quadratic_model import features, n_terms, upper_triangle

__all__ = ["Curve", "Heights", "even_likelihood", "fit_curve", "most_telling"]

NU = 1.0  # strength of the prior on the curvature, in measurements
R2 = 4.0  # spread of the minimiser, in units of the domain
LOWEST = 4  # places with the lowest values, from which a fit begins
STEPS = 200
APART = 2.0  # logarithm of what a curve rises by at first
FLATTER, STEEPER = 3.0, 25.0  # logarithms of what a floor may be below, and a curvature above, all values
FASTEST = 3.0  # of log S
SLOWEST = -4.0
LEVELS = (0.05, 0.1, 0.2, 0.35, 0.5)
BELOW = 1.0  # times p values, at least, that must lie below a curve of p coefficients


Bounds = list[tuple[float | None, float | None]]


@dataclass(frozen=True, slots=True, eq=False)
class Heights:
    """Single heights above the lowest value, all positive, and how many each stands for; ``points`` has shape (m, d).

    >>> import numpy as np
    >>> Heights(np.zeros((1, 1)), np.array([0, 0]), np.array([1.0, 3.0]), np.ones(2)).total
    2.0
    """

    points: Matrix
    rows: Counts
    heights: Vector
    counts: Vector

    @property
    def total(self) -> float:
        """Number of values."""
        return float(self.counts.sum())

    def added(self, amounts: Vector) -> Vector:
        """Return the sums over the values at each point."""
        return np.bincount(self.rows, weights=self.counts * amounts, minlength=len(self.points)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The curve with the share ``level`` of the values below it, and the log likelihood of the values.

    >>> import numpy as np
    >>> curve = Curve(0.5, np.zeros(1), np.ones((1, 1)), 0.1, 1.0, 0.0)
    >>> curve.at(np.array([[0.0], [2.0]])), curve.theta
    (array([0.1, 4.1]), array([0.1, 0. , 2. ]))
    """

    level: float
    m: Vector
    L: Matrix
    floor: float
    rate: float
    likelihood: float

    def at(self, points: Matrix) -> Vector:
        """Return g at points (k, d)."""
        g: Vector = self.floor + np.sum(((points - self.m) @ self.L) ** 2, axis=1)
        return g

    @property
    def theta(self) -> Vector:
        """The coefficients of g."""
        H = 2 * self.L @ self.L.T
        return np.concatenate([[self.floor + self.m @ H @ self.m / 2], -H @ self.m, H[upper_triangle(self.m.size)]])

    def scores(self, values: Heights) -> Vector:
        """Return ψ/κ of each value."""
        below = expit(self.rate * self.residuals(values))
        kappa = self.rate**2 * float(values.counts @ (below * (1 - below))) / values.total
        scores: Vector = self.rate * (below - 1 + self.level) / max(kappa, 1e-300)
        return scores

    def variance(self, values: Heights) -> float:
        """Return the variance with which one value tells log g, whatever the law of the values is."""
        return float(values.counts @ self.scores(values) ** 2) / values.total

    def residuals(self, values: Heights) -> Vector:
        """Return r of each value."""
        r: Vector = np.log(values.heights) - np.log(self.at(values.points))[values.rows]
        return r


def fit_curve(values: Heights, level: float, near: Curve | None = None) -> Curve:
    """Return the curve of greatest likelihood that was found from the centre and from the lowest places.

    Or from the lowest place and from the curve of another level, ``near``, in a third of the time.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> heights = (z[:, 0] - 0.5) ** 2 * 1e6 ** rng.random(200)  # the factor is between 1 and a million
    >>> fit_curve(Heights(z, np.arange(200), heights, np.ones(200)), 0.1).m.round(1)
    array([0.5])
    """
    d, logs = values.points.shape[1], np.log(values.heights)
    low, high = float(logs.min()) - FLATTER, float(logs.max()) + FLATTER
    steepest, is_diagonal = (high + STEEPER) / 2, np.equal(*np.tril_indices(d))
    bounds: Bounds = [
        *[(-2.0, 2.0)] * d,
        *[(low / 2, steepest) if diagonal else (-math.exp(steepest), math.exp(steepest)) for diagonal in is_diagonal],
        (low, high),
        (SLOWEST, FASTEST),
    ]
    lowest = values.rows[np.argsort(values.heights, kind="stable")[:LOWEST]]
    if near is None:
        places = np.vstack([np.zeros((1, d)), values.points[np.unique(lowest)]])
        begins = [_first(values, logs, m, level) for m in places]
    else:
        begins = [_packed(near), _first(values, logs, values.points[lowest[0]], level)]
    found = [_minimised(lambda v: _growing(v, values, logs, level), begin, bounds) for begin in begins]
    best = min(found, key=lambda one: float(one.fun))
    return Curve(level, *_unpacked(best.x, d), -float(best.fun) - float(values.counts @ logs))


def most_telling(values: Heights) -> Curve:
    """Return the curve of the level at which one value tells most; with few values, that through their middle.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> heights = (z[:, 0] - 0.5) ** 2 * 1e6 ** rng.random(200)  # the factor is between 1 and a million
    >>> most_telling(Heights(z, np.arange(200), heights, np.ones(200))).level
    0.05
    """
    curves: list[Curve] = []
    for level in LEVELS:
        if level * values.total >= BELOW * n_terms(values.points.shape[1]) or level == LEVELS[-1]:
            curves.append(fit_curve(values, level, near=curves[-1] if curves else None))
    return min(curves, key=lambda curve: curve.variance(values))


def even_likelihood(values: Heights, level: float, thetas: list[Vector]) -> float:
    """Return the log likelihood of noise that is the same everywhere, about curves that are sought from these on.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-1, 1, (200, 1))
    >>> values = Heights(z, np.arange(200), z[:, 0] ** 2 + 5 + rng.standard_normal(200), np.ones(200))
    >>> curve = fit_curve(values, 0.5)
    >>> even_likelihood(values, 0.5, [curve.theta]) > curve.likelihood
    True
    """
    phi, y = features(values.points), values.heights
    p = phi.shape[1]
    constant = np.zeros(p)
    constant[0] = float(np.quantile(y, level))
    begins = [*thetas, constant]
    apart = [np.sort(np.abs(y - (phi @ theta)[values.rows])) for theta in begins]
    least = max(min(float(away[min(2 * p, len(y) - 1)]) for away in apart), 1e-12 * float(y.max()))
    bounds: Bounds = [*[(None, None)] * p, (math.log(least), math.log(y.max()) + FLATTER), (SLOWEST, FASTEST)]
    best = -np.inf
    for theta, away in zip(begins, apart, strict=True):
        v = np.concatenate([theta, [math.log(max(least, float(away[len(y) // 4]))), 0.0]])
        best = max(best, -float(_minimised(lambda v: _even(v, values, phi, level), v, bounds).fun))
    return best


def _minimised(
    function: Callable[[Vector], tuple[float, Vector]], begin: Vector, bounds: Bounds
) -> optimize.OptimizeResult:
    return optimize.minimize(function, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})


def _law(r: Vector, level: float, rate: float, values: Heights) -> tuple[float, Vector, float]:
    """Return -Σ log p(r), its derivative ψ by each r, and its derivative by log S."""
    psi = rate * (expit(rate * r) - 1 + level)
    spread = np.logaddexp(-(1 - level) * rate * r, level * rate * r)
    value = float(values.counts @ spread) - values.total * math.log(rate * math.sin(math.pi * level) / math.pi)
    return value, psi, float(values.counts @ (psi * r)) - values.total


def _growing(v: Vector, values: Heights, logs: Vector, level: float) -> tuple[float, Vector]:
    """Return minus the log likelihood of log y, with the prior, and its gradient."""
    d = values.points.shape[1]
    m, L, floor, rate = _unpacked(v, d)
    away = values.points - m
    g = floor + np.sum((away @ L) ** 2, axis=1)
    value, psi, by_rate = _law(logs - np.log(g)[values.rows], level, rate, values)
    by_g = -values.added(psi) / g
    pull = away * by_g[:, None]
    trace, diagonal = float(np.sum(L**2)) / d, np.diag(L)
    value += NU * (d / 2 * math.log(trace) - float(np.sum(np.log(diagonal)))) + float(m @ m) / (2 * R2)
    by_L = 2 * (pull.T @ away) @ L + NU / trace * L
    by_L[np.diag_indices(d)] = np.diag(by_L) * diagonal - NU
    by_m = m / R2 - 2 * L @ (L.T @ pull.sum(axis=0))
    return value, np.concatenate([by_m, by_L[np.tril_indices(d)], [float(by_g.sum()) * floor, by_rate]])


def _even(v: Vector, values: Heights, phi: Matrix, level: float) -> tuple[float, Vector]:
    """Return minus the log likelihood of y for noise that is the same everywhere, and its gradient."""
    theta, scale, rate = v[:-2], math.exp(v[-2]), math.exp(v[-1])
    apart = values.heights - (phi @ theta)[values.rows]
    wide = np.hypot(scale, apart)
    value, psi, by_rate = _law(np.arcsinh(apart / scale), level, rate, values)
    by_theta = -phi.T @ values.added((psi + apart / wide) / wide)
    by_scale = float(values.counts @ ((scale / wide) ** 2 - psi * apart / wide))
    return value + float(values.counts @ np.log(wide)), np.concatenate([by_theta, [by_scale, by_rate]])


def _unpacked(v: Vector, d: int) -> tuple[Vector, Matrix, float, float]:
    L = np.zeros((d, d))
    L[np.tril_indices(d)] = v[d:-2]
    L[np.diag_indices(d)] = np.exp(np.diag(L))
    return v[:d], L, math.exp(v[-2]), math.exp(v[-1])


def _packed(curve: Curve) -> Vector:
    """Return what `_unpacked` takes."""
    d, L = curve.m.size, curve.L.copy()
    L[np.diag_indices(d)] = np.log(np.diag(L))
    return np.concatenate([curve.m, L[np.tril_indices(d)], np.log([curve.floor, curve.rate])])


def _first(values: Heights, logs: Vector, m: Vector, level: float) -> Vector:
    """Return the beginning of a fit: round about m, on average as high as the quantile of all values."""
    d, middle = m.size, float(np.quantile(logs, level))
    away = float(np.mean(np.sum((values.points[values.rows] - m) ** 2, axis=1)))
    L = np.diag(np.full(d, (middle - math.log(max(away, 1e-300))) / 2))
    spread = max(float(np.mean(np.abs(logs - middle))), 0.1)
    return np.concatenate([m, L[np.tril_indices(d)], [middle - APART, -math.log(2 * level * (1 - level) * spread)]])
