"""The next batch of measurements: an optimal design with the data already taken, in whole repeats.

Large batches solve the convex design problem and round it; the rest of the rounding, and small batches altogether, are
filled one measurement at a time with the largest gain  φᵀΣWΣφ/(σ² + φᵀΣφ), the drop of tr(WΣ) that it brings.
"""

import numpy as np
from scipy import linalg

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.core.arrays import distinct_rows
from paraboloid.design.closed_form import closed_form_design
from paraboloid.design.criterion import regret_weight
from paraboloid.design.solver import Climb, Criterion, ascend, refine_design
from paraboloid.numerics import QuadraticFit, features, project_onto_region, random_points
from paraboloid.numerics.positive import positive_inverse

__all__ = ["merge", "next_batch", "pilot"]

POLISHED = 2  # batches below this many times p are chosen and polished point by point
LARGEST_POLISHED = 2000  # coefficients (61 knobs); beyond, a point takes a second
FILLED = 10  # below this many, what rounding down leaves over is chosen point by point; above it makes no difference
CLOSED_FROM = 15  # knobs, from which on the closed form is far cheaper, and within a few per cent
OUTWEIGHED = 1.5  # times what was measured before: a larger batch can be chosen as if it were the first
SEARCHES = 2
CLOSED = 0.7  # weight of the closed form at the start
HEDGE = 0.03
"""Of the largest variance that the model predicts: added to the noise where points are chosen one by one.

The gain is a ratio, and where the noise is small beside what is not known yet, a place that tells hardly anything gains
as much as the one that tells most; the answer then hangs on differences that noise blurs. Fades as data come."""


def pilot(shape: Shape, d: int, n: int, rng: np.random.Generator) -> Matrix:
    """Return n points (n, d) for a beginning without any knowledge: frames with their negatives, and the centre.

    On the ball each frame is orthogonal and random. On the box the first one has corners with a determinant that no
    single flip of a sign can enlarge; in the others a random half of the coordinates is zero, for corners alone cannot
    tell the curvatures of single knobs apart.

    >>> pilot(Shape.BOX, 1, 3, np.random.default_rng(0)).ravel()
    array([ 0., 1., -1.])
    """
    blocks: list[Matrix] = []
    while sum(map(len, blocks)) < n:
        if shape is Shape.BALL:
            frame, _ = np.linalg.qr(rng.standard_normal((d, d)))
        elif not blocks or d == 1:
            frame = _sign_frame(d, rng)
        else:
            frame = np.where(rng.random((d, d)) < 0.5, 0.0, _sign_frame(d, rng))
        blocks.append(np.vstack([np.zeros((1, d)), *[np.stack([row, -row]) for row in frame]]))
    return np.vstack(blocks)[:n]


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
    if n <= POLISHED * p:
        return merge(*_greedy(shape, Sigma, W, sigma2, points, n, polish=p <= LARGEST_POLISHED))
    is_closed = fit.minimiser.size >= CLOSED_FROM and n > OUTWEIGHED * (fit.freedom + p)
    points, weights = _closed(fit, shape, 2 * p, rng) if is_closed else _large_batch(fit, shape, W, points, n, rng)
    if n > FILLED * p or is_closed:
        return merge(points, rounded(weights, n, rng))
    repeats = np.floor(weights * n).astype(np.int64)
    phi = features(points)
    Sigma = positive_inverse(positive_inverse(Sigma) + (phi.T * repeats) @ phi / sigma2)
    extra, more = _greedy(shape, Sigma, W, sigma2, points, n - int(repeats.sum()), polish=False)
    return merge(np.vstack([points, extra]), np.concatenate([repeats, more]))


def rounded(weights: Vector, n: int, rng: np.random.Generator) -> Counts:
    """Return whole repeats that sum to n, each n·weight rounded up or down and right on average (systematic sampling).

    >>> import numpy as np
    >>> rounded(np.array([0.25, 0.5, 0.25]), 8, np.random.default_rng(0))
    array([2, 4, 2])
    """
    ends = np.floor(np.cumsum(weights) / np.sum(weights) * n + rng.random())
    ends[-1] = n
    return np.diff(ends, prepend=0.0).astype(np.int64)


def _closed(fit: QuadraticFit, shape: Shape, size: int, rng: np.random.Generator) -> tuple[Matrix, Vector]:
    points, shares = closed_form_design(shape, linalg.inv(fit.hessian), fit.minimiser, size, rng)
    return project_onto_region(shape, points), shares


def _large_batch(
    fit: QuadraticFit, shape: Shape, W: Matrix, points: Matrix, n: int, rng: np.random.Generator
) -> tuple[Matrix, Vector]:
    """Return points and weights of a nearly optimal design: the closed form, refined for the data already there."""
    closed, shares = _closed(fit, shape, 2 * len(W), rng)
    eigenvalues, Q = np.linalg.eigh(W)
    B = (Q * np.sqrt(np.maximum(eigenvalues, 0.0))).T[eigenvalues > 1e-12 * eigenvalues[-1]]
    information = fit.sigma2 * positive_inverse(fit.covariance)
    start = np.vstack([closed, points])
    weights = np.concatenate([CLOSED * shares, np.full(len(points), (1 - CLOSED) / len(points))])
    criterion = Criterion(B, (information + information.T) / 2, n)
    searches = SEARCHES if n <= FILLED * len(W) else 1  # against few data the closed form is as good as best
    return refine_design(shape, criterion, start, weights, rng=rng, searches=searches)


def merge(points: Matrix, repeats: Counts) -> tuple[Matrix, Counts]:
    """Return distinct points and the total repeats at each.

    >>> import numpy as np
    >>> merge(np.array([[1.0], [0.0], [1.0]]), np.array([1, 2, 3]))
    (array([[0.],
           [1.]]), array([2, 4]))
    """
    used = repeats > 0
    distinct, index = distinct_rows(points[used] + 0.0)
    return distinct, np.bincount(index, weights=repeats[used]).astype(np.int64)


def _greedy(
    shape: Shape, Sigma: Matrix, W: Matrix, sigma2: float, points: Matrix, n: int, *, polish: bool
) -> tuple[Matrix, Counts]:
    """Return n points chosen one at a time, each with one repeat; Σ is updated by rank one after each."""
    phi = features(points)
    Sigma = Sigma.copy()
    chosen = []
    SW = Sigma @ W @ Sigma
    a = np.sum((phi @ SW) * phi, axis=1)
    s = np.sum((phi @ Sigma) * phi, axis=1)
    for _ in range(n):
        hedged = sigma2 + HEDGE * float(s.max())
        best = points[[int(np.argmax(a / (hedged + s)))]]
        if polish:
            best, _ = ascend(shape, _gain(Sigma, SW, hedged), best, steps=10)
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
