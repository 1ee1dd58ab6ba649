"""Experiments and measurements: their checks, their summaries, repeats split or joined."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paraboloid.core import (
    Certificate,
    Estimate,
    Experiment,
    MeasurementError,
    Measurements,
    Result,
    Status,
    UsageError,
    Vector,
)

POINTS = [[1.0, 0.0], [0.0, 1.0]]
values = hnp.arrays(np.float64, st.integers(2, 60), elements=st.floats(-100, 100))


def test_one_number_of_repeats_is_for_all_points() -> None:
    experiment = Experiment(POINTS, 3, needs_values=True, about="a pair")
    assert experiment.repeats.tolist() == [3, 3]
    assert (experiment.n_points, experiment.n_measurements, experiment.about) == (2, 6, "a pair")
    assert experiment.needs_values


@pytest.mark.parametrize("repeats", [0, -1, 1.5, [1], [1, 2, 3], [1, 0], "3", True, [[1, 2]], None], ids=repr)
def test_repeats_are_whole_numbers_one_for_each_point(repeats: object) -> None:
    with pytest.raises(
        UsageError, match=r"repeats must be one whole number of at least 1 for each of the 2 points, got"
    ):
        Experiment(POINTS, repeats)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize("points", [[], [[]], [1.0], [[np.nan, 0.0]], [["a"]], [[1j]]], ids=repr)
def test_points_are_a_matrix_of_finite_numbers(points: object) -> None:
    with pytest.raises(UsageError, match="point"):
        Experiment(points, 1)  # type: ignore[arg-type]  # wrong on purpose


def test_identity_is_repeats_exactly_and_points_within_a_tolerance() -> None:
    one = Experiment(POINTS, 3, about="this")
    assert one.same_as(Experiment(np.array(POINTS) + 1e-12, [3, 3], about="that"))
    assert not one.same_as(Experiment(POINTS, [3, 4]))
    assert not one.same_as(Experiment(np.array(POINTS) + 1e-6, 3))
    assert one.same_as(Experiment(np.array(POINTS) + 1e-6, 3), tolerance=1e-5)
    assert not one.same_as(Experiment(POINTS[:1], 3))


def test_an_experiment_is_frozen_through_and_through() -> None:
    points = np.array(POINTS)
    experiment = Experiment(points, 1)
    points[0, 0] = 7.0
    assert experiment.points[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        experiment.points[0, 0] = 7.0
    with pytest.raises(AttributeError):
        experiment.repeats = np.array([1])  # type: ignore[misc]  # wrong on purpose


@given(values, st.integers(1, 59))
def test_values_split_over_two_points_summarise_to_the_whole(row: Vector, cut: int) -> None:
    cut = min(cut, row.size - 1)
    whole = Measurements.from_values([row])
    parts = Measurements.from_values([row[:cut], row[cut:]])
    n, m = parts.counts
    assert whole.n_measurements == parts.n_measurements == row.size
    # Chan's formula: scatter = S₁ + S₂ + (m₁ - m₂)² n m/(n + m). Sixty values of size 100: 1e4·60·60 eps.
    mean = float((n * parts.means[0] + m * parts.means[1]) / (n + m))
    scatter = float(parts.scatter.sum() + (parts.means[0] - parts.means[1]) ** 2 * n * m / (n + m))
    assert whole.means[0] == pytest.approx(mean, abs=1e-11)
    assert whole.scatter[0] == pytest.approx(scatter, abs=1e-8)


@given(values, st.integers(0, 2**32 - 1))
def test_the_order_of_values_does_not_matter_to_their_summary(row: Vector, seed: int) -> None:
    one = Measurements.from_values([row])
    other = Measurements.from_values([np.random.default_rng(seed).permutation(row)])
    assert one.means == pytest.approx(other.means, abs=1e-11)
    assert one.scatter == pytest.approx(other.scatter, abs=1e-8)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0, np.nan]], r"value number 1 of 2 is nan, not a finite number. Measure it again"),
        ([[1.0], [-np.inf, 2.0]], r"value number 0 of 2 is -inf"),
        ([["a"]], r"measured values must be real numbers, got \['a'\]"),
        ([[1j]], r"measured values must be real numbers, got .*complex"),
        ([[]], r"at least one value, got shape \(0,\)"),
        ([[[1.0]]], r"at least one value, got shape \(1, 1\)"),
        ([1.0], r"at least one value, got shape \(\)"),
    ],
)
def test_values_that_are_no_measurements_are_named(rows: object, message: str) -> None:
    with pytest.raises(MeasurementError, match=message):
        Measurements.from_values(rows)  # type: ignore[arg-type]  # wrong on purpose


@pytest.mark.parametrize(
    ("means", "scatter", "message"),
    [
        ([1.0], [0.0, 0.0], r"means has shape \(1,\), but there are 2 counts; give one per point"),
        ([1.0, 2.0], [0.0], r"scatter has shape \(1,\), but there are 2 counts"),
        ([1.0, np.nan], [0.0, 0.0], r"means holds values that are not finite numbers: \[ 1. nan\]"),
        ([1.0, 2.0], [np.inf, 0.0], r"scatter holds values that are not finite numbers"),
    ],
)
def test_summaries_are_finite_and_one_for_each_point(means: object, scatter: object, message: str) -> None:
    with pytest.raises(MeasurementError, match=message):
        Measurements([2, 2], means, scatter)  # type: ignore[arg-type]  # wrong on purpose


def test_values_must_be_as_many_as_their_counts_say() -> None:
    with pytest.raises(MeasurementError, match=r"rows of \[3\] values, but the counts are \[2\]"):
        Measurements(np.array([2]), np.zeros(1), np.zeros(1), (np.array([1.0, 2.0, 3.0]),))


def test_measurements_must_answer_their_experiment() -> None:
    experiment = Experiment(POINTS, [1, 2], needs_values=True)
    Measurements.from_values([[1.0], [2.0, 3.0]]).check_answer_to(experiment)
    for rows in ([[1.0, 1.0], [2.0]], [[1.0]], [[1.0], [2.0, 3.0], [4.0]]):
        with pytest.raises(MeasurementError, match=r"the experiment asks for 3 measurements \(repeats \[1 2\]\), got"):
            Measurements.from_values(rows).check_answer_to(experiment)
    summary = Measurements(np.array([1, 2]), np.zeros(2), np.zeros(2))
    with pytest.raises(MeasurementError, match=r"truncates every single value, but only a summary was told. Build"):
        summary.check_answer_to(experiment)
    summary.check_answer_to(Experiment(POINTS, [1, 2]))


def test_a_result_prints_in_ten_lines_also_in_many_dimensions() -> None:
    result = Result(Estimate(np.linspace(0, 1, 50)), Status.BUDGET_SPENT, n_measurements=12_345, n_points=4, n_rounds=2)
    text = str(result)
    assert len(text.splitlines()) <= 10
    assert "12,345 at 4 points in 2 experiments" in text
    assert "(50 in all)" in text
    assert Status.BUDGET_SPENT.value in text


def test_a_result_says_that_doubt_about_the_shape_makes_its_bound_wide_and_stays_within_ten_lines() -> None:
    unknown = np.full((2, 2), np.nan)
    for if_quadratic, is_said in ((0.48, True), (0.5, True), (0.51, False), (math.inf, False)):
        certificate = Certificate(
            regret=0.1,
            regret_bound=1.0,
            confidence=0.95,
            x_ci=unknown,
            fun=1.0,
            fun_se=0.1,
            hess_eig=unknown[0],
            hess_eig_se=unknown[0],
            sigma=1.0,
            regret_unit=1.0,
            caveats=("one", "two", "three", "four"),
            regret_bound_if_quadratic=if_quadratic,
        )
        result = Result(Estimate(np.zeros(2)), Status.BUDGET_SPENT, certificate=certificate, n_failures=1)
        assert len(str(result).splitlines()) <= 10
        assert (f"shape          at most {if_quadratic:.3g} if the response" in str(result)) == is_said


def test_every_status_is_a_full_sentence() -> None:
    assert all(status.value[0].isupper() and status.value.endswith(".") for status in Status)
