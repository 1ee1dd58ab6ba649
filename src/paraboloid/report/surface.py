"""The fitted surface around the recommended setting: its values, its stiff and sloppy directions, its tolerances."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import optimize

from paraboloid.core import Box, Domain, Evidence, Matrix, Shape, Vector
from paraboloid.design import believed, robust_covariance
from paraboloid.numerics import (
    QuadraticFit,
    SmoothFit,
    Window,
    features,
    fit_saddle,
    gradient_map,
    modelled,
    upper_triangle,
)
from paraboloid.report.subject import Subject
from paraboloid.report.wording import factor

__all__ = [
    "Direction",
    "Surface",
    "Tolerance",
    "directions_of",
    "is_log",
    "surface_of",
    "tolerances_of",
    "typical_worsening",
]

BLOCK = 4096
PART = 0.2  # of a direction's length: knobs with a smaller part in it are not named
NOISELESS = 1e-9  # of the values' range: below it the scatter is rounding, and no measure of what matters
SHARE = 0.01  # of the values' range, which takes its place
SMALLEST_VIEW = 1e-4  # in unit coordinates: the numbers beside the axis of a smaller one would all look the same


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """The fit that the answer rests on, about the recommended setting; values as they were measured.

    Parameters
    ----------
    fit
        The quadratic in unit coordinates, to be minimised.
    local
        The same in the window's coordinates, in which it is evaluated: there rounding hides nothing.
    window
        The whole domain or, where the noise grows with the height, the ellipsoid that the search closed in to.
    evidence
        What was fitted, in the window's coordinates: far values limited and weighted by variance, where that is safe.
    covariance
        Of the local coefficients, where the noise may differ from point to point, shape (p, p).
    z
        The recommended setting in unit coordinates, shape (d,).
    sign
        Turns the fit's values into measured ones.
    shape
        Of the domain.
    knows_errors
        Whether standard errors were told with all values; otherwise weights, if there are any, come from residuals.
    smooth
        Where the response is not quadratic: the function with its discrepancy, in the window's coordinates. ``fit`` is
        then its second-order expansion at the recommended setting.
    """

    fit: QuadraticFit
    local: QuadraticFit
    window: Window
    evidence: Evidence
    covariance: Matrix
    z: Vector
    sign: float
    shape: Shape
    knows_errors: bool
    smooth: SmoothFit | None = None

    @property
    def sigma(self) -> float:
        """Standard deviation of one measurement."""
        return math.sqrt(self.fit.sigma2)

    @property
    def gradient(self) -> Vector:
        """Slope of the fit at the recommended setting, shape (d,): zero unless the edge holds it."""
        slope: Vector = gradient_map(self.z) @ self.fit.theta
        return slope

    @property
    def is_closed_in(self) -> bool:
        """Whether it is the surface of a window, because the noise grows with the height above the minimum."""
        return not self.window.is_everything

    @property
    def is_noise_even(self) -> bool:
        """Whether nothing shows that the noise is not the same everywhere."""
        if self.smooth is not None and not self.is_closed_in:
            return self.smooth.profile is None
        return not np.any(self.evidence.precision > 0)

    @property
    def is_bowl(self) -> bool:
        """Whether the surface bends up in every direction."""
        return bool(np.linalg.eigvalsh(self.fit.hessian)[0] > 0)

    def values(self, points: Matrix) -> Vector:
        """Return the fitted values at points (m, d)."""
        # In blocks: with 30 knobs the features of 10⁵ rows would take 400 MB.
        blocks = [self._fitted(points[k : k + BLOCK]) for k in range(0, len(points), BLOCK)]
        fitted: Vector = self.sign * np.concatenate([np.zeros(0), *blocks])
        return fitted

    def _fitted(self, points: Matrix) -> Vector:
        local = self._local(points)
        return features(local) @ self.local.theta if self.smooth is None else self.smooth.value(local)

    def _local(self, points: Matrix) -> Matrix:
        return self.window.to_local(points) if self.is_closed_in else points

    def standard_errors(self, points: Matrix) -> Vector:
        """Return the standard errors of the fitted values at points (m, d)."""
        if self.smooth is not None:
            return self.smooth.deviation(self._local(points))
        phi = features(self._local(points))
        errors: Vector = np.sqrt(np.maximum(np.sum((phi @ self.covariance) * phi, axis=1), 0.0))
        return errors

    def deviations(self, points: Matrix) -> Vector:
        """Return the standard deviation of one measurement at points (m, d): the same, or as it was found to differ."""
        rows = self.evidence.counts > 0
        precision = self.evidence.precision[rows]
        if self.smooth is not None and not self.is_closed_in:
            return self.smooth.scale * np.sqrt(self.smooth.noise(points))
        if self.knows_errors or not np.all(precision > 0):
            return np.full(len(points), self.sigma)
        if self.is_closed_in:
            # The law of `numerics.close_in`, v = a + b h², read off its weights; relative errors, for v spans decades.
            variances = self.evidence.counts[rows] / precision
            squares = self._heights(self.window.from_local(self.evidence.points[rows])) ** 2
            law = np.column_stack([1 / variances, squares / variances])
            scale = np.maximum(law.max(axis=0), 1e-300)
            a, b = optimize.nnls(law / scale, np.ones(len(law)))[0] / scale
            # Inside the window it may have nothing to be read off: there no less than at its edge.
            variance: Vector = np.maximum(a + b * self._heights(points) ** 2, self.fit.sigma2)
            return np.sqrt(variance)
        # The profile of `numerics.weigh_by_variance`, log v = β₀ + β·z + γ|z|², read off the weights it gave.
        beta = np.linalg.lstsq(_profile(self.evidence.points[rows]), np.log(self.evidence.counts[rows] / precision))[0]
        deviation: Vector = np.exp(_profile(points) @ beta / 2)
        return deviation

    def _heights(self, points: Matrix) -> Vector:
        """Return the fitted heights above the recommended setting."""
        above = self.sign * (self.values(points) - self.values(self.z[None, :]))
        return np.maximum(above, 0.0)

    def curvature_errors(self) -> Vector:
        """Return the standard errors of the curvature's eigenvalues, the smallest eigenvalue first, shape (d,)."""
        d = self.z.size
        along = features(np.linalg.eigh(self.fit.hessian)[1].T)[:, d + 1 :] * 2  # qᵀHq as a linear function of vech H
        variance = np.sum((along @ self.fit.covariance[d + 1 :, d + 1 :]) * along, axis=1)
        errors: Vector = np.sqrt(np.maximum(variance, 0.0))
        return errors

    def view(self, k: int) -> tuple[float, float]:
        """Return the part of coordinate k that pictures show: all of it, or as far as a window's fit has points."""
        low, high = self.reach(k)
        if not self.is_closed_in:
            return low, high
        radii = max(1.0, float(np.linalg.norm(self.evidence.points, axis=1).max()))
        half = max(radii * float(np.linalg.norm(self.window.spread[k])), SMALLEST_VIEW)
        return max(low, float(self.z[k]) - half), min(high, float(self.z[k]) + half)

    def shows(self, points: Matrix) -> npt.NDArray[np.bool_]:
        """Tell which of the points (m, d) lie in the part that pictures show; all of them where that is everything."""
        if not self.is_closed_in:
            return np.ones(len(points), dtype=np.bool_)
        low, high = np.array([self.view(k) for k in range(self.z.size)]).T
        return np.asarray(np.all((points >= low) & (points <= high), axis=1))

    def reach(self, k: int) -> tuple[float, float]:
        """Return how far coordinate k can go while the others stay as recommended."""
        if self.shape is Shape.BOX:
            return -1.0, 1.0
        rest = math.sqrt(max(0.0, 1 - float(self.z @ self.z) + float(self.z[k]) ** 2))
        return -max(rest, abs(float(self.z[k]))), max(rest, abs(float(self.z[k])))


