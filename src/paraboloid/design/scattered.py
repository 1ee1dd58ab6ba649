"""The next batch where values are exact but for wild ones, and the response is no quadratic at any scale.

What a quadratic leaves over in a window is then the shape's and no noise: a second measurement at the same place tells
nothing of it, and the few places of an optimal design tell what the shape is at these. So the places are scattered over
many scales of the window. Each is measured twice: two values that agree are exact, and a single one may be wild.

Where noise is a huge factor on one side, a second measurement at the same place tells no more than one elsewhere does,
which may be a lower place: there each is measured once (`scattered_once`).
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.numerics import Window, project_onto_region, random_points

__all__ = ["scattered_batch", "scattered_once"]

NEAREST = 0.06  # in window radii: still nearer places tell of windows to come, and are missed in this one
MANY = 1000  # places; more would tell hardly more, and a fit has to look at each
TRIES = 20  # for a place inside the domain
MOST = 10_000  # the same, where every value is looked at once and few are fitted to


def scattered_batch(about: Vector, n: int, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return points (k, d) about one and repeats (k,): itself, and others up to 1 from it, as many at each scale.

    >>> points, repeats = scattered_batch(np.zeros(2), 41, np.random.default_rng(0))
    >>> len(repeats), int(repeats.sum()), int(repeats.max()), bool(np.linalg.norm(points, axis=1).max() <= 1)
    (20, 41, 3, True)
    """
    k = min(max(n // 2, 2), MANY)
    distance = NEAREST ** ((np.arange(k - 1) + rng.random(k - 1)) / (k - 1))
    around = about + distance[:, None] * random_points(Shape.BALL, k - 1, about.size, rng)
    return np.vstack([about, around]), n // k + (np.arange(k) < n % k)


def scattered_once(window: Window, n: int, shape: Shape, rng: np.random.Generator) -> tuple[Matrix, Counts]:
    """Return points (k, d) in the window's coordinates and repeats (k,), one each as far as there are not too many.

    They are normal about the window's centre and inside the domain, where most of the window is; at its edge there
    would be many at one and the same place. Where the window is everything, they are even.

    >>> points, repeats = scattered_once(Window(np.ones(2), np.eye(2)), 3, Shape.BOX, np.random.default_rng(0))
    >>> bool(points.max() <= 0), repeats
    (True, array([1, 1, 1]))
    """
    k, d = min(n, MOST), window.centre.size
    repeats = n // k + (np.arange(k) < n % k)
    if window.is_everything:
        return _anywhere(shape, k, d, rng), repeats
    points = rng.standard_normal((TRIES * k, d))
    there = window.from_local(points)
    outside = np.any(np.abs(project_onto_region(shape, there) - there) > 0, axis=1)
    return points[np.argsort(outside, kind="stable")[:k]], repeats


def _anywhere(shape: Shape, n: int, d: int, rng: np.random.Generator) -> Matrix:
    """Return points that are even over the box or the ball."""
    if shape is Shape.BOX:
        return rng.uniform(-1.0, 1.0, (n, d))
    return random_points(shape, n, d, rng) * rng.random((n, 1)) ** (1 / d)
