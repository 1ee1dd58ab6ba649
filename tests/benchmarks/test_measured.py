"""The tables of the documentation are what the committed rows give, by figures worked by hand."""

from pathlib import Path

import measured
import pytest


@pytest.mark.parametrize("page", measured.PAGES, ids=lambda page: page.name)
def test_a_page_has_the_figures_of_the_committed_rows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert measured.MARK.search(text)
    assert measured.written(text) == text, "measured anew, or typed by hand: run python benchmarks/measured.py"


def test_cells_are_pooled_by_region_dimension_and_budget() -> None:
    cell = {"shape": "ball", "d": 2, "condition": 1.0, "rho": 0.0, "T": 18, "noise": "gaussian", "method": "adaptive"}
    found = {"seeds": 10, "mean": 1.0, "error": 0.3, "expected": 1.1, "held": 1.0}
    rows = [{"cell": cell, **found}, {"cell": cell | {"rho": 0.3}, **found, "mean": 2.0, "error": 0.4, "held": 0.9}]
    last = measured.pooled(rows).splitlines()[-1]
    # The error of the mean of two is √(0.3² + 0.4²)/2.
    assert last == "| ball | 2 | 3 | 2 | 10 | 1.5 ± 0.25 | 2 ± 0.4 | 1.1 | 1.1 | 0.950 |"


def test_the_better_classical_design_stands_beside_ours() -> None:
    cell = {"shape": "box", "d": 2, "condition": 100.0, "rho": 0.7, "T": 6}
    means = {"adaptive": 2.0, "random": 9.0, "central composite": 4.0}
    rows = [{"cell": cell | {"method": name}, "seeds": 5, "mean": mean, "error": 0.1} for name, mean in means.items()]
    assert measured.small(rows).endswith("| box | 2 | 0.7 | 5 | **1p**: 2 ± 0.1 / 4 |")


def test_a_table_names_the_commit_of_our_rows_alone() -> None:
    rows = [
        {"problem": "rosen_d2", "T": 200, "solver": solver, "seed": 1, "own_seconds": 1.0, "n_evals": 200}
        | {"regret": regret, "commit": commit}
        for solver, regret, commit in (("paraboloid", 3.0, "abc"), ("cma", 1.0, "old"), ("tpe", 1e-9, "old"))
    ]
    text = measured.made("smooth", rows)
    assert "| Rosenbrock, 2 knobs | 3 | 1 | – | < 1e-8 | – |" in text
    assert "below that of CMA-ES in 0 of 1 cells" in text
    assert "Rosenbrock, 2 knobs at T = 200 (3e+08, TPE)" in text  # what is below the floor counts as the floor
    assert text.endswith("*Measured at abc.*\n")
