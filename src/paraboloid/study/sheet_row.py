"""The rows of a sheet: what the cells of each say, and what is wrong with them, by row and column."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from paraboloid.core import Measurements, UsageError
from paraboloid.study.sheet_cells import (
    SPREADSHEET_ERRORS,
    canonical,
    is_blank,
    looks_like_date,
    plain,
    read_cell,
    read_number,
)
from paraboloid.study.sheet_columns import Column, Columns, SheetKnob, knobs_of, match_columns
from paraboloid.study.sheet_table import Table, read_table
from paraboloid.study.study import Study
from paraboloid.study.trial import TrialState

__all__ = ["Reader", "Said", "knob_number", "names_of", "not_a_number", "reader_of", "said_in"]

MOST_PROBLEMS = 10
OPEN_STATES = ("waiting", "running")
DATE_NUMBERS = (36526, 73050)  # the days 2000-01-01 to 2099-12-31, as spreadsheets count them


@dataclass(slots=True)
class Reader:
    """The rows of one table, and what is wrong with them."""

    table: Table
    columns: Columns
    knobs: Sequence[SheetKnob]
    decimal: str
    problems: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def text(self, cells: Sequence[str], name: str) -> str:
        """Return the text of a field, or "" if the sheet has no such column."""
        column = self.columns.fields.get(name)
        return "" if column is None else plain(cells[column.place].strip())

    def problem(self, row: int, column: Column | None, message: str) -> None:
        """Note what is wrong, and where."""
        where = f"row {row}" if column is None else f"row {row}, column {column.header!r}"
        self.problems.append(f"{where}: {message}")

    def number(self, row: int, column: Column, text: str) -> float | None:
        """Return the number in a cell, or None after noting what is wrong with it."""
        read = read_number(text)
        if read is None:
            self.problem(row, column, not_a_number(text))
            return None
        return self.resolved(row, column, text, read.resolved(self.decimal))

    def resolved(self, row: int, column: Column, text: str, number: float | None) -> float | None:
        """Return a number that is just one, or None after noting that it is not."""
        if number is None:
            self.problem(
                row, column, f"{text!r} may have a decimal mark or a thousands mark. Write it without the latter."
            )
        elif not np.isfinite(number):
            self.problem(row, column, f"{text!r} is too large for a number.")
            return None
        return number

    def finish(self) -> None:
        """Raise what was wrong, if anything was."""
        if self.problems:
            shown = [f"  {problem}" for problem in self.problems[:MOST_PROBLEMS]]
            if len(self.problems) > MOST_PROBLEMS:
                shown.append(f"  and {len(self.problems) - MOST_PROBLEMS} more")
            raise UsageError("\n".join([f"{self.table.path}: nothing was taken.", *shown]))


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What the cells for value, sem and state of one row say."""

    value: object = None
    sem: float | None = None
    state: TrialState | None = None
    remark: str = ""


def reader_of(path: Path, study: Study, names: Mapping[str, str] | None) -> Reader:
    """Return the reader of a file; names as for `match_columns`."""
    knobs = knobs_of(study.domain)

    def count_known(header: Sequence[str]) -> int:
        found = match_columns(header, knobs, names)
        return len(found.fields) + len(found.values) + len(found.knobs)

    table = read_table(path, count_known)
    columns = match_columns(table.header, knobs, names)
    reader = Reader(table, columns, knobs, _decimal_mark(table, columns))
    named = [column for column in columns.extra if column.header]
    if named:
        reader.notices.append(f"columns that are not used: {', '.join(column.header for column in named)}")
    for column in columns.extra:
        for row, cells in table.rows:
            if not column.header and not is_blank(cells[column.place]):
                reader.problem(
                    row, None, f"{cells[column.place]!r} stands in column {column.place + 1}, which has no header."
                )
    return reader


def _decimal_mark(table: Table, columns: Columns) -> str:
    """Return the decimal mark of a file, as far as its numbers prove one; with commas between cells it is the point."""
    proved = set()
    for cells in _cells(table, columns.numeric):
        read = read_number(cells)
        if read is not None and read.decimal:
            proved.add(read.decimal)
    if not proved and table.separator == ",":
        return "."
    return proved.pop() if len(proved) == 1 else ""


def _cells(table: Table, columns: Sequence[Column]) -> Iterator[str]:
    for _, cells in table.rows:
        for column in columns:
            yield cells[column.place]


