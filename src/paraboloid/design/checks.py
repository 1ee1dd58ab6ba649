"""Check points: a few measurements of each batch go where a quadratic would show that it is none.

An optimal design for a quadratic measures at little more places than a quadratic needs, again and again; it cannot see
that the response is something else. Beyond the p measurements that any quadratic fits, one in twenty is therefore taken
elsewhere, and of the first ones more: until there are a few more places than any quadratic can bend to. Each goes where
a discrepancy that the measurements so far cannot see would show most, against the noise and what is not known of the
quadratic; every other one where it would tell most of the slope at the minimiser: what a discrepancy does there moves
the minimum. Of places that show as much, one that also tells of the quadratic is preferred: many are nearly as good as
the best for it. The others of a batch are designed with the checks in mind.
"""

import numpy as np

from paraboloid.core import Counts, Matrix, Shape, Vector
from paraboloid.design.batch import merge
from paraboloid.design.criterion import free_inverse, regret_weight
from paraboloid.numerics import LackOfFit, QuadraticFit, features, n_terms, project_onto_region, random_points
from paraboloid.numerics.contrasts import TIP

__all__ = ["check_points", "pilot_with_checks"]

SHARE = 20  # one measurement in so many
PILOT_SHARE = 4  # of what a first round has beyond two measurements per coefficient, up to FIRST checks
FIRST_SHARE, FIRST = 6, 4  # and at this share up to so many checks: three places fit any parabola of one knob
SECOND_SHARE, SECOND = 12, 3  # and at this one up to so many for each knob and the constant: cubic and quartic terms
LOW_SHARE, LOW_BEYOND = 40, 30  # one in so many is taken at the minimiser, and at most one in so many beyond p
AGAIN_SHARE, AGAIN = 20, 2  # and one place of so many, far below the fit, so often: is it wild, or a dip?
TRIED = 50  # random places, and as many at the edge, of which the most telling are taken
LEAST_SHARE = 0.5  # of a batch stays with the design; just so much where the quadratic is doubted
PLACES = 60  # at most so many in a batch, repeated where more are due: memory must not grow with the measurements
USELESS = 0.05  # worth of a place that tells nothing of a quadratic, against the most useful one
STEP = 0.1  # of the difference that the slope comes from
# Of the discrepancies that would show: in the middle of those looked for.
LIKELY, DECAY, SIZE = ((0.6, 0.0), (0.6, TIP)), 0.5, 5.0


def pilot_with_checks(points: Matrix, shape: Shape, rng: np.random.Generator) -> Matrix:
    """Return the points of a first round, in their order, with checks among them where the round is a large one.

    A sheet of twenty for one knob would else have three places, which every parabola fits.

    >>> import numpy as np
    >>> sheet = pilot_with_checks(np.tile([[-1.0], [0.0], [1.0]], (7, 1)), Shape.BOX, np.random.default_rng(0))
    >>> len(np.unique(sheet))
    6
    """
    n, d = points.shape
    begin = 2 * n_terms(d)
    due = np.array([i for i in range(begin, n) if (i - begin) % PILOT_SHARE == PILOT_SHARE - 1][:FIRST], dtype=np.int64)
    places = project_onto_region(shape, rng.uniform(-1, 1, (n, d)))  # row by row: longer rounds begin as shorter ones
    mixed = points.copy()
    mixed[due] = places[due]
    return mixed