def surface_of(subject: Subject) -> Surface | None:
    """Return the surface that a report shows, or None where nothing has a value.

    >>> import paraboloid
    >>> result = paraboloid.maximize(lambda x: 5 - (x[0] - 2) ** 2, [(0, 3)], budget=9, rng=0)
    >>> surface_of(result.subject).values(result.subject.domain.to_unit([[1.0]])).round(1)
    array([4.])
    """
    if subject.result is None or subject.evidence.n_measurements == 0:
        return None
    z = np.asarray(subject.domain.to_unit(subject.result.x))
    known = bool(np.all(subject.evidence.precision[subject.evidence.counts > 0] > 0))
    certificate = subject.result.certificate
    # Without a verdict nothing but a quadratic was looked for.
    looked = certificate is not None and certificate.lack_of_fit is not None
    model = modelled(subject.evidence, subject.domain.shape, smooth=looked)
    fit, evidence, window, smooth = model.fit, model.evidence, model.window, model.smooth
    if model.outer is not None:  # the window is one of many in one another, and shows next to nothing of the range
        window, smooth = Window(np.zeros(z.size), np.eye(z.size)), model.outer
    told = fit
    if model.is_plain:
        saddle = fit_saddle(evidence, subject.domain.shape)
        told = saddle or fit
        fit = saddle or believed(fit, evidence, model.shape)
    spread = robust_covariance(told, evidence)
    local = fit if smooth is None else _expanded(smooth, fit, window.to_local(z[None, :])[0])
    if model.outer is not None and model.smooth is not None:  # what is left over the whole range is no noise
        local = replace(local, sigma2=model.smooth.scale**2 * model.smooth.sigma2)
    whole = local if window.is_everything else replace(window.pulled_back(local), minimiser=z)
    return Surface(whole, local, window, evidence, spread, z, subject.sign, subject.domain.shape, known, smooth)


def _expanded(smooth: SmoothFit, fit: QuadraticFit, z: Vector) -> QuadraticFit:
    """Return the second-order expansion of the fitted function at z, all in the coordinates of its window."""
    value, gradient, bend = smooth.derivatives(z)
    linear = gradient - bend @ z
    constant = value - float(linear @ z) - float(z @ bend @ z) / 2
    theta = smooth.scale * np.concatenate([[constant], linear, bend[upper_triangle(z.size)]])
    theta[0] += smooth.shift
    return replace(fit, theta=theta, sigma2=smooth.scale**2 * float(smooth.noise(z[None, :])[0]), minimiser=z)


