"""The fit of a quadratic with discrepancy, and its answer: cautious between basins, unbiased within one.

Likelihood and centre in turn: the discrepancy is small near the minimiser, and the minimiser is that of the fit. Among
local minimisers of the mean, and measured places, the answer is the one with the least mean + 2 deviations: never
an unmeasured corner, never a lucky value. Where the function is symmetric about its minimum the minimiser of the
plain quadratic is the better estimate, whatever the shape; while it may well be as good, the answer is drawn towards
it, the less the more the gradient there differs from zero.

Whether the noise differs over the domain is asked of the residuals of the first fit and of repeats: those of a plain
quadratic would show its lack of fit. With K the covariance of the means and e the noise in them, R its variances, the
fit says e = Rα, and a point has left to itself (R K⁻¹)_ii of its one degree of freedom.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from paraboloid.core import Evidence, Matrix, Shape, Vector
from paraboloid.numerics.lack_of_fit import SURROUNDINGS
from paraboloid.numerics.profile import Profile, fit_profile
from paraboloid.numerics.quadratic_model import features, n_terms
from paraboloid.numerics.region import minimise_on_region, project_onto_region
from paraboloid.numerics.smooth import FLAT, JITTER, SmoothFit, made_positive
from paraboloid.numerics.smooth_likelihood import EXPECTED, Likelihood, Means

__all__ = ["fit_smooth", "local_minima"]

MOST = 1000  # points that enter; beyond, the highest are left out
ENOUGH = (150, 300)  # of them tell the numbers of the likelihood, which take most of the time,
STEPS = (30, 15)  # in so many steps of its ascent, for a first centre and for a better one
PLACES = (3, 5)  # the best measured places are where descents begin, for a first centre and for a better one
LOWEST = 50  # measured places by the mean, among which those are looked for: deviations take longer than means
CAUTION = 2.0  # standard deviations by which a place must be lower to be preferred
KNOWN = 2.0  # times the standard deviation at the best place, up to which another counts as known as well
FREEDOM = 500.0  # of repeats that count: the noise is then known to 6 %, and more would outweigh all else in the ascent
REPEATS = 5  # degrees of freedom of repeats, from which on they say what the noise is at the start
DESCENT = 25  # steps,
FLATTEST = 1e-3  # for which the least curvature is this part of the largest: with more, they would creep along a valley
ROUNDED = 1e-15  # of a variance
LEVELS = np.linspace(-1.0, 1.0, 17)  # of a knob, at which another basin is looked for


def fit_smooth(evidence: Evidence, shape: Shape, quadratic: Vector) -> SmoothFit:
    """Return the quadratic with discrepancy that explains the evidence best, and its minimiser.

    ``quadratic`` is the minimiser of the plain quadratic.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 21)[:, None]
    >>> y = np.exp(3 * z) - 3 * z + 0.01 * np.random.default_rng(0).standard_normal((21, 1))  # least at zero
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> bool(abs(fit_smooth(evidence, Shape.BOX, np.array([-0.4])).minimiser[0]) < 0.05)
    True
    """
    seen, shift, scale = _standardised(evidence)
    profile: Profile | None = None
    means = seen.together(profile)
    noise = means.scatter / means.freedom if means.freedom >= REPEATS and means.scatter > 0 else 0.01
    lowest = int(np.argmin(means.y + CAUTION * np.sqrt(noise / means.counts)))
    centre, least = means.points[lowest], float(means.y[lowest])
    numbers = EXPECTED.copy()
    numbers[0] = np.log(noise)
    for steps, places, enough in zip(STEPS, PLACES, ENOUGH, strict=True):
        some = seen.some(enough)
        likelihood = Likelihood(some.together(profile), centre, least, noise, shape)
        ascent = likelihood.best if steps == STEPS[0] else likelihood.refined
        numbers = ascent(numbers, steps)
        whole = likelihood if some is seen else Likelihood(means, centre, least, noise, shape)
        fit = _conditioned(whole, centre, numbers, shift, scale, profile)
        if steps == STEPS[0] and (profile := seen.profile(fit)) is not None:
            means = seen.together(profile)
            fit = _conditioned(Likelihood(means, centre, least, noise, shape), centre, numbers, shift, scale, profile)
        centre = _answer(fit, means, shape, quadratic, places)
        least = float(fit.derivatives(centre)[0])
    fit = _conditioned(Likelihood(means, centre, least, noise, shape), centre, numbers, shift, scale, profile)
    return replace(fit, minimiser=_answer(fit, means, shape, quadratic, 1))


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What was measured: points, means in standard units, counts, and the scatter of repeats, whose unit is another."""

    points: Matrix
    y: Vector
    counts: Vector
    scatter: Vector
    unit: float

    def some(self, enough: int) -> "_Seen":
        """Return so many of them, evenly over the heights: the lowest would be those with lucky noise."""
        if len(self.y) <= enough:
            return self
        rows = np.sort(np.argsort(self.y)[np.linspace(0, len(self.y) - 1, enough).astype(np.int64)])
        return _Seen(self.points[rows], self.y[rows], self.counts[rows], self.scatter[rows], self.unit)

    def together(self, profile: Profile | None) -> Means:
        """Return what the likelihood needs; a measurement of v times the noise counts as the part 1/v of one."""
        v = np.ones(len(self.y)) if profile is None else profile(self.points)
        freedom = float(self.counts.sum() - len(self.y))
        part = min(1.0, FREEDOM / max(freedom, 1.0))
        scatter = float((self.scatter / v).sum()) / self.unit
        return Means(self.points, self.y, self.counts / v, part * scatter, part * freedom)

    def profile(self, fit: SmoothFit) -> Profile | None:
        """Return how the noise differs over the domain, given a fit as if it did not; all counts sum up to the same."""
        inverse = np.diag(linalg.lapack.dpotri(fit.root, lower=1)[0])
        noise = fit.sigma2 / self.counts
        own = np.clip(noise * inverse, 0.01, 1.0)
        w = (self.counts - 1 + own) / 2
        squares = self.scatter / self.unit + self.counts * (noise * fit.alpha) ** 2
        found = fit_profile(self.points, squares / (2 * w), w)
        if found is None:
            return None
        return found.relative_to(float(self.counts.sum() / np.sum(self.counts / found(self.points))))


