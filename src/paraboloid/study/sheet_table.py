"""A CSV file as a table of text: whatever encoding, line ends and separator, read whole or refused."""

import csv
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from paraboloid.core import UsageError

__all__ = ["MOST_BYTES", "MOST_ROWS", "Table", "read_table"]

MOST_ROWS = 100_000
"""A sheet is told in one transaction and held in memory; longer series are told as blocks, or in parts."""
MOST_BYTES = 32 * 2**20
SEPARATORS = (",", ";", "\t")
BEGINNINGS = (
    (b"PK\x03\x04", "a spreadsheet file (xlsx or ods)"),
    (b"\xd0\xcf\x11\xe0", "a spreadsheet file (xls)"),
    (b"SQLite format 3", "a study, not a sheet"),
)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A header and rows of text, each with the number under which a spreadsheet shows it.

    Parameters
    ----------
    path
        The file.
    header
        The cells of its first row that is not blank.
    rows
        (row number, cells), each as long as the header; blank rows are left out.
    separator
        What stands between cells.
    """

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[int, list[str]], ...]
    separator: str


def read_table(path: Path, count_known: Callable[[Sequence[str]], int]) -> Table:
    """Return the table in a file; of the separators the one under which most columns of the header are known."""
    text = _decoded(_content(path), path)
    begin = 0
    first = text.split("\n", 1)[0].strip()
    if first.casefold().startswith("sep=") and len(first) == 5:  # a note of spreadsheets to themselves
        begin = text.index("\n") + 1
    known = {separator: count_known(_header(text[begin:], separator, path)[1]) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda mark: known[mark])
    skipped, header = _header(text[begin:], separator, path)
    if not known[separator]:
        raise UsageError(f"{path}: no column is known in its first row {header!r}. See `paraboloid ask --sheet`.")
    offset = 1 if begin else 0
    rows = _rows(text[begin:], separator, path, n_header=len(header), first=skipped + 1, offset=offset)
    return Table(path, tuple(header), tuple(rows), separator)


def _content(path: Path) -> bytes:
    """Return the bytes of a file that nobody is writing; refuse what is too long before it is read."""
    lock = path.with_name(f".~lock.{path.name}#")
    if lock.exists():
        raise UsageError(
            f"{path} is open in a spreadsheet ({lock.name} is there). Save and close it first; if no program has it "
            f"open, remove that file."
        )
    try:
        if not stat.S_ISREG(mode := os.stat(path).st_mode):  # before opening: a pipe would make us wait for its writer
            raise UsageError(f"{path} is {'a folder' if stat.S_ISDIR(mode) else 'no file'}. Give a CSV file.")
        with open(path, "rb") as file:
            before = os.fstat(file.fileno())
            if before.st_size > MOST_BYTES:
                raise UsageError(
                    f"{path} has {before.st_size / 2**20:.0f} MiB; a sheet may have {MOST_BYTES // 2**20} MiB and "
                    f"{MOST_ROWS:,} rows. Split it, or tell series as blocks (study.tell with Measurements)."
                )
            content = file.read(MOST_BYTES + 1)
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}. Check the path.") from error
    except PermissionError as error:
        raise UsageError(f"{path} may not be read ({error.strerror}). Is it open in another program?") from error
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns) or len(content) != after.st_size:
        raise UsageError(f"{path} was written to while it was read. Wait until it is complete, and tell it again.")
    return content


def _decoded(content: bytes, path: Path) -> str:
    """Return the text: UTF-8 with or without a mark, UTF-16 with one, or else the Western code page."""
    for beginning, what in BEGINNINGS:
        if content.startswith(beginning):
            raise UsageError(f"{path} is {what}. Save the sheet as CSV, and give that.")
    if not content.strip():
        raise UsageError(f"{path} is empty. Was it written completely?")
    encodings = ("utf-16",) if content[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1252")
    for encoding in encodings:
        try:
            text = content.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    else:
        raise UsageError(f"{path} is no text in UTF-8 or Latin-1. Save it as CSV in UTF-8.")
    if "\0" in text:
        raise UsageError(f"{path} holds zero bytes: it was not written completely, or is no text. Save it again.")
    if text[-1] not in "\r\n":
        last = text.splitlines()[-1]
        raise UsageError(
            f"{path} ends in the middle of a line ({last[-60:]!r}), as a file does that was not written completely. "
            f"Save it again; if nothing is missing, add a line end."
        )
    return text


def _records(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _header(text: str, separator: str, path: Path) -> tuple[int, list[str]]:
    """Return how many blank rows stand before the header, and its cells."""
    try:
        for skipped, cells in enumerate(_records(text, separator)):
            if any(cell.strip() for cell in cells):
                return skipped, cells
    except csv.Error:
        return 0, []  # not with this separator
    raise UsageError(f"{path} has blank rows only. Was it written completely?")


def _rows(
    text: str, separator: str, path: Path, *, n_header: int, first: int, offset: int
) -> list[tuple[int, list[str]]]:
    found: list[tuple[int, list[str]]] = []
    number = 0
    try:
        for number, cells in enumerate(_records(text, separator), start=1):
            if number <= first or not any(cell.strip() for cell in cells):
                continue
            if len(found) == MOST_ROWS:
                raise UsageError(
                    f"{path} has more than {MOST_ROWS:,} rows. Split it, or tell series as blocks (study.tell with "
                    f"Measurements). Nothing was taken."
                )
            found.append((number + offset, _as_long(cells, n_header, separator, path, number + offset)))
    except csv.Error as error:
        raise UsageError(
            f"{path}, row {number + 1 + offset}: {error}. Quotation marks do not match; save the sheet again."
        ) from error
    return found


def _as_long(cells: list[str], n_header: int, separator: str, path: Path, row: int) -> list[str]:
    """Return a row as long as the header; with commas between cells every row must be so itself.

    A decimal comma that is not in quotation marks makes one cell two: "80,5" would be the value 80 and the standard
    error 5.
    """
    if len(cells) > n_header or (len(cells) < n_header and separator == ","):
        hint = " Is a decimal comma in it? Use semicolons between cells then." if separator == "," else ""
        raise UsageError(f"{path}, row {row}: {len(cells)} cells, but the header has {n_header}.{hint}")
    return cells + [""] * (n_header - len(cells))
