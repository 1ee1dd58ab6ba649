"""The rivals that need no package of their own: they keep to the budget and the region, and solve what they should."""

import numpy as np
import pytest
from contest.problem import Problem, cube
from contest.problems import named_problem
from contest.runner import Task, is_fitting, is_too_slow, limits_of, solve_once
from contest.solvers import FAMILIES, NAMES, named_solver
from contest.solvers.adapter import Meter
from contest.solvers.classical import lowest_on_box
from contest.solvers.gradient import SPSA_TUNED, descend

from paraboloid import Ball, theory

AT_HAND = {"numpy", "scipy", "paraboloid"}
HERE = [name for family in FAMILIES if family.distribution in AT_HAND for name in family.solvers]
"""Solvers whose packages the tests install."""
ONE_SHOT = ["composite", "box-behnken", "one-shot", "sphere"]


def exact_bowl(d: int, *, is_ball: bool = False, reach: float = 0.4) -> Problem:
    """Return a skewed quadratic without noise; its minimum lies at ``reach`` along a fixed direction."""
    rng = np.random.default_rng(d)
    root = rng.standard_normal((d, d))
    hessian = root @ root.T + np.eye(d)
    minimiser = reach * np.linspace(-1, 1, d) / np.linalg.norm(np.linspace(-1, 1, d))

    def truth(points: np.ndarray) -> np.ndarray:
        away = points - minimiser
        return np.asarray(np.sum((away @ hessian) * away, axis=1) / 2 + 3)

    def measure(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return truth(points)

    return Problem(
        "bowl",
        *cube(d, -1, 1),
        measure,
        lambda x: float(truth(x[None, :])[0] - 3),
        is_ball=is_ball,
        hessian=hessian,
        minimiser=minimiser,
    )


@pytest.mark.parametrize("problem", ["quad_d5_c100_r0.5_gauss", "ball_d5_c10_r0.9_t3", "quad_d2_c1_r0_skew"])
@pytest.mark.parametrize("name", HERE)
def test_solvers_keep_to_budget_and_region(name: str, problem: str) -> None:
    task = Task(problem, 250, name, 7)
    if not is_fitting(task):
        assert name in {"box-behnken", "paper", "paper+"}
        return
    made = named_problem(problem, 7)
    meter = Meter(made, 250, np.random.default_rng(0))
    answer = named_solver(name)(meter, 7)
    assert 0 < meter.taken <= 250
    assert answer.z.shape == (made.d,)
    assert np.all(np.abs(meter.in_region(answer.z)) <= 1)
    row = solve_once(task)
    assert "error" not in row
    assert row["regret"] >= 0 and row["own_seconds"] >= 0 and row["start"] >= 0


@pytest.mark.parametrize("is_ball", [False, True])
@pytest.mark.parametrize("name", [*ONE_SHOT, "sequential+"])
def test_designs_find_the_minimum_of_an_exact_quadratic(name: str, is_ball: bool) -> None:
    problem = exact_bowl(4, is_ball=is_ball)
    answer = named_solver(name)(Meter(problem, 150, np.random.default_rng(0)), 1)
    assert problem.regret(answer.z) < 1e-15 * problem.regret(np.ones(4))  # rounding errors, squared and amplified


@pytest.mark.parametrize("problem", ["quad_d5_c10000_r0.9_gauss", "quad_d20_c10000_r0.9_gauss", "quad_d2_c1_r0_gauss"])
def test_the_minimum_on_the_box_is_exact_at_any_condition(problem: str) -> None:
    made = named_problem(problem, 3)
    assert made.hessian is not None and made.minimiser is not None
    assert made.regret(lowest_on_box(made.hessian, -made.hessian @ made.minimiser)) < 1e-12
    outside = 2 * made.minimiser + 0.1  # then it lies on the edge, where the slope of every free knob vanishes
    z = lowest_on_box(made.hessian, -made.hessian @ outside)
    slope = made.hessian @ (z - outside)
    assert np.all(np.abs(z) <= 1)
    # Karush, Kuhn and Tucker: what is not at an edge has no slope, what is there is pushed outwards.
    tolerance = 1e-7 * np.linalg.eigvalsh(made.hessian)[-1]
    assert np.all(np.where(np.abs(z) < 1 - 1e-9, np.abs(slope), slope * np.sign(z)) <= tolerance)


def test_a_saddle_is_lowest_at_a_corner() -> None:
    assert lowest_on_box(np.diag([1.0, -1.0]), np.array([0.5, 0.1])).tolist() == [-0.5, -1.0]


def test_the_sequential_search_walks_to_a_far_minimum() -> None:
    # The minimum lies outside the first design (half-width 0.3 about the centre) and inside the region.
    problem = exact_bowl(3, reach=0.9)
    answer = named_solver("sequential")(Meter(problem, 200, np.random.default_rng(0)), 1)
    assert problem.regret(answer.z) < 0.05 * problem.regret(np.zeros(3))


@pytest.mark.parametrize("name", ["spsa", "spsa+", "kiefer-wolfowitz", "kiefer-wolfowitz+"])
def test_stochastic_approximation_descends_without_noise(name: str) -> None:
    problem = exact_bowl(3, reach=0.8)
    answer = named_solver(name)(Meter(problem, 2000, np.random.default_rng(0)), 3)
    assert problem.regret(answer.z) < 0.1 * problem.regret(np.zeros(3))


def test_a_flat_function_moves_nothing() -> None:
    flat = Problem("flat", *cube(2, -1, 1), lambda points, rng: np.zeros(len(points)), lambda x: 0.0)
    assert descend(True, SPSA_TUNED, Meter(flat, 50, np.random.default_rng(0)), 0).z.tolist() == [0.0, 0.0]


def test_outside_the_ball_is_measured_on_its_sphere() -> None:
    meter = Meter(exact_bowl(2, is_ball=True), 10, np.random.default_rng(0))
    assert meter.in_knobs(np.array([[1.0, 1.0], [0.3, 0.0]])).round(12).tolist() == [
        [round(0.5**0.5, 12), round(0.5**0.5, 12)],
        [0.3, 0.0],
    ]


def test_the_told_algorithm_is_told_the_truth_in_unit_coordinates() -> None:
    problem = exact_bowl(2)
    wide = Problem("wide", *cube(2, -4, 4), problem.measure, problem.regret, hessian=problem.hessian)
    told = Meter(wide, 10, np.random.default_rng(0)).told_hessian
    assert told is not None and problem.hessian is not None
    assert np.allclose(told, 16 * problem.hessian)


def test_limits_stand_in_the_rows_of_quadratics_alone() -> None:
    problem = named_problem("ball_d2_c10_r0.5_gauss", 3)
    found = limits_of(problem)
    assert problem.hessian is not None and problem.minimiser is not None
    low, high = theory.instance_limit_bounds(problem.hessian, problem.minimiser, Ball(np.zeros(2)))
    assert found == {
        "v_low": float(f"{low:.5g}"),
        "v_high": float(f"{high:.5g}"),
        "minimax": float(f"{theory.minimax_limit(problem.hessian):.5g}"),
    }
    assert limits_of(named_problem("rosen_d2", 3)) == {}


def test_slow_and_unfit_solvers_are_left_out() -> None:
    assert is_too_slow(Task("rosen_d2", 5000, "tpe", 0)) and not is_too_slow(Task("rosen_d2", 1000, "tpe", 0))
    assert not is_fitting(Task("rosen_d2", 1000, "paper", 0))  # no quadratic
    assert not is_fitting(Task("quad_d5_c1_r0_gauss", 50, "paper", 0))  # below its least budget
    assert not is_fitting(Task("simopt_cntnews1", 200, "cma", 0))  # one knob
    assert all(is_fitting(Task("quad_d5_c1_r0_gauss", 5000, name, 0)) for name in NAMES)
