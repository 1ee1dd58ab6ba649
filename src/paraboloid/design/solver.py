"""Optimal design with data already taken: minimise tr(W (M₀ + n·M(ξ))⁻¹) over designs ξ, with a certificate.

Multiplicative weights on a growing set of candidates; new candidates are local maxima of the sensitivity |Kφ(z)|²,
K = B M⁻¹, found by projected ascent. The certificate is the dual of the equivalence theorem: for every K (r, p)

    F* ≥ (tr KBᵀ)² / (tr K M₀Kᵀ + n max_z |Kφ(z)|²),

with equality at the optimum. The running mean of K over the iterations gives a far better bound than the last K: the
peaks of single iterates lie at different places. The maximum over z is searched from many starts, so the certificate is
as good as that search.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
W = BᵀB             ``B``                   weight of the criterion, B has shape (r, p)
M₀                  ``M0``                  information already there, (p, p)
n                   ``n``                   measurements to be placed
ξ                   ``points, weights``     design
==================  ======================  =========================================================
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.core.arrays import distinct_rows
from paraboloid.numerics import features, project_onto_region, random_points, vector_to_matrix
from paraboloid.numerics.positive import factored

__all__ = ["Criterion", "Design", "ascend", "refine_design", "solve_design"]

Climb: TypeAlias = Callable[[Matrix], tuple[Vector, Matrix]]
"""From features (m, p) to heights (m,) and half their derivative by the features (m, p)."""

POWER = 0.8  # of the multiplicative step; 1 oscillates when M₀ is large, smaller is slower (SMALL-BUDGETS.md)
INNER_STEPS = 30  # weight updates between searches for new candidates
REFINING_STEPS = 10
ASCENT_STEPS = 25
STARTS = 8  # times d points from which each search climbs
THOROUGH = 10  # every so many searches one climbs from everywhere
FRESH = 0.2  # weight of the newest K in the running mean
NEVER_MEASURED = 0.1  # of a measurement: the share of a point that a batch can do without
KEPT = 1e-7  # of the largest weight: smaller masses are dropped; larger thresholds stall the dual (SMALL-BUDGETS.md)


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """Points with weights that sum to one, the value of the criterion, and how far it can be from the best."""

    points: Matrix
    weights: Vector
    value: float
    gap: float


def solve_design(
    shape: Shape,
    B: Matrix,
    *,
    start: Matrix,
    start_weights: Vector | None = None,
    rng: np.random.Generator,
    M0: Matrix | None = None,
    n: float = 1.0,
    gap: float = 0.02,
    searches: int = 40,
) -> Design:
    """Return a design whose criterion is within ``gap`` of the best, or the best found after so many searches.

    >>> import numpy as np
    >>> B = np.array([[0.0, 1.0, 0.0]])  # the slope at the centre of a line
    >>> start = np.linspace(-1, 1, 5)[:, None]
    >>> design = solve_design(Shape.BOX, B, start=start, rng=np.random.default_rng(0))
    >>> round(design.value, 3), design.gap <= 0.02
    (1.0, True)
    """
    d = start.shape[1]
    points, weights = distinct_points(
        start, np.full(len(start), 1 / len(start)) if start_weights is None else start_weights
    )
    criterion = Criterion(B, np.zeros((B.shape[1], B.shape[1])) if M0 is None else M0, n)
    mean_K: Matrix | None = None
    for search in range(searches):
        phi = features(points)
        weights = criterion.settled(phi, weights, INNER_STEPS)
        K, value = criterion.sensitivity(phi, weights)
        mean_K = K / value if mean_K is None else (1 - FRESH) * mean_K + FRESH * K / value
        psi = np.sum((phi @ K.T) ** 2, axis=1)
        starts = np.vstack([points[np.argsort(psi)[-STARTS * d :]], _anywhere(shape, d, 4, rng)])
        found, height = ascend(shape, squared_length(K), starts)
        found_mean, height_mean = ascend(shape, squared_length(mean_K), found)
        bounds = [criterion.bound(K, float(height.max())), criterion.bound(mean_K, float(height_mean.max()))]
        is_last = search == searches - 1
        if value / max(bounds) - 1 <= gap or is_last or search % THOROUGH == THOROUGH - 1:
            # A search from everywhere finds peaks that the others have missed; only its bound counts.
            dual = (K, mean_K)[int(np.argmax(bounds))]
            everywhere = np.vstack([points, found, found_mean, _anywhere(shape, d, 10, rng)])
            peaks, heights = ascend(shape, squared_length(dual), everywhere)
            loss = value / criterion.bound(dual, float(heights.max())) - 1
            if loss <= gap or is_last:
                break
            highest = np.argsort(heights)[-10 * d :]
            found_mean, height_mean = np.vstack([found_mean, peaks[highest]]), np.append(height_mean, heights[highest])
        new = np.vstack([found[height > float(weights @ psi)], found_mean[height_mean > np.median(height_mean)]])
        points, weights = _with_new(shape, points, weights, new)
    return Design(points, weights, value, max(0.0, loss))


def refine_design(
    shape: Shape, criterion: "Criterion", points: Matrix, weights: Vector, *, rng: np.random.Generator, searches: int
) -> tuple[Matrix, Vector]:
    """Return a better design after a few searches for new points, without a certificate: what a batch needs.

    >>> import numpy as np
    >>> criterion = Criterion(np.array([[0.0, 1.0, 0.0]]), np.zeros((3, 3)), 1.0)  # the slope at the centre of a line
    >>> start = np.linspace(-0.9, 0.9, 5)[:, None]
    >>> rng = np.random.default_rng(0)
    >>> points, weights = refine_design(Shape.BOX, criterion, start, np.full(5, 0.2), rng=rng, searches=5)
    >>> bool(weights[np.abs(points[:, 0]) == 1].sum() > 0.9)
    True
    """
    d = points.shape[1]
    points, weights = distinct_points(points, weights)
    weights = criterion.settled(features(points), weights, REFINING_STEPS)
    for _ in range(searches):
        kept = weights * criterion.n > min(NEVER_MEASURED, float(weights.max()) * criterion.n / 2)
        points, weights = points[kept], weights[kept] / weights[kept].sum()
        phi = features(points)
        K, _ = criterion.sensitivity(phi, weights)
        psi = np.sum((phi @ K.T) ** 2, axis=1)
        starts = np.vstack([points[np.argsort(psi)[-2 * d :]], _anywhere(shape, d, 1, rng)])
        found, height = ascend(shape, squared_length(K), starts)
        points, weights = _with_new(shape, points, weights, found[height > float(weights @ psi)])
        weights = criterion.settled(features(points), weights, REFINING_STEPS)
    return points, weights


def distinct_points(points: Matrix, weights: Vector) -> tuple[Matrix, Vector]:
    """Return each point once, with the sum of its weights."""
    distinct, index = distinct_rows(points + 0.0)
    return distinct, np.bincount(index, weights=weights).astype(np.float64)


def _anywhere(shape: Shape, d: int, times: int, rng: np.random.Generator) -> Matrix:
    """Return random points of the edge and of the inside, so many times d of each."""
    inside = project_onto_region(shape, rng.uniform(-1, 1, (times * d, d)))
    return np.vstack([random_points(shape, times * d, d, rng), inside])


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """F(ξ) = tr(B (M₀ + n·M(ξ))⁻¹ Bᵀ)."""

    B: Matrix
    M0: Matrix
    n: float

    def sensitivity(self, phi: Matrix, weights: Vector) -> tuple[Matrix, float]:
        """Return K = B M⁻¹ and F; the gain of weight at z is n|Kφ(z)|²."""
        K = self._solved(phi, weights)
        return K, float(np.vdot(K, self.B))

    def _solved(self, phi: Matrix, weights: Vector) -> Matrix:
        M = self.M0 + (phi.T * (self.n * weights)) @ phi
        return factored(M, ridge=1e-13).solve(self.B.T).T

    def settled(self, phi: Matrix, weights: Vector, steps: int) -> Vector:
        """Return the weights after some multiplicative steps; each lowers F."""
        for _ in range(steps):
            image = phi @ self._solved(phi, weights).T
            psi = np.einsum("mi,mi->m", image, image)
            weights = weights * (psi / psi.max()) ** POWER
            weights /= weights.sum()
        return weights

    def bound(self, K: Matrix, highest: float) -> float:
        """Return the dual bound of K, whose greatest sensitivity over the region is ``highest``."""
        return float(np.sum(K * self.B)) ** 2 / (float(np.sum((K @ self.M0) * K)) + self.n * highest)


def _with_new(shape: Shape, points: Matrix, weights: Vector, found: Matrix) -> tuple[Matrix, Vector]:
    """Return the design with new candidates at a small weight each, without those whose weight has vanished."""
    kept = weights > KEPT * weights.max()
    points, weights = points[kept], weights[kept]
    # Ascents that end at one maximum differ in their last digits; rounding may step outside, so project again.
    unique = project_onto_region(shape, distinct_rows(np.round(found, 6) + 0.0)[0])
    share = 0.1 / max(1, len(unique))
    return np.vstack([points, unique]), np.concatenate([0.9 * weights, np.full(len(unique), share)])


def ascend(shape: Shape, climb: Climb, points: Matrix, steps: int = ASCENT_STEPS) -> tuple[Matrix, Vector]:
    """Return points moved up to local maxima by projected gradient steps, and the heights there.

    ``climb`` maps features φ (m, p) to heights (m,) and r (m, p), half their derivative by φ.
    """
    step, points = np.full(len(points), 0.5), points.copy()
    height, r = climb(features(points))
    for _ in range(steps):
        gradient = _half_gradient(r, points)
        length = np.sqrt(np.add.reduce(gradient**2, axis=1))
        moved = project_onto_region(shape, points + (step / np.maximum(length, 1e-300))[:, None] * gradient)
        reached, r_moved = climb(features(moved))
        is_better = reached > height
        better = is_better[:, None]
        for kept, found in ((points, moved), (r, r_moved)):
            np.copyto(kept, found, where=better)
        np.copyto(height, reached, where=is_better)
        step *= np.where(is_better, 1.3, 1 / 3)
    return points, height


def squared_length(K: Matrix) -> Climb:
    """Return φ ↦ (|Kφ|², KᵀKφ): the sensitivity ψ and half its derivative."""

    def climb(phi: Matrix) -> tuple[Vector, Matrix]:
        image = phi @ K.T
        return np.einsum("mi,mi->m", image, image), image @ K

    return climb


def _half_gradient(r: Matrix, points: Matrix) -> Matrix:
    """Return ½∇ψ at each point from r = KᵀKφ: the gradient of r·φ(z), with r held fixed, is r_b + R z."""
    d = points.shape[1]
    gradient: Matrix = r[:, 1 : d + 1] + np.einsum("ijm,mj->mi", vector_to_matrix(r.T[d + 1 :], d), points)
    return gradient
