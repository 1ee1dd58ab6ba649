"""Algorithm 2 and the universal algorithm, stepped by hand: every constant against the arithmetic in the comment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.algorithms import quadratic_search, universal
from paraboloid.algorithms.sampling import BLOCK
from paraboloid.algorithms.universal import hessian_samples, smallest_budget
from paraboloid.core import Experiment, Measurements, Procedure, Result, Status
from paraboloid.numerics import CENTRED
from paraboloid.problems import NoisyQuadratic
from paraboloid.run import Session
from tests.support import ball_point, drive, random_hessian

A = np.diag([1.0, 0.25])


def tell_differences(steps: Procedure, along: list[list[float]]) -> tuple[Result, list[Experiment]]:
    """Answer the i-th experiment with these differences y₊ - y₋ along +axis, repeated; y₋ is 7 everywhere.

    An eigenvector may point either way; the differences are turned with it.
    """
    session = Session(steps)
    asked = []
    for wanted in along:
        experiment = session.ask()
        asked.append(experiment)
        away = experiment.points[0] - experiment.points[1]
        turned = np.sign(away[np.argmax(np.abs(away))]) * np.array(wanted)
        n = int(experiment.repeats[0])
        session.tell(Measurements.from_values([7.0 + np.resize(turned, n), np.full(n, 7.0)]))
    return session.result, asked


def ends(experiment: Experiment) -> list[list[float]]:
    """Return the pair of points, the one with the larger entry along their difference first."""
    away = experiment.points[0] - experiment.points[1]
    first = int(away[np.argmax(np.abs(away))] < 0)
    return [experiment.points[first].tolist(), experiment.points[1 - first].tolist()]


def test_points_repeats_and_factors_are_those_of_the_paper() -> None:
    # T₁ = 1009, d = 2: T₁ - 4d - 1 = 1000. λ^-½ = 1, 2: p = 1/12, 2/12, t = ⌈83.33⌉ = 84 and ⌈166.67⌉ = 167.
    # First loop: α = -(-0.6)/(2·1) = 0.3 and -0.1/(2·0.25) = -0.2, so x̂ = (0.3, -0.2).
    # Second loop: β = -4/1·(-0.05) = 0.2 and -4/0.25·0.01 = -0.16: the answer, as it is inside the ball.
    # T = 2000, so that the threshold 0.2187 keeps both eigenvalues (1009^-0.2 = 0.2507 would not).
    result, asked = tell_differences(quadratic_search(A, 1009, total_budget=2000), [[-0.6], [0.1], [-0.05], [0.01]])
    assert [experiment.repeats.tolist() for experiment in asked] == [[84, 84], [167, 167]] * 2
    assert ends(asked[0]) == [[1, 0], [-1, 0]]  # the largest eigenvalue first
    assert ends(asked[1]) == [[0, 1], [0, -1]]
    # (±ê₁ + 2x̂)/4 = ((±1 + 0.6)/4, -0.1) and (±ê₂ + 2x̂)/4 = (0.15, (±1 - 0.4)/4).
    assert np.array(ends(asked[2])) == pytest.approx(np.array([[0.4, -0.1], [-0.1, -0.1]]), abs=1e-14)
    assert np.array(ends(asked[3])) == pytest.approx(np.array([[0.15, 0.15], [0.15, -0.35]]), abs=1e-14)
    assert result.x == pytest.approx([0.2, -0.16], abs=1e-12)
    assert (result.n_measurements, result.status) == (4 * (84 + 167), Status.BUDGET_SPENT)


@pytest.mark.parametrize(
    ("budget", "pairs"),
    [(13, 1), (17, 1), (21, 2), (22, 2), (1009, 125), (1010, 126)],
    ids=lambda value: str(value),
)
def test_repeats_round_a_quarter_of_the_share_up(budget: int, pairs: int) -> None:
    # A = I in d = 2: p = 1/8 of T₁ - 9. 4 -> ½ -> 1; 8 -> 1; 12 -> 1.5 -> 2; 13 -> 1.6 -> 2; 1000 -> 125; 1001 -> 126.
    _, asked = tell_differences(quadratic_search(np.eye(2), budget), [[0.0]] * 4)
    assert {int(n) for experiment in asked for n in experiment.repeats} == {pairs}


def test_a_first_estimate_beyond_one_and_a_half_is_scaled_back() -> None:
    # A = I, T₁ = 1009: t = 125, clipped at ±11.2 only. α = (3, 4), norm 5, so x̂ = 0.3 (3, 4) = (0.9, 1.2).
    _, asked = tell_differences(quadratic_search(np.eye(2), 1009), [[-6.0], [-8.0], [0.0], [0.0]])
    first_axis = int(np.argmax(np.abs(asked[0].points[0])))  # equal eigenvalues come in either order
    for experiment in asked[2:]:
        middle = np.mean(experiment.points, axis=0)  # x̂/2
        assert middle == pytest.approx([0.45, 0.6] if first_axis == 0 else [0.6, 0.45], abs=1e-14)


def test_a_first_estimate_between_one_and_one_and_a_half_is_left_alone() -> None:
    # α = (0.72, 0.96), norm 1.2.
    _, asked = tell_differences(quadratic_search(np.eye(2), 1009), [[-1.44], [-1.92], [0.0], [0.0]])
    order = int(np.argmax(np.abs(asked[0].points[0])))
    middle = np.mean(asked[2].points, axis=0)
    assert middle == pytest.approx([0.36, 0.48] if order == 0 else [0.48, 0.36], abs=1e-14)


def test_each_difference_is_clipped_at_the_root_of_the_number_of_pairs() -> None:
    # d = 1, T₁ = 105: ¼·(105 - 5) = 25 pairs, clipped to ±5. One value in five at 100, else 0: mean 5/5 = 1, α = -½.
    # Second loop about x̂ = -½; one in five at -100: mean -1, β = 4 -> projected to 1.
    result, asked = tell_differences(quadratic_search([[1.0]], 105), [[100.0, 0, 0, 0, 0], [-100.0, 0, 0, 0, 0]])
    assert [experiment.repeats.tolist() for experiment in asked] == [[25, 25]] * 2
    assert np.mean(asked[1].points) == pytest.approx(-0.25, abs=1e-15)
    assert result.x.tolist() == [1.0]


def test_the_second_loop_is_clipped_at_the_same_root() -> None:
    # λ = 100, d = 1, T₁ = 105: 25 pairs. All values at 100 are clipped to 5: β = -4/100·5 = -0.2.
    result, _ = tell_differences(quadratic_search([[100.0]], 105), [[0.0], [100.0]])
    assert result.x == pytest.approx([-0.2], abs=1e-15)
    # Around a centre nothing is clipped: β = -4/100·12.5 = -0.5.
    centred, _ = tell_differences(quadratic_search([[100.0]], 105, truncation=CENTRED), [[0.0], [12.5]])
    assert centred.x == pytest.approx([-0.5], abs=1e-15)


def test_the_answer_is_projected_in_the_metric_of_the_estimate() -> None:
    # β = -4/λ·diff with diff = -0.75, -1: (3, 4) for A = I, projected to (0.6, 0.8).
    result, asked = tell_differences(quadratic_search(np.eye(2), 1009), [[0.0], [0.0], [-0.75], [-1.0]])
    order = int(np.argmax(np.abs(asked[0].points[0])))
    assert result.x == pytest.approx([0.6, 0.8] if order == 0 else [0.8, 0.6], abs=1e-14)


@pytest.mark.parametrize(
    ("smallest", "kept"), [(0.5, True), (np.nextafter(0.5, 0), False), (0.0, False), (-3.0, False)]
)
def test_an_eigenvalue_at_the_threshold_is_kept_and_one_below_is_not(smallest: float, kept: bool) -> None:
    # T = 32: T^-0.2 = 1/2, and floating point agrees exactly. The order of the estimate's sign does not matter.
    assert 32**-0.2 == 0.5
    session = Session(quadratic_search(np.diag([4.0, smallest]), 32))
    axes = set()
    while not session.is_done:
        asked = session.ask()
        away = asked.points[0] - asked.points[1]
        axes.add(int(np.argmax(np.abs(away))))
        session.tell(Measurements.from_values(np.zeros((2, int(asked.repeats[0])))))
    assert axes == ({0, 1} if kept else {0})


def test_the_threshold_is_that_of_the_whole_budget() -> None:
    # 0.15 is above (10⁵)^-0.2 = 0.1 but below 1000^-0.2 = 0.251.
    assert Session(quadratic_search([[0.15]], 1000)).result.status is Status.NOTHING_TO_LEARN
    whole = Session(quadratic_search([[0.15]], 1000, total_budget=10**5))
    assert whole.ask().repeats.tolist() == [249, 249]  # ⌈995/4⌉: the pairs are still those of T₁


def test_without_noise_the_minimum_is_found_to_rounding_where_nothing_is_clipped() -> None:
    for d, norm in [(1, 1.0), (2, 0.5), (5, 1.0), (6, 0.0)]:
        rng = np.random.default_rng(d)
        problem = NoisyQuadratic(random_hessian(rng, np.geomspace(4.0, 0.5, d)), ball_point(rng, d, norm), offset=2.0)
        # t ≥ 10⁴/(4·3d) and differences are at most 2λ ≤ 8: t^½ is above it.
        result, _ = drive(quadratic_search(problem.hessian, 10_000), problem.value)
        assert np.abs(result.x - problem.minimiser).max() < 1e-12  # values ≤ 10, times 4/λ ≤ 8: some 100 eps
        whole, _ = drive(universal(d, 20_000 * d), problem.value)
        # Â is off by some 1e-14; a second-order error of the two-step descent, times the condition number 8.
        assert np.abs(whole.x - problem.minimiser).max() < 1e-11


def test_a_wrong_hessian_is_mended_by_the_second_loop() -> None:
    # λ̂ = 1 for λ = 1.1, x₀ = 0.5: x̂ = 1.1·0.5 = 0.55; β = (λ/λ̂)(2x₀ - x̂) = 1.1·0.45 = 0.495: an error of (0.1)²/2.
    problem = NoisyQuadratic([[1.1]], [0.5])
    result, _ = drive(quadratic_search([[1.0]], 1000), problem.value)
    assert result.x == pytest.approx([0.495], abs=1e-13)


@pytest.mark.parametrize(
    ("T", "T0"), [(1, 1), (2, 2), (31, 16), (32, 16), (33, 17), (10**5, 10**4), (10**5 + 1, 10**4 + 1), (10**10, 10**8)]
)
def test_the_first_stage_has_the_ceiling_of_four_fifths(T: int, T0: int) -> None:
    # 32 = 2⁵ -> 2⁴; 33^0.8 = 16.399; 31^0.8 = 15.6; 2^0.8 = 1.74; (10⁵+1)^0.8 = 10⁴ + 0.08.
    assert hessian_samples(T) == T0


@given(st.integers(2, 10_000))
def test_the_first_stage_is_exact_at_every_fifth_power(n: int) -> None:
    assert [hessian_samples(n**5 + shift) for shift in (0, 1)] == [n**4, n**4 + 1]


def test_universal_spends_its_two_stages_as_printed() -> None:
    # d = 1, T = 10⁵: T₀ = 10⁴, ⌊10⁴/3⌋ = 3333 triples. T₁ = 90,000: t = ⌈¼·(90,000 - 5)⌉ = ⌈22,498.75⌉ = 22,499.
    problem = NoisyQuadratic([[0.5]], [-0.4])
    result, asked = drive(universal(1, 10**5), problem.value)
    assert [experiment.repeats.tolist() for experiment in asked] == [[3333] * 3] + [[22_499] * 2] * 2
    assert result.n_measurements == 3 * 3333 + 4 * 22_499 == 99_995
    assert result.x == pytest.approx([-0.4], abs=1e-12)
    assert result.hessian == pytest.approx(np.array([[0.5]]), abs=1e-13)


def test_universal_takes_the_threshold_from_the_whole_budget() -> None:
    # T = 10⁵: the threshold is 0.1, that of T₁ = 90,000 would be 0.1021: an eigenvalue of 0.101 tells them apart.
    problem = NoisyQuadratic([[0.101]], [0.4])
    result, _ = drive(universal(1, 10**5), problem.value)
    assert result.status is Status.BUDGET_SPENT


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_the_smallest_budget_of_universal_is_the_least_that_feeds_both_stages(d: int) -> None:
    def feeds(T: int) -> bool:
        return hessian_samples(T) >= 3 * d**2 and T - hessian_samples(T) >= 4 * d + 2

    assert smallest_budget(d) == next(T for T in range(1, 10**6) if feeds(T))


def test_long_series_come_in_blocks_and_the_centre_is_found_from_the_first() -> None:
    # d = 1: t = ⌈¼(T₁ - 5)⌉ = 2·BLOCK + 5.
    budget = 4 * (2 * BLOCK + 5) + 5
    session = Session(quadratic_search([[1.0]], budget, truncation=CENTRED))
    sizes = []
    for block in range(3):
        asked = session.ask()
        sizes.append(asked.repeats.tolist())
        n = int(asked.repeats[0])
        # Centre 1000 from the first block; values of 5000 later are clipped to 1000 + √t.
        session.tell(Measurements.from_values([np.full(n, 1000.0 if block == 0 else 5000.0), np.zeros(n)]))
    assert sizes == [[BLOCK] * 2, [BLOCK] * 2, [5, 5]]
    t = 2 * BLOCK + 5
    assert (1000 + (BLOCK + 5) * t**0.5 / t) / 2 > 1.5  # α is far outside, so x̂ is ∓1.5 whatever the sign of ê
    assert abs(np.mean(session.ask().points)) == pytest.approx(0.75, abs=1e-15)
