"""The next batch where the response is not quadratic: measurements that tell the gradient at the minimiser best.

The criterion is that of the quadratic design, tr(A⁻¹ Cov ∇f(z)), averaged over where the minimiser may lie, but the
covariance is that of the quadratic with its discrepancy: the discrepancy decides by itself how near to measure, and
where the noise surely differs over the domain its profile has a say. Another basin that may be lower counts by what is
lost as long as that is not known (`design.rivals`); the gradient along a knob that an edge surely holds hardly counts.
One measurement of fifty goes where none has been, for a lower basin there would be seen in no other way. Where values
are exact no place is measured twice in a batch.
"""

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.design.batch import merge
from paraboloid.design.rivals import find_rivals
from paraboloid.numerics import SmoothFit, project_onto_region, random_points
from paraboloid.numerics.smooth import JITTER

__all__ = ["next_smooth_batch"]

SCALES = (1.0, 0.5, 0.25, 0.12, 0.06, 0.03)
PLACES = 40  # at most so many points in a batch,
EXACT = 120  # and so many where values are exact, and none is worth a second measurement
ROUNDING = 1e-10  # of the largest variance among the candidates
SHARE, LOOKS, TRIED = 50, 4, 200
"""One measurement of so many looks where none has been, at so many places for each knob, the best of so many tried."""

EDGE, LEAST = 1e-6, 0.01  # nearer than that is at the edge; the least that may count of a knob there
DRAWS = 4  # places where the minimiser may lie, besides its estimate


