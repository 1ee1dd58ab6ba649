"""What the adaptive search believes of the response, given all evidence: the model that designs and answers come from.

A quadratic over the whole range, unless the data say otherwise. Where the noise surely grows with the height above the
minimum, the same in a window about the minimiser (`numerics.closing_in`), of a low quantile where the noise is a huge
factor on one side (`numerics.low_values`); where the response surely is no quadratic,
there or over the whole range, a smooth discrepancy on top of it (`numerics.smooth`), and where the values are exact, in
ever smaller windows (`numerics.zooming`). All is decided afresh each time.
"""

from dataclasses import dataclass, replace

import numpy as np

from paraboloid.core import Evidence, Shape, Vector
from paraboloid.numerics.closing_in import Closed, close_in
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.lack_of_fit import LackOfFit, lack_of_fit, n_places
from paraboloid.numerics.low_values import close_in_low, repeats_differ_hugely
from paraboloid.numerics.lowest import close_in_on_lowest
from paraboloid.numerics.narrowing import expected_regret
from paraboloid.numerics.quadratic_model import n_terms
from paraboloid.numerics.smooth import SmoothFit
from paraboloid.numerics.smooth_fit import fit_smooth
from paraboloid.numerics.tails import Limited, limit_tails
from paraboloid.numerics.variance import weigh_by_variance
from paraboloid.numerics.window import Window
from paraboloid.numerics.zooming import is_exact, zoom_in

__all__ = ["Model", "looked_at_closely", "modelled"]

CERTAIN = 12  # repeats that agree: among as many, one in five of which is wild, one would show it
CAUTION = 2.0  # standard deviations, as in the choice among minima of a smooth shape (`numerics.smooth`)
LEAP = 100.0  # times as far as the p lowest places lie apart: scales of a window (`design.scattered`) differ by 16
DOUBT = 0.5  # standard deviations by which a place may seem to be worse
CLOSELY = 1000  # places that a bound looks at: all of them would take memory that grows with the measurements


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """What is believed of the response, in the coordinates of a window.

    Parameters
    ----------
    fit, evidence
        The quadratic, and the evidence as it was fitted: tails limited, weighed by variance, where that is safe.
    limited
        What was done about values far from all others.
    lack
        What speaks against a quadratic; None where that was not asked.
    smooth
        The quadratic with a discrepancy, where the response is surely no quadratic.
    window, shape
        The whole domain, or an ellipsoid about the minimiser, which is a ball in its own coordinates.
    level
        Share of the values below what was fitted, where the noise is a factor and that was not their mean.
    is_either
        Whether it may be the shape, and not the noise, for which a window was closed in on.
    is_low
        Whether noise is a huge factor on one side, so that the window is the one about the lowest values.
    outer
        The discrepancy over the whole domain, where values are exact and ``smooth`` is that of a window within.
    lowest, least
        The place, in unit coordinates of the domain, and the value that repeats agree on, where that is exact and lower
        than what the fit promises anywhere.
    suspected
        The window in which it is to be asked whether the noise grows with the height, where the fit to all denies it.

    Examples
    --------
    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> modelled(evidence, Shape.BOX, True).is_plain
    True
    """

    fit: QuadraticFit
    evidence: Evidence
    limited: Limited
    lack: LackOfFit | None
    smooth: SmoothFit | None
    window: Window
    shape: Shape
    level: float | None = None
    is_either: bool = False
    is_low: bool = False
    outer: SmoothFit | None = None
    lowest: Vector | None = None
    least: float = np.nan
    suspected: Closed | None = None

    @property
    def minimiser(self) -> Vector:
        """In unit coordinates of the domain."""
        if self.lowest is not None:
            return self.lowest
        local = self.fit.minimiser if self.smooth is None else self.smooth.minimiser
        there: Vector = self.window.from_local(local[None, :])[0]
        return there

    @property
    def is_plain(self) -> bool:
        """Whether it is a quadratic over the whole domain."""
        return self.smooth is None and self.window.is_everything and self.lowest is None and not self.is_low

    @property
    def is_rippled(self) -> bool:
        """Whether what a quadratic leaves over in a window is no noise but the shape, since values are exact there."""
        return self.limited.is_exact and self.smooth is None and not self.window.is_everything


def modelled(evidence: Evidence, shape: Shape, smooth: bool) -> Model:
    """Return the model; without ``smooth`` the quadratic over the whole domain.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> modelled(evidence, Shape.BOX, True).minimiser.round(3)
    array([0.5])
    """
    model = _fitted_model(evidence, shape, smooth)
    known = model.limited.evidence
    if not smooth or not model.limited.is_verified or model.limited.is_quadratic:
        return model
    best = int(np.argmin(known.means))
    if float(known.means[best]) < _promised(model) or _is_leap(model.minimiser, known):
        return replace(model, lowest=known.points[best], least=float(known.means[best]))
    return model


def looked_at_closely(evidence: Evidence, model: Model) -> LackOfFit | None:
    """Return what all places of the evidence say against the quadratic, not only those that the verdict looks at.

    For a bound: of a quadratic of many knobs, a few hundred places leave open what the others deny. The search looks at
    fewer, to save time.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> model = modelled(evidence, Shape.BOX, True)
    >>> looked_at_closely(evidence, model) is model.lack  # nine places are looked at anyway
    True
    """
    if model.lack is None or model.lack.contrasts is None or not model.is_plain:
        return model.lack
    known = model.limited.evidence if model.limited.is_exact else evidence
    if len(model.lack.contrasts.points) >= min(CLOSELY, n_places(known)):
        return model.lack
    return lack_of_fit(known, model.fit, model.shape, CLOSELY)


