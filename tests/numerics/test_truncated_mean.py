"""Truncated means and their centres, as printed and around a median of means."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paraboloid.core import UsageError, Vector
from paraboloid.numerics import AS_PRINTED, CENTRED, Truncation, median_of_means, truncated_mean

samples = hnp.arrays(np.float64, st.integers(1, 200), elements=st.floats(-1e6, 1e6))


def test_values_beyond_the_bound_count_as_the_bound() -> None:
    # (1 + 2 + 3)/3 with the thousand clipped to 3; (-3 + 0 + 3)/3; around 2 ± 1: (1 + 2 + 3)/3.
    assert truncated_mean([1.0, 2.0, 1000.0], 3.0) == 2.0
    assert truncated_mean([-1e9, 0.0, 1e9], 3.0) == 0.0
    assert truncated_mean([-50.0, 2.0, 1000.0], 1.0, centre=2.0) == 2.0


@given(samples, st.floats(0.1, 1e3), st.floats(-100, 100))
def test_truncation_moves_with_its_centre(values: Vector, bound: float, centre: float) -> None:
    shifted = truncated_mean(values + centre, bound, centre=centre)
    # Adding the centre loses eps·(10⁶ + 100) per value, taking it away again as much.
    assert shifted - centre == pytest.approx(truncated_mean(values, bound), abs=1e-9)


@given(samples, st.floats(0.1, 1e3))
def test_the_truncated_mean_lies_in_its_interval_and_is_odd(values: Vector, bound: float) -> None:
    mean = truncated_mean(values, bound)
    assert abs(mean) <= bound * (1 + 1e-12)
    assert truncated_mean(-values, bound) == -mean


def test_the_printed_width_is_the_root_of_the_number_of_values() -> None:
    assert [AS_PRINTED.half_width(n) for n in (1, 4, 100, 10**8)] == [1.0, 2.0, 10.0, 1e4]
    assert [CENTRED.half_width(n) for n in (1, 4, 100)] == [1.0, 2.0, 10.0]
    assert Truncation(exponent=0.25).half_width(16) == 2.0
    assert AS_PRINTED.centre(np.array([5.0, 6.0])) == 0.0
    assert CENTRED.centre(np.array([5.0, 6.0, 1e9])) == 6.0


def test_the_median_of_means_has_eight_log_n_groups() -> None:
    # 8 ln 100 = 36.8 -> 37 groups of 2 or 3 values: 17 groups full of 10⁹ move it not, 19 of 37 would.
    assert median_of_means(np.concatenate([np.full(34, 1e9), np.zeros(66)])) == 0.0
    assert median_of_means(np.concatenate([np.full(60, 1e9), np.zeros(40)])) == 1e9
    # Below 8 ln n values each is its own group, and it is the median.
    assert median_of_means([3.0, 1.0, 2.0]) == 2.0
    assert median_of_means([4.0]) == 4.0


@given(hnp.arrays(np.float64, st.integers(1, 300), elements=st.floats(-1e3, 1e3)), st.floats(-1e3, 1e3))
def test_the_median_of_means_moves_with_the_values(values: Vector, shift: float) -> None:
    assert median_of_means(values + shift) == pytest.approx(median_of_means(values) + shift, abs=1e-9)


@pytest.mark.parametrize("function", [median_of_means, lambda values: truncated_mean(values, 1.0)])
def test_no_values_have_no_mean(function) -> None:  # type: ignore[no-untyped-def]  # a lambda has no annotations
    with pytest.raises(UsageError, match="at least one value, got none"):
        function([])


@pytest.mark.parametrize("bound", [0.0, -1.0, float("nan"), float("inf")])
def test_the_bound_is_a_finite_number_above_zero(bound: float) -> None:
    with pytest.raises(UsageError, match=r"bound must be a finite number above 0, got"):
        truncated_mean([1.0], bound)
    with pytest.raises(UsageError, match=r"exponent must be a finite number above 0, got"):
        Truncation(exponent=bound)
