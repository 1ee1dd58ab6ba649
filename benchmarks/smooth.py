"""The benchmark of smooth functions: Paraboloid and rival solvers on noisy problems with a known truth, in one run.

Scored seeds begin at 20,000; tune on others (``--first-seed 0``). A contest that was interrupted goes on where it was.

    python benchmarks/smooth.py run --problems smooth --budgets 200 1000 --seeds 20 --output FILE
    python benchmarks/smooth.py run --problems 'quad_d5_*' --budgets 3p 10p 1000 --solvers paraboloid --output FILE
    python benchmarks/smooth.py analyse FILE
    python benchmarks/smooth.py verify      (bbob-noisy against the package cocoex, SimOpt's problems against simoptlib)
    python benchmarks/smooth.py minima      (the cached minima of the problems without a formula, found anew: minutes)
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import sys
from pathlib import Path

from contest import analysis, claims, verify
from contest.problems import BUILDERS, GROUPS, chosen_names, circuit, controller, inventory, network, regression
from contest.runner import is_too_slow, n_measurements, read_rows, run_tasks, tasks_of
from contest.solvers import NAMES, named_solver

SOLVERS = ["paraboloid", "cma", "bobyqa", "tpe", "one-shot"]
"""Those of the smooth benchmark's page; everything else is in ``everything.py``."""


def arguments_of(words: list[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, and append to a file of JSON lines")
    run.add_argument(
        "--problems", nargs="+", default=["smooth"], help=f"names, patterns, or groups: {', '.join(GROUPS)}"
    )
    run.add_argument("--budgets", nargs="+", default=["200", "1000"], help="numbers, or multiples of p such as 3p")
    run.add_argument("--solvers", nargs="+", default=SOLVERS, help=f"{', '.join(NAMES)}, paraboloid:NAME=VALUE,...")
    run.add_argument("--seeds", type=int, default=10, help="runs per cell (default 10)")
    run.add_argument("--first-seed", type=int, default=20_000, help="scored seeds begin at 20000; tune on others")
    run.add_argument("--processes", type=int, default=2)
    run.add_argument(
        "--output", type=Path, required=True, help="rows are appended; runs already there are not repeated"
    )
    run.add_argument("--all", action="store_true", help="also run solvers where they are very slow (TPE above 1000)")
    run.add_argument("--again", action="store_true", help="repeat runs that failed")
    analyse = commands.add_parser("analyse", help="print tables from files of JSON lines")
    analyse.add_argument("files", type=Path, nargs="+")
    analyse.add_argument("--ours", default="paraboloid", help="the solver that is compared with the others")
    analyse.add_argument("--floor", type=float, default=0.0, help="count lower regrets as this (COCO's target is 1e-8)")
    analyse.add_argument("--paired", nargs=2, metavar=("FIRST", "SECOND"), help="ratio of means of two solvers, paired")
    analyse.add_argument("--bounds", action="store_true", help="how often the claimed regret bounds held")
    analyse.add_argument("--rate", action="store_true", help="slope of log median regret against log T")
    analyse.add_argument(
        "--says", metavar="FIELD", help="median, or share of true, of a field that the solver reported"
    )
    commands.add_parser("problems", help="list every problem")
    commands.add_parser("minima", help="find the cached minima anew and print both")
    commands.add_parser("verify", help="compare bbob-noisy and SimOpt's problems here with the packages")
    return parser.parse_args(words)


def measure(chosen: argparse.Namespace) -> None:
    """Run the contest."""
    names = chosen_names(chosen.problems)
    for solver in chosen.solvers:
        named_solver(solver)  # a wrong name is told before anything is measured
    for budget in chosen.budgets:
        n_measurements(budget, 1)
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.seeds)
    tasks = list(tasks_of(names, chosen.budgets, chosen.solvers, seeds))
    kept = [task for task in tasks if chosen.all or not is_too_slow(task)]
    if len(kept) < len(tasks):
        left_out = sorted({(task.solver, task.T) for task in tasks if is_too_slow(task)})
        note = ", ".join(f"{solver} at T = {T}" for solver, T in left_out)
        print(f"left out, since very slow (--all runs them): {note}", file=sys.stderr)
    fresh = run_tasks(kept, chosen.output, processes=chosen.processes, again=chosen.again)
    print(f"{fresh} new runs, {len(kept) - fresh} were there already: {chosen.output}", file=sys.stderr)


def tables(chosen: argparse.Namespace) -> str:
    """Return the tables that were asked for; without a wish, medians and their summary."""
    rows = [row for path in chosen.files for row in read_rows(path)]
    cells, found = analysis.cells_of(rows, chosen.floor), []
    if chosen.paired:
        found.append(analysis.paired_table(cells, *chosen.paired))
    if chosen.bounds:
        found.append(claims.bounds_table(rows, chosen.ours))
    if chosen.rate:
        found.append(claims.rate_table(rows, chosen.ours))
    if chosen.says:
        found.append(claims.said_table(rows, chosen.ours, chosen.says))
    return "\n\n".join(found or [analysis.medians_table(cells, chosen.ours), analysis.summary(cells, chosen.ours)])


def main(words: list[str] | None = None) -> int:
    """Run a command; return its exit code."""
    chosen = arguments_of(words)
    if chosen.command == "run":
        try:
            measure(chosen)
        except (KeyError, ValueError) as error:
            print(f"smooth: {error.args[0]}", file=sys.stderr)
            return 2
    elif chosen.command == "analyse":
        print(tables(chosen))
    elif chosen.command == "minima":
        for module in (circuit, network, inventory, regression, controller):
            print(f"{module.__name__}: cached {module.LEAST!r}, found {module.find_least()!r}", flush=True)
    elif chosen.command == "problems":
        print("\n".join(BUILDERS))
    else:
        complaints = [*verify.compare_bbob_noisy(), *verify.compare_simopt()]
        print("\n".join(complaints) or "bbob-noisy agrees with cocoex, SimOpt's problems with simoptlib")
        return 1 if complaints else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
