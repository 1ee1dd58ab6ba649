"""``paraboloid init``: ask for the knobs, or take them from options, and write a commented ``study.toml``."""

import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from paraboloid.cli.commanding import CommandMeasurement
from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import print_json
from paraboloid.cli.settings import MeasureSettings
from paraboloid.core import Box, Knob, UsageError, check_budget, check_positive

__all__ = ["init_command", "knob_from_text", "template"]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What goes into the file."""

    box: Box
    maximize: bool
    budget: int | None
    eps: float | None
    python: str | None
    command: str | None
    shell: bool
    workers: int
    timeout: float | None
    seed: int | None


def knob_from_text(text: str) -> Knob:
    """Return the knob that ``name,low,high[,unit][,log]`` describes.

    >>> knob_from_text("catalyst,0.01,1,g/L,log")
    Knob(name='catalyst', low=0.01, high=1.0, unit='g/L', log=True)
    """
    parts = [part.strip() for part in text.split(",")]
    is_log = len(parts) > 3 and parts[-1].lower() == "log"
    parts = parts[:-1] if is_log else parts
    try:
        name, low, high, *unit = parts
        if len(unit) > 1:
            raise ValueError("too many commas")
        return Knob(name, float(low), float(high), unit[0] if unit else "", is_log)
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(
            f'a knob is given as "name,low,high", "name,low,high,unit" or "name,low,high,unit,log", got {text!r}.'
        ) from error


@click.command("init")
@click.argument("where", type=click.Path(path_type=Path), default=Path("study.toml"), metavar="[STUDY.TOML or FOLDER]")
@click.option("--knob", "knobs", multiple=True, metavar="NAME,LOW,HIGH[,UNIT][,log]", help="A knob; give one for each.")
@click.option("--maximize/--minimize", default=None, help="Whether large or small values are wanted.")
@click.option("--budget", type=int, help="Measure at most so often.")
@click.option("--eps", type=float, help="Stop once the answer is this near to the best value, at 95 %.")
@click.option("--python", metavar="MODULE:FUNCTION", help="What measures: a Python function.")
@click.option("--command", metavar="TEXT", help="What measures: a program that prints the value, with {knob} in it.")
@click.option("--shell", is_flag=True, help="Have the command run by the shell.")
@click.option("--by-hand", is_flag=True, help="People measure, by `paraboloid ask` and `paraboloid tell`.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Measurements side by side.")
@click.option("--timeout", type=float, help="Seconds that one measurement may take.")
@click.option("--seed", type=click.IntRange(min=0), help="Makes the study's choices repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
@exits_with_its_code
def init_command(where: Path, as_json: bool, **options: Any) -> None:
    """Write a study.toml: the knobs, the limits, and what measures. Asks for what the options do not say.

    Never writes over a file. Without a terminal the options must say it all: --knob, --budget or --eps, and --python,
    --command or --by-hand.

    \b
    Examples:
      paraboloid init
      paraboloid init oven.toml --knob "temperature,150,210,°C" --knob "time,20,60,min" --maximize --budget 40 --by-hand
      paraboloid init --knob rate,0.001,1,,log --minimize --eps 0.01 --python simulator:loss --workers 4
      paraboloid init --knob x,0,1 --minimize --budget 50 --command "./simulate --x {x} --seed {seed}"

    \b
    Exit codes:
      0    written
      1    the file could not be written
      2    called wrongly, something is missing, or the file exists
      130  interrupted with Ctrl-C; nothing was written
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    path = where / "study.toml" if where.is_dir() else where
    if path.exists():
        raise UsageError(f"{path} exists, and is not written over. Give another name, or edit it.")
    if path.suffix != ".toml":
        raise UsageError(f"{path} should be a folder that exists, or end in .toml.")
    wanted = _wanted(**options)
    text = template(wanted)
    _write_new(path, text)
    if as_json:
        print_json({"path": str(path), "knobs": list(wanted.box.names), "text": text})
    else:
        click.echo(str(path))
    by_hand = wanted.python is None and wanted.command is None
    click.echo(f"Next: paraboloid {'ask' if by_hand else 'run'} {path}", err=True)


def _wanted(
    knobs: tuple[str, ...],
    maximize: bool | None,
    budget: int | None,
    eps: float | None,
    python: str | None,
    command: str | None,
    by_hand: bool,
    **others: Any,
) -> _Wanted:
    """Return what is wanted, asking for what is missing."""
    if sum([python is not None, command is not None, by_hand]) > 1:
        raise UsageError("give one of --python, --command and --by-hand.")
    box = Box([knob_from_text(text) for text in knobs] if knobs else _ask_knobs())
    if maximize is None:
        maximize = _may_ask("--maximize or --minimize") and click.confirm("Are large values wanted?", err=True)
    if budget is None and eps is None:
        _may_ask("--budget or --eps")
        budget = click.prompt("How many measurements at most", type=int, err=True)
    if budget is not None:
        check_budget(budget, smallest=1, what_for="a study")
    if eps is not None:
        check_positive("eps", eps)
    if python is None and command is None and not by_hand:
        python, command = _ask_what_measures()
    wanted = _Wanted(box, maximize, budget, eps, python, command, **others)
    _check_measure(wanted)
    return wanted


