"""The Hessian estimate, stepped by hand: directions, polarisation, number of triples, clipping."""

import numpy as np
import pytest

from paraboloid.algorithms import estimate_hessian
from paraboloid.core import Experiment, Matrix, Measurements, Steps
from paraboloid.numerics import AS_PRINTED, CENTRED, Truncation
from paraboloid.problems import NoisyQuadratic
from paraboloid.run import Session
from tests.support import ball_point, drive, random_hessian

ROOT = 0.5**0.5


def tell_curvatures(steps: Steps[Matrix], curvatures: list[list[float]]) -> tuple[Matrix, list[Experiment]]:
    """Answer the i-th direction with these values of y₊ + y₋ - 2y, repeated over the triples; y₋ = 2, y = 1."""
    session = Session(steps)
    asked = []
    for wanted in curvatures:
        experiment = session.ask()
        asked.append(experiment)
        values = np.resize(wanted, experiment.repeats[0])
        session.tell(Measurements.from_values([values, np.full(values.size, 2.0), np.ones(values.size)]))
    return session.result, asked


def test_directions_are_the_axes_and_the_polarised_pairs() -> None:
    # d = 2, T₀ = 100: ⌊100/(3·4)⌋ = 8 triples along each of the 4 directions.
    _, asked = tell_curvatures(estimate_hessian(2, 100), [[0.0]] * 4)
    directions = np.array([[1, 0], [0, 1], [ROOT, ROOT], [ROOT, -ROOT]])
    for experiment, v in zip(asked, directions, strict=True):
        assert experiment.points == pytest.approx(np.array([v, -v, 0 * v]), abs=1e-15)
        assert experiment.repeats.tolist() == [8, 8, 8]
        assert experiment.needs_values


@pytest.mark.parametrize(
    ("dimension", "budget", "triples"),
    [(1, 3, 1), (1, 5, 1), (1, 6, 2), (2, 12, 1), (2, 23, 1), (2, 24, 2), (3, 27, 1), (3, 1000, 37)],
)
def test_there_are_as_many_triples_as_fit(dimension: int, budget: int, triples: int) -> None:
    # ⌊T₀/3d²⌋; for d = 3, T₀ = 1000: 1000/27 = 37.04.
    _, asked = drive(estimate_hessian(dimension, budget), lambda x: 0.0)
    assert [experiment.repeats.tolist() for experiment in asked] == [[triples] * 3] * dimension**2


def test_entries_are_second_differences_and_off_diagonals_half_their_difference() -> None:
    # y₊ + y₋ - 2y = y₊ + 2 - 2 = y₊: the curvatures are 3, 4, 5, 1, and A₁₂ = ½(5 - 1) = 2.
    estimate, _ = tell_curvatures(estimate_hessian(2, 100), [[3.0], [4.0], [5.0], [1.0]])
    assert estimate.tolist() == [[3.0, 2.0], [2.0, 4.0]]


def test_each_second_difference_is_clipped_at_the_root_of_the_budget() -> None:
    # T₀ = 100: clipped to ±10. Half of the values at 3, half at 1000 average to (3 + 10)/2 = 6.5; at -1000 to -3.5.
    estimate, _ = tell_curvatures(estimate_hessian(2, 100), [[3.0, 1000.0], [3.0, -1000.0], [10.0], [10.1]])
    # The last two are 10 and clip(10.1) = 10: the off-diagonal is 0.
    assert estimate.tolist() == [[6.5, 0.0], [0.0, -3.5]]


def test_clipping_is_by_the_budget_and_not_by_the_number_of_triples() -> None:
    # d = 1, T₀ = 11: 3 triples, clipped to ±√11 = ±3.3166 (and not to ±√3).
    estimate, _ = tell_curvatures(estimate_hessian(1, 11), [[50.0]])
    assert estimate == pytest.approx(np.array([[11**0.5]]), abs=1e-15)


def test_as_printed_clips_the_signal_itself_and_centred_does_not() -> None:
    printed, _ = tell_curvatures(estimate_hessian(1, 12, truncation=AS_PRINTED), [[1000.0]])
    centred, _ = tell_curvatures(estimate_hessian(1, 12, truncation=CENTRED), [[1000.0]])
    assert (printed[0, 0], centred[0, 0]) == (12**0.5, 1000.0)


def test_centred_clips_to_the_same_width_around_the_median() -> None:
    # T₀ = 12: 4 triples, below 8 ln 4 = 11.1, so the centre is the median of 1000, 1000, 1000, 2000, that is 1000; the
    # last is clipped to 1000 + √12: the average is 1000 + √12/4.
    estimate, _ = tell_curvatures(estimate_hessian(1, 12, truncation=CENTRED), [[1000.0, 1000.0, 1000.0, 2000.0]])
    assert estimate[0, 0] == pytest.approx(1000 + 12**0.5 / 4, abs=1e-10)


def test_the_exponent_of_the_width_is_the_truncations() -> None:
    # exponent 1: clipped to ±12 instead of ±√12.
    estimate, _ = tell_curvatures(estimate_hessian(1, 12, truncation=Truncation(exponent=1.0)), [[1000.0]])
    assert estimate[0, 0] == 12.0


@pytest.mark.parametrize("d", [1, 2, 5])
def test_without_noise_the_hessian_is_found_to_rounding(d: int) -> None:
    rng = np.random.default_rng(d)
    problem = NoisyQuadratic(random_hessian(rng, np.geomspace(2.0, 0.1, d)), ball_point(rng, d, 1.0), offset=-5.0)
    estimate, _ = drive(estimate_hessian(d, 100 * d**2), problem.value)  # ±10 √d clips nothing of size ≤ 2
    # Values of size ≤ 9, four of them in each second difference: an error below 50 eps, averaged over equal values.
    assert np.abs(estimate - problem.hessian).max() < 1e-13
    assert np.array_equal(estimate, estimate.T)
