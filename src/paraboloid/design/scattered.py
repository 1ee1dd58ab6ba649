"""The next batch where values are exact but for wild ones, and the response is no quadratic at any scale.

What a quadratic leaves over in a window is then the shape's and no noise: a second measurement at the same place tells
nothing of it, and the few places of an optimal design tell what the shape is at these. So the places are scattered over
many scales of the window. Each is measured twice: two values that agree are exact, and a single one may be wild.
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.numerics import random_points

__all__ = ["scattered_batch"]

NEAREST = 0.03  # in window radii
MANY = 1000  # places; more would tell hardly more, and a fit has to look at each


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