def _check_measure(wanted: _Wanted) -> None:
    """Refuse now what `paraboloid run` would refuse later."""
    if wanted.command is not None:
        CommandMeasurement(wanted.command, wanted.box.names, shell=wanted.shell)
    elif wanted.python is not None:
        MeasureSettings(python=wanted.python, workers=wanted.workers, timeout=wanted.timeout)
        if wanted.python.count(":") != 1:
            raise UsageError(f'--python must be "module:function", got {wanted.python!r}.')


def _may_ask(option: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"{option} is missing, and there is no terminal to ask at. `paraboloid init --help` has examples."
        )
    return True


def _ask_knobs() -> list[Knob]:
    _may_ask("--knob")
    click.echo("The knobs, one after another; an empty name ends the list.", err=True)
    knobs: list[Knob] = []
    while True:
        name = click.prompt(f"Name of knob {len(knobs) + 1}", default="", show_default=False, err=True).strip()
        if not name and knobs:
            return knobs
        low = click.prompt("  lowest setting", type=float, err=True)
        high = click.prompt("  highest setting", type=float, err=True)
        unit = click.prompt("  unit (may be empty)", default="", show_default=False, err=True).strip()
        is_log = low > 0 and click.confirm("  does it act by factors (log scale)?", err=True)
        try:
            knobs.append(Knob(name, low, high, unit, is_log))
        except UsageError as error:
            click.echo(f"{error} Once more.", err=True)


def _ask_what_measures() -> tuple[str | None, str | None]:
    _may_ask("--python, --command or --by-hand")
    kind = click.prompt("What measures", type=click.Choice(["python", "command", "hand"]), default="python", err=True)
    if kind == "python":
        return click.prompt("  module:function", default="process:measure", err=True), None
    if kind == "command":
        return None, click.prompt("  the command, with {knob} where a setting belongs", err=True)
    return None, None


def _write_new(path: Path, text: str) -> None:
    """Write a file that is not there yet, whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with unfinished.open("x", encoding="utf-8") as file:
            file.write(text)
        os.link(unfinished, path)
    except FileExistsError as error:
        raise UsageError(f"{path} exists, and is not written over. Give another name, or edit it.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def template(wanted: _Wanted) -> str:
    """Return the text of a ``study.toml``."""
    lines = [
        "# A study of Paraboloid. `paraboloid run` measures it, and goes on with it after whatever happened.",
        "",
        "[study]",
        f"maximize = {_toml(wanted.maximize)}  # true: large values are wanted",
        _or_comment("budget", wanted.budget, "100", "measure at most so often; may be raised later"),
        _or_comment("eps", wanted.eps, "0.01", "stop once f(x) is this near to the best value, at `confidence`"),
        "# confidence = 0.95  # of bounds and intervals",
        _or_comment("seed", wanted.seed, "1", "makes the choices of the study, and the noise of `rng`, repeatable"),
        "# batch = 8  # size of every round, such as the number of wells; without it rounds grow",
        '# algorithm = "universal"  # or "module:factory", in place of the adaptive search; see docs/studies.md',
        "",
    ]
    for knob in wanted.box.knobs:
        lines += ["[[knob]]", f"name = {_toml(knob.name)}", f"low = {knob.low!r}", f"high = {knob.high!r}"]
        lines += [f"unit = {_toml(knob.unit)}" if knob.unit else '# unit = "°C"']
        lines += ["log = true" if knob.log else "# log = true  # the knob acts by factors, and low is above 0", ""]
    return "\n".join([*lines, *_measure_lines(wanted)]) + "\n"


def _measure_lines(wanted: _Wanted) -> list[str]:
    first = wanted.box.names[0]
    if wanted.python is None and wanted.command is None:
        return [
            "# People measure: `paraboloid ask` and `paraboloid tell`. For `paraboloid run`, say what measures:",
            "# [measure]",
            '# python = "process:measure"  # a function of the knobs by name, or of a vector; `rng` for noise',
        ]
    lines = ["[measure]"]
    if wanted.python is not None:
        lines += [
            f"python = {_toml(wanted.python)}  # a function of the knobs by name, or of a vector; `rng` for noise",
            "# repeats = 100  # measurements in each trial, for fast simulators",
        ]
    elif wanted.command is not None:
        words: Any = wanted.command if wanted.shell else shlex.split(wanted.command)
        lines += [
            f"# {{{first}}} stands for a setting, {{seed}} for a number of its own for each measurement.",
            f"command = {_toml(words)}",
            *(["shell = true"] if wanted.shell else []),
            "# pattern = 'loss: (\\S+)'  # where the value is; without it, the last number that is printed",
        ]
    return [
        *lines,
        f"workers = {wanted.workers}  # measurements side by side",
        _or_comment("timeout", wanted.timeout, "60", "seconds that one may take; then it has failed"),
        "# retries = 2  # how often one is tried again whose worker died",
        "# most_failed = 0.5  # share of failed measurements above which the run stops",
    ]


def _or_comment(key: str, value: Any, example: str, remark: str) -> str:
    return f"# {key} = {example}  # {remark}" if value is None else f"{key} = {_toml(value)}  # {remark}"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    # JSON's texts and numbers are TOML's, but for the DEL character, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