def _is_leap(minimiser: Vector, known: Evidence) -> bool:
    """Tell whether the minimiser lies far away from all the lowest places, though they lie close together.

    They do where a search has closed in. A step there, as bbob-noisy's functions have at 1e-8, is the end of every
    smooth model, and what such a model promises elsewhere is no reason to leave the lowest place.
    """
    lowest = known.points[np.argsort(known.means)[: n_terms(known.dimension)]]
    apart = np.linalg.norm(lowest - lowest[0], axis=1).max()
    return bool(np.linalg.norm(minimiser - lowest[0]) > LEAP * apart)


def _promised(model: Model) -> float:
    """Return the value that the answer surely has; any, where a shape is followed over the whole range.

    Exact values of a shape with a step or a pit would be the end of every smooth model of it.
    """
    if model.smooth is None:
        return model.fit.value(model.fit.minimiser)
    if model.outer is None:
        return np.inf
    z = model.smooth.minimiser[None, :]
    return float(model.smooth.value(z)[0] + CAUTION * model.smooth.deviation(z)[0])


def _fitted_model(evidence: Evidence, shape: Shape, smooth: bool) -> Model:
    """Return the model with its own minimiser."""
    window = Window(np.zeros(evidence.dimension), np.eye(evidence.dimension))
    fit, weighted, limited = _fitted(evidence, shape)
    if not smooth:
        return Model(fit, weighted, limited, None, None, window, shape)
    is_certain = is_exact(evidence, CERTAIN)
    if limited.is_exact:
        evidence = limited.evidence
    lack = lack_of_fit(evidence, fit, shape)
    closed = None
    if not (limited.is_quadratic or is_certain):  # else what looks like noise that grows is rounding, or the shape
        closed = _closed(evidence, limited, fit, shape, lack)
    is_shape = lack.is_sure and (closed is None or closed.gain < lack.log_bayes_factor)
    if is_shape:
        discrepancy = fit_smooth(evidence, shape, fit.minimiser)
        if closed is None or not _is_nearer(closed, discrepancy):
            zoomed = zoom_in(evidence, discrepancy) if limited.is_exact or is_exact(evidence) else None
            if zoomed is None:
                return Model(fit, weighted, limited, lack, discrepancy, window, shape)
            inner, narrow = zoomed
            return Model(fit, weighted, limited, lack, narrow, inner, Shape.BALL, outer=discrepancy)
    if closed is None or not (closed.is_sure or lack.is_sure):
        return Model(fit, weighted, limited, lack, None, window, shape, suspected=closed)
    fit, evidence, shape = closed.fit, closed.evidence, Shape.BALL
    lack = lack_of_fit(evidence, fit, shape)
    is_followed = lack.is_sure and not (limited.is_exact or closed.is_low)
    within = fit_smooth(evidence, shape, fit.minimiser) if is_followed else None
    return Model(
        fit,
        evidence,
        limited,
        lack,
        within,
        closed.window,
        shape,
        closed.level,
        is_either=is_shape,
        is_low=closed.is_low,
    )


def _closed(evidence: Evidence, limited: Limited, fit: QuadraticFit, shape: Shape, lack: LackOfFit) -> Closed | None:
    """Return the window that noise lets one close in on, if it does."""
    if not limited.is_exact and repeats_differ_hugely(evidence):
        return close_in_on_lowest(evidence, shape)
    closed = close_in(_once(evidence) if limited.is_exact else evidence, fit, shape, limited.is_exact)
    # Where the shape surely is no quadratic, what looks like a huge factor may be the shape.
    if closed is not None or not lack.is_sure:
        closed = close_in_low(evidence, limited, fit, shape, closed) or closed
    return closed


def _once(evidence: Evidence) -> Evidence:
    """Return the evidence of exact values, each of which counts once."""
    return replace(evidence, counts=np.minimum(evidence.counts, 1), scatter=np.zeros(len(evidence.counts)))


def _is_nearer(closed: Closed, smooth: SmoothFit) -> bool:
    """Tell whether a window, in which what is no quadratic counts as noise, leaves less to regret than a smooth shape.

    Near its minimum a shape is a quadratic, and the farther the less, as with noise that grows with the height: at
    first the data may not tell them apart, and where the values are exact the one is as good as the other. But the
    shape, which explains more of the data, must not hold the window's minimiser for a worse place than its own.
    """
    there, own = closed.window.from_local(closed.fit.minimiser[None, :]), smooth.minimiser[None, :]
    worse = float(smooth.value(there)[0] - smooth.value(own)[0])
    return expected_regret(closed.fit) < smooth.expected_regret and worse < DOUBT * float(smooth.deviation(there)[0])


def _fitted(evidence: Evidence, shape: Shape) -> tuple[QuadraticFit, Evidence, Limited]:
    """Return the fit, and the evidence as it was fitted: tails limited, weighted by variance, where that is safe."""
    limited = limit_tails(evidence, shape)
    fit = fit_quadratic(limited.evidence, shape)
    weighted = weigh_by_variance(limited.evidence, fit)
    return (fit if weighted is limited.evidence else fit_quadratic(weighted, shape)), weighted, limited
