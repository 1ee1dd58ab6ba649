"""Places that always fail: batches go round them."""

import numpy as np

from paraboloid.core import Evidence, Matrix, Vector

__all__ = ["away_from_failures"]


def away_from_failures(points: Matrix, evidence: Evidence, centre: Vector) -> Matrix:
    """Return the points, each pulled towards the centre until the nearest measured place is one that worked.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> tried = Measurements(np.array([1, 0]), [0.0, 0.0], [0.0, 0.0], failures=np.array([0, 2]))
    >>> evidence = Evidence.empty(1).with_measurements([[0.0], [1.0]], tried)
    >>> away_from_failures(np.array([[0.9], [-1.0]]), evidence, np.zeros(1))
    array([[ 0.45],
           [-1.  ]])
    """
    works = evidence.counts > 0
    if works.all() or not works.any():
        return points
    moved = points.copy()
    # A centre that lies where nothing works would lead there: the nearest place that worked takes its part.
    distances = np.linalg.norm(evidence.points - centre, axis=1)
    if not works[np.argmin(distances)]:
        centre = evidence.points[np.argmin(np.where(works, distances, np.inf))]
    for _ in range(6):
        distances = np.linalg.norm(moved[:, None, :] - evidence.points[None, :, :], axis=2)
        fails = ~works[np.argmin(distances, axis=1)]
        if not fails.any():
            break
        moved[fails] = centre + (moved[fails] - centre) / 2
    return moved
