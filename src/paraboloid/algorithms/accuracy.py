"""How far a search that is after an accuracy ε has come; the same for a run and for a study."""

import math
from dataclasses import dataclass

from paraboloid.core import Evidence
from paraboloid.design import assess_closely
from paraboloid.numerics import Model

__all__ = ["Progress", "progress_towards"]

VOUCHING = 8  # contrasts that must speak for a quadratic before a search ends on the word of its bound
DOUBTED = 1.5  # times ε: rounds of a third of what was taken, while only other shapes stand against the accuracy


@dataclass(frozen=True, slots=True)
class Progress:
    """The bound of a search that is after ε, and what stands against ending on it.

    Parameters
    ----------
    bound
        On the regret; infinite where none is known.
    is_vouched
        Whether enough values speak for a quadratic that a search may end on the word of this bound.
    is_doubted
        Whether the bound would be below ε if the response were known to be a quadratic: then checks are missing.

    Examples
    --------
    >>> Progress(0.4, is_vouched=True).reaches(0.5), Progress(0.4).reaches(0.5)
    (True, False)
    >>> Progress(2.0, is_vouched=True).forecast(0.5), Progress(2.0, is_vouched=True, is_doubted=True).forecast(0.5)
    (2.0, 0.75)
    """

    bound: float = math.inf
    is_vouched: bool = False
    is_doubted: bool = False

    def reaches(self, eps: float) -> bool:
        """Return whether a search may end."""
        return self.is_vouched and self.bound <= eps

    def forecast(self, eps: float) -> float:
        """Return the bound that the size of the next round comes from: what checks will find is not to be forecast."""
        if not self.is_vouched:
            return math.inf
        return min(self.bound, DOUBTED * eps) if self.is_doubted else self.bound


def progress_towards(eps: float, evidence: Evidence, model: Model, confidence: float) -> Progress:
    """Return how far the model of all the evidence is from the accuracy, at this confidence.

    >>> import numpy as np
    >>> from paraboloid.core import Evidence, Measurements, Shape
    >>> from paraboloid.numerics import modelled
    >>> z = np.linspace(-1, 1, 30)[:, None]
    >>> y = z**2 + 0.1 * np.random.default_rng(0).standard_normal((30, 1))
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(y))
    >>> progress_towards(10.0, evidence, modelled(evidence, Shape.BOX, True), 0.95).reaches(10.0)
    True
    """
    if not model.is_plain:
        return Progress()
    quality, lack = assess_closely(model, evidence, confidence)
    bound, if_quadratic = quality.regret_bound, quality.regret_bound_if_quadratic
    is_vouched = math.isfinite(bound) and (lack is None or lack.n_contrasts >= VOUCHING)
    return Progress(bound, is_vouched, is_vouched and if_quadratic <= eps < bound)
