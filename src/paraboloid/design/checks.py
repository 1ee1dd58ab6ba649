"""Check points: a few measurements of each batch go where a quadratic would show that it is none.

An optimal design for a quadratic measures at little more points than a quadratic needs, again and again; it cannot see
that the response is something else. One measurement in twenty is therefore taken elsewhere. It is not lost: it is the
best of a few random places, and serves the fit as well.
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape
from paraboloid.design.batch import merge
from paraboloid.design.criterion import regret_weight
from paraboloid.numerics import QuadraticFit, features, project_onto_region

__all__ = ["with_checks"]

SHARE = 20  # one measurement in so many
LOW_SHARE = 40
TRIED = 4  # random places, of which the most useful is taken
LEAST_SHARE = 0.5  # of a batch stays with the design
PLACES = 60  # at most so many in a batch, repeated where more are due: memory must not grow with the measurements


def with_checks(
    points: Matrix,
    repeats: Counts,
    fit: QuadraticFit,
    shape: Shape,
    taken: int,
    rng: np.random.Generator,
    at_minimiser: int = 0,
) -> tuple[Matrix, Counts]:
    """Return the batch with every twentieth measurement of the whole search taken at a place of its own.

    And every fortieth, but no more than ``at_minimiser``, is taken there, where small noise would be seen.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> rng = np.random.default_rng(0)
    >>> points, repeats = with_checks(np.array([[-1.0], [1.0]]), np.array([15, 15]), fit, Shape.BOX, 9, rng)
    >>> len(points), int(repeats.sum())
    (3, 30)
    """
    n = int(repeats.sum())
    due = min(_due(taken, n, SHARE), int(LEAST_SHARE * n))
    low = min(_due(taken, n, LOW_SHARE), at_minimiser, n - due - 1)
    if due + low == 0:
        return points, repeats
    d, n_places = points.shape[1], min(due, PLACES)
    places = fit.minimiser + rng.uniform(-1, 1, (n_places * TRIED, d)) * rng.uniform(0.1, 1.0, (n_places * TRIED, 1))
    places = project_onto_region(shape, places)
    phi = features(places)
    Sigma = fit.covariance
    worth = np.sum((phi @ (Sigma @ regret_weight(fit, shape) @ Sigma)) * phi, axis=1)
    worth /= fit.sigma2 + np.sum((phi @ Sigma) * phi, axis=1)
    best = np.argmax(worth.reshape(n_places, TRIED), axis=1) + TRIED * np.arange(n_places)
    counts = np.diff(np.linspace(0, due, n_places + 1).astype(np.int64))
    left, missing = repeats.copy(), due + low
    while missing:  # from where most repeats are, a twentieth at a time: there they are missed least
        most = int(np.argmax(left))
        step = min(missing, max(1, int(left[most]) // SHARE))
        left[most] -= step
        missing -= step
    return merge(np.vstack([points, places[best], fit.minimiser]), np.concatenate([left, counts, [low]]))


def _due(taken: int, n: int, share: int) -> int:
    """Return how many of the next n measurements are one in so many of the whole search."""
    return (taken + n) // share - taken // share
