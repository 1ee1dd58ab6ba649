"""Quantised values with exact sums: error, order, workers, bits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paraboloid.core import UsageError, Vector
from paraboloid.numerics import QuantisedSum, Quantiser, quantise, truncated_mean

values_in = hnp.arrays(np.float64, st.integers(1, 3000), elements=st.floats(-1e3, 1e3))
quantisers = st.builds(Quantiser, bound=st.floats(0.01, 1e3), bits=st.integers(1, 40))


@given(values_in, quantisers)
def test_a_value_in_range_changes_by_at_most_half_a_step(values: Vector, quantiser: Quantiser) -> None:
    clipped = np.clip(values, -quantiser.bound, quantiser.bound)
    error = np.abs(quantise(values, quantiser) - clipped)
    # The sums value + bound and code·step - bound are rounded to 2 bound·eps each: no more than 2^-11 of a 40-bit step.
    assert error.max() <= quantiser.rounding + 4 * quantiser.bound * np.finfo(np.float64).eps


@given(values_in, quantisers, st.integers(0, 2**32 - 1))
def test_the_sum_does_not_depend_on_order_or_workers(values: Vector, quantiser: Quantiser, seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = quantiser.sum(values)
    shuffled = rng.permutation(values)
    parts = [quantiser.sum(part) for part in np.array_split(shuffled, int(rng.integers(1, 9))) if part.size]
    total = parts[0]
    for part in parts[1:]:
        total = part + total
    assert total == whole
    assert total.mean == whole.mean


@given(values_in, quantisers)
def test_the_mean_of_the_sum_is_the_mean_of_the_quantised_values(values: Vector, quantiser: Quantiser) -> None:
    mean = quantiser.sum(values).mean
    # A floating mean of n values of size ≤ bound is rounded to n eps bound, the exact one once.
    assert mean == pytest.approx(float(quantise(values, quantiser).mean()), abs=1e-12 * quantiser.bound)
    allowed = quantiser.rounding + 1e-12 * quantiser.bound
    assert abs(mean - truncated_mean(values, quantiser.bound)) <= allowed


def test_sums_are_exact_where_floating_sums_are_not() -> None:
    quantiser = Quantiser(bound=1.0, bits=52)
    values = np.full(5000, 1.0)
    assert quantiser.sum(values).total == 5000 * (2**52 - 1)  # beyond 2⁶³: no int64 would hold it
    assert quantiser.sum(values).mean == 1.0


@pytest.mark.parametrize(("budget", "bits"), [(1, 1), (3, 2), (4, 3), (10**4, 14), (10**8, 27), (2**20 - 1, 20)])
def test_the_bits_are_the_logarithm_of_the_budget(budget: int, bits: int) -> None:
    # The least with 2^bits ≥ T + 1: 10⁴ + 1 ≤ 16384 = 2¹⁴; 10⁸ + 1 ≤ 2²⁷ = 1.34·10⁸.
    quantiser = Quantiser.for_budget(budget)
    assert quantiser.bits == bits
    assert quantiser.bound == budget**0.5
    assert quantiser.rounding <= budget**-0.5 * (1 + 1e-12)


@given(st.integers(2, 10**12))
def test_the_number_of_bits_grows_as_the_logarithm(budget: int) -> None:
    assert math.log2(budget) <= Quantiser.for_budget(budget).bits <= math.log2(budget) + 1 + 1e-9


def test_levels_by_hand() -> None:
    # Two bits on [-3, 3]: levels -3, -1, 1, 3, step 2, rounding 1.
    quantiser = Quantiser(bound=3.0, bits=2)
    assert (quantiser.step, quantiser.rounding) == (2.0, 1.0)
    assert quantiser.codes([-9.0, -3.0, -1.2, 0.5, 2.1, 99.0]).tolist() == [0, 0, 1, 2, 3, 3]
    assert quantise([-9.0, -1.2, 0.5, 2.1], quantiser).tolist() == [-3.0, -1.0, 1.0, 3.0]
    assert quantiser.sum([-9.0, 0.5]) == QuantisedSum(quantiser, 2, 2)
    assert quantiser.sum([-9.0, 0.5]).mean == -1.0


def test_sums_of_different_quantisers_do_not_mix() -> None:
    with pytest.raises(UsageError, match=r"different quantisers cannot be added: .*bits=2.* and .*bits=3"):
        Quantiser(1.0, 2).sum([0.0]) + Quantiser(1.0, 3).sum([0.0])
    with pytest.raises(UsageError, match="mean of no values"):
        _ = Quantiser(1.0, 2).sum([]).mean


@pytest.mark.parametrize("bits", [0, 53, True, 2.0, "8"])
def test_bits_are_a_whole_number_that_float64_can_hold(bits: int) -> None:
    with pytest.raises(UsageError, match=r"bits must be a whole number from 1 to 52, got"):
        Quantiser(bound=1.0, bits=bits)
