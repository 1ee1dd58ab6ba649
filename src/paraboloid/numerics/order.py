"""Whether the order of measurements matters, which it should not: drift, memory, good and bad days.

Residuals of least squares in the order of measuring are replaced by the normal scores of their ranks: far values and
unequal noise then do not matter. If the noise is independent, their correlation with time and the sum of products of
neighbours are normal with known variance.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from paraboloid.core import Matrix, Vector
from paraboloid.numerics.quadratic_model import features

__all__ = ["OrderEffect", "order_effect"]

ENOUGH = 20
SURE = 4.0  # standard deviations: by chance once in some twenty thousand times


@dataclass(frozen=True, slots=True)
class OrderEffect:
    """Standard scores of a trend over time and of the likeness of neighbours.

    >>> OrderEffect(trend=0.3, likeness=5.1).is_sure
    True
    """

    trend: float
    likeness: float

    @property
    def is_sure(self) -> bool:
        """Whether one of them is beyond chance."""
        return abs(self.trend) > SURE or self.likeness > SURE


def order_effect(points: Matrix, y: Vector) -> OrderEffect:
    """Return how far the residuals of values (n,) at points (n, d), in the order of measuring, depend on that order.

    >>> import numpy as np
    >>> z = np.random.default_rng(0).uniform(-1, 1, (60, 1))
    >>> order_effect(z, z[:, 0] ** 2 + 0.01 * np.arange(60)).is_sure
    True
    """
    n = len(y)
    phi = features(points)
    if n < max(ENOUGH, 2 * phi.shape[1]):
        return OrderEffect(0.0, 0.0)
    residuals = y - phi @ np.linalg.lstsq(phi, y - y.mean(), rcond=None)[0]
    scores = stats.norm.ppf((stats.rankdata(residuals) - 0.5) / n)
    scores = (scores - scores.mean()) / max(float(scores.std()), 1e-300)
    time = np.arange(n) - (n - 1) / 2
    trend = float(scores @ time) / float(np.sqrt(time @ time))
    return OrderEffect(trend, float(scores[1:] @ scores[:-1]) / float(np.sqrt(n - 1)))
