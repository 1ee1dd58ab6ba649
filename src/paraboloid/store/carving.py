"""Events read from the raw pages of a file, where SQLite itself gives up: its header or table of contents is gone.

Leaf pages of tables are told by their first byte; what is read from one is an event only if its checksum fits, so that
nothing is made up. The format is that of https://www.sqlite.org/fileformat2.html, sections 1.6, 2.1 and 4.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraboloid.store.checksum import checksum

__all__ = ["carve"]

LEAF = 0x0D
WAL_HEADER, FRAME_HEADER = 32, 24
USUAL_PAGE = 4096


@dataclass(frozen=True, slots=True)
class Pages:
    """Images of pages: the newest of each number, and all of them, from the file and its write-ahead log."""

    newest: dict[int, bytes]
    images: tuple[tuple[int, bytes], ...]
    usable: int


def carve(path: Path) -> list[tuple[int, str, str, int | None, str, int]]:
    """Return the rows (sequence, time, kind, trial, payload, checksum) of all events found in the pages of a file.

    >>> import pathlib, tempfile
    >>> from paraboloid.store import EventLog
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> EventLog.create(path, [("created", None, {"budget": 10})])
    >>> [(row[0], row[2]) for row in carve(path)]
    [(1, 'created')]
    """
    pages = _pages(path)
    found = {}
    for number, image in pages.images:
        for row in _rows(number, image, pages):
            if checksum(*row[:5]) == row[5]:
                found[row[0]] = row
    return [found[sequence] for sequence in sorted(found)]


def _pages(path: Path) -> Pages:
    content = path.read_bytes()
    size = int.from_bytes(content[16:18], "big")
    size = 65536 if size == 1 else size
    if size < 512 or size & (size - 1):
        size = USUAL_PAGE  # the header is gone as well
    images = [(k + 1, content[start : start + size]) for k, start in enumerate(range(0, len(content), size))]
    wal = path.with_name(path.name + "-wal")
    frames = wal.read_bytes() if wal.exists() else b""
    for start in range(WAL_HEADER, len(frames), FRAME_HEADER + size):
        body = start + FRAME_HEADER
        images.append((int.from_bytes(frames[start : start + 4], "big"), frames[body : body + size]))
    return Pages(dict(images), tuple(images), size - (content[20] if len(content) > 20 and content[20] < 64 else 0))


def _rows(number: int, image: bytes, pages: Pages) -> Iterator[Any]:
    start = 100 if number == 1 else 0
    if len(image) < start + 8 or image[start] != LEAF:
        return
    n_cells = int.from_bytes(image[start + 3 : start + 5], "big")
    for k in range(min(n_cells, len(image) // 2)):
        place = int.from_bytes(image[start + 8 + 2 * k : start + 10 + 2 * k], "big")
        try:
            yield _row(image, place, pages)
        except (IndexError, ValueError, KeyError):
            continue  # not a cell of ours


def _row(image: bytes, place: int, pages: Pages) -> tuple[int, Any, Any, Any, Any, Any]:
    """Return the columns of one cell; the sequence number is its key."""
    length, place = _varint(image, place)
    sequence, place = _varint(image, place)
    record = _payload(image, place, length, pages)
    end, at = _varint(record, 0)
    types = []
    while at < end:
        kind, at = _varint(record, at)
        types.append(kind)
    if len(types) != 6:
        raise ValueError("not a row of events")
    columns = []
    for kind in types:
        value, at = _value(record, at, kind)
        columns.append(value)
    _, when, what, trial, payload, stored = columns
    return sequence, when, what, trial, payload, stored


def _payload(image: bytes, place: int, length: int, pages: Pages) -> bytes:
    """Return the whole payload of a cell, with what lies on overflow pages."""
    usable = pages.usable
    if length <= usable - 35:
        return image[place : place + length]
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    local = local if local <= usable - 35 else least
    parts, missing = [image[place : place + local]], length - local
    following = int.from_bytes(image[place + local : place + local + 4], "big")
    while missing > 0:
        page = pages.newest[following]
        parts.append(page[4 : 4 + min(missing, usable - 4)])
        missing -= len(parts[-1]) or missing  # an empty page would be read for ever
        following = int.from_bytes(page[:4], "big")
    return b"".join(parts)


def _varint(data: bytes, place: int) -> tuple[int, int]:
    number = 0
    for k in range(9):
        byte = data[place + k]
        if k == 8:
            return (number << 8) | byte, place + 9
        number = (number << 7) | (byte & 0x7F)
        if byte < 0x80:
            return number, place + k + 1
    raise AssertionError("nine bytes end every number")


def _value(record: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind <= 6:
        size = (0, 1, 2, 3, 4, 6, 8)[kind]
        return int.from_bytes(record[at : at + size], "big", signed=True), at + size
    if kind >= 13 and kind % 2:
        size = (kind - 13) // 2
        return record[at : at + size].decode("utf-8"), at + size
    raise ValueError("a type that events do not have")
