"""The next batch of measurements: an optimal design with the data already taken, in whole repeats.

Large batches solve the convex design problem and round it; the rest of the rounding is filled one measurement at a time
with the largest gain. Small batches are chosen in the same way, and then exchanged one for another. The first p
measurements depend on each other, for they have to tell p coefficients: they are planned together with those that will
follow, and planned anew after each batch.
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.core.arrays import distinct_rows
from paraboloid.design.closed_form import closed_form_design
from paraboloid.design.criterion import regret_weight
from paraboloid.design.exchange import choose_greedily, choose_in_turn, exchange
from paraboloid.design.solver import Criterion, refine_design
from paraboloid.numerics import QuadraticFit, features, project_onto_region, random_points
from paraboloid.numerics.fit import prior_precision
from paraboloid.numerics.positive import positive_inverse

__all__ = ["merge", "next_batch", "pilot"]

POLISHED = 2  # batches below this many times p are chosen and exchanged point by point
LARGEST_POLISHED = 2000  # coefficients (61 knobs); beyond, a point takes a second
LARGEST_PLANNED = 300  # coefficients (23 knobs); beyond, exchanges take a minute
SWEEPS, SWEEPS_AHEAD = 8, 3  # most turns of exchanges, of a batch and of a plan of which only a part is measured next
WORTHWHILE = 0.02  # part by which a turn lowers tr(WΣ), below which there is no other
FILLED = 10  # below this many, what rounding down leaves over is chosen point by point; above it makes no difference
CLOSED_FROM = 15  # knobs, from which on the closed form is far cheaper, and within a few per cent
OUTWEIGHED = 1.5  # times what was measured before: a larger batch can be chosen as if it were the first
SEARCHES = 2
CLOSED = 0.7  # weight of the closed form at the start
TRUSTED = 1e-3
"""Part of the prior that a plan of p measurements and more counts on: in the end they have to tell all the curvature,
and a plan that counts on the whole prior, which is a guess, leaves directions to it. Fewer than p need all of it."""


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


def next_batch(
    fit: QuadraticFit, shape: Shape, n: int, rng: np.random.Generator, ahead: int | None = None
) -> tuple[Matrix, Counts]:
    """Return points (k, d) and repeats (k,) of n measurements that lower the expected regret most.

    Where ``ahead`` is given, the batch is planned together with so many that will follow it.

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
        if p <= LARGEST_PLANNED:
            chosen = _exchanged(fit, shape, W, points, n, ahead)
        else:
            chosen = choose_greedily(shape, (Sigma, W, sigma2), points, n, polish=p <= LARGEST_POLISHED)
        return merge(chosen, np.ones(n, dtype=np.int64))
    is_closed = fit.minimiser.size >= CLOSED_FROM and n > OUTWEIGHED * (fit.freedom + p)
    points, weights = _closed(fit, shape, 2 * p, rng) if is_closed else _large_batch(fit, shape, W, points, n, rng)
    if n > FILLED * p or is_closed:
        return merge(points, rounded(weights, n, rng))
    repeats = np.floor(weights * n).astype(np.int64)
    phi = features(points)
    Sigma = positive_inverse(positive_inverse(Sigma) + (phi.T * repeats) @ phi / sigma2)
    extra = choose_greedily(shape, (Sigma, W, sigma2), points, n - int(repeats.sum()), polish=False)
    return merge(np.vstack([points, extra]), np.concatenate([repeats, np.ones(len(extra), dtype=np.int64)]))


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
    points, shares = closed_form_design(shape, positive_inverse(fit.hessian), fit.minimiser, size, rng)
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


def _exchanged(fit: QuadraticFit, shape: Shape, W: Matrix, points: Matrix, n: int, ahead: int | None) -> Matrix:
    """Return n measurements that leave the least regret together, or with so many that will follow."""
    p = len(W)
    if ahead is not None and fit.information is not None:
        total = fit.sigma2 * float(fit.information[0, 0]) + n + ahead  # the first feature is 1
        if total > p - 0.5:
            return _planned(fit, shape, W, points, n, ahead)
        if shape is Shape.BALL:  # with twenty knobs and p/2 measurements, exchanges double the regret there
            return choose_greedily(shape, (fit.covariance, W, fit.sigma2), points, n, polish=True)
    return _together(fit, shape, W, points, n, positive_inverse(fit.covariance), SWEEPS)


def _planned(fit: QuadraticFit, shape: Shape, W: Matrix, points: Matrix, n: int, ahead: int) -> Matrix:
    """Return n of the n + ahead measurements that together leave the least regret: those that tell most now."""
    measured = np.zeros_like(W) if fit.information is None else fit.information
    known = measured + TRUSTED * prior_precision(fit, shape)
    plan = _together(fit, shape, W, points, n + ahead, known, SWEEPS_AHEAD if ahead else SWEEPS)
    return plan[choose_in_turn((fit.covariance, W, fit.sigma2), plan, n)] if ahead else plan


def _together(
    fit: QuadraticFit, shape: Shape, W: Matrix, points: Matrix, n: int, precision: Matrix, sweeps: int
) -> Matrix:
    """Return n measurements chosen one by one and then exchanged, for so much known beforehand, (p, p)."""
    sigma2 = fit.sigma2
    chosen = choose_greedily(shape, (fit.covariance, W, sigma2), points, n, polish=False)
    before = np.inf
    for _ in range(sweeps):
        phi = features(chosen)
        Sigma = positive_inverse(precision + phi.T @ phi / sigma2)
        left = float(np.sum(W * Sigma))
        if left > (1 - WORTHWHILE) * before:
            break
        before, chosen = left, exchange(shape, (Sigma, W, sigma2), points, chosen)
    return chosen


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