def _standardised(evidence: Evidence) -> tuple[_Seen, float, float]:
    rows = np.flatnonzero((evidence.counts > 0) & (np.abs(evidence.points).max(axis=1) <= SURROUNDINGS))
    if len(rows) > MOST:
        rows = np.sort(rows[np.argsort(evidence.means[rows])[:MOST]])
    counts, values = evidence.counts[rows].astype(np.float64), evidence.means[rows]
    shift = float(counts @ (values - values[0]) / counts.sum()) + float(values[0])
    scale = float(np.sqrt(counts @ (values - shift) ** 2 / counts.sum())) or 1.0
    seen = _Seen(evidence.points[rows], (values - shift) / scale, counts, evidence.scatter[rows], scale**2)
    return seen, shift, scale


def _conditioned(
    likelihood: Likelihood, centre: Vector, numbers: Vector, shift: float, scale: float, profile: Profile | None
) -> SmoothFit:
    """Return the fit for these numbers."""
    means = likelihood.means
    root = _root(likelihood.covariance(numbers))
    alpha: Vector = linalg.cho_solve((root, True), means.y, check_finite=False)
    noise, even, odd, length, growth, relative, *_ = numbers.tolist()
    curves = likelihood.variances(numbers)
    basis, length2 = np.hstack([features(means.points), likelihood.curves]), centre.size * float(np.exp(2 * length))
    return SmoothFit(
        points=means.points,
        basis=basis,
        grown=(1 + likelihood.away / length2) ** growth,
        centre=centre,
        minimiser=centre,
        length2=length2,
        growth=growth,
        even=float(np.exp(even)),
        odd=float(np.exp(odd)),
        curves=curves,
        relative=float(np.exp(relative)),
        sigma2=float(np.exp(noise)),
        alpha=alpha,
        theta=np.concatenate([np.full(n_terms(centre.size), FLAT), curves]) * (alpha @ basis),
        root=root,
        shift=shift,
        scale=scale,
        profile=profile,
    )


def _root(covariance: Matrix) -> Matrix:
    """Return the Cholesky factor, of a little more where exact values at many neighbours leave rounding to decide.

    More by the same everywhere, for the noise is; and where that is not enough in proportion, for places far outside a
    tiny window have variances so large that their rounding exceeds it.
    """
    more, part = JITTER, ROUNDED
    diagonal = slice(None, None, len(covariance) + 1)
    while True:
        try:
            root: Matrix = linalg.cholesky(covariance, lower=True, check_finite=False)
            return root
        except linalg.LinAlgError:
            if more < 0.1:
                more *= 10
                covariance.flat[diagonal] += more
            elif part < 0.1:
                part *= 10
                covariance.flat[diagonal] *= 1 + part
            else:
                raise


def _answer(fit: SmoothFit, means: Means, shape: Shape, quadratic: Vector, places: int) -> Vector:
    """Return the local minimiser whose basin is lowest for sure; where measured places are safer, one of them."""
    measured = project_onto_region(shape, means.points)  # what was measured outside is not recommended
    lowest = measured[np.argsort(fit.value(measured))[:LOWEST]]
    safest = lowest[np.argsort(_safe(fit, lowest))[:places]]
    starts = np.vstack([safest, project_onto_region(shape, fit.centre[None, :])])
    best = _safest(fit, np.vstack([_descended(fit, starts, shape), starts]))
    across = _across(fit, best, shape)
    if not np.array_equal(across, best):
        best = _safest(fit, np.stack([best, across, _descended(fit, across[None, :], shape)[0]]))
    return _drawn_towards(fit, quadratic, best) if _is_as_good(fit, quadratic, best) else best


