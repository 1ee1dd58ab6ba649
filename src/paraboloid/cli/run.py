"""``paraboloid run``: measure a study to its end, on any number of workers, through whatever happens."""

import contextlib
import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from paraboloid.cli.commanding import CommandMeasurement, end_commands
from paraboloid.cli.driving import Drive
from paraboloid.cli.exits import FAILED, TOO_MANY_FAILURES, code_of, exits_with_its_code
from paraboloid.cli.measuring import measurement_of, with_its_code
from paraboloid.cli.printing import print_json, print_recommendation, recommendation
from paraboloid.cli.progress import Display, line
from paraboloid.cli.settings import MeasureSettings, StudySettings, read_settings
from paraboloid.cli.signals import Wishes, heard
from paraboloid.cli.studies import options_of
from paraboloid.core import ParaboloidError, UsageError
from paraboloid.run import Crew
from paraboloid.study import Study

__all__ = ["run_command"]

LOOK = 0.1  # seconds between looks at signals and at the clock


class _Broken(Exception):  # noqa: N818 - the name says what happened
    """Leaves the study by an error, so that what was handed out comes back at the next opening."""


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a run ended: the exit code, and what to say."""

    code: int = 0
    sentence: str = ""
    is_whole: bool = True  # nothing was being measured any more


@click.command("run")
@click.argument("settings", type=click.Path(path_type=Path), default=Path("study.toml"), metavar="STUDY.TOML")
@click.option("--workers", type=click.IntRange(min=1), help="Measurements side by side.", show_default="study.toml's")
@click.option("--dask", metavar="ADDRESS", help="Measure on the Dask cluster whose scheduler is at this address.")
@click.option("--timeout", type=float, help="Seconds that one measurement may take.", show_default="study.toml's")
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    help="How often a measurement is tried again whose worker died.",
    show_default="study.toml's",
)
@click.option(
    "--grace", type=float, default=10.0, show_default=True, help="Seconds that running measurements have after Ctrl-C."
)
@click.option("--take-over", is_flag=True, help="Follow a process elsewhere that held the study and is silent.")
@click.option(
    "--progress-every",
    type=float,
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between lines of progress where there is no terminal; 0 for none.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the recommendation and the status as JSON.")
@exits_with_its_code
def run_command(
    settings: Path,
    workers: int | None,
    dask: str | None,
    timeout: float | None,
    retries: int | None,
    grace: float,
    take_over: bool,
    progress_every: float,
    as_json: bool,
) -> None:
    """Measure a study to its end, and print the recommendation.

    STUDY.TOML says what to search and what measures (see `paraboloid init`); the study is kept beside it, in study.db.
    The same command again goes on where the last one ended, however it ended: no answered point is measured again.
    Ctrl-C once stops in good order, twice at once; SIGTERM and SIGHUP do the same.

    \b
    Examples:
      paraboloid run
      paraboloid run study.toml --workers 4 --timeout 60
      paraboloid run study.toml --dask tcp://127.0.0.1:8786

    \b
    Exit codes:
      0    done: the budget is spent, or the accuracy reached
      1    failed: the disk is full, the cluster is lost; run it again to go on
      2    called wrongly, or study.toml is wrong
      3    another process writes to the study; it is named
      4    too many measurements failed; mend what measures, and run it again to go on
      5    the file of the study is damaged, or of a newer version
      129, 130, 143  ended by SIGHUP, Ctrl-C, SIGTERM; run it again to go on
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    given = read_settings(settings)
    measure = _measure_settings(given, workers=workers, timeout=timeout, retries=retries)
    with heard() as wishes, Display(progress_every) as display:
        function = measurement_of(measure, given.domain.names)
        ending = _Ending()
        study = _opened(given, take_over, display)
        with contextlib.suppress(_Broken), study:
            hire = _on_dask(function, measure, study, dask) if dask else _here(function, measure, study)
            drive = Drive(study, hire, repeats=measure.repeats, keeps_spare=dask is not None, say=display.say)
            drive.start()
            ending = _watched(drive, study, display, wishes, grace)
            _finish(study, ending, display, as_json)
            if not ending.is_whole:
                raise _Broken
        _leave(ending, drive)