def said_in(reader: Reader, row: int, cells: Sequence[str]) -> Said | None:
    """Return what a row says, or None if it was not filled in (or not rightly: then the problem is noted)."""
    written = [(column, cells[column.place].strip()) for column in reader.columns.values]
    written = [(column, text) for column, text in written if text]
    state_text = canonical(reader.text(cells, "state"))
    if state_text and state_text.upper() not in TrialState.__members__:
        expected = "COMPLETE, FAILED, CENSORED or ABANDONED, or left empty"
        reader.problem(row, reader.columns.fields["state"], f"{state_text!r} is no state; it must be {expected}.")
        return None
    state = TrialState[state_text.upper()] if state_text and state_text not in OPEN_STATES else None
    if state in (TrialState.FAILED, TrialState.ABANDONED):
        return Said(state=state, remark=", ".join(f"sheet: {text}" for _, text in written))
    if not written:
        if state is not None:
            reader.problem(row, None, f"its state is {state.name}, but there is no value.")
        return None
    return _values(reader, row, cells, written, state)


def _values(
    reader: Reader, row: int, cells: Sequence[str], written: Sequence[tuple[Column, str]], state: TrialState | None
) -> Said | None:
    numbers: list[float] = []
    limits: list[str] = []
    for column, text in written:
        cell = read_cell(text)
        if cell is None:
            reader.problem(row, column, not_a_number(text))
            return None
        if cell.number is None:
            numbers.append(float("nan"))
            continue
        number = reader.resolved(row, column, text, cell.number.resolved(reader.decimal))
        if number is None:
            return None
        numbers.append(number)
        limits.extend([text] if cell.limit else [])
    if limits and len(limits) < len(numbers):
        reader.problem(row, None, f"{limits[0]!r} is a limit, and other cells of the row are values. Tell them apart.")
        return None
    if limits:
        state = TrialState.CENSORED
    remark = ", ".join(
        f"sheet: {text}" for (_, text), value in zip(written, numbers, strict=True) if limits or value != value
    )
    sem = _sem(reader, row, cells)
    if state is TrialState.COMPLETE:
        state = None
    summary = _summary(reader, row, cells, numbers)
    return Said(summary if summary is not None else numbers if len(numbers) > 1 else numbers[0], sem, state, remark)


def _sem(reader: Reader, row: int, cells: Sequence[str]) -> float | None:
    column = reader.columns.fields.get("sem")
    if column is None or is_blank(cells[column.place]):
        return None
    number = reader.number(row, column, cells[column.place])
    if number is not None and number <= 0:
        reader.problem(row, column, f"a standard error is above 0, got {number:g}. Leave it empty if it is not known.")
    return number


def _summary(reader: Reader, row: int, cells: Sequence[str], numbers: Sequence[float]) -> Measurements | None:
    """Return count, mean and scatter where a row of an export has them."""
    count = reader.columns.fields.get("count")
    if count is None or is_blank(cells[count.place]):
        return None
    n = reader.number(row, count, cells[count.place])
    scatter = reader.columns.fields.get("scatter")
    spread = (
        0.0 if scatter is None or is_blank(cells[scatter.place]) else reader.number(row, scatter, cells[scatter.place])
    )
    if n is None or spread is None or n == 1 or len(numbers) != 1 or numbers[0] != numbers[0]:
        return None
    if n < 1 or n != int(n) or spread < 0:
        reader.problem(row, count, "a count is a whole number above 0, and a scatter no less than 0.")
        return None
    return Measurements(np.array([int(n)]), np.array(numbers), np.array([spread]))


def knob_number(reader: Reader, row: int, column: Column, text: str, knob: SheetKnob) -> float | None:
    """Return the setting in a cell, or None after noting what is wrong with it."""
    number = reader.number(row, column, text)
    if number is None:
        return None
    low, high = DATE_NUMBERS
    if number == int(number) and low <= number <= high and not knob.low <= number <= knob.high:
        message = f"{text.strip()!r} is far outside the range and looks like a date that a spreadsheet counts in days."
        reader.problem(row, column, message + " Enter the setting again.")
        return None
    if knob.is_log and number <= 0:
        reader.problem(row, column, f"{knob.name} is on a log scale and must be above 0, got {number:g}.")
        return None
    return number


def not_a_number(text: str) -> str:
    """Return what is wrong with a cell that is no number, and what to do."""
    shown = repr(text.strip()[:60])
    if looks_like_date(text):
        return (
            f"{shown} is a date, no number: a spreadsheet has turned a number into one. Format the column as text, "
            f"and enter the number again."
        )
    if SPREADSHEET_ERRORS.match(text.strip()):
        return (
            f"{shown} is an error of the spreadsheet, no number. Mend its formula, or write n/a if there is no value."
        )
    return f"{shown} is no number. Write a number, n/a for no value, or <0.1 for a reading below a limit."


def names_of(header: Sequence[str]) -> str:
    """Return the headers as a list in words."""
    return ", ".join(text.strip() for text in header if text.strip())
