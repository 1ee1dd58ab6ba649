"""Algorithm 1, stepped by hand: every constant against the arithmetic in the comment."""

import numpy as np
import pytest

from paraboloid.algorithms import hessian_dependent
from paraboloid.core import Experiment, MeasurementError, Measurements, Status, Vector
from paraboloid.problems import NoisyQuadratic
from tests.support import answer, ball_point, drive, random_hessian

A = np.diag([1.0, 0.25])


def repeats_by_axis(experiments: list[Experiment]) -> dict[int, list[int]]:
    """Return for each axis how often each of its two ends was measured; all points must be unit vectors of an axis."""
    found: dict[int, list[int]] = {}
    for experiment in experiments:
        axis = int(np.argmax(np.abs(experiment.points[0])))
        assert np.array_equal(np.abs(experiment.points), np.eye(experiment.points.shape[1])[[axis, axis]])
        assert np.array_equal(experiment.points[0], -experiment.points[1])
        found[axis] = experiment.repeats.tolist()
    return found


def test_pairs_and_repeats_are_those_of_the_paper() -> None:
    # T = 105, d = 2: T - 2d - 1 = 100. λ^-½ = 1 and 2, sum 3: R = 100/3 and 200/3, t = ⌈16.67⌉ = 17 and ⌈33.33⌉ = 34.
    _, experiments = drive(hessian_dependent(A, 105), lambda x: 0.0)
    assert repeats_by_axis(experiments) == {0: [17, 17], 1: [34, 34]}


@pytest.mark.parametrize(("budget", "pairs"), [(305, (50, 100)), (306, (51, 101)), (304, (50, 100)), (6, (1, 1))])
def test_repeats_round_half_the_energy_up(budget: int, pairs: tuple[int, int]) -> None:
    # T - 5 = 300: R = 100, 200 and t = 50, 100 with nothing to round. 301: 50.17, 100.33 -> 51, 101.
    # 299: 49.83, 99.67 -> 50, 100. 1 (the smallest): 1/6, 1/3 -> 1, 1.
    _, experiments = drive(hessian_dependent(A, budget), lambda x: 0.0)
    assert repeats_by_axis(experiments) == {0: [pairs[0]] * 2, 1: [pairs[1]] * 2}


def test_estimate_is_half_the_difference_over_the_eigenvalue() -> None:
    values = {(1, 0): 0.2, (-1, 0): 0.8, (0, 1): 0.6, (0, -1): 0.5}
    # α along axis 0: -(0.2 - 0.8)/(2·1) = 0.3; along axis 1: -(0.6 - 0.5)/(2·0.25) = -0.2. |x| < 1: no projection.
    result, _ = drive(hessian_dependent(A, 105), lambda x: values[int(x[0]), int(x[1])])
    assert result.x == pytest.approx([0.3, -0.2], abs=1e-15)
    assert result.status is Status.BUDGET_SPENT


