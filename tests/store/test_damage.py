"""Files that are not what they should be are refused with advice, never overwritten, and their rows saved (A10)."""

import random
import shutil
import sqlite3
from pathlib import Path

import pytest

from paraboloid import Study, UsageError
from paraboloid.store import EventLog, StoreError, StudyDamaged, salvage
from paraboloid.store.carving import carve
from tests.store.holding import hold
from tests.store.support import kill, start, wait_for
from tests.study.support import make, measure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed study of 40 values."""
    where = tmp_path / "study.db"
    with make(where) as study:
        measure(study, study.ask(40))
    return where


def refuses(path: Path, error: type[Exception] = StudyDamaged) -> None:
    before = path.read_bytes()
    for use in (make, Study.read):
        with pytest.raises(error, match="doctor"):
            use(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"id,temperature\n1,180\n", b"SQLite format 3\x00"], ids=len)
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "study.db"
    path.write_bytes(content)
    refuses(path)
    assert salvage(path) == []


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE films (title)")
    connection.close()
    refuses(path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a file"):
        make(tmp_path)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_refused_and_its_rows_are_saved(path: Path, share: float) -> None:
    whole = salvage(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refuses(path)
    intact = [row for row in salvage(path) if row["is_intact"]]
    assert [row for row in intact if row in whole] == intact
    if share == 0.9:
        assert len(intact) > len(whole) / 2


@pytest.mark.parametrize("_", range(6))
def test_salvage_ends_where_a_page_was_cut_in_two(path: Path, _: int) -> None:
    """SQLite gives cells of zeros as event 0 there, and in about half of all files an error after them.

    Reading on after event 0 had no end, until the memory was full. Six files: one in 64 times nothing would be caught.
    """
    whole = salvage(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * 0.9)])
    rows = salvage(path)
    assert len(rows) <= len(whole) + 1 and all(row in whole for row in rows if row["is_intact"])


def test_every_flipped_byte_is_noticed_or_harmless(path: Path) -> None:
    with Study.read(path) as study:
        truth = [trial.as_dict() for trial in study.trials()]
    content = path.read_bytes()
    places = random.Random(2).sample(range(100, len(content)), 150)
    noticed = 0
    for place in places:
        changed = bytearray(content)
        changed[place] ^= 0xFF
        path.write_bytes(bytes(changed))
        try:
            with make(path) as study:
                assert [trial.as_dict() for trial in study.trials()] == truth  # an empty place of the file
        except StoreError:
            noticed += 1
            assert path.read_bytes()[place] == changed[place]
            salvage(path)  # may find nothing, but never fails
    assert 0 < noticed < 150  # both kinds of places were tried


def test_a_value_changed_behind_our_back_is_noticed_and_told_by_salvage(path: Path) -> None:
    content = path.read_bytes()
    place = content.rindex(b'{"value": ') + 10
    digit = content[place : place + 1]
    path.write_bytes(content[:place] + (b"7" if digit != b"7" else b"8") + content[place + 1 :])
    with pytest.raises(StudyDamaged, match="checksum"):
        make(path)
    with pytest.raises(StudyDamaged, match="checksum"):
        Study.read(path)
    rows = salvage(path)
    assert sum(not row["is_intact"] for row in rows) == 1 and len(rows) > 80


def test_a_missing_write_ahead_log_is_said(path: Path) -> None:
    process = start(hold, path, said := path.with_name("said"))
    # The budget of 40 is handed out; the process holds the study all the same.
    wait_for(said, "held")
    kill(process)
    path.with_name("study.db-wal").unlink()
    with pytest.warns(UserWarning, match="-wal file is gone"):
        study = make(path)
    with study:
        assert study.status().n_measurements == 40 and any("-wal" in text for text in study.status().warnings)


def test_salvage_reads_past_a_bad_page_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    EventLog.create(path, [("created", None, {"number": k, "text": "x" * 500}) for k in range(200)])
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 4096] = b"\xa5" * 4096
    path.write_bytes(bytes(content))
    rows = salvage(path)
    assert path.read_bytes() == bytes(content)
    assert 180 <= len(rows) < 200 and {0, 199} <= {row["payload"]["number"] for row in rows}


def test_salvage_reads_an_open_study_with_its_write_ahead_log(path: Path) -> None:
    shutil.copyfile(path, path.with_name("before.db"))
    with make(path) as study:
        study.extend(41)
        measure(study, study.ask(1))
        assert salvage(path)[-1]["kind"] == "told"


@pytest.mark.parametrize("destroyed", [range(0, 100), range(0, 4096), range(100, 8192)], ids=str)
def test_salvage_carves_events_where_sqlite_gives_up(path: Path, destroyed: range) -> None:
    whole = salvage(path)
    content = bytearray(path.read_bytes())
    content[destroyed.start : destroyed.stop] = bytes(len(destroyed))
    path.write_bytes(bytes(content))
    refuses(path)
    rows = salvage(path)
    assert [row for row in rows if row in whole] == rows  # nothing is made up
    assert len(rows) == len(whole)  # the table of contents held no events


def test_salvage_carves_long_payloads_and_the_write_ahead_log(path: Path) -> None:
    with make(path) as study:
        study.extend(5000)
        study.ask(3000)  # a round of thousands of settings lies on many pages
        expected = salvage(path)
        assert [(row[0], row[2]) for row in carve(path)] == [(row["sequence"], row["kind"]) for row in expected]
    assert max(len(row["payload"].get("x", [])) for row in expected if row["kind"] == "planned") > 100
