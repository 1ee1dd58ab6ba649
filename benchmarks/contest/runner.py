"""Runs of a contest, one line of JSON each, appended as it ends: an interrupted contest goes on where it was."""

import gzip
import json
import time
import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from contest.memory import PeakMemory
from contest.problem import Problem
from contest.problems import kind_of, named_problem
from contest.provenance import made_by
from contest.solvers import fits, load_package, named_solver, slow_above, version_of
from contest.solvers.adapter import Meter
from paraboloid import Ball, Box, run, theory
from paraboloid.numerics import n_terms

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One run: who solves what, with how many measurements, on which seed."""

    problem: str
    T: int
    solver: str
    seed: int


def n_measurements(budget: str, d: int) -> int:
    """Return a budget as a number: ``200``, or ``10p`` for ten times the terms of a quadratic."""
    try:
        number = float(budget[:-1]) * n_terms(d) if budget.endswith("p") else int(budget)
    except ValueError:
        raise ValueError(f"a budget is a number (200) or a multiple of p (3p), got {budget!r}.") from None
    return round(number)


def solve_once(task: Task) -> Row:
    """Return the row of one run; a solver that fails leaves its error in place of the regret."""
    problem = named_problem(task.problem, task.seed)
    key = [task.seed, task.T, zlib.crc32(task.problem.encode())]
    meter = Meter(problem, task.T, np.random.default_rng(key))
    row: Row = {"problem": task.problem, "T": task.T, "solver": task.solver, "seed": task.seed}
    solver = named_solver(task.solver)
    load_package(task.solver)  # importing is not what is timed
    memory, started = PeakMemory(), time.process_time()
    try:
        answer = solver(meter, task.seed)
        row["own_seconds"] = float(f"{time.process_time() - started - meter.seconds:.4g}")
        row["peak_mb"] = memory.grown()
        if answer.z.shape != (problem.d,) or not np.all(np.isfinite(answer.z)):
            raise ValueError(f"the answer is not a point of {problem.d} numbers: {answer.z}")
        row["regret"] = problem.regret(meter.in_knobs(answer.z[None, :])[0])
        row["start"] = float(f"{_start(task.problem, task.seed):.5g}")
        row["says"] = answer.says
        if task.solver.startswith("paraboloid"):  # a file of a whole contest stays small
            row["x"] = [float(f"{value:.6g}") for value in answer.z]
    except Exception as error:  # whatever a solver does is its result, and the contest goes on
        row["error"] = f"{type(error).__name__}: {error}"[:300]
    return {**row, "n_evals": meter.taken, "version": version_of(task.solver), **limits_of(problem)}


@cache
def _start(problem: str, seed: int) -> float:
    """Return the regret of the centre, where most solvers start: what is lost if nothing is done."""
    made = named_problem(problem, seed)
    return made.regret((made.lows + made.highs) / 2)


def limits_of(problem: Problem) -> dict[str, float]:
    """Return what no method beats on a quadratic with unit noise: bounds of V* and, on the ball, Theorem 1's limit."""
    if problem.hessian is None or problem.minimiser is None:
        return {}
    domain = Ball(np.zeros(problem.d)) if problem.is_ball else Box(problem.bounds)
    low, high = theory.instance_limit_bounds(problem.hessian, problem.minimiser, domain)
    found = {"v_low": low, "v_high": high}
    if problem.is_ball:
        found["minimax"] = theory.minimax_limit(problem.hessian)
    return {name: float(f"{value:.5g}") for name, value in found.items()}


def tasks_of(problems: list[str], budgets: list[str], solvers: list[str], seeds: Iterable[int]) -> Iterator[Task]:
    """Yield every run of a contest, seed by seed, so that a contest stopped early has whole seeds."""
    cells = [
        (name, T)
        for name in problems
        for T in dict.fromkeys(n_measurements(budget, kind_of(name)[0]) for budget in budgets)
    ]
    for seed in seeds:
        yield from (Task(name, T, solver, seed) for name, T in cells for solver in solvers)


def is_too_slow(task: Task) -> bool:
    """Return whether a solver is left out at this budget unless it is asked for."""
    return task.T > slow_above(task.solver)


def is_fitting(task: Task) -> bool:
    """Return whether the solver is made for a problem of this kind."""
    d, is_quadratic = kind_of(task.problem)
    return fits(task.solver, d, task.T, is_quadratic=is_quadratic)


def read_rows(path: Path) -> list[Row]:
    """Return the rows of a file, also of a packed one (.gz); a last line cut short by a crash is left out."""
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    lines = text.decode().split("\n")
    return [json.loads(line) for line in lines[:-1] if line]


def run_tasks(tasks: list[Task], path: Path, *, processes: int, again: bool = False) -> int:
    """Run what the file does not have yet (``again``: and what failed there); return the number of new rows."""
    done = {
        Task(row["problem"], row["T"], row["solver"], row["seed"])
        for row in read_rows(path)
        if not (again and "error" in row)
    }
    todo, version = [task for task in tasks if task not in done], made_by()
    _end_last_line(path)
    with (
        run.process_pool(processes) as pool,
        run.progress_bar("contest", len(todo)) as advance,
        path.open("a", encoding="utf-8") as file,
    ):
        waiting = {pool.submit(solve_once, task) for task in todo}
        try:
            for future in as_completed(waiting):
                file.write(json.dumps({**future.result(), **version}) + "\n")
                file.flush()
                advance(1)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            raise
    return len(todo)


def _end_last_line(path: Path) -> None:
    """Drop half a line that a crash left at the end, so that the next row does not join it."""
    if path.exists():
        text = path.read_bytes()
        whole = text[: text.rfind(b"\n") + 1]
        if whole != text:
            with path.open("r+b") as file:
                file.truncate(len(whole))