def next_smooth_batch(fit: SmoothFit, shape: Shape, n: int, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return points (k, d) and repeats (k,) of n measurements that tell most of the gradient at the minimiser.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_smooth
    >>> z = np.linspace(-1, 1, 21)[:, None]
    >>> y = np.exp(3 * z) - 3 * z + 0.1 * np.random.default_rng(0).standard_normal((21, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_smooth(evidence, Shape.BOX, np.array([-0.4]))
    >>> points, repeats = next_smooth_batch(fit, Shape.BOX, 50, np.random.default_rng(0))
    >>> int(repeats.sum()), bool(np.abs(points).max() < 0.8)  # nearer than a quadratic would be measured
    (50, True)
    """
    d = fit.minimiser.size
    looks = n // SHARE
    unseen = _unseen(fit, shape, min(looks, LOOKS * d), rng)
    near, repeats = _telling(fit, shape, n - looks, rng)
    shared = looks // max(len(unseen), 1) + (np.arange(len(unseen)) < looks % max(len(unseen), 1))
    return merge(np.vstack([near, unseen]), np.concatenate([repeats, shared.astype(np.int64)]))


def _telling(fit: SmoothFit, shape: Shape, n: int, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return points and repeats of n measurements that tell most of the gradient at the minimiser."""
    z = fit.minimiser
    around, drawn = _candidates(fit, shape, rng), rng.standard_normal((DRAWS, z.size))
    rivals = find_rivals(fit, shape, rng)  # last, so that a batch without rivals does not depend on looking for them
    candidates = np.vstack([around, rivals.points])
    there = fit.at(candidates)
    across, at_z = there.gradient_covariance(z)
    inverse = np.linalg.inv(_held(fit.curvature(z), z, fit.derivatives(z)[1], at_z, shape))
    root = np.linalg.cholesky(inverse).T  # |root g|² = gᵀA⁻¹g
    spread = np.linalg.cholesky(inverse @ at_z @ inverse + 1e-12 * np.eye(z.size))
    draws = project_onto_region(shape, z + np.clip(drawn @ spread.T, -0.3, 0.3))
    Q = np.vstack([root @ each for each in (across, *[there.gradient_covariance(at)[0] for at in draws])])
    P = there.covariance
    apart = P[len(P) - len(rivals.points) :] - P[0]  # the first candidate is z
    Q = np.vstack([Q, np.sqrt(2 * (1 + DRAWS) * rivals.worth)[:, None] * apart])  # Q has twice the loss, so many times
    own, told = np.maximum(np.diag(P), 0.0), np.zeros((max(PLACES, EXACT), len(candidates)))
    height = np.maximum(there.value - fit.value(z[None, :]), 0.0) / fit.scale
    noise = fit.noise(candidates)
    repeats = np.zeros(len(candidates), dtype=np.int64)
    rounding = ROUNDING * float(own.max())
    size = max(-(-n // (EXACT if _is_exact(fit) else PLACES)), 1)
    for k in range(-(-n // size)):
        m = min(size, n - k * size)
        variance = noise / m + JITTER + np.where(repeats > 0, 0.0, (fit.relative * height) ** 2)
        gain = np.einsum("ij,ij->j", Q, Q) / (own + variance)
        if _is_exact(fit):  # what was measured once is known, and so is what the others tell but for rounding
            gain[(repeats > 0) | (own < rounding)] = 0.0
            if not gain.any():
                repeats[np.argmax(repeats)] += n - int(repeats.sum())
                break
        best = int(np.argmax(gain))
        column = P[best] - told[:k, best] @ told[:k]  # the measurements before it have told a part
        deviation = np.sqrt(max(own[best], column[best]) + variance[best])  # they differ by rounding only
        told[k] = column / deviation
        Q -= np.outer(Q[:, best] / deviation, told[k])
        own = np.maximum(own - told[k] ** 2, 0.0)
        repeats[best] += m
    return merge(candidates, repeats)


def _held(A: Matrix, z: Vector, gradient: Vector, covariance: Matrix, shape: Shape) -> Matrix:
    """Return the curvature, stiffer along knobs that an edge of the box holds.

    Where the slope there surely leads outwards, nothing is lost by not knowing how steep it is. With P the probability
    that it leads inwards, the expected loss grows with its variance P times as much as it would without the edge.
    """
    if shape is not Shape.BOX:
        return A
    outwards = -np.sign(z) * gradient / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    free = np.where(np.abs(z) < 1 - EDGE, 1.0, np.maximum(special.ndtr(-outwards), LEAST))
    return A + np.diag(np.diag(A) * (1 / free - 1))


def _is_exact(fit: SmoothFit) -> bool:
    """Tell whether the noise is below what the model can tell from none."""
    return fit.sigma2 < JITTER


def _unseen(fit: SmoothFit, shape: Shape, n: int, rng: np.random.Generator) -> Matrix:
    """Return n points, each as far as may be from all that were measured and from those before it."""
    d = fit.minimiser.size
    tried = project_onto_region(shape, rng.uniform(-1, 1, (TRIED, d)))
    nearest = cdist(tried, fit.points).min(axis=1)
    chosen = np.zeros((n, d))
    for i in range(n):
        chosen[i] = tried[int(np.argmax(nearest))]
        nearest = np.minimum(nearest, cdist(tried, chosen[i : i + 1])[:, 0])
    return chosen


def _candidates(fit: SmoothFit, shape: Shape, rng: np.random.Generator) -> Matrix:
    """Return points at many scales about the minimiser: corners and faces, eigen-lines, and places measured before."""
    z, d = fit.minimiser, fit.minimiser.size
    _, Q = np.linalg.eigh(fit.curvature(z))
    lines = np.vstack([Q.T, -Q.T])
    around = []
    for scale in SCALES:
        extreme = random_points(shape, 4 * d, d, rng)
        faces = np.where(rng.random((4 * d, d)) < 0.5, 0.0, random_points(shape, 4 * d, d, rng))
        around += [z + scale * extreme, z + scale * faces, z + scale * lines]
    uniform = rng.uniform(-1, 1, (4 * d, d))
    measured = fit.points[np.argsort(np.sum((fit.points - z) ** 2, axis=1))[:60]]
    return project_onto_region(shape, np.vstack([z[None, :], *around, uniform, measured]))
