"""``paraboloid status`` and ``paraboloid recommend``: looks at a study that disturb nobody."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import (
    at_most,
    duration,
    number,
    print_json,
    print_recommendation,
    print_table,
    recommendation,
)
from paraboloid.cli.studies import read_study
from paraboloid.core import UsageError, doubt_about_shape
from paraboloid.study import StudyStatus

__all__ = ["recommend_command", "status_command"]


def _looks(name: str, at: str) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command that looks at a study, and prints what it sees as text or JSON."""

    def made(function: Callable[..., None]) -> click.Command:
        command: Any = exits_with_its_code(function)
        command = click.option("--json", "as_json", is_flag=True, help=f"Print the {at} as JSON.")(command)
        where = click.Path(path_type=Path)
        command = click.argument("study", type=where, default=Path("study.db"), metavar="STUDY")(command)
        return click.command(name)(command)

    return made


@_looks("status", at="status")
def status_command(study: Path, as_json: bool) -> None:
    """Say where a study stands: what is measured, what is out and with whom, and the answer so far.

    STUDY is a study.db or the study.toml beside it. The study may be at work; it is not disturbed.

    \b
    Examples:
      paraboloid status
      paraboloid status study.toml --json

    \b
    Exit codes:
      0  done
      1  the file could not be read: it is locked, or not permitted
      2  called wrongly, or there is no study
      5  the file is damaged, or of a newer version; see `paraboloid doctor`
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    with read_study(study) as view:
        status = view.status()
    if as_json:
        print_json(status.as_dict())
    else:
        _print_status(status)


def _print_status(status: StudyStatus) -> None:
    table = Table(show_header=False, title=status.path)
    table.add_row("phase", f"{status.phase}: {status.message}")
    old = f", {status.n_old} of them old data" if status.n_old else ""
    table.add_row("measurements", f"{status.n_measurements}{old}; {status.n_failures} failed; {status.n_rounds} rounds")
    if status.budget is not None:
        table.add_row("budget", f"{status.budget}, of which {status.left} are not planned yet")
    table.add_row("trials", ", ".join(f"{count} {name}" for name, count in status.counts.items() if count) or "none")
    if status.estimate is not None:
        best = status.estimate
        table.add_row("best setting", ", ".join(f"{name} = {number(x, 6)}" for name, x in best["x"].items()))
        table.add_row("value there", f"{number(best['fun'], 6)} ± {number(best['fun_se'], 3)}")
        bound = at_most(best["regret_bound"], best["confidence"])
        wanted = "" if status.eps is None else f"; wanted {status.eps:g}"
        table.add_row("regret", f"{number(best['regret'])} expected, {bound}{wanted}")
        if doubt := doubt_about_shape(best["regret_bound"], best["regret_bound_if_quadratic"]):
            table.add_row("shape", doubt)
    for trial in status.running[:20]:
        state = "lost, comes back" if trial.is_lost else "running"
        where = f"process {trial.pid} on {trial.host}"
        table.add_row(f"trial {trial.id}", f"{state}: attempt {trial.attempt}, since {duration(trial.age)}, {where}")
    if len(status.running) > 20:
        table.add_row("", f"and {len(status.running) - 20} more that are out")
    if status.possible_extra_runs:
        table.add_row("extra runs", f"{status.possible_extra_runs} measurements may have been made and never told")
    table.add_row("held by", status.holder or "nobody")
    for warning in status.warnings:
        table.add_row("note", warning)
    print_table(table)


@_looks("recommend", at="recommendation")
def recommend_command(study: Path, as_json: bool) -> None:
    """Print the best setting as far as all values say: the optimum of the fitted model, never a lucky measurement.

    STUDY is a study.db or the study.toml beside it. The study may be at work; it is not disturbed.

    \b
    Examples:
      paraboloid recommend
      paraboloid recommend study.toml --json

    \b
    Exit codes:
      0  done
      1  the file could not be read: it is locked, or not permitted
      2  called wrongly, there is no study, or nothing has been measured yet
      5  the file is damaged, or of a newer version; see `paraboloid doctor`
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    with read_study(study) as view:
        if view.status().n_measurements == 0:
            raise UsageError(f"nothing has been measured in {view.path} yet, so there is nothing to recommend.")
        result, domain = view.recommend(), view.domain
    if as_json:
        print_json(recommendation(result, domain))
    else:
        print_recommendation(result, domain)
