"""Rival basins: other local minima of a smooth fit that may be lower than its answer, and what it is worth to know.

The answer z is the minimum that is lowest for sure. Another one, r, may be lower: with m and s the mean and the
deviation of f(r) - f(z), whoever knew would gain s [φ(u) - u Φ(-u)] by going there, u = m/s. That much is lost as long
as nobody measures at r, be it with a million measurements about z. A measurement that lowers s² lowers it by φ(u)/2s
as much: so it competes with what others tell of the gradient at z, in the same units, and the rivals need no share of
a batch that is theirs alone. The more surely z is lower, the less is spent.

==================  ======================  =========================================================
symbol              code                    meaning
==================  ======================  =========================================================
m, s                ``mean``, ``deviation`` of f(r) - f(z), in units of the values' spread
φ(u)/2s             ``worth``               loss that is avoided for each unit of variance
==================  ======================  =========================================================
"""

from dataclasses import dataclass

import numpy as np
from scipy import special
from scipy.spatial.distance import cdist

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics import SmoothFit, project_onto_region
from paraboloid.numerics.smooth_fit import local_minima

__all__ = ["Rivals", "find_rivals"]

LOOKED_AT = 80  # random places,
STARTS = 6  # of which at most so many are where descents begin,
NEGLIGIBLE = 1e-3  # unless they promise less than this part of what is to be expected to be lost at the answer
SURE = 1.0  # standard deviations by which a ridge must be higher than what it parts
APART = 0.3  # in some knob, whose range is 2: places nearer than that belong together


@dataclass(frozen=True, slots=True, eq=False)
class Rivals:
    """Places (k, d), and the loss that each unit of variance of f(place) - f(answer) less would avoid, (k,).

    Made by `find_rivals`, where the example is.
    """

    points: Matrix
    worth: Vector


def find_rivals(fit: SmoothFit, shape: Shape, rng: np.random.Generator) -> Rivals:
    """Return the local minima of the fit that may well be lower than its minimiser.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements
    >>> from paraboloid.numerics import fit_smooth
    >>> z = np.linspace(-1, 1, 41)[:, None]
    >>> y = -np.cos(6 * z) + 0.1 * np.random.default_rng(0).standard_normal((41, 1))  # least at -1, 0 and 1, nearly
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> fit = fit_smooth(evidence, Shape.BOX, np.zeros(1))
    >>> len(find_rivals(fit, Shape.BOX, np.random.default_rng(0)).points)
    2
    """
    places = project_onto_region(shape, rng.uniform(-1, 1, (LOOKED_AT, fit.minimiser.size)))
    least = NEGLIGIBLE * fit.expected_regret / fit.scale
    starts = _promising(fit, places, least)
    found = _promising(fit, local_minima(fit, starts, shape), least) if len(starts) else starts
    found = found[[_is_parted(fit, place) for place in found]] if len(found) else found
    mean, deviation = _compared(fit, found)
    return Rivals(found, _density(mean / deviation) / (2 * deviation))


def _promising(fit: SmoothFit, places: Matrix, least: float) -> Matrix:
    """Return those of the places that promise most, and no less than that, none near to another or to the answer."""
    mean, deviation = _compared(fit, places)
    ratio = mean / deviation
    promise = deviation * (_density(ratio) - ratio * special.ndtr(-ratio))
    promise[promise < least] = 0.0
    promise[_is_near(places, fit.minimiser)] = 0.0
    chosen: list[int] = []
    while len(chosen) < STARTS and promise.any():
        chosen.append(int(np.argmax(promise)))
        promise[_is_near(places, places[chosen[-1]])] = 0.0
    return places[chosen]


def _compared(fit: SmoothFit, places: Matrix) -> tuple[Vector, Vector]:
    """Return mean and deviation of f at the places less f at the answer, in units of the values' spread."""
    there = fit.at(np.vstack([fit.minimiser[None, :], places]))
    value, variance = there.value / fit.scale, (there.deviation / fit.scale) ** 2
    both = fit.kernel(fit.minimiser[None, :], places)[0] - there.reach[:, 0] @ there.reach[:, 1:]
    return value[1:] - value[0], np.sqrt(np.maximum(variance[1:] + variance[0] - 2 * both, 1e-12))


def _is_parted(fit: SmoothFit, place: Vector) -> bool:
    """Tell whether a ridge surely parts the place from the answer: a minimum that the fit only dreams of has none."""
    way = fit.minimiser + np.array([[0.0], [0.25], [0.5], [0.75], [1.0]]) * (place - fit.minimiser)
    there = fit.at(way)
    lowest = there.value - SURE * there.deviation
    return bool(lowest[1:-1].max() > max(there.value[0], there.value[-1]))


def _is_near(places: Matrix, place: Vector) -> Vector:
    return np.asarray(cdist(places, place[None, :], "chebyshev")[:, 0] < APART)


def _density(u: Vector) -> Vector:
    return np.asarray(np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi))
