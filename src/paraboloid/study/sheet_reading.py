"""Sheets that come back from the laboratory, and tables of old data, as answers to a study: all of them or none."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from paraboloid.core import UsageError
from paraboloid.study.outcome import Answer
from paraboloid.study.sheet_cells import canonical, is_blank, plain
from paraboloid.study.sheet_row import Reader, knob_number, names_of, not_a_number, reader_of, said_in
from paraboloid.study.study import Study
from paraboloid.study.trial import Trial

__all__ = ["Sheet", "read_old_data", "read_sheet", "study_mark", "tell_sheet"]

_ANSWER = re.compile(r"answer (\d+) of \d+: (.*)", re.DOTALL)
_WHOLE = re.compile(r"(\d{1,15})(?:[.,]0{1,2})?")


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """What a sheet says.

    Parameters
    ----------
    path
        The file.
    answers
        One for each row that was filled in.
    rows
        The number of each of these rows, as a spreadsheet shows it.
    notices
        What the reader should know: settings that were changed, columns that were left out.
    """

    path: Path
    answers: tuple[Answer, ...]
    rows: tuple[int, ...]
    notices: tuple[str, ...]


def read_sheet(path: Path, study: Study, *, replace: bool = False) -> Sheet:
    r"""Return what a sheet that was filled in says; nothing is told yet.

    Rows without a value are left out: their trials stay open. A setting that differs from the asked one is the setting
    that was measured.

    Parameters
    ----------
    path
        A CSV file with the columns id and value (or value 1, value 2, ...), and, as wished, sem, note, state and knobs.
    study
        The study that asked.
    replace
        Whether values correct earlier ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from paraboloid import Study
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with Study.open(folder / "study.db", [(0, 1)], budget=9, rng=0) as study:
    ...     trials = study.ask(2)
    ...     _ = (folder / "filled.csv").write_text("id;value\n1;80,5\n2;n/a\n")
    ...     tell_sheet(study, read_sheet(folder / "filled.csv", study))
    ...     [trial.state.name for trial in study.trials()[:2]]
    ['told', 'told']
    ['COMPLETE', 'FAILED']
    """
    reader = reader_of(path, study, None)
    fields = reader.columns.fields
    if "id" not in fields:
        raise UsageError(f"{path} has no column id, only {names_of(reader.table.header)}. Old data is told by import.")
    if not reader.columns.values and "state" not in fields:
        raise UsageError(f"{path} has no column value, only {names_of(reader.table.header)}.")
    known = {trial.id: trial for trial in study.trials()}
    answers, rows, seen = [], [], dict[int, int]()
    for row, cells in reader.table.rows:
        said = said_in(reader, row, cells)
        trial = _trial(reader, row, cells, known)
        if said is None or trial is None:
            continue
        if trial.id in seen:
            reader.problem(row, fields["id"], f"trial {trial.id} is in row {seen[trial.id]} too. Keep one of them.")
        seen.setdefault(trial.id, row)
        _check_study(reader, row, cells, study)
        x, remark = _executed(reader, row, cells, trial)
        note = "; ".join(text for text in (reader.text(cells, "note"), said.remark, remark) if text)
        answers.append(Answer(trial.id, said.value, said.sem, x, said.state, note or None, replace))
        rows.append(row)
    reader.finish()
    return Sheet(path, tuple(answers), tuple(rows), tuple(reader.notices))


def read_old_data(
    path: Path,
    study: Study,
    *,
    names: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    source: str | None = None,
    replace: bool = False,
) -> Sheet:
    r"""Return what a table of old data says; nothing is told yet.

    Each row is known by its source, its setting and how often that setting stood in the table before, so that the same
    table told again changes nothing, and a value that was changed is noticed.

    Parameters
    ----------
    path
        A CSV file with a column for each knob and one for the value.
    study
        The study to be told.
    names
        Headers of the table, by the knob or field (value, sem, note, state, count, scatter, key) that they stand for.
    where
        Take only rows that have this text in this column.
    source
        A name for where the data is from; the name of the file without its ending if not given.
    replace
        Whether values correct earlier ones.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from paraboloid import Study
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "old.csv").write_text("x1,yield\n0.2,80.1\n0.2,80.4\n")
    >>> with Study.open(folder / "study.db", [(0, 1)], budget=9, rng=0) as study:
    ...     sheet = read_old_data(folder / "old.csv", study, names={"value": "yield"})
    ...     tell_sheet(study, sheet), tell_sheet(study, sheet)
    (['old', 'old'], ['same', 'same'])
    """
    reader = reader_of(path, study, names)
    _check_old_columns(reader, names)
    chosen = _places(reader, where)
    answers, rows, times = [], [], Counter[tuple[float, ...]]()
    for row, cells in reader.table.rows:
        if any(canonical(cells[place]) != text for place, text in chosen):
            continue
        said = said_in(reader, row, cells)
        if said is None:
            continue
        x = _setting(reader, row, cells)
        if x is None:
            continue
        place = tuple(x.values())
        times[place] += 1
        key = reader.text(cells, "key") or f"{place} number {times[place]}"
        note = "; ".join(text for text in (reader.text(cells, "note"), said.remark) if text) or None
        label = f"{path.stem if source is None else source}: {key}"
        answers.append(Answer(None, said.value, said.sem, x, said.state, note, replace, key=label))
        rows.append(row)
    reader.finish()
    return Sheet(path, tuple(answers), tuple(rows), tuple(reader.notices))


def tell_sheet(study: Study, sheet: Sheet, *, dry_run: bool = False) -> list[str]:
    """Tell a study all that a sheet says, or nothing; return what each row did, as `Study.tell_all` does.

    An error names the row. See `read_sheet` for an example.
    """
    try:
        return study.tell_all(sheet.answers, dry_run=dry_run)
    except UsageError as error:
        told = _ANSWER.fullmatch(str(error))
        if told is None:
            raise
        raise UsageError(f"{sheet.path}, row {sheet.rows[int(told[1]) - 1]}: {told[2]}") from error


def study_mark(study: Study) -> str:
    """Return a short mark of a study, to tell its sheets from those of others; no spreadsheet takes it for a number."""
    return f"P-{study.settings['study'][:6]}"


# -- one row -----------------------------------------------------------------------------------------------------------


def _trial(reader: Reader, row: int, cells: Sequence[str], known: Mapping[int, Trial]) -> Trial | None:
    column = reader.columns.fields["id"]
    text = plain(cells[column.place].strip())
    whole = _WHOLE.fullmatch(text)
    if whole is None:
        if not text:
            reader.problem(row, column, "the row has no id. Copy it from the sheet that was asked for.")
        else:
            reader.problem(row, column, not_a_number(text).replace("number", "trial's number", 1))
        return None
    trial = known.get(int(whole[1]))
    if trial is None:
        reader.problem(row, column, f"there is no trial {text} in this study; known are 1 to {max(known, default=0)}.")
    return trial


def _check_study(reader: Reader, row: int, cells: Sequence[str], study: Study) -> None:
    mark = reader.text(cells, "study")
    if mark and mark != study_mark(study):
        column = reader.columns.fields["study"]
        reader.problem(row, column, f"the sheet is of the study {mark}, and this is {study_mark(study)}.")


def _executed(reader: Reader, row: int, cells: Sequence[str], trial: Trial) -> tuple[dict[str, float] | None, str]:
    """Return the settings that were changed, and a remark on them; None where all are as asked."""
    changed = {}
    for knob in reader.knobs:
        column = reader.columns.knobs.get(knob.name)
        if column is None or is_blank(cells[column.place]):
            continue
        number = knob_number(reader, row, column, cells[column.place], knob)
        if number is not None and not knob.is_near(number, trial.x[knob.name]):
            changed[knob.name] = number
    if not changed:
        return None, ""
    parts = [f"{name} {number:g} in place of {trial.x[name]:g}" for name, number in changed.items()]
    remark = f"measured at {', '.join(parts)}"
    reader.notices.append(f"row {row}: trial {trial.id} was {remark}; the setting of the sheet is used")
    return changed, remark


# -- old data ----------------------------------------------------------------------------------------------------------


def _check_old_columns(reader: Reader, names: Mapping[str, str] | None) -> None:
    path, columns = reader.table.path, reader.columns
    known = {*(knob.name for knob in reader.knobs), "value", "sem", "note", "state", "count", "scatter", "key"}
    unknown = sorted(set(names or {}) - known)
    if unknown:
        raise UsageError(f"{', '.join(unknown)} is no knob or field; known are {', '.join(sorted(known))}.")
    missing = [knob.header for knob in reader.knobs if knob.name not in columns.knobs]
    missing += [] if columns.values else ["value"]
    if missing:
        raise UsageError(
            f"{path} has no column {', '.join(missing)}, only {names_of(reader.table.header)}. Rename its columns, or "
            f"say which stand for them (--column value=yield)."
        )


def _places(reader: Reader, where: Mapping[str, str] | None) -> list[tuple[int, str]]:
    headers = [canonical(text) for text in reader.table.header]
    for name in where or {}:
        if canonical(name) not in headers:
            raise UsageError(f"{reader.table.path} has no column {name}, only {names_of(reader.table.header)}.")
    return [(headers.index(canonical(name)), canonical(text)) for name, text in (where or {}).items()]


def _setting(reader: Reader, row: int, cells: Sequence[str]) -> dict[str, float] | None:
    found: dict[str, float] = {}
    for knob in reader.knobs:
        column = reader.columns.knobs[knob.name]
        if is_blank(cells[column.place]):
            reader.problem(row, column, "there is a value, but no setting.")
            continue
        number = knob_number(reader, row, column, cells[column.place], knob)
        if number is not None:
            found[knob.name] = number
    return found if len(found) == len(reader.knobs) else None