def _profile(points: Matrix) -> Matrix:
    return np.column_stack([np.ones(len(points)), points, np.sum(points**2, axis=1)])


def typical_worsening(surface: Surface) -> float:
    """Return the worsening that tolerances are given for if none is asked for: the scatter of one measurement."""
    measured = surface.evidence.means[surface.evidence.counts > 0]
    span = float(np.ptp(measured))
    if surface.sigma > NOISELESS * span:
        return surface.sigma
    return SHARE * span if span > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far one knob alone may drift, in its unit; ``is_edge`` where the end is that of the range.

    >>> Tolerance(170.0, 190.0, False, True).is_edge_high
    True
    """

    low: float
    high: float
    is_edge_low: bool
    is_edge_high: bool


def tolerances_of(surface: Surface, domain: Domain, worsening: float) -> list[Tolerance]:
    """Return how far each knob alone may drift before the value worsens by so much, the others as recommended."""
    found = []
    for k in range(surface.z.size):
        slope, bend = float(surface.gradient[k]), float(surface.fit.hessian[k, k])
        if abs(slope) <= 1e-9 * (abs(bend) + 1e-300):
            slope = 0.0
        ends, edges = [], []
        for side, limit in zip((-1.0, 1.0), surface.reach(k), strict=True):
            room = max(0.0, side * (limit - float(surface.z[k])))
            step = distance_to_worsening(side * slope, bend, worsening)
            edges.append(step >= room)
            place = surface.z.copy()
            place[k] += side * min(step, room)
            ends.append(float(domain.from_unit(place)[k]))
        found.append(Tolerance(ends[0], ends[1], edges[0], edges[1]))
    return found


def distance_to_worsening(slope: float, bend: float, worsening: float) -> float:
    """Return the least t > 0 with slope·t + ½ bend·t² = worsening, or infinity.

    >>> [distance_to_worsening(*given) for given in ((0.0, 2.0, 4.0), (1.0, 0.0, 4.0), (0.0, -1.0, 1.0))]
    [2.0, 4.0, inf]
    """
    square = slope**2 + 2 * bend * worsening
    if square < 0:
        return math.inf
    root = math.sqrt(square)
    # Of the two forms of the root, the one in which nothing cancels.
    if slope < 0:
        return (root - slope) / bend if bend > 0 else math.inf
    return 2 * worsening / (slope + root) if slope + root > 0 else math.inf


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A combination of knobs that matters by itself: an eigenvector of the curvature.

    Parameters
    ----------
    vector
        In unit coordinates, of length one, its largest part positive, shape (d,).
    curvature, curvature_se
        Second derivative along it per unit coordinate, and its standard error.
    is_flat
        Whether the measurements do not show surely that it is curved.
    drift
        How far along it, in unit coordinates, until the value has worsened by the chosen amount; may be infinite.
    parts
        What that means for the knobs that have a large part in it: (name, change as text).
    """

    vector: Vector
    curvature: float
    curvature_se: float
    is_flat: bool
    drift: float
    parts: tuple[tuple[int, str], ...]


def directions_of(surface: Surface, domain: Domain, worsening: float, eigen_se: Vector | None) -> list[Direction]:
    """Return the directions, the stiffest first; ``eigen_se`` in the order of rising curvature, if it is known."""
    eigenvalues, axes = np.linalg.eigh(surface.fit.hessian)
    found = []
    for k in range(eigenvalues.size - 1, -1, -1):
        vector = axes[:, k] * np.sign(axes[np.argmax(np.abs(axes[:, k])), k])
        bend = float(eigenvalues[k])
        deviation = math.nan if eigen_se is None else float(eigen_se[k])
        drift = math.sqrt(2 * worsening / bend) if bend > 0 else math.inf
        parts = _parts(surface, domain, vector, min(drift, 1.0))
        found.append(Direction(vector, bend, deviation, not bend >= 3 * deviation, drift, parts))
    return found


def _parts(surface: Surface, domain: Domain, vector: Vector, drift: float) -> tuple[tuple[int, str], ...]:
    """Return what a move along a direction does to each knob with a part in it, the largest part first."""
    here = domain.from_unit(surface.z)
    there = domain.from_unit(surface.z + drift * vector)
    order = [int(k) for k in np.argsort(-np.abs(vector)) if abs(vector[k]) > PART]
    order = order or [int(np.argmax(np.abs(vector)))]
    log = is_log(domain)
    return tuple((k, factor(float(there[k] / here[k])) if log[k] else f"{there[k] - here[k]:+.3g}") for k in order)


def is_log(domain: Domain) -> tuple[bool, ...]:
    """Tell which knobs have a logarithmic scale.

    >>> is_log(Box([(0, 1)]))
    (False,)
    """
    return tuple(knob.log for knob in domain.knobs) if isinstance(domain, Box) else (False,) * domain.dimension
