"""Medians and quantiles without NumPy's checks are NumPy's own."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from paraboloid.numerics.quantiles import median, quantiles

SAMPLES = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6))


@given(SAMPLES)
def test_the_median_is_numpys(values: np.ndarray) -> None:
    assert median(values) == np.median(values)


@given(SAMPLES, st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_quantiles_are_numpys_to_rounding(values: np.ndarray, levels: list[float]) -> None:
    # NumPy interpolates by the same formula; the place n·level may differ by one rounding, times the largest gap.
    tolerance = 4 * np.finfo(float).eps * len(values) * (1 + np.ptp(values) + np.abs(values).max())
    assert np.allclose(quantiles(values, *levels), np.quantile(values, levels), rtol=0.0, atol=tolerance)


@given(SAMPLES)
def test_neither_changes_its_argument(values: np.ndarray) -> None:
    before = values.copy()
    median(values), quantiles(values, 0.1, 0.9)
    assert np.array_equal(before, values)
