"""``paraboloid ask``, ``tell``, ``export`` and ``import``: trials out and values in, one by one or by CSV sheets."""

import csv
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import print_json, print_table
from paraboloid.cli.studies import in_words_of_commands, looking, writing
from paraboloid.cli.typed import pairs, settings_of, trial_number, value_and_state
from paraboloid.core import UsageError
from paraboloid.study import Study, Trial, TrialState
from paraboloid.study.sheet_columns import knobs_of
from paraboloid.study.sheet_reading import Sheet, read_old_data, read_sheet, tell_sheet
from paraboloid.study.sheet_writing import check_free, export_rows, history_rows, sheet_rows, write_table

__all__ = ["ask_command", "export_command", "import_command", "tell_command"]

STUDY = click.argument("study", type=click.Path(path_type=Path))
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON in place of text.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
REPLACE = click.option("--replace", is_flag=True, help="Values correct earlier ones; both stay in the log.")

DEEDS = {
    "told": "told",
    "old": "told as old data",
    "same": "told before, unchanged",
    "corrected": "corrected",
    "duplicate": "kept as duplicates of other attempts",
}


@click.command("ask")
@STUDY
@click.option("-n", "n", type=click.IntRange(min=1), help="Number of trials; 1, or with --sheet the rest of the round.")
@click.option("--sheet", type=click.Path(path_type=Path), metavar="FILE", help="Write a CSV sheet to be filled in.")
@click.option("--decimal-comma", is_flag=True, help="A sheet for spreadsheets with decimal comma: 12,5; 3,0.")
@click.option(
    "--running", is_flag=True, help="The trials that are out already, such as for a lost sheet; ask for none."
)
@JSON
@exits_with_its_code
def ask_command(
    study: Path, n: int | None, sheet: Path | None, decimal_comma: bool, running: bool, as_json: bool
) -> None:
    """Ask STUDY (study.db or study.toml) for trials to measure.

    They are yours when this returns, and nobody else gets them. With --sheet they are written to a CSV file in random
    order, with columns for value, standard error, note and state: fill it in, and tell it.

    \b
    Examples:
      paraboloid ask study.toml -n 4
      paraboloid ask study.toml --sheet monday.csv

    \b
    Exit codes:
      0  done, also when there is nothing left to hand out
      1  the file could not be read or written: locked, read-only, the disk is full
      2  called wrongly, or the sheet exists
      3  another process writes to the study
      5  the file is damaged, or of a newer version
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    if sheet is not None:
        check_free(sheet)
    if decimal_comma and sheet is None:
        raise UsageError("--decimal-comma is for sheets. Give --sheet FILE too.")
    with looking(study) if running else writing(study) as opened:
        trials = opened.trials(TrialState.RUNNING) if running else _asked(opened, n, is_sheet=sheet is not None)
        if sheet is not None and trials:
            rows = sheet_rows(opened, trials, decimal_comma=decimal_comma)
            _write_sheet(sheet, rows, trials, separator=";" if decimal_comma else ",")
        message = opened.status().message if not trials else ""
        if as_json:
            print_json({"trials": [trial.as_dict() for trial in trials], "message": message})
        elif trials and sheet is None:
            _print_trials(opened, trials)
    if sheet is not None and trials:
        click.echo(
            f"{len(trials)} trials written to {sheet}. Tell it with: paraboloid tell {study} --sheet {sheet}", err=True
        )
    elif not trials:
        click.echo(f"Nothing to hand out. {message}", err=True)


@click.command("tell", context_settings={"ignore_unknown_options": True})
@STUDY
@click.argument("trial", required=False, metavar="[ID]")
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@click.option(
    "--sheet", type=click.Path(path_type=Path), metavar="FILE", help="Tell all rows of a filled sheet, or none."
)
@click.option("--sem", type=float, help="Standard error of the value (of the mean, for replicates).")
@click.option("--x", "settings", multiple=True, metavar="KNOB=SETTING", help="What was really set; may be given again.")
@click.option("--failed", "state", flag_value="FAILED", help="There is no value; the trial may be retried.")
@click.option("--abandon", "state", flag_value="ABANDONED", help="Give the trial up; it is never handed out again.")
@click.option("--censored", "state", flag_value="CENSORED", help="The value is a limit of the instrument.")
@click.option("--note", help="A remark that is kept.")
@REPLACE
@DRY_RUN
@JSON
@exits_with_its_code
def tell_command(
    study: Path,
    trial: str | None,
    values: tuple[str, ...],
    sheet: Path | None,
    sem: float | None,
    settings: tuple[str, ...],
    state: str | None,
    note: str | None,
    replace: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Tell STUDY (study.db or study.toml) what was measured: one trial, or a filled sheet.

    ID is the trial's number, or "old" for a measurement that was not asked for (then --x gives every knob). Several
    values are replicates. n/a is a failed measurement, <0.1 a reading below a limit. Telling the same again does
    nothing.

    \b
    Examples:
      paraboloid tell study.toml 3 80.2 --sem 0.3
      paraboloid tell study.toml 4 79.1 79.6 --x temperature=176.5
      paraboloid tell study.toml --sheet monday.csv --dry-run

    \b
    Exit codes:
      0  done: on the disk, or told before
      1  the file could not be read or written: locked, read-only, the disk is full
      2  called wrongly, or refused; nothing was taken
      3  another process writes to the study
      5  the file is damaged, or of a newer version
    """  # noqa: D301 - as above
    single = trial, values, sem, settings, state, note
    if (sheet is None) == (trial is None):
        raise UsageError("give either the ID of a trial and its value, or --sheet FILE.")
    if sheet is not None and any(given not in (None, ()) for given in single):
        raise UsageError(
            "--sem, --x, --note and states of a sheet stand in its columns; leave them out beside --sheet."
        )
    with writing(study) as opened, in_words_of_commands():
        if sheet is not None:
            _tell_all(opened, read_sheet(sheet, opened, replace=replace), dry_run=dry_run, as_json=as_json)
            return
        assert trial is not None
        if dry_run:
            raise UsageError("--dry-run is for sheets. A value of one trial can be corrected with --replace.")
        value, found = value_and_state(values, state)
        number = None if trial == "old" else trial_number(trial)
        told = opened.tell(number, value, sem=sem, x=settings_of(settings), state=found, note=note, replace=replace)
    if as_json:
        print_json(told.as_dict())
    else:
        shown = f", value {told.value:g}" if told.value is not None else ""
        click.echo(f"trial {told.id}: {told.state.name}{shown}")


