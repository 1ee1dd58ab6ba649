"""Where values are exact: the smooth model in ever smaller windows about the minimiser.

A deterministic simulation has no noise that more measurements would average away; what limits the answer is how much of
the response the model has to explain at once. Over the whole range its own rounding is that of values of all sizes; in
a window that holds just the nearest measurements it is that of those. The window is set by what was measured, and the
next measurements are taken in it, so that it shrinks from round to round.
"""

from dataclasses import replace

import numpy as np

from paraboloid.core import Evidence, Shape
from paraboloid.numerics.quadratic_model import n_terms
from paraboloid.numerics.smooth import SmoothFit
from paraboloid.numerics.smooth_fit import fit_smooth
from paraboloid.numerics.window import Window, selected

__all__ = ["is_exact", "zoom_in"]

REPEATED = 3  # degrees of freedom of repeats that all agree
ROUNDING = 1e-12  # of the values' spread, up to which two values agree
DIGITS = 1e-13  # of the same, below which differences within a window are rounding
NEAREST = 5  # times p measured places are in a window
REACH = 1.5  # in window radii, up to which they are
DEEPEST = 8  # windows within windows
SMALLER = 0.5  # part of the height that a next window must be below
WIDER = 2  # times as many places where the minimiser is not well inside
INSIDE = 0.5  # of the window's radius, where its minimiser must be


def is_exact(evidence: Evidence, fewest: int = REPEATED) -> bool:
    """Tell whether values that were measured more than once agree to the last digits, and there are so many repeats.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> twice = Measurements.from_values(np.repeat(np.linspace(0, 1, 5)[:, None], 2, axis=1))
    >>> is_exact(Evidence.empty(1).with_measurements(np.linspace(-1, 1, 5)[:, None], twice))
    True
    """
    repeats = int(np.sum(np.maximum(evidence.counts - 1, 0)))
    return repeats >= fewest and float(evidence.scatter.sum()) <= repeats * (ROUNDING * _spread(evidence)) ** 2


def _spread(evidence: Evidence) -> float:
    measured = evidence.means[evidence.counts > 0]
    return float(np.ptp(measured)) if measured.size else 0.0


def zoom_in(evidence: Evidence, smooth: SmoothFit) -> tuple[Window, SmoothFit] | None:
    """Return the smallest window that tells where the minimum is, and the fit to what is seen there, or None.

    ``smooth`` is the fit over the whole range.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 60)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(np.exp(3 * z) - 3 * z))
    >>> window, fit = zoom_in(evidence, fit_smooth(evidence, Shape.BOX, np.array([-0.4])))
    >>> bool(window.spread[0, 0] < 0.2), bool(abs(window.from_local(fit.minimiser[None, :])[0, 0]) < 1e-4)
    (True, True)
    """
    d = evidence.dimension
    found: tuple[Window, SmoothFit] | None = None
    outer, fit, height, nearest = Window(np.zeros(d), np.eye(d)), smooth, np.inf, NEAREST * n_terms(d)
    for _ in range(DEEPEST):
        window, lower = _window_about(evidence, outer, fit, nearest)
        if not lower < SMALLER * height:
            break
        seen = _seen(evidence, window)
        if not _spread(seen) > DIGITS * _spread(evidence):
            break
        narrow = fit_smooth(seen, Shape.BALL, np.zeros(d))
        if float(np.linalg.norm(narrow.minimiser)) < INSIDE:
            found, outer, fit, height = (window, narrow), window, narrow, lower
        else:
            nearest *= WIDER  # the model over more of the range places its minimum less well than these lie
    return found


def _seen(evidence: Evidence, window: Window) -> Evidence:
    """Return what was measured in the window; no value needs a second look, so each counts as if it had had one."""
    local = window.to_local(evidence.points)
    rows = (evidence.counts > 0) & (np.linalg.norm(local, axis=1) <= REACH * (1 + 1e-9))
    return replace(selected(evidence, local, rows), counts=np.maximum(evidence.counts[rows], 2))


def _window_about(evidence: Evidence, outer: Window, fit: SmoothFit, nearest: int) -> tuple[Window, float]:
    """Return the ellipsoid of equal height about the minimiser that holds the nearest places, and its height."""
    centre = outer.from_local(fit.minimiser[None, :])[0]
    back = np.linalg.inv(outer.spread)
    A = fit.scale * back.T @ fit.curvature(fit.minimiser) @ back
    eigenvalues, Q = np.linalg.eigh((A + A.T) / 2)
    away = (evidence.points[evidence.counts > 0] - centre) @ Q
    heights = np.sort(np.sum(away**2 * eigenvalues, axis=1) / 2)
    height = float(heights[min(nearest, len(heights)) - 1]) / REACH**2
    radii = np.minimum(np.sqrt(2 * height / np.maximum(eigenvalues, 1e-300)), 1.0)
    return Window(centre, Q * radii), height
