"""The next batch of measurements: an optimal design with the data already taken, in whole repeats.

Large batches solve the convex design problem and round it; the rest of the rounding, and small batches altogether, are
filled one measurement at a time with the largest gain  φᵀΣWΣφ/(σ² + φᵀΣφ), the drop of tr(WΣ) that it brings.
"""

import numpy as np
from scipy import linalg

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.design.criterion import regret_weight
from paraboloid.design.solver import Climb, ascend, solve_design
from paraboloid.numerics import QuadraticFit, features, project_onto_region, random_points

__all__ = ["next_batch", "pilot"]

POLISHED = 2  # batches below this many times p are polished point by point
SEARCHES = 4


def pilot(shape: Shape, d: int, rng: np.random.Generator) -> Matrix:
    """Return 2d + 1 points: a random frame and its negative, and the centre.

    On the ball the frame is orthogonal; on the box its rows are corners with a determinant that no single flip of a
    sign can enlarge.

    >>> pilot(Shape.BOX, 1, np.random.default_rng(0)).ravel()
    array([ 0., 1., -1.])
    """
    if shape is Shape.BALL:
        frame, _ = np.linalg.qr(rng.standard_normal((d, d)))
    else:
        frame = _sign_frame(d, rng)
    return np.vstack([np.zeros((1, d)), *[np.stack([row, -row]) for row in frame]])


def _sign_frame(d: int, rng: np.random.Generator) -> Matrix:
    frame = np.where(rng.random((d, d)) < 0.5, -1.0, 1.0)
    while np.linalg.matrix_rank(frame) < d:
        frame = np.where(rng.random((d, d)) < 0.5, -1.0, 1.0)
    while True:
        # Flipping entry (i, j) multiplies the determinant by 1 - 2 S_ij (S⁻¹)_ji.
        ratios = np.abs(1 - 2 * frame * np.linalg.inv(frame).T)
        i, j = np.unravel_index(int(ratios.argmax()), ratios.shape)
        if ratios[i, j] <= 1 + 1e-9:
            return frame
        frame[i, j] *= -1


def next_batch(fit: QuadraticFit, shape: Shape, n: int, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return points (k, d) and repeats (k,) of n measurements that lower the expected regret most.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> points, repeats = next_batch(fit, Shape.BOX, 50, np.random.default_rng(0))
    >>> int(repeats.sum()), float(np.abs(points).max())
    (50, 1.0)
    """
    W = regret_weight(fit, shape)
    Sigma, sigma2 = fit.covariance, fit.sigma2
    points = _candidates(fit, shape, rng)
    p = len(W)
    repeats = np.zeros(len(points), dtype=np.int64)
    if n > POLISHED * p:
        eigenvalues, Q = linalg.eigh(W)
        B = (Q * np.sqrt(np.maximum(eigenvalues, 0.0))).T[eigenvalues > 1e-12 * eigenvalues[-1]]
        information = sigma2 * linalg.inv(Sigma)
        design = solve_design(
            shape, B, start=points, rng=rng, M0=(information + information.T) / 2, n=n, gap=0.03, searches=SEARCHES
        )
        points = design.points
        repeats = np.floor(design.weights * n).astype(np.int64)
        phi = features(points)
        Sigma = linalg.inv(linalg.inv(Sigma) + (phi.T * repeats) @ phi / sigma2)
    extra, more = _greedy(shape, Sigma, W, sigma2, points, n - int(repeats.sum()), polish=n <= POLISHED * p)
    used = repeats > 0
    return _merge(np.vstack([points[used], extra]), np.concatenate([repeats[used], more]))


def _merge(points: Matrix, repeats: Counts) -> tuple[Matrix, Counts]:
    distinct, index = np.unique(points + 0.0, axis=0, return_inverse=True)
    return distinct, np.bincount(index.ravel(), weights=repeats).astype(np.int64)


def _greedy(
    shape: Shape, Sigma: Matrix, W: Matrix, sigma2: float, points: Matrix, n: int, *, polish: bool
) -> tuple[Matrix, Counts]:
    """Return n points chosen one at a time, each with one repeat; Σ is updated by rank one after each."""
    phi = features(points)
    Sigma = Sigma.copy()
    chosen = []
    SW = Sigma @ W @ Sigma
    a = np.einsum("mp,pq,mq->m", phi, SW, phi)
    s = np.einsum("mp,pq,mq->m", phi, Sigma, phi)
    for _ in range(n):
        best = points[[int(np.argmax(a / (sigma2 + s)))]]
        if polish:
            best, _ = ascend(shape, _gain(Sigma, SW, sigma2), best, steps=10)
        f = features(best)[0]
        chosen.append(best[0])
        # Sherman-Morrison: Σ' = Σ - g gᵀ/(σ² + φᵀΣφ), g = Σφ, and the same for ΣWΣ and the candidates' scores.
        g = Sigma @ f
        h = SW @ f
        den = sigma2 + float(f @ g)
        num = float(f @ h)
        pg, ph = phi @ g, phi @ h
        a += (-2 * pg * ph + pg**2 * num / den) / den
        s -= pg**2 / den
        Sigma -= np.outer(g, g) / den
        SW += (-np.outer(g, h) - np.outer(h, g) + np.outer(g, g) * num / den) / den
    return np.array(chosen).reshape(-1, points.shape[1]), np.ones(n, dtype=np.int64)


def _gain(Sigma: Matrix, SW: Matrix, sigma2: float) -> Climb:
    """Return φ ↦ gain and half its derivative."""

    def climb(phi: Matrix) -> tuple[Vector, Matrix]:
        r, g = phi @ SW, phi @ Sigma
        num, den = np.sum(r * phi, axis=1), sigma2 + np.sum(g * phi, axis=1)
        return num / den, r / den[:, None] - g * (num / den**2)[:, None]

    return climb


def _candidates(fit: QuadraticFit, shape: Shape, rng: np.random.Generator) -> Matrix:
    """Return points worth looking at: eigen-lines through the minimiser at several lengths, extreme points, mirrors."""
    z = fit.minimiser
    d = z.size
    _, Q = np.linalg.eigh(fit.hessian)
    lines = np.vstack([Q.T, -Q.T])
    extreme = random_points(shape, 20 * d, d, rng)
    mirrored = 2 * z - extreme[: 10 * d]
    steps = [z + length * lines for length in (2.0, 0.5, 0.2)]
    inner = z + (extreme[: 6 * d] - z) * rng.uniform(0.1, 0.6, (6 * d, 1))
    everything = np.vstack([np.zeros((1, d)), z[None, :], extreme, mirrored, *steps, inner])
    if shape is Shape.BOX:
        everything = np.vstack([everything, rng.integers(-1, 2, (10 * d, d)).astype(float)])
    return project_onto_region(shape, everything)
