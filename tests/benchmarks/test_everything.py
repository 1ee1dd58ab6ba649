"""The contest against everything: what is run, how it is compared, and the pages made from committed rows."""

import gzip
import json
import math
from pathlib import Path

import everything
import numpy as np
import pytest
from contest import pages, reasons, tables, tuning
from contest.memory import PeakMemory
from contest.problems import BUILDERS, kind_of
from contest.provenance import source_of_ours
from contest.runner import Row, Task, is_fitting, is_too_slow, read_rows
from contest.sets import FIRST_SEED, SETS, tasks_of_set
from contest.solvers import NAMES, TOLD
from contest.standings import OURS, Standings, ratio_of_geometric_means, ratio_of_means

ROOT = Path(__file__).parents[2]
RESULTS = [ROOT / f"benchmarks/results/bench-{name}.jsonl.gz" for name in ("quick", "more")]
QUADRATIC, ROSEN = "quad_d2_c10_r0.5_gauss", "rosen_d2"


def row(problem: str, solver: str, seed: int, regret: float, T: int = 100) -> Row:
    made = {"problem": problem, "T": T, "solver": solver, "seed": seed, "n_evals": T, "version": "none 1"}
    made |= {"commit": "abc", "source": "def"}
    if math.isinf(regret):
        return {**made, "error": "broken"}
    limits = {"v_low": 0.1, "v_high": 0.1} if kind_of(problem)[1] else {}
    return {**made, "regret": regret, "own_seconds": 0.1, "peak_mb": 2.0, "start": 8.0, **limits}


def rows_of(problem: str, solver: str, regrets: list[float], T: int = 100) -> list[Row]:
    return [row(problem, solver, FIRST_SEED + i, regret, T) for i, regret in enumerate(regrets)]


@pytest.mark.parametrize("name", ["quick", "long"])
def test_every_run_of_a_contest_is_there_once_and_fits(name: str) -> None:
    tasks = list(tasks_of_set(name))
    assert len(tasks) == len(set(tasks))
    assert all(task.seed >= FIRST_SEED and is_fitting(task) and not is_too_slow(task) for task in tasks)
    ours = {(task.problem, task.T, task.seed) for task in tasks if task.solver == OURS}
    assert all((task.problem, task.T, task.seed) in ours for task in tasks)  # a rival is never alone


def test_the_full_contest_has_what_the_issue_asks_for() -> None:
    problems = {problem for part in SETS["full"] for problem in part.problems}
    solvers = {solver for part in SETS["full"] for solver in part.solvers}
    assert solvers == set(NAMES)
    assert {kind_of(name)[0] for name in problems if kind_of(name)[1]} == {2, 5, 10, 20}
    assert {
        f"bbobnoisy_f{f}_d{d}" for f in (101, 102, 103, 107, 108, 109, 116, 117, 118) for d in (2, 5, 10)
    } <= problems
    third = [part for part in SETS["full"] if "rosen_d2" in part.problems]
    assert {"200", "1000", "5000"} <= {budget for part in third for budget in part.budgets}


def test_nothing_is_tuned_on_a_scored_seed() -> None:
    assert max(tuning.SEEDS) < 1000 < FIRST_SEED
    assert min(tuning.SEEDS) >= 500
    assert set(tuning.PROBLEMS) <= set(BUILDERS)


def test_tuning_prefers_the_better_setting() -> None:
    from contest.solvers.adapter import Answer

    centre, corner = (lambda meter, seed: Answer(np.zeros(meter.d))), (lambda meter, seed: Answer(np.ones(meter.d)))
    (best, first), (worst, second) = tuning.scores([("corner", corner), ("centre", centre)])
    assert (first, second) == ("centre", "corner") and 1 <= best < worst


def test_ratios_with_intervals_by_hand() -> None:
    x, y = np.array([2.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0])
    assert ratio_of_means(x, y) == (2.0, 2.0, 2.0)
    assert np.allclose(ratio_of_geometric_means(x, y), 2.0)
    # Logs of the ratios 0 and 2: mean 1, deviation √2, so 1 ± t(0.95, 1) with t = 6.3138 for one degree of freedom.
    found = ratio_of_geometric_means(np.array([1.0, math.exp(2)]), np.ones(2))
    assert np.allclose(np.log(found), [1, 1 - 6.3138, 1 + 6.3138], atol=1e-4)


def test_losses_margins_ranks_and_failures() -> None:
    rows = rows_of(QUADRATIC, OURS, [1.0, 2.0, 3.0]) + rows_of(QUADRATIC, "cma", [10.0, 20.0, 30.0])
    rows += rows_of(QUADRATIC, "paper-told", [0.1, 0.1, 0.1])
    rows += rows_of(ROSEN, OURS, [4.0, 4.1, 4.2]) + rows_of(ROSEN, "cma", [1.0, 1.1, 1.0])
    rows += rows_of(ROSEN, "tpe", [1e-12, 1e-9, math.inf]) + rows_of(ROSEN, "spsa", [1.0, 1.0])
    of = Standings(rows)
    (margin,) = of.comparisons((QUADRATIC, 100))  # who is told the Hessian is no rival
    assert (margin.other, margin.ratio, margin.is_behind, margin.is_ahead) == ("cma", 10.0, True, False)
    assert [(one.other, one.cell) for one in of.losses] == [
        ("cma", (ROSEN, 100))
    ]  # tpe's one failure costs it the proof
    assert of.failed["tpe"] == 1
    assert of.regrets[ROSEN, 100]["tpe"] == {FIRST_SEED: 1e-8, FIRST_SEED + 1: 1e-8, FIRST_SEED + 2: 8.0}
    assert of.mean_ranks(of.other_cells)[OURS] == 1.0 and of.mean_ranks(of.other_cells)["tpe"] == 0.0
    assert of.relative(of.other_cells)["tpe"] == [1.0]
    assert math.isclose(of.against("cma", of.quadratic_cells), 10.0)
    assert np.allclose(of.over_limit(OURS), [2.0 * 100 / 0.1])
    assert of.compare((ROSEN, 100), "spsa") is None  # two shared seeds are too few
    assert of.own_milliseconds(OURS) == 1.0 and of.peak_megabytes(OURS) == 2.0
    assert TOLD.isdisjoint(of.medians(of.quadratic_cells)[QUADRATIC, 100])


