"""Steps that the paper's algorithms share: averages of truncated values, taken in blocks of bounded memory."""

from collections.abc import Callable, Iterator

import numpy as np

from paraboloid.core import Experiment, Matrix, Steps, Vector, measure

__all__ = ["BLOCK", "truncated_average"]

BLOCK = 2**15
"""Values are truncated in blocks of this many, so that memory does not grow with the budget."""


def truncated_average(
    points: Matrix,
    weights: Vector,
    *,
    n_values: int,
    half_width: float,
    centre: Callable[[Vector], float],
    about: str,
) -> Steps[float]:
    """Return the average of ``n_values`` values of Σ_i weights_i y_i, each truncated to centre ± half_width.

    Each value takes one fresh measurement y_i at each of the points (k, d); the centre is found from the first block.
    """
    total, middle = 0.0, None
    for block in _blocks(n_values):
        y = yield from measure(Experiment(points, block, needs_values=True, about=about))
        assert y.values is not None  # measure() has checked it
        values = weights @ np.stack(y.values)
        if middle is None:
            middle = centre(values)
        total += float(np.sum(np.clip(values, middle - half_width, middle + half_width)))
    return total / n_values


def _blocks(n_values: int) -> Iterator[int]:
    for start in range(0, n_values, BLOCK):
        yield min(BLOCK, n_values - start)
