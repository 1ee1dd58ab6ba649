"""One secant step for fixed points: the bounds of the instance limit then need a quarter of the eigendecompositions."""

from paraboloid.core import Vector

__all__ = ["secant_point"]


def secant_point(image: Vector, change: Vector, last_image: Vector, last_change: Vector) -> Vector:
    """Return the point of the line through two images where the change, taken as affine, is smallest.

    ``image`` is where the fixed-point map sends a point, ``change`` the way there. A share beyond 8 means that the two
    changes hardly differ, and the line says nothing so far away: it is cut.

    >>> import numpy as np
    >>> x, y = np.array([4.0]), np.array([2.0])  # the map halves: 4 -> 2, 2 -> 1
    >>> secant_point(y / 2, y / 2 - y, x / 2, x / 2 - x)
    array([0.])
    """
    turn = change - last_change
    square = float(turn @ turn)
    share = min(max(float(change @ turn) / square, -8.0), 8.0) if square > 0 else 0.0
    point: Vector = image - share * (image - last_image)
    return point