def test_only_the_mean_of_the_values_counts() -> None:
    steps = hessian_dependent([[2.0]], 11)  # T - 2d - 1 = 8, R = 8, t = 4
    experiment = next(steps)
    assert experiment.repeats.tolist() == [4, 4]
    sign = experiment.points[0, 0]
    with pytest.raises(StopIteration) as stop:
        steps.send(Measurements.from_values([[0.0, 8.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]))
    # Means 2 and ½: α = -(2 - ½)/(2·2) = -0.375 along e = sign.
    assert stop.value.value.x == pytest.approx([-0.375 * sign], abs=1e-15)


def test_covariance_is_that_of_unit_noise() -> None:
    result, _ = drive(hessian_dependent(A, 105), lambda x: 0.0)
    # 1/(2 λ² t): 1/(2·1·17) = 1/34 and 1/(2·(1/16)·34) = 4/17.
    assert result.estimate.covariance == pytest.approx(np.diag([1 / 34, 4 / 17]), abs=1e-15)


def test_an_estimate_outside_the_ball_is_projected_in_the_metric_of_the_hessian() -> None:
    # α = (-(−3−3)/2, -(−4−4)/2) = (3, 4) with A = I: the projection is (3, 4)/5.
    result, _ = drive(hessian_dependent(np.eye(2), 100), lambda x: float(-3 * x[0] - 4 * x[1]))
    assert result.x == pytest.approx([0.6, 0.8], abs=1e-14)
    # A = diag(1, 4), x̂ = (1, 1): the condition (λ_k + μ) x_k = λ_k x̂_k with one μ for both entries, on the sphere.
    leaning, _ = drive(hessian_dependent(np.diag([1.0, 4.0]), 100), lambda x: float(-x[0] - 4 * x[1]))
    mu = 1.0 / leaning.x[0] - 1.0
    assert leaning.x[1] == pytest.approx(4 / (4 + mu), abs=1e-12)
    assert np.linalg.norm(leaning.x) == pytest.approx(1.0, abs=1e-12)
    assert leaning.x[1] > leaning.x[0]


def test_directions_without_curvature_are_not_measured() -> None:
    # Rank 1 in d = 3, T = 27: T - 2d - 1 = 20, R = 20, t = 10: 20 samples.
    result, experiments = drive(hessian_dependent(np.diag([0.0, 4.0, 0.0]), 27), lambda x: float(-2 * x[1]))
    assert repeats_by_axis(experiments) == {1: [10, 10]}
    # α = -(−2 − 2)/(2·4) = 0.5.
    assert result.x == pytest.approx([0.0, 0.5, 0.0], abs=1e-15)
    assert result.n_measurements == 20


def test_a_zero_hessian_has_nothing_to_learn() -> None:
    result, experiments = drive(hessian_dependent(np.zeros((2, 2)), 100), lambda x: 0.0)
    assert experiments == []
    assert (result.status, result.n_measurements, result.x.tolist()) == (Status.NOTHING_TO_LEARN, 0, [0.0, 0.0])
    assert result.estimate.covariance is not None
    assert not result.estimate.covariance.any()


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("norm", [0.0, 0.3, 1.0])
def test_without_noise_the_minimum_is_found_to_rounding(d: int, norm: float) -> None:
    rng = np.random.default_rng(d)
    hessian = random_hessian(rng, np.geomspace(1000.0, 1.0, d))
    problem = NoisyQuadratic(hessian, ball_point(rng, d, norm), offset=3.0)
    result, _ = drive(hessian_dependent(hessian, 2 * d + 2), problem.value)
    # Values of size up to ½·1000·2² = 2000 carry an error of 2000 eps each; over 2λ ≥ 2 that is 1000 eps per direction,
    # d directions, and some d eps more from the eigenvectors: below 1e-10 with room.
    assert np.abs(result.x - problem.minimiser).max() < 1e-10


def test_without_noise_a_rank_deficient_hessian_gives_no_regret_and_the_least_norm() -> None:
    rng = np.random.default_rng(7)
    hessian = random_hessian(rng, [4.0, 1.0, 0.25, 0.0, 0.0, 0.0])
    problem = NoisyQuadratic(hessian, ball_point(rng, 6, 0.9))
    result, _ = drive(hessian_dependent(hessian, 100), problem.value)
    seen: Vector = np.linalg.pinv(hessian) @ hessian @ problem.minimiser
    assert np.abs(result.x - seen).max() < 1e-12
    # x - x₀ is of size 1 where A sees nothing, so A(x - x₀) is known to some 4 eps only.
    assert problem.regret(result.x) < 1e-15
    assert np.linalg.norm(result.x - problem.minimiser) > 0.1


def test_measurements_of_another_experiment_are_refused_also_without_a_session() -> None:
    steps = hessian_dependent(np.eye(1), 6)
    asked = next(steps)
    with pytest.raises(MeasurementError, match=r"asks for 4 measurements .*got 2"):
        steps.send(answer(Experiment(asked.points, 1), lambda x: 0.0))
