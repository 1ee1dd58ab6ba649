"""What the adaptive search believes of the response, given all evidence: the model that designs and answers come from.

A quadratic over the whole range, unless the data say otherwise. Where the noise surely grows with the height above the
minimum, the same in a window about the minimiser (`numerics.closing_in`), of a low quantile where the noise is a huge
factor on one side (`numerics.low_values`); where the response surely is no quadratic,
there or over the whole range, a smooth discrepancy on top of it (`numerics.smooth`). All is decided afresh each time.
"""

from dataclasses import dataclass

import numpy as np

from paraboloid.core import Evidence, Shape, Vector
from paraboloid.numerics import (
    LackOfFit,
    Limited,
    QuadraticFit,
    SmoothFit,
    Window,
    close_in,
    close_in_low,
    fit_quadratic,
    fit_smooth,
    lack_of_fit,
    limit_tails,
    weigh_by_variance,
)

__all__ = ["Model", "modelled"]


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
    """

    fit: QuadraticFit
    evidence: Evidence
    limited: Limited
    lack: LackOfFit | None
    smooth: SmoothFit | None
    window: Window
    shape: Shape
    level: float | None = None

    @property
    def minimiser(self) -> Vector:
        """In unit coordinates of the domain."""
        local = self.fit.minimiser if self.smooth is None else self.smooth.minimiser
        there: Vector = self.window.from_local(local[None, :])[0]
        return there

    @property
    def is_plain(self) -> bool:
        """Whether it is a quadratic over the whole domain."""
        return self.smooth is None and self.window.is_everything


def modelled(evidence: Evidence, shape: Shape, smooth: bool) -> Model:
    """Return the model; without ``smooth`` the quadratic over the whole domain.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values((z - 0.5) ** 2))
    >>> modelled(evidence, Shape.BOX, True).minimiser.round(3)
    array([0.5])
    """
    window = Window(np.zeros(evidence.dimension), np.eye(evidence.dimension))
    fit, weighted, limited = _fitted(evidence, shape)
    if not smooth:
        return Model(fit, weighted, limited, None, None, window, shape)
    if limited.is_exact:
        evidence = limited.evidence
    lack = lack_of_fit(evidence, fit, shape)
    closed = None
    if not limited.is_exact:  # else what looks like noise is rounding, which grows with the height as well
        closed = close_in(evidence, fit, shape, lack.log_bayes_factor)
        closed = close_in_low(evidence, limited, fit, shape, closed) or closed
    if closed is not None:
        evidence = weighted = closed.evidence
        fit, window, shape = closed.fit, closed.window, Shape.BALL
        lack = lack_of_fit(evidence, fit, shape)
    discrepancy = fit_smooth(evidence, shape, fit.minimiser) if lack.is_sure else None
    return Model(fit, weighted, limited, lack, discrepancy, window, shape, None if closed is None else closed.level)


def _fitted(evidence: Evidence, shape: Shape) -> tuple[QuadraticFit, Evidence, Limited]:
    """Return the fit, and the evidence as it was fitted: tails limited, weighted by variance, where that is safe."""
    limited = limit_tails(evidence, shape)
    fit = fit_quadratic(limited.evidence, shape)
    weighted = weigh_by_variance(limited.evidence, fit)
    return (fit if weighted is limited.evidence else fit_quadratic(weighted, shape)), weighted, limited
