"""From a fit to a window: how narrow it may be for a given height, and the fit to what lies in and about it."""

import numpy as np

from paraboloid.core import Evidence, Shape
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.quadratic_model import features, gradient_map
from paraboloid.numerics.region import project_onto_region
from paraboloid.numerics.window import Window

__all__ = ["expected_regret", "narrowed", "window_at"]

FINER = 4.0  # a window with the minimiser at its edge is made higher by this factor,
WIDENED = 4  # times at most
FLATTER = 10.0  # times, at most, than the fit says is what counts as possible


def narrowed(
    outer: Window, fit: QuadraticFit, weighed: Evidence, target: float, shape: Shape
) -> tuple[Window, Evidence, QuadraticFit]:
    """Return the window at the height ``target`` about the minimiser, wider if need be, what is seen there and its fit.

    ``fit`` is one in the coordinates of ``outer``.

    >>> import numpy as np
    >>> from paraboloid.core import Measurements
    >>> z = np.linspace(-1, 1, 9)[:, None]
    >>> evidence = Evidence.empty(1).with_measurements(z, Measurements.from_values(z**2))
    >>> everything = Window(np.zeros(1), np.eye(1))
    >>> window, _, _ = narrowed(everything, fit_quadratic(evidence, Shape.BOX), evidence, 0.25, Shape.BOX)
    >>> window.spread.round(2)
    array([[0.5]])
    """
    for _ in range(WIDENED):  # until the minimiser is well inside
        window = window_at(outer, fit, target)
        local = window.seen(weighed)
        narrow = fit_quadratic(local, Shape.BALL)
        if float(np.linalg.norm(narrow.minimiser)) < 0.9:
            break
        target *= FINER
    nearest = project_onto_region(shape, window.from_local(narrow.minimiser[None, :]))
    if float(np.linalg.norm(window.to_local(nearest)[0] - narrow.minimiser)) > 1.0:
        # A window beyond the edge would have one and the same place at the edge measured for ever: where the noise
        # vanishes at an edge, as that of a shop's cost when nothing is ordered, such a fit may be lowest anywhere.
        window = Window(nearest[0], window.spread)
        local = window.seen(weighed)
        narrow = fit_quadratic(local, Shape.BALL)
    return window, local, narrow


def window_at(outer: Window, fit: QuadraticFit, height: float) -> Window:
    """Return the ellipsoid about the minimiser at this height, no wider than the domain.

    Where the data say little of a curvature, the prior makes it about one standard error of them. A window as narrow as
    that says would let the next measurements say still less, and so on: the search would stay on the side of a valley.

    >>> import numpy as np
    >>> fit = QuadraticFit(np.array([0.0, 0.0, 2.0]), np.zeros((3, 3)), 1.0, 9.0, np.zeros(1))  # z²
    >>> window_at(Window(np.zeros(1), np.eye(1)), fit, 0.25).spread
    array([[0.5]])
    """
    d, back = fit.minimiser.size, np.linalg.inv(outer.spread)
    eigenvalues, Q = np.linalg.eigh(back.T @ fit.hessian @ back)
    phi = 2 * features((back @ Q).T)[:, d + 1 :]  # of the curvature along each axis
    error = np.sqrt(np.maximum(np.sum((phi @ fit.covariance[d + 1 :, d + 1 :]) * phi, axis=1), 0.0))
    sure = np.maximum(eigenvalues - error, eigenvalues / FLATTER)
    radii = np.minimum(np.sqrt(2 * height / np.maximum(sure, 1e-300)), 1.0)
    return Window(outer.from_local(fit.minimiser[None, :])[0], Q * radii)


def expected_regret(fit: QuadraticFit) -> float:
    """Return the regret of the fitted minimiser that its uncertainty makes one expect.

    >>> import numpy as np
    >>> expected_regret(QuadraticFit(np.array([0.0, 0.0, 2.0]), np.eye(3), 1.0, 9.0, np.zeros(1)))
    0.25
    """
    G = gradient_map(fit.minimiser)
    return float(np.trace(np.linalg.solve(fit.hessian, G @ fit.covariance @ G.T))) / 2