def test_who_begins_at_the_answer_is_not_ranked() -> None:
    at_centre = "quad_d2_c10_r0_gauss"
    rows = [made for name in (OURS, "cma", "one-shot") for made in rows_of(at_centre, name, [1.0, 2.0, 1.5])]
    of = Standings([*rows, *rows_of(QUADRATIC, OURS, [1.0] * 3), *rows_of(QUADRATIC, "cma", [1.0] * 3)])
    assert of.rivals_in((at_centre, 100)) == ["one-shot"]
    assert of.rivals_in((QUADRATIC, 100)) == ["cma"]
    assert len(of.over_limit("cma")) == 1 and len(of.over_limit(OURS)) == 2


def test_budgets_below_two_p_are_no_margin() -> None:
    of = Standings(rows_of(QUADRATIC, OURS, [1.0, 1.0, 1.0], T=11) + rows_of(QUADRATIC, OURS, [1.0, 1.0, 1.0], T=12))
    assert of.quadratic_cells == [(QUADRATIC, 12)]


def test_analyse_writes_both_pages_and_prints_the_headline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        made
        for T in (100, 400)
        for problem, factor in ((QUADRATIC, 3.0), (ROSEN, 0.2))
        for made in rows_of(problem, OURS, [1.0, 1.2, 1.1], T) + rows_of(problem, "cma", [factor] * 3, T)
    ]
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress("".join(json.dumps(made) + "\n" for made in rows).encode()))
    assert read_rows(path) == rows
    (tmp_path / "docs").mkdir()
    assert everything.main(["analyse", str(path), "--pages", str(tmp_path / "docs")]) == 0
    printed = capsys.readouterr().out
    assert "our mean regret is the lowest in 2, beyond the interval in 2" in printed
    assert "Cells in which a rival is better beyond the interval: 2 of 4" in printed
    lost = (tmp_path / "docs/where-we-lose.md").read_text(encoding="utf-8")
    assert "Noisy quadratics: 0 of 2 cells" in lost and "Everything else: 2 of 2 cells" in lost
    assert "| rosen_d2 | 100 | 3 | cma | 5.48" in lost
    assert (
        "![Regret against the budget](figures/bench-convergence.png)" in (tmp_path / "docs/benchmarks.md").read_text()
    )
    names = sorted(found.name for found in (tmp_path / "docs/figures").iterdir())
    assert names == ["bench-convergence.png", "bench-profiles.png"]


def test_analyse_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert everything.main(["analyse", str(tmp_path / "none.jsonl")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_run_measures_only_what_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "--output", str(tmp_path / "new/rows.jsonl"), "--processes", "1", "--first-seed", "600"]
    words += ["--solvers", "sphere", "--problems", "quad_d5_c100_r0.5_skew"]
    assert everything.main(words) == 0
    rows = read_rows(tmp_path / "new/rows.jsonl")
    assert {(made["T"], made["seed"]) for made in rows} == {(T, seed) for T in (42, 210) for seed in range(600, 620)}
    assert {made["source"] for made in rows} == {source_of_ours()}
    assert everything.main(words) == 0
    assert "0 new runs, 40 were there already" in capsys.readouterr().err
    assert read_rows(tmp_path / "new/rows.jsonl") == rows


def test_memory_is_what_a_run_grew_by() -> None:
    memory = PeakMemory()
    block = np.ones(8_000_000)  # 61 MB, touched
    del block
    grown = memory.grown()
    assert grown is None or 55 < grown < 90  # None where the system does not say; else the block and little more


def test_every_solver_is_described_and_every_reason_is_about_some_problem() -> None:
    from fnmatch import fnmatchcase

    described = " ".join(reasons.SETTINGS).replace(",", " ").split()
    scipy_experts = {name for name in NAMES if name.endswith("+") and name[:-1] in described}  # "the same with +"
    assert set(NAMES) <= set(described) | scipy_experts
    for patterns, text in reasons.REASONS:
        assert text.endswith(".")
        assert all(any(fnmatchcase(name, pattern) for name in BUILDERS) for pattern in patterns)


def test_the_pages_are_made_from_the_committed_rows() -> None:
    of, names = Standings([made for path in RESULTS for made in read_rows(path)]), [path.name for path in RESULTS]
    assert (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8") == pages.benchmarks_page(of, names)
    assert (ROOT / "docs/where-we-lose.md").read_text(encoding="utf-8") == pages.losses_page(of, names)
    scored = {Task(made["problem"], made["T"], made["solver"], made["seed"]) for made in of.rows}
    assert all(task.seed >= FIRST_SEED for task in scored)
    assert tables.margins(of).count("\n") > 10
