"""What stands against the model: lack of fit, order effects, far values, failures by place."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from paraboloid.core import Counts, Domain, Vector
from paraboloid.numerics import OrderEffect, features, fit_least_squares, n_terms, order_effect
from paraboloid.report.subject import Rows
from paraboloid.report.surface import Surface

__all__ = ["Failures", "LackOfFit", "Residuals", "failures_of", "lack_of_fit", "order_of", "residuals_of"]

SURE = 1e-3
"""Chance of a false alarm at which the quadratic is said not to fit."""

FAR = 4.0
"""Standard deviations beyond which a row is named: by chance six in a hundred thousand."""

LEAST_FREEDOM = 3


@dataclass(frozen=True, slots=True)
class LackOfFit:
    """Whether means of repeats lie further from the surface than repeats lie from each other.

    Parameters
    ----------
    chance
        Probability of such a misfit if the response is a paraboloid; None where it cannot be told.
    why
        Why it cannot be told.

    Examples
    --------
    >>> LackOfFit(1e-6).is_sure
    True
    """

    chance: float | None
    why: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether the response is surely no paraboloid over the measured range."""
        return self.chance is not None and self.chance < SURE


def lack_of_fit(surface: Surface) -> LackOfFit:
    """Return the test of lack of fit: F with repeats as pure error, χ² where standard errors are known.

    Examples
    --------
    >>> import numpy as np, paraboloid
    >>> z = np.repeat(np.linspace(-1, 1, 9), 3)
    >>> y = z**4 + 0.01 * np.random.default_rng(0).standard_normal(27)
    >>> result = paraboloid.minimize(lambda x: x[0] ** 4, [(-1, 1)], budget=1, data=(z[:, None], y), rng=0)
    >>> from paraboloid.report.surface import surface_of
    >>> lack_of_fit(surface_of(result.subject)).is_sure
    True
    """
    evidence = surface.evidence
    plain = fit_least_squares(evidence, surface.z)
    if plain is None:
        return LackOfFit(None, "there are too few measurements to test whether a quadratic fits")
    rows = evidence.counts > 0
    counts, precision, scatter = evidence.counts[rows], evidence.precision[rows], evidence.scatter[rows]
    misfit = evidence.means[rows] - features(evidence.points[rows]) @ plain.theta
    freedom = len(counts) - n_terms(evidence.dimension)
    if freedom < 1:
        return LackOfFit(None, "there are as many coefficients as settings, so any misfit is hidden")
    if surface.knows_errors:
        return LackOfFit(float(stats.chi2.sf(float(precision @ misfit**2), freedom)))
    # Weights that come from residuals hold the misfit too; in the ratio to the repeats it cancels.
    weights = np.where(precision > 0, precision / counts, 1.0)
    repeats, pure = int(counts.sum()) - len(counts), float(weights @ scatter)
    if 0 < np.count_nonzero(precision) < len(counts) or repeats < LEAST_FREEDOM or pure <= 0:
        return LackOfFit(None, "too few settings were measured twice or more to tell misfit from noise")
    ratio = float((weights * counts) @ misfit**2) / freedom / (pure / repeats)
    return LackOfFit(float(stats.f.sf(ratio, freedom, repeats)))


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What the fit leaves over, for the rows that have a value.

    Parameters
    ----------
    index
        Which rows, shape (m,).
    fitted, left
        Fitted value, and measured mean minus it, shape (m,).
    score
        ``left`` in standard deviations of that mean, shape (m,).
    far
        Rows (numbers into ``index``) beyond 4 standard deviations, the farthest first.
    """

    index: Counts
    fitted: Vector
    left: Vector
    score: Vector
    far: Counts


def residuals_of(surface: Surface, rows: Rows) -> Residuals:
    """Return the residuals of all rows with a value."""
    usable = np.array([state == "COMPLETE" for state in rows.states]) if rows.states else np.ones(rows.n_rows, bool)
    index = np.flatnonzero((rows.counts > 0) & usable)
    fitted = surface.values(rows.points[index])
    left = rows.means[index] - fitted
    deviation = surface.deviations(rows.points[index]) / np.sqrt(rows.counts[index])
    deviation = np.where(np.isfinite(rows.sems[index]), rows.sems[index], deviation)
    score = left / np.maximum(deviation, 1e-300)
    order = np.argsort(-np.abs(score), kind="stable")
    return Residuals(index, fitted, left, score, order[np.abs(score[order]) > FAR])


def order_of(rows: Rows, residuals: Residuals | None = None) -> OrderEffect:
    """Return whether values depend on when they were measured; old data have no place in the order.

    With ``residuals`` what these leave over in standard deviations is looked at in place of the values.
    """
    usable = np.array([state == "COMPLETE" for state in rows.states]) if rows.states else np.ones(rows.n_rows, bool)
    values = rows.means.copy()
    if residuals is not None:
        values[residuals.index] = residuals.score
    index = np.flatnonzero((rows.counts > 0) & (rows.rounds > 0) & usable)
    return order_effect(rows.points[index], values[index])


@dataclass(frozen=True, slots=True, eq=False)
class Failures:
    """Attempts and failures in the low, middle and high third of one knob's range.

    >>> import numpy as np
    >>> Failures(0, np.array([5, 5, 5]), np.array([0, 0, 4])).contrast
    0.8
    """

    knob: int
    attempts: Counts
    failed: Counts

    @property
    def contrast(self) -> float:
        """Largest difference between the shares of the thirds that were tried."""
        tried = self.attempts > 0
        shares = self.failed[tried] / self.attempts[tried]
        return float(np.ptp(shares)) if shares.size else 0.0


def failures_of(rows: Rows, domain: Domain) -> list[Failures]:
    """Return where measurements fail, knob by knob, the knob that tells most first."""
    attempts = rows.counts + rows.failures
    found = []
    for k in range(domain.dimension):
        third = np.digitize(rows.points[:, k], [-1 / 3, 1 / 3])
        tried = np.bincount(third, weights=attempts, minlength=3).astype(np.int64)
        failed = np.bincount(third, weights=rows.failures, minlength=3).astype(np.int64)
        found.append(Failures(k, tried, failed))
    return sorted(found, key=lambda one: -one.contrast)