def _measure_settings(given: StudySettings, **changes: Any) -> MeasureSettings:
    if given.measure is None:
        raise UsageError(
            f"{given.path} has no table [measure], so nothing says how to measure. Add one (`paraboloid init` writes "
            f"examples), or measure by hand with `paraboloid ask` and `paraboloid tell`."
        )
    return replace(given.measure, **{name: value for name, value in changes.items() if value is not None})


def _opened(given: StudySettings, take_over: bool, display: Display) -> Study:
    """Create the study, or go on with it, and say what was found."""
    options = {"maximize": False, **options_of(given)}
    limits = {name: options.pop(name, None) for name in ("budget", "eps")}
    is_new = not given.database.exists()
    study = Study.open(given.database, given.domain, take_over=take_over, **options, **(limits if is_new else {}))
    try:
        if is_new:
            display.say(f"Made {given.database}.")
            if limits["budget"] is None and limits["eps"] is None:
                display.say("There is no budget and no eps: the study goes on until you stop it with Ctrl-C.")
        else:
            _extend(study, limits, display)
            _say_what_was_found(study, display)
        status = study.status()
        display.begin_at(status.n_measurements - status.n_old + status.n_failures)
    except BaseException:
        study.close()
        raise
    return study


def _extend(study: Study, limits: dict[str, Any], display: Display) -> None:
    """Take over a raised budget, or another eps, from study.toml."""
    known = study.settings
    changed = {name: value for name, value in limits.items() if value is not None and value != known[name]}
    if changed:
        study.extend(changed.get("budget"), eps=changed.get("eps"))
        display.say("; ".join(f"{name} is now {value} (it was {known[name]})" for name, value in changed.items()) + ".")


def _say_what_was_found(study: Study, display: Display) -> None:
    status = study.status()
    display.say(f"Found {study.path}: {line(status, 0.0, 0)}.")
    lost = [trial for trial in status.running if trial.is_lost]
    if lost:
        most = max(trial.attempt for trial in lost)
        display.say(
            f"{len(lost)} trials were handed out and never answered, since the process that had them is gone; they are "
            f"measured again, up to attempt {most + 1}."
        )
    if status.possible_extra_runs:
        display.say(f"{status.possible_extra_runs} measurements may have been made and never told.")
    elsewhere = len(status.running) - len(lost)
    if elsewhere:
        display.say(f"{elsewhere} trials are with somebody else, and stay there until they are told.")


def _here(function: Callable[..., Any], measure: MeasureSettings, study: Study) -> Callable[[], Any]:
    """Return what hires workers on this machine: threads that wait for commands, processes for a Python function."""
    seed = study.settings["seed"]

    @contextmanager
    def hired() -> Iterator[Crew]:
        is_command = isinstance(function, CommandMeasurement)
        executor = ThreadPoolExecutor(measure.workers) if is_command else measure.workers
        # A command ends by its own timeout, with all that it has started; a thread could not be ended.
        limit = None if is_command else measure.timeout
        try:
            with Crew(function, executor, timeout=limit, **_crew_options(measure, seed)) as crew:
                yield crew
        finally:
            if isinstance(executor, ThreadPoolExecutor):
                executor.shutdown(wait=False, cancel_futures=True)

    return hired