@click.command("export")
@STUDY
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--history", is_flag=True, help="Every event in place of every trial: attempts, corrections, duplicates.")
@JSON
@exits_with_its_code
def export_command(study: Path, file: Path, history: bool, as_json: bool) -> None:
    """Write all trials of STUDY (study.db or study.toml) to a new CSV FILE, or to standard output (-).

    Settings as measured and as asked, values, standard errors, states, attempts, notes. Nothing is ever overwritten. A
    study may be exported while another process writes to it.

    \b
    Examples:
      paraboloid export study.toml everything.csv
      paraboloid export study.toml - --history

    \b
    Exit codes:
      0  done
      1  the file could not be read or written: locked, the disk is full
      2  called wrongly, or the file exists
      5  the file is damaged, or of a newer version
    """  # noqa: D301 - as above
    is_standard = str(file) == "-"
    if is_standard and as_json:
        raise UsageError("--json would stand among the rows on standard output. Give a file, or leave --json out.")
    with looking(study) as opened:
        rows = history_rows(opened) if history else export_rows(opened)
        if is_standard:
            csv.writer(sys.stdout, lineterminator="\n").writerows(rows)
            return
        count = write_table(file, rows)
    if as_json:
        print_json({"file": str(file), "rows": count})
    else:
        click.echo(f"{count} rows written to {file}.", err=True)


