"""Check points: a few measurements of each batch go where a quadratic would show that it is none.

An optimal design for a quadratic measures at little more places than a quadratic needs, again and again; it cannot see
that the response is something else. One measurement in twenty is therefore taken elsewhere, and of the first ones more:
until there are a few more places than any quadratic can bend to. Each goes where a discrepancy that the measurements so
far cannot see would show most, against the noise and what is not known of the quadratic: the ratio of the variances with
and without it, which is what the evidence for it grows by.
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape
from paraboloid.design.batch import merge
from paraboloid.design.criterion import regret_weight
from paraboloid.numerics import LackOfFit, QuadraticFit, features, project_onto_region

__all__ = ["with_checks"]

SHARE = 20  # one measurement in so many
FIRST_SHARE = 7  # of the first ones
FIRST = 4  # checks at this share
LOW_SHARE = 40
TRIED = 30  # random places, of which the most telling are taken
LEAST_SHARE = 0.5  # of a batch stays with the design
PLACES = 60  # at most so many in a batch, repeated where more are due: memory must not grow with the measurements
TYPICAL = 1  # of its sizes, five times the variance of the noise
USELESS = 0.3  # worth of a place that tells nothing of a quadratic, against the most useful one
LENGTH = 0.6  # of the discrepancy that would show, the middle one of those looked for


def with_checks(
    points: Matrix,
    repeats: Counts,
    fit: QuadraticFit,
    shape: Shape,
    taken: int,
    rng: np.random.Generator,
    lack: LackOfFit,
    at_minimiser: int = 0,
) -> tuple[Matrix, Counts]:
    """Return the batch with every twentieth measurement of the whole search, and more of the first, at another place.

    And every fortieth, but no more than ``at_minimiser``, is taken there, where small noise would be seen.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic, lack_of_fit
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> lack, rng = lack_of_fit(evidence, fit), np.random.default_rng(0)
    >>> points, repeats = with_checks(np.array([[-1.0], [1.0]]), np.array([25, 25]), fit, Shape.BOX, 29, rng, lack)
    >>> len(points), int(repeats.sum())
    (4, 50)
    """
    n = int(repeats.sum())
    due = min(_checks(taken + n) - _checks(taken), max(1, int(LEAST_SHARE * n)))
    low = max(0, min((taken + n) // LOW_SHARE - taken // LOW_SHARE, at_minimiser, n - due - 1))
    if due + low == 0:
        return points, repeats
    places = _telling(fit, shape, lack, min(due, PLACES), rng)
    counts = np.diff(np.linspace(0, due, len(places) + 1).astype(np.int64))
    left, missing = repeats.copy(), due + low
    while missing:  # from where most repeats are, a twentieth at a time: there they are missed least
        most = int(np.argmax(left))
        step = min(missing, max(1, int(left[most]) // SHARE))
        left[most] -= step
        missing -= step
    return merge(np.vstack([points, places, fit.minimiser]), np.concatenate([left, counts, [low]]))


def _checks(taken: int) -> int:
    """Return how many of the measurements of a search are checks."""
    return max(taken // SHARE, min(taken // FIRST_SHARE, FIRST))


def _telling(fit: QuadraticFit, shape: Shape, lack: LackOfFit, n: int, rng: np.random.Generator) -> Matrix:
    """Return n places, each where a discrepancy shows most once the others are measured."""
    d = fit.minimiser.size
    tried = TRIED + n
    places = fit.minimiser + rng.uniform(-1, 1, (tried, d)) * rng.uniform(0.1, 1.0, (tried, 1))
    places = project_onto_region(shape, places)
    if lack.contrasts is None or not lack.contrasts.is_full:
        return places[:n]
    phi = features(places)
    known = fit.sigma2 + np.sum((phi @ fit.covariance) * phi, axis=1)
    roots = [one.root for one in lack.contrasts.discrepancies(places, (LENGTH,), (0.0,))]
    C = roots[TYPICAL] @ roots[TYPICAL].T
    Sigma = fit.covariance
    worth = np.sum((phi @ (Sigma @ regret_weight(fit, shape) @ Sigma)) * phi, axis=1) / known
    price = known / (USELESS + worth / worth.max())
    chosen: list[int] = []
    for _ in range(n):
        best = int(np.argmax(np.diag(C) / price))
        chosen.append(best)
        C = C - np.outer(C[best], C[best]) / (C[best, best] + known[best])
    return places[chosen]
