"""Sheets for the laboratory and exports of a study: written whole or not at all, and never over another file."""

import csv
import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from paraboloid.core import UsageError
from paraboloid.study.sheet_cells import neutralised
from paraboloid.study.sheet_columns import knobs_of
from paraboloid.study.sheet_reading import study_mark
from paraboloid.study.study import Study
from paraboloid.study.trial import Trial

__all__ = ["check_free", "export_rows", "history_rows", "sheet_rows", "write_table"]

MOST_REPLICATES = 50
"""Columns for replicates on a sheet that is filled by hand."""

Row = Sequence[str]


def sheet_rows(study: Study, trials: Sequence[Trial], *, decimal_comma: bool = False) -> Iterator[Row]:
    """Yield the rows of a sheet to be filled in, the header first, in the order in which the trials were asked for.

    That order is random, and keyed by the seed of the study and the number of the round: measured from top to bottom, a
    slow drift of the laboratory does not look like the effect of a knob.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from paraboloid import Box, Knob, Study
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> with Study.open(path, Box([Knob("temperature", 150, 210, "°C")]), budget=9, rng=0) as study:
    ...     rows = list(sheet_rows(study, study.ask(2)))
    >>> rows[0][:6], rows[1][:3]
    (['id', 'temperature [°C]', 'value', 'sem', 'note', 'state'], ['1', '180', ''])
    """
    knobs = knobs_of(study.domain)
    n_values = max((trial.repeats for trial in trials), default=1)
    if n_values > MOST_REPLICATES:
        raise UsageError(
            f"a sheet has room for {MOST_REPLICATES} replicates of a trial, and one asks for {n_values}. Tell blocks "
            f"from a program: study.tell(id, Measurements)."
        )
    values = ["value"] if n_values == 1 else [f"value {k + 1}" for k in range(n_values)]
    yield ["id", *(neutralised(knob.header) for knob in knobs), *values, "sem", "note", "state", "study"]
    mark = study_mark(study)
    for trial in trials:
        settings = [knob.written(trial.x[knob.name]) for knob in knobs]
        if decimal_comma:
            settings = [text.replace(".", ",") for text in settings]
        yield [str(trial.id), *settings, *[""] * n_values, "", "", "", mark]


def export_rows(study: Study) -> Iterator[Row]:
    """Yield everything that is known of every trial, the header first; numbers with all their digits.

    The columns of the knobs hold the setting that was measured. What is exported can be told to another study by
    `read_old_data`.
    """
    knobs = knobs_of(study.domain)
    settings = [neutralised(knob.header) for knob in knobs]
    asked = [f"asked {knob.header}" for knob in knobs]
    counts = ["repeats", "attempt", "failures", "duplicates"]
    yield [
        "id",
        *settings,
        "value",
        "sem",
        "note",
        "state",
        "count",
        "scatter",
        "values",
        "round",
        *counts,
        "reason",
        *asked,
    ]
    for trial in study.trials():
        executed = trial.executed or trial.x
        yield [
            str(trial.id),
            *(repr(executed[knob.name]) for knob in knobs),
            "" if trial.value is None else repr(trial.value),
            "" if trial.sem is None else repr(trial.sem),
            neutralised(trial.note),
            trial.state.name,
            str(trial.count) if trial.count else "",
            repr(trial.scatter) if trial.count > 1 else "",
            " ".join(map(repr, trial.values)) if trial.values is not None and trial.count > 1 else "",
            str(trial.round),
            *(str(number) for number in (trial.repeats, trial.attempt, trial.failures, trial.duplicates)),
            neutralised(trial.reason),
            *(repr(trial.x[knob.name]) for knob in knobs),
        ]


def history_rows(study: Study) -> Iterator[Row]:
    """Yield every event of every trial, the header first: each attempt, answer, correction and duplicate."""
    yield ["sequence", "time", "kind", "id", "payload"]
    events = [event for trial in study.trials() for event in study.history(trial.id)]
    for event in sorted(events, key=lambda event: event.sequence):
        payload = json.dumps(event.payload, ensure_ascii=False)
        yield [str(event.sequence), event.time, event.kind, str(event.trial), payload]


def check_free(path: Path) -> None:
    """Raise a `UsageError` if a file cannot be made at a path: before anything is asked for.

    >>> check_free(Path("no such folder") / "sheet.csv")
    Traceback (most recent call last):
    paraboloid.core.errors.UsageError: the folder no such folder does not exist. Make it first, or give another path.
    """
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path} exists, and nothing is ever overwritten. Give another name, or move it away.")
    if not path.parent.is_dir():
        raise UsageError(f"the folder {path.parent} does not exist. Make it first, or give another path.")
    if not os.access(path.parent, os.W_OK):
        raise UsageError(f"the folder {path.parent} may not be written to. Give another path.")


def write_table(path: Path, rows: Iterable[Row], *, separator: str = ",") -> int:
    """Write rows to a new CSV file, whole or not at all, and return how many there are below the header.

    UTF-8 with its mark and CRLF, so that every spreadsheet reads ° and µ right.

    >>> import pathlib, tempfile
    >>> write_table(pathlib.Path(tempfile.mkdtemp()) / "new.csv", [["id", "value"], ["1", ""]])
    1
    """
    check_free(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    count = 0
    try:
        with open(handle, "w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, delimiter=separator, lineterminator="\r\n")
            for row in rows:
                writer.writerow(row)
                count += 1
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        _place(Path(name), path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return count - 1


def _place(part: Path, path: Path) -> None:
    """Give a finished file its name, unless something has that name by now."""
    try:
        os.link(part, path)  # fails where a file is, which a renaming does not
    except FileExistsError as error:
        raise UsageError(f"{path} was made by somebody else in the meantime, and is left as it is.") from error
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
            raise
        check_free(path)  # a file system without links
        os.rename(part, path)
        return
    os.unlink(part)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
