"""The contest's runner, adapter and analysis: nothing twice, nothing lost, failures counted."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from contest.analysis import cells_of, medians_table, paired_table, summary
from contest.claims import bounds_table, rate_table, said_table
from contest.problems import named_problem
from contest.runner import Task, n_measurements, read_rows, run_tasks, solve_once, tasks_of
from contest.solvers import named_solver
from contest.solvers.adapter import BudgetSpentError, Meter

QUADRATIC = "quad_d2_c10_r0.5_gauss"


def row(problem: str, solver: str, seed: int, regret: float) -> dict[str, object]:
    found = {"problem": problem, "T": 100, "solver": solver, "seed": seed, "n_evals": 100}
    return {**found, "error": "broken"} if math.isinf(regret) else {**found, "regret": regret, "own_seconds": 0.1}


def test_an_interrupted_contest_repeats_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    tasks = list(tasks_of([QUADRATIC], ["30", "5p"], ["paraboloid", "one-shot"], range(2)))
    assert len(tasks) == 4  # 5p is 30 too, in two dimensions
    assert run_tasks(tasks[:3], path, processes=1) == 3
    whole = path.read_text()
    path.write_text(whole[:-20])  # as after a crash in the middle of a line
    kept = read_rows(path)
    assert len(kept) == 2
    assert run_tasks(tasks, path, processes=1) == 2
    rows = read_rows(path)
    assert rows[:2] == kept
    assert {Task(r["problem"], r["T"], r["solver"], r["seed"]) for r in rows} == set(tasks)
    assert run_tasks(tasks, path, processes=1) == 0
    assert all(r["n_evals"] == 30 and r["regret"] >= 0 and r["own_seconds"] > 0 for r in rows)


def test_a_run_depends_on_its_seed_alone() -> None:
    first, again, other = (solve_once(Task(QUADRATIC, 40, "paraboloid", seed)) for seed in (1, 1, 2))
    assert first["x"] == again["x"] and first["regret"] == again["regret"]
    assert first["x"] != other["x"]


def test_a_failing_solver_is_a_row_and_is_tried_again_only_if_asked(tmp_path: Path) -> None:
    path, task = tmp_path / "rows.jsonl", Task(QUADRATIC, 30, "paraboloid:no_such_argument=1", 0)
    assert run_tasks([task], path, processes=1) == 1
    (failed,) = read_rows(path)
    assert "no_such_argument" in failed["error"] and "regret" not in failed
    assert run_tasks([task], path, processes=1) == 0
    assert run_tasks([task], path, processes=1, again=True) == 1


def test_variants_reach_the_algorithm() -> None:
    found = solve_once(Task(QUADRATIC, 60, "paraboloid:adaptive,rounds=3", 0))
    assert found["says"]["rounds"] == 3
    with pytest.raises(KeyError, match="no solver is called 'nobody'"):
        named_solver("nobody")


def test_a_solver_cannot_measure_more_than_its_budget() -> None:
    meter = Meter(named_problem("edge_d4", 0), 5, np.random.default_rng(0))
    meter.measure(np.zeros((4, 4)))
    with pytest.raises(BudgetSpentError, match="2 more measurements were asked for, 1 of 5 are left"):
        meter.measure(np.zeros((2, 4)))
    assert meter.taken == 4
    assert meter.in_knobs(np.array([[-1.0, 1.0, 0.0, 0.0]])).tolist() == [[0.05, 5.0, 2.525, 2.525]]


def test_budgets() -> None:
    assert [n_measurements(text, 5) for text in ("200", "3p", "1.5p")] == [200, 63, 32]
    with pytest.raises(ValueError, match="got 'many'"):
        n_measurements("many", 5)


def test_medians_ratios_and_failures() -> None:
    rows = [row("a", "paraboloid", seed, regret) for seed, regret in enumerate([1.0, 2.0, 3.0])]
    rows += [row("a", "cma", seed, regret) for seed, regret in enumerate([4.0, 4.0, math.inf])]
    rows += [row("b", "paraboloid", 0, 9.0), row("b", "cma", 0, 3.0), row("b", "tpe", 0, 4.0)]
    cells = cells_of([*rows, row("b", "tpe", 0, 2.0)])  # the last row of a run counts
    assert cells["a", 100]["paraboloid"].median == 2.0
    assert cells["a", 100]["cma"].median == 4.0 and cells["a", 100]["cma"].n_failed == 1
    assert cells_of(rows, floor=2.5)["a", 100]["paraboloid"].regrets == {0: 2.5, 1: 2.5, 2: 3.0}
    table = medians_table(cells, "paraboloid").splitlines()
    assert table[2].endswith("| 0.50 | 0.50 |") and table[3].endswith("| 3.00 | 4.50 |")
    text = summary(cells, "paraboloid")
    assert "below cma in 1 of 2 cells and level with it in 0 (50%)" in text and "b T=100: 4.50" in text
    assert "below cma in 0 of 2 cells and level with it in 2 (100%)" in summary(
        cells_of(rows, floor=10.0), "paraboloid"
    )
    assert "cma: 1 (greatest 1); 1 failed" in text


def test_paired_ratio_uses_common_seeds_only() -> None:
    rows = [row("a", "x", seed, 2.0 * seed) for seed in (1, 2, 3)] + [
        row("a", "y", seed, 1.0 * seed) for seed in (1, 2)
    ]
    line = paired_table(cells_of(json.loads(json.dumps(rows))), "x", "y").splitlines()[2]
    assert line == "| a | 100 | 2 | 2.000 | 2.00-2.00 |"


def test_claims_are_counted_with_exact_intervals() -> None:
    rows = [
        {**row("a", "paraboloid", seed, 1.0), "says": {"regret_bound": bound, "is_quadratic": seed > 0}}
        for seed, bound in enumerate([2.0, 0.5, math.inf, 1.0])
    ]
    read = json.loads(json.dumps(rows))  # infinity survives Python's JSON
    assert "| a | 100 | 4 | 3 | 66.7% | 13.5%-98.3% |" in bounds_table(read, "paraboloid")
    assert "| a | 100 | 4 | 75.0% | 24.9%-98.7% |" in said_table(read, "paraboloid", "is_quadratic")


def test_the_rate_of_an_exact_power_law() -> None:
    rows = [{**row("a", "paraboloid", seed, T ** (-2 / 3)), "T": T} for T in (100, 1000, 10_000) for seed in range(3)]
    assert rate_table(rows, "paraboloid").splitlines()[2] == "| a | 100, 1000, 10000 | -0.67 | -0.67 to -0.67 |"