def _on_dask(
    function: Callable[..., Any], measure: MeasureSettings, study: Study, address: str
) -> Callable[[], AbstractContextManager[Crew]]:
    """Return what hires the workers of a Dask cluster."""
    if importlib.util.find_spec("distributed") is None:
        raise UsageError('--dask needs the package distributed: pip install "paraboloid[dask]".')
    seed = study.settings["seed"]

    @contextmanager
    def hired() -> Iterator[Crew]:
        try:
            client = importlib.import_module("distributed").Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"there is no Dask scheduler at {address} ({error}). Start one with `dask scheduler`, and workers with "
                f"`dask worker {address}`."
            ) from error
        limit = None if isinstance(function, CommandMeasurement) else measure.timeout
        travels = function if measure.python is None else with_its_code(function, measure.python, measure.directory)
        with client, Crew(travels, client, timeout=limit, **_crew_options(measure, seed)) as crew:
            yield crew

    return hired


def _crew_options(measure: MeasureSettings, seed: int) -> dict[str, Any]:
    return {
        "retries": measure.retries,
        "seed": seed,
        "most_failed": measure.most_failed if measure.most_failed < 1 else None,
        "vectorized": measure.vectorized,
    }


def _watched(drive: Drive, study: Study, display: Display, wishes: Wishes, grace: float) -> _Ending:
    """Look on until the end: show progress, hear signals."""
    deadline: float | None = None
    while not drive.wait(LOOK):
        if wishes.count and deadline is None:
            deadline = time.monotonic() + grace
            drive.stop()
            if drive.n_out:
                display.say(
                    f"{wishes.name}: nothing more is begun. {drive.n_out} measurements have {grace:g} s to end; once "
                    f"more, and they are ended at once."
                )
        if deadline is not None and (wishes.count > 1 or time.monotonic() > deadline):
            n_out = drive.n_out
            _end(drive)
            return _Ending(
                wishes.exit_code,
                f"Ended by {wishes.name}. {n_out} measurements were cut off, and come back. All that was told is "
                f"kept: run the same command to go on.",
                is_whole=False,
            )
        if display.is_due:
            began = time.monotonic()
            status = study.status()
            display.show(status, time.monotonic() - began)
    if drive.error is not None:
        return _after_error(drive.error, study)
    if wishes.count:
        sentence = f"Stopped by {wishes.name}. All that was measured is kept: run the same command to go on."
        return _Ending(wishes.exit_code, sentence, is_whole=drive.n_out == 0)
    return _at_the_end(study)


def _at_the_end(study: Study) -> _Ending:
    """Return how a run ended that has nothing more to measure; an algorithm may wait for what failed or is out."""
    status = study.status()
    if status.phase != "RUNNING":
        return _Ending()
    code = TOO_MANY_FAILURES if status.counts["FAILED"] else FAILED
    return _Ending(code, f"{status.message} Run the same command to try again.")


def _end(drive: Drive) -> None:
    """End what is being measured, and what is told of it."""
    drive.abort()
    end_commands()
    if drive.crew is not None:
        drive.crew.close()


def _after_error(error: BaseException, study: Study) -> _Ending:
    end_commands()
    go_on = f"All that was told is kept in {study.path}: run the same command to go on."
    if isinstance(error, ParaboloidError):
        return _Ending(code_of(error), f"Error: {error} {go_on}", is_whole=False)
    if isinstance(error, OSError | MemoryError):
        return _Ending(FAILED, f"Error: the run failed: {error or type(error).__name__}. {go_on}", is_whole=False)
    raise error


def _finish(study: Study, ending: _Ending, display: Display, as_json: bool) -> None:
    """Print the answer, as far as there is one."""
    if ending.sentence:
        display.say(ending.sentence)
    status = study.status()
    display.__exit__(None, None, None)
    if status.estimate is None:
        if as_json:
            print_json({"status": status.as_dict(), "recommendation": None})
        return
    result = study.recommend()
    if as_json:
        print_json({"status": status.as_dict(), "recommendation": recommendation(result, study.domain)})
    else:
        print_recommendation(result, study.domain)


def _leave(ending: _Ending, drive: Drive) -> None:
    """Exit; without waiting for threads of a measurement that could not be ended."""
    if not drive.wait(0):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ending.code)
    sys.exit(ending.code)
