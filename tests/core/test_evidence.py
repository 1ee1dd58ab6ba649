"""Evidence: counts, means and scatter of all measurements, the same in whatever order and portions they came."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.core import Evidence, Measurements, UsageError

PLACES = np.array([[0.0, 1.0], [-0.5, 0.25], [0.0, -1.0]])
Row = tuple[int, float]
rows = st.lists(st.tuples(st.integers(0, 2), st.floats(-100.0, 100.0)), min_size=1, max_size=25)


def told_one_by_one(given_rows: list[Row]) -> Evidence:
    evidence = Evidence.empty(2)
    for place, value in given_rows:
        evidence = evidence.with_measurements(PLACES[[place]], Measurements.from_values([[value]]))
    return evidence


def told_at_once(given_rows: list[Row]) -> Evidence:
    points = PLACES[[place for place, _ in given_rows]]
    return Evidence.empty(2).with_measurements(points, Measurements.from_values([[value] for _, value in given_rows]))


def assert_same(one: Evidence, other: Evidence, *, scale: float = 100.0) -> None:
    assert np.array_equal(one.points, other.points)
    assert np.array_equal(one.counts, other.counts) and np.array_equal(one.failures, other.failures)
    assert np.allclose(one.means, other.means, rtol=0, atol=1e-12 * scale)
    assert np.allclose(one.scatter, other.scatter, rtol=1e-12, atol=1e-12 * scale**2)
    assert np.allclose(one.precision, other.precision, rtol=1e-12)


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_measurements_does_not_matter(given_rows: list[Row], random: object) -> None:
    shuffled = list(given_rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    assert_same(told_one_by_one(given_rows), told_one_by_one(shuffled))


@given(rows)
def test_repeats_may_be_split_or_joined(given_rows: list[Row]) -> None:
    joined = Evidence.empty(2)
    for place in sorted({place for place, _ in given_rows}):
        values = [value for where, value in given_rows if where == place]
        joined = joined.with_measurements(PLACES[[place]], Measurements.from_values([values]))
    assert_same(told_one_by_one(given_rows), joined)
    assert_same(told_at_once(given_rows), joined)


@given(rows)
def test_counts_means_and_scatter_are_those_of_numpy(given_rows: list[Row]) -> None:
    evidence = told_one_by_one(given_rows)
    assert evidence.n_measurements == evidence.n_attempts == len(given_rows)
    for k, point in enumerate(evidence.points):
        values = np.array([value for place, value in given_rows if np.array_equal(PLACES[place], point)])
        assert evidence.counts[k] == values.size > 0
        assert evidence.means[k] == pytest.approx(values.mean(), abs=1e-11)
        assert evidence.scatter[k] == pytest.approx(np.sum((values - values.mean()) ** 2), rel=1e-11, abs=1e-9)


def test_negative_zero_is_zero() -> None:
    evidence = Evidence.empty(1)
    for point, value in ((0.0, 1.0), (-0.0, 3.0)):
        evidence = evidence.with_measurements([[point]], Measurements.from_values([[value]]))
    assert (len(evidence.points), evidence.counts[0], evidence.means[0], evidence.scatter[0]) == (1, 2, 2.0, 2.0)
    assert not np.signbit(evidence.points).any()


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e9])
def test_a_large_offset_costs_no_digits_of_the_scatter(offset: float) -> None:
    rng = np.random.default_rng(1)
    noise = np.round(rng.standard_normal((3, 40)), 3)
    evidence = Evidence.empty(2)
    for k in range(40):
        evidence = evidence.with_measurements(PLACES, Measurements.from_values(noise[:, [k]] + offset))
    order = np.lexsort(PLACES.T[::-1])
    expected = np.sum((noise - noise.mean(axis=1, keepdims=True)) ** 2, axis=1)[order]
    # A value near 1e9 is rounded to 1.2e-7; 40 merges of such errors against deviations of 1 stay below 1e-4.
    assert np.allclose(evidence.scatter, expected, rtol=1e-4 if offset else 1e-12)
    assert np.allclose(evidence.means - offset, noise.mean(axis=1)[order], atol=1e-5 if offset else 1e-12)


def test_failures_are_counted_and_never_enter_a_mean() -> None:
    evidence = Evidence.empty(1).with_measurements([[0.5]], Measurements.from_values([[4.0, 6.0]]))
    failed = Measurements(np.array([0, 1]), np.array([77.0, 8.0]), np.zeros(2), failures=np.array([3, 1]))
    evidence = evidence.with_measurements([[0.5], [-1.0]], failed)
    assert evidence.points.ravel().tolist() == [-1.0, 0.5]
    assert evidence.counts.tolist() == [1, 2] and evidence.failures.tolist() == [1, 3]
    assert evidence.means.tolist() == [8.0, 5.0] and evidence.scatter.tolist() == [0.0, 2.0]
    assert (evidence.n_measurements, evidence.n_attempts) == (3, 7)


def test_a_place_that_only_failed_is_remembered() -> None:
    failed = Measurements(np.array([0]), np.zeros(1), np.zeros(1), failures=np.array([2]))
    evidence = Evidence.empty(2).with_measurements([[1.0, 1.0]], failed)
    assert (evidence.n_measurements, evidence.n_attempts, len(evidence.points)) == (0, 2, 1)
    assert np.all(np.isfinite(evidence.means)) and np.all(np.isfinite(evidence.scatter))


def known(value: float, sem: float) -> Measurements:
    return Measurements(np.array([1]), np.array([value]), np.zeros(1), precision=np.array([sem**-2]))


def test_means_of_known_standard_errors_are_weighted_by_them() -> None:
    evidence = Evidence.empty(1)
    for value, sem in ((1.0, 0.5), (3.0, 0.1), (2.0, 1.0)):
        evidence = evidence.with_measurements([[0.0]], known(value, sem))
    weights = np.array([4.0, 100.0, 1.0])
    assert evidence.precision[0] == pytest.approx(105.0, rel=1e-12)
    assert evidence.means[0] == pytest.approx(np.average([1.0, 3.0, 2.0], weights=weights), rel=1e-12)
    assert evidence.counts.tolist() == [3]


def test_measurements_with_and_without_standard_error_stay_two_rows() -> None:
    plain = Measurements.from_values([[5.0, 7.0]])
    one = Evidence.empty(1).with_measurements([[0.0]], plain).with_measurements([[0.0]], known(1.0, 0.5))
    other = Evidence.empty(1).with_measurements([[0.0]], known(1.0, 0.5)).with_measurements([[0.0]], plain)
    assert_same(one, other)
    assert one.points.ravel().tolist() == [0.0, 0.0] and one.n_measurements == 3
    assert one.means.tolist() == [6.0, 1.0] and one.precision.tolist() == [0.0, 4.0]


def test_nothing_measured_is_evidence_too() -> None:
    evidence = Evidence.empty(3)
    assert (evidence.dimension, evidence.n_measurements, evidence.n_attempts) == (3, 0, 0)


@pytest.mark.parametrize("points", [[[0.0]], [[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0]])
def test_points_of_the_wrong_shape_are_refused(points: npt.ArrayLike) -> None:
    with pytest.raises(UsageError, match=r"1 measured points need shape \(1, 2\)"):
        Evidence.empty(2).with_measurements(points, Measurements.from_values([[1.0]]))


def test_evidence_is_not_changed_by_adding_to_it() -> None:
    first = told_at_once([(0, 1.0), (1, 2.0)])
    before = [first.points.copy(), first.counts.copy(), first.means.copy(), first.scatter.copy()]
    first.with_measurements(PLACES, Measurements.from_values([[9.0], [9.0], [9.0]]))
    after = [first.points, first.counts, first.means, first.scatter]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


def test_single_values_are_kept_in_any_order_and_grouped_beyond_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    points = rng.choice([-1.0, 0.0, 1.0], (400, 1))
    y = rng.standard_normal((400, 1))
    order = rng.permutation(400)
    one = Evidence.empty(1).with_measurements(points, Measurements.from_values(y))
    other = Evidence.empty(1).with_measurements(points[order], Measurements.from_values(y[order]))
    assert one.sample is not None and other.sample is not None
    np.testing.assert_array_equal(one.sample.values, other.sample.values)
    assert one.sample.n_values == 400

    monkeypatch.setattr("paraboloid.core.evidence.MOST_VALUES", 300)
    grouped = Evidence.empty(1).with_measurements(points, Measurements.from_values(y)).sample
    assert grouped is not None
    assert grouped.n_values == 400
    assert len(grouped.values) <= 3 * 64
    for row in range(3):
        of_row = grouped.rows == row
        mean = float(grouped.counts[of_row] @ grouped.values[of_row]) / float(grouped.counts[of_row].sum())
        assert mean == pytest.approx(one.means[row])


def test_a_summary_without_single_values_ends_the_sample() -> None:
    evidence = Evidence.empty(1).with_measurements([[0.0]], Measurements.from_values([[1.0, 2.0]]))
    assert evidence.sample is not None
    summary = Measurements(np.array([2]), np.array([1.0]), np.array([0.5]))
    assert evidence.with_measurements([[0.0]], summary).sample is None