def check_points(
    fit: QuadraticFit,
    shape: Shape,
    taken: int,
    n: int,
    rng: np.random.Generator,
    lack: LackOfFit,
    at_minimiser: int = 0,
    is_doubted: bool = False,
) -> tuple[Matrix, Counts]:
    """Return those of the next n measurements that are checks: every twentieth of a search, and more of the first.

    And every fortieth, but no more than ``at_minimiser``, is taken there, where small noise would be seen. The others
    of the batch are to be designed with these in mind. Every second one is a check where the quadratic ``is_doubted``:
    where it is known well enough, and whether the response is one is not.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_quadratic, lack_of_fit
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> y = 3 * (z - 0.5) ** 2 + 0.1 * np.random.default_rng(0).standard_normal((9, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_quadratic(evidence, Shape.BOX)
    >>> lack, rng = lack_of_fit(evidence, fit, Shape.BOX), np.random.default_rng(0)
    >>> points, repeats = check_points(fit, Shape.BOX, 29, 50, rng, lack)
    >>> len(points), int(repeats.sum())
    (2, 2)
    """
    d = fit.minimiser.size
    before = _checks(taken, d)
    most = max(1, int(LEAST_SHARE * n))
    due = most if is_doubted else min(_checks(taken + n, d) - before, most)
    low = max(0, min(_low_ones(taken + n, d) - _low_ones(taken, d), at_minimiser, n - due - 1))
    places = _telling(fit, shape, lack, before, min(due, PLACES), rng)
    counts = np.diff(np.linspace(0, due, len(places) + 1).astype(np.int64))
    again = np.zeros((0, d)) if lack.unproven is None else lack.unproven[: n // AGAIN_SHARE]
    points = np.vstack([places, fit.minimiser, again])
    return merge(points, np.concatenate([counts, [low], np.full(len(again), AGAIN, dtype=np.int64)]))


def _checks(taken: int, d: int) -> int:
    """Return how many of the measurements of a search are checks: none of those that any quadratic fits."""
    beyond = max(0, taken - n_terms(d))
    return max(beyond // SHARE, min(beyond // SECOND_SHARE, SECOND * (d + 1)), min(beyond // FIRST_SHARE, FIRST))


def _low_ones(taken: int, d: int) -> int:
    """Return how many are taken at the minimiser: none of the first p, where each that is missing leaves H unknown."""
    return min(taken // LOW_SHARE, max(0, taken - n_terms(d)) // LOW_BEYOND)


def _possible(centre: Vector, shape: Shape, n: int, rng: np.random.Generator) -> Matrix:
    """Return n random places about the centre and as many at the edge, where most tell more of a quadratic."""
    d = centre.size
    inside = project_onto_region(shape, centre + rng.uniform(-1, 1, (n, d)) * rng.uniform(0.1, 1.0, (n, 1)))
    edge = random_points(shape, n, d, rng)
    if shape is Shape.BOX:  # on faces of every dimension
        edge = np.where(rng.random((n, d)) < rng.random((n, 1)), rng.uniform(-1, 1, (n, d)), edge)
    return np.vstack([inside, edge])


def _telling(fit: QuadraticFit, shape: Shape, lack: LackOfFit, first: int, n: int, rng: np.random.Generator) -> Matrix:
    """Return n places, the one where a discrepancy would move the minimum most, the next where it would show most."""
    z, d = fit.minimiser, fit.minimiser.size
    if n == 0:
        return np.zeros((0, d))
    places = _possible(z, shape, TRIED + n, rng)
    if lack.contrasts is None or not lack.contrasts.is_full:
        return places[:n]
    phi, Sigma = features(places), fit.covariance
    known = fit.sigma2 + np.sum((phi @ Sigma) * phi, axis=1)
    worth = np.sum((phi @ (Sigma @ regret_weight(fit, shape) @ Sigma)) * phi, axis=1) / known
    of_most = worth / max(worth.max(), np.finfo(float).tiny)  # of values as small as 1e-90 all may underflow
    favour = USELESS + of_most ** min(d, 2)  # of one knob only the ends tell much, and show nothing
    steps = STEP * np.eye(d)
    everything = np.vstack([places, z + steps, z - steps])
    possible = lack.contrasts.discrepancies(everything, LIKELY, (DECAY,), (SIZE,))
    at, up, down = np.split(np.hstack([one.root for one in possible]), [len(places), len(places) + d])
    own, G = np.einsum("mi,mi->m", at, at), (up - down) @ at.T / (2 * STEP)  # variances, covariances with the slope
    K = free_inverse(fit, shape)
    chosen: list[int] = []
    told = np.empty((n, len(places)))  # rows tᵢ: of the covariances among the places, at atᵀ - Σ tᵢtᵢᵀ is left
    for k in range(n):
        left = own + known
        moves = np.einsum("im,im->m", G, K @ G) / left
        shows = own / known
        best = int(np.argmax(favour * (moves if (first + k) % 2 == 0 and moves.max() > 0 else shows)))
        chosen.append(best)
        favour[best] = 0.0  # a place tells less each time, and another as much
        deviation = np.sqrt(left[best])
        told[k] = (at @ at[best] - told[:k, best] @ told[:k]) / deviation
        G -= G[:, best, None] / deviation * told[k]
        own -= told[k] ** 2
    return places[chosen]
