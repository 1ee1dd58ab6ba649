"""Optimal design with data already taken: minimise tr(W (M₀ + n·M(ξ))⁻¹) over designs ξ, with a certificate.

Multiplicative weights on a growing set of candidates; new candidates are local maxima of the sensitivity
ψ(z) = φᵀM⁻¹WM⁻¹φ, found by projected ascent. By convexity

    F(ξ) - F* ≤ n (max_z ψ(z) - ∫ψ dξ),

the equivalence theorem: at the optimum ψ is largest on the support. The maximum over z is searched from many starts, so
the certificate is as good as that search.

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
from scipy import linalg

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics import features, project_onto_region, random_points, upper_triangle

__all__ = ["Design", "ascend", "solve_design"]

Climb: TypeAlias = Callable[[Matrix], tuple[Vector, Matrix]]
"""From features (m, p) to heights (m,) and half their derivative by the features (m, p)."""

POWER = 0.8  # of the multiplicative step; 1 oscillates when M₀ is large, smaller is slower (SMALL-BUDGETS.md)
INNER_STEPS = 30  # weight updates between searches for new candidates
ASCENT_STEPS = 25
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
    points = start
    d = points.shape[1]
    weights = np.full(len(points), 1 / len(points))
    fixed = np.zeros((B.shape[1], B.shape[1])) if M0 is None else M0
    for search in range(searches):
        phi = features(points)
        for _ in range(INNER_STEPS):
            K, value = _sensitivity(fixed + n * (phi.T * weights) @ phi, B)
            psi = np.sum((phi @ K.T) ** 2, axis=1)
            weights = weights * (psi / psi.max()) ** POWER
            weights /= weights.sum()
        K, value = _sensitivity(fixed + n * (phi.T * weights) @ phi, B)
        psi = np.sum((phi @ K.T) ** 2, axis=1)
        best = np.argsort(psi)[-2 * d :]
        starts = np.vstack([points[best], random_points(shape, 4 * d, d, rng), rng.uniform(-1, 1, (2 * d, d))])
        found, height = ascend(shape, squared_length(K), project_onto_region(shape, starts))
        loss = n * (max(float(height.max()), float(psi.max())) - float(weights @ psi)) / value
        if loss <= gap or search == searches - 1:
            break
        points, weights = _with_new(shape, points, weights, found[height > float(weights @ psi)])
    return Design(points, weights, value, max(0.0, float(loss)))


def _sensitivity(M: Matrix, B: Matrix) -> tuple[Matrix, float]:
    """Return K = B M⁻¹ and tr(B M⁻¹ Bᵀ); ψ(z) = |K φ(z)|²."""
    scale = 1 / np.sqrt(np.diag(M))  # unit diagonal: coefficients may differ by many orders of magnitude
    factor = linalg.cho_factor(scale[:, None] * M * scale + 1e-13 * np.eye(len(M)), check_finite=False)
    K = (scale[:, None] * linalg.cho_solve(factor, scale[:, None] * B.T, check_finite=False)).T
    return K, float(np.sum(K * B))


def _with_new(shape: Shape, points: Matrix, weights: Vector, found: Matrix) -> tuple[Matrix, Vector]:
    """Return the design with new candidates at a small weight each, without those whose weight has vanished."""
    kept = weights > KEPT * weights.max()
    points, weights = points[kept], weights[kept]
    # Ascents that end at one maximum differ in their last digits; rounding may step outside, so project again.
    unique = project_onto_region(shape, np.unique(np.round(found, 6) + 0.0, axis=0))
    share = 0.1 / max(1, len(unique))
    return np.vstack([points, unique]), np.concatenate([0.9 * weights, np.full(len(unique), share)])


def ascend(shape: Shape, climb: Climb, points: Matrix, steps: int = ASCENT_STEPS) -> tuple[Matrix, Vector]:
    """Return points moved up to local maxima by projected gradient steps, and the heights there.

    ``climb`` maps features φ (m, p) to heights (m,) and r (m, p), half their derivative by φ.
    """
    step = np.full(len(points), 0.5)
    height, r = climb(features(points))
    for _ in range(steps):
        gradient = _half_gradient(r, points)
        length = np.linalg.norm(gradient, axis=1, keepdims=True)
        moved = project_onto_region(shape, points + step[:, None] * gradient / np.maximum(length, 1e-300))
        reached, r_moved = climb(features(moved))
        better = reached > height
        points = np.where(better[:, None], moved, points)
        r = np.where(better[:, None], r_moved, r)
        height = np.where(better, reached, height)
        step = np.where(better, step * 1.3, step / 3)
    return points, height


def squared_length(K: Matrix) -> Climb:
    """Return φ ↦ (|Kφ|², KᵀKφ): the sensitivity ψ and half its derivative."""

    def climb(phi: Matrix) -> tuple[Vector, Matrix]:
        image = phi @ K.T
        return np.sum(image**2, axis=1), image @ K

    return climb


def _half_gradient(r: Matrix, points: Matrix) -> Matrix:
    """Return ½∇ψ at each point from r = KᵀKφ: the gradient of r·φ(z), with r held fixed, is r_b + R z."""
    d = points.shape[1]
    i, j = upper_triangle(d)
    R = np.zeros((len(points), d, d))
    R[:, i, j] = r[:, d + 1 :]
    R[:, j, i] = r[:, d + 1 :]
    gradient: Matrix = r[:, 1 : d + 1] + np.einsum("mij,mj->mi", R, points)
    return gradient
