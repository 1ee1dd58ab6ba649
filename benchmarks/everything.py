"""Paraboloid beside everything else, in one run: noisy quadratics and third-party problems.

    python benchmarks/everything.py run --set quick --output FILE     (``make bench``; --set full: ``make bench-full``)
    python benchmarks/everything.py analyse FILE... [--pages docs]    (tables; with --pages also pages and pictures)
    python benchmarks/everything.py tune                              (how the experts' settings were chosen: minutes)

A run that was interrupted goes on where it was. Scored seeds begin at 30,000; settings were chosen on seeds 500 to 999.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core per run; set before numpy is loaded, inherited by the workers

import argparse
import sys
from pathlib import Path

from contest import pages, tuning
from contest.runner import read_rows, run_tasks
from contest.sets import FIRST_SEED, SETS, tasks_of_set
from contest.standings import Standings


def arguments_of(words: list[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="measure, and append to a file of JSON lines")
    run.add_argument("--set", choices=sorted(SETS), default="quick")
    run.add_argument("--output", type=Path, required=True, help="rows are appended; runs already there are kept")
    run.add_argument("--first-seed", type=int, default=FIRST_SEED, help="scored seeds begin at 30000; tune on others")
    run.add_argument("--processes", type=int, default=2)
    run.add_argument("--again", action="store_true", help="repeat runs that failed")
    run.add_argument("--solvers", nargs="+", help="only these")
    run.add_argument("--problems", nargs="+", help="only these")
    run.add_argument("--count", action="store_true", help="say how many runs there would be, and stop")
    analyse = commands.add_parser("analyse", help="print the headline table")
    analyse.add_argument("files", type=Path, nargs="+")
    analyse.add_argument("--pages", type=Path, help="folder of the documentation: write both pages and the pictures")
    tune = commands.add_parser("tune", help="choose the experts' settings on the tuning seeds")
    tune.add_argument("names", nargs="*")
    return parser.parse_args(words)


def measure(chosen: argparse.Namespace) -> None:
    """Run the contest, or what is left of it."""
    tasks = [
        task
        for task in tasks_of_set(chosen.set, chosen.first_seed)
        if (not chosen.solvers or task.solver in chosen.solvers)
        and (not chosen.problems or task.problem in chosen.problems)
    ]
    if chosen.count:
        print(len(tasks))
        return
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    fresh = run_tasks(tasks, chosen.output, processes=chosen.processes, again=chosen.again)
    print(f"{fresh} new runs, {len(tasks) - fresh} were there already: {chosen.output}", file=sys.stderr)


def main(words: list[str] | None = None) -> int:
    """Run a command; return its exit code."""
    chosen = arguments_of(words)
    if chosen.command == "run":
        try:
            measure(chosen)
        except KeyboardInterrupt:
            print("everything: interrupted; the same command goes on where it was.", file=sys.stderr)
            return 130
    elif chosen.command == "analyse":
        missing = [str(path) for path in chosen.files if not path.exists()]
        if missing:
            print(f"everything: there is no file {', '.join(missing)}; make it with `run`.", file=sys.stderr)
            return 2
        standings = Standings([row for path in chosen.files for row in read_rows(path)])
        if chosen.pages:
            pages.write(standings, chosen.pages, [path.name for path in chosen.files])
        print(pages.headline(standings))
    else:
        for line in tuning.report(chosen.names):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
