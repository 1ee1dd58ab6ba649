"""The true minimum of a function that is known without noise, where no formula gives it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from paraboloid.core import Matrix, Vector


def lowest_found(
    function: Callable[[Vector], object], starts: Matrix, box: tuple[Vector, Vector], **options: Any
) -> tuple[float, Vector]:
    """Return the least value and its place that local searches in a box find from the rows of ``starts``.

    The function returns its value, or with ``jac=True`` its value and gradient.
    """
    search: Any = optimize.minimize  # with ``options`` passed through, no overload of its types can be chosen
    bounds = list(zip(*box, strict=True))
    found = [search(function, start, bounds=bounds, **options) for start in starts]
    best = min(found, key=lambda one: float(one.fun))
    return float(best.fun), np.asarray(best.x)