@click.command("import")
@STUDY
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--column", "columns", multiple=True, metavar="NAME=HEADER", help="Which column is a knob, value, sem, ..."
)
@click.option("--where", multiple=True, metavar="HEADER=TEXT", help="Only rows with this text; may be given again.")
@click.option("--source", help="Where the data is from; the name of the file if not given.")
@click.option("--again", is_flag=True, help="Take rows that are all known from another source: they are other ones.")
@REPLACE
@DRY_RUN
@JSON
@exits_with_its_code
def import_command(
    study: Path,
    file: Path,
    columns: tuple[str, ...],
    where: tuple[str, ...],
    source: str | None,
    again: bool,
    replace: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Tell STUDY (study.db or study.toml) old data from a CSV FILE: measurements that it did not ask for.

    The file needs a column for each knob and one named value. All rows are taken or none; old data costs no budget.
    The same file again changes nothing.

    \b
    Examples:
      paraboloid import study.toml old.csv --dry-run
      paraboloid import study.toml notebook.csv --column value=yield --where batch=7

    \b
    Exit codes:
      0  done: on the disk, or told before
      1  the file could not be read or written: locked, read-only, the disk is full
      2  called wrongly, or refused; nothing was taken
      3  another process writes to the study
      5  the file is damaged, or of a newer version
    """  # noqa: D301 - as above
    names = pairs("--column", columns)
    with writing(study) as opened, in_words_of_commands():
        sheet = read_old_data(file, opened, names=names, where=pairs("--where", where), source=source, replace=replace)
        if not again:
            _refuse_known(opened, sheet)
        _tell_all(opened, sheet, dry_run=dry_run, as_json=as_json)


# -- inside -----------------------------------------------------------------------------------------------------------


def _asked(study: Study, n: int | None, *, is_sheet: bool) -> list[Trial]:
    if n is not None:
        return study.ask(n)
    trials = study.ask(1)
    rest = len(study.trials(TrialState.WAITING)) if is_sheet else 0
    return trials + study.ask(rest) if rest else trials


def _write_sheet(path: Path, rows: Iterator[Sequence[str]], trials: Sequence[Trial], *, separator: str) -> None:
    try:
        write_table(path, rows, separator=separator)
    except OSError as error:
        raise UsageError(
            f"{path} could not be written ({error.strerror}). Its {len(trials)} trials are handed out; write them to "
            f"another place with --running --sheet FILE."
        ) from error


def _refuse_known(study: Study, sheet: Sheet) -> None:
    """Refuse a file whose rows are all in the study already, from another source: a copy under another name."""
    names = study.domain.names
    held: Counter[tuple[Any, ...]] = Counter(
        (tuple(trial.x[name] for name in names), trial.value) for trial in study.trials() if not trial.round
    )
    rows: Counter[tuple[Any, ...]] = Counter(
        (tuple(answer.x[name] for name in names), answer.value)
        for answer in sheet.answers
        if answer.x is not None and isinstance(answer.value, float)
    )
    if not rows or rows - held or set(tell_sheet(study, sheet, dry_run=True)) != {"old"}:
        return
    raise UsageError(
        f"all {len(sheet.answers)} rows of {sheet.path} are in the study already, from another source. If they are "
        f"other measurements with the same values, give --again. Nothing was taken."
    )


# -- what is printed ---------------------------------------------------------------------------------------------------


def _tell_all(study: Study, sheet: Sheet, *, dry_run: bool, as_json: bool) -> None:
    deeds = tell_sheet(study, sheet, dry_run=dry_run)
    counts = Counter(deeds)
    if as_json:
        rows = [
            {"row": row, "id": answer.id, "did": deed}
            for row, answer, deed in zip(sheet.rows, sheet.answers, deeds, strict=True)
        ]
        print_json({"dry_run": dry_run, "counts": dict(counts), "rows": rows, "notices": sheet.notices})
    else:
        parts = [f"{count} {DEEDS[deed]}" for deed, count in counts.items()]
        would = "would be " if dry_run else ""
        click.echo(
            f"{len(deeds)} rows: {would}{', '.join(parts)}." if deeds else "No row is filled in; nothing to tell."
        )
    for notice in sheet.notices:
        click.echo(f"Note: {notice}.", err=True)
    n_open = len(study.trials(TrialState.RUNNING))
    if n_open and not dry_run:
        click.echo(f"{n_open} trials are still out.", err=True)


def _print_trials(study: Study, trials: Sequence[Trial]) -> None:
    knobs = knobs_of(study.domain)
    has_repeats = any(trial.repeats > 1 for trial in trials)
    table = Table("id", *(escape(knob.header) for knob in knobs), *(["repeats"] if has_repeats else []))
    for trial in trials:
        cells = [knob.written(trial.x[knob.name]) for knob in knobs]
        table.add_row(str(trial.id), *cells, *([str(trial.repeats)] if has_repeats else []))
    print_table(table)