def _safest(fit: SmoothFit, places: Matrix) -> Vector:
    """Return the place that is lowest for sure."""
    lowest: Vector = places[int(np.argmin(_safe(fit, places)))]
    return lowest


def _safe(fit: SmoothFit, places: Matrix) -> Vector:
    """Return the values below which f lies for sure."""
    there = fit.at(places)
    return there.value + CAUTION * there.deviation


def _across(fit: SmoothFit, z: Vector, shape: Shape) -> Vector:
    """Return z with knobs set anew one by one, each over its whole range: where a curve has more than one basin."""
    for k in range(z.size):
        line = np.repeat(z[None, :], len(LEVELS) + 1, axis=0)
        line[1:, k] = LEVELS
        z = _safest(fit, project_onto_region(shape, line))
    return z


def _drawn_towards(fit: SmoothFit, z: Vector, best: Vector) -> Vector:
    """Return a place between the best one and z: z itself where the gradient there is what chance would make it.

    With q of its squared standard errors, d of which are chance, the share of z is d/q: empirical Bayes, as Stein's.
    """
    _, covariance = fit.gradient_covariance(z, z[None, :])
    gradient = fit.derivatives(z)[1]
    q = float(gradient @ np.linalg.solve(covariance + 1e-12 * np.trace(covariance) * np.eye(z.size), gradient))
    between = best + min(1.0, z.size / max(q, 1e-300)) * (z - best)
    there = fit.value(np.stack([between, z, best]))
    return best if there[0] > max(there[1:]) else between  # not on a ridge between two basins


def _is_as_good(fit: SmoothFit, z: Vector, best: Vector) -> bool:
    """Tell whether z may well be as good as the best place, and as much is known there."""
    both = np.stack([z, best])
    there = fit.at(both)
    value, covariance = there.value / fit.scale, there.covariance
    apart = covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1]
    is_known = covariance[0, 0] <= KNOWN**2 * max(covariance[1, 1], 0.0)
    return bool(is_known and value[0] - value[1] < CAUTION * np.sqrt(max(apart, 0.0)))


def local_minima(fit: SmoothFit, starts: Matrix, shape: Shape) -> Matrix:
    """Return the local minima of the fit below the starts (m, d), as far as one range of its discrepancy leads.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 41)[:, None]
    >>> y = 10 * (z**2 - 0.25) ** 2 + 0.01 * np.random.default_rng(0).standard_normal((41, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_smooth(evidence, Shape.BOX, np.zeros(1))
    >>> local_minima(fit, np.array([[-0.7], [0.3]]), Shape.BOX).ravel().round(1)
    array([-0.5,  0.5])
    """
    return _descended(fit, starts, shape)


def _descended(fit: SmoothFit, starts: Matrix, shape: Shape) -> Matrix:
    """Return the local minima below the starts (m, d), each no farther than one range l of the discrepancy away.

    All go down together: one call for the derivatives of many takes little longer than one for a single place.
    """
    z, reach = starts.copy(), float(np.sqrt(fit.length2))
    value, gradient, H = fit.derivatives_at(z)
    going = np.arange(len(z))
    for _ in range(DESCENT):
        if not going.size:
            break
        step = _newton_steps(z[going], gradient[going], H[going], shape)
        expected = -np.sum(gradient[going] * step, axis=1)
        is_worth = expected >= 1e-10
        going, step, expected = going[is_worth], step[is_worth], expected[is_worth]
        length = np.minimum(1.0, reach / np.maximum(np.linalg.norm(step, axis=1), 1e-300))
        left = np.arange(len(going))
        for _ in range(12):
            if not left.size:
                break
            rows = going[left]
            moved = z[rows] + length[left, None] * step[left]
            reached = fit.derivatives_at(moved)
            is_lower = reached[0] < value[rows] - 0.1 * length[left] * expected[left]
            rows = rows[is_lower]
            z[rows] = moved[is_lower]
            value[rows], gradient[rows], H[rows] = (part[is_lower] for part in reached)
            left = left[~is_lower]
            length[left] /= 2
        going = np.delete(going, left)
        going = going[np.linalg.norm(z[going] - starts[going], axis=1) <= reach]
    return z


def _newton_steps(z: Matrix, gradient: Matrix, H: Matrix, shape: Shape) -> Matrix:
    """Return the ways to the minima over the region of what the derivatives say, their curvature made positive."""
    A = made_positive(H, FLATTEST)
    steps = np.asarray(-np.linalg.solve(A, gradient[:, :, None])[:, :, 0], dtype=np.float64)
    reached = z + steps
    for i in np.flatnonzero(np.any(project_onto_region(shape, reached) != reached, axis=1)):
        steps[i] = minimise_on_region(shape, A[i], gradient[i] - A[i] @ z[i]) - z[i]
    return steps
