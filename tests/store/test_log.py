"""The log itself: append-only, whole or not at all, and made in one piece."""

import os
import sqlite3
from pathlib import Path

import pytest

from paraboloid import UsageError
from paraboloid.store import EventLog, StudyDamaged
from tests.store.support import kill, start
from tests.study.support import make, measure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def test_events_come_back_as_they_went_in(path: Path) -> None:
    payload = {"text": "ünïcode \x00 '\"; DROP TABLE events", "numbers": [1e-300, 0.1 + 0.2, -0.0, 2**60], "none": None}
    EventLog.create(path, [("created", None, payload)])
    with EventLog.write(path) as log:
        log.append([("told", 1, payload), ("told", 2**40, {})])
        assert log.append([]) == []
        written = log.events()
    with EventLog.read(path) as log:
        assert log.events() == written
        assert log.events(after=2) == written[2:]
        assert [event.payload for event in written] == [payload, payload, {}]
        with pytest.raises(UsageError, match="reading"):
            log.append([("told", 1, {})])


def test_what_is_no_json_is_written_not_at_all(path: Path) -> None:
    EventLog.create(path, [("created", None, {})])
    with EventLog.write(path) as log:
        for bad in (float("nan"), object()):
            with pytest.raises((ValueError, TypeError)):
                log.append([("told", 1, {"value": 1.0}), ("told", 2, {"value": bad})])
        assert len(log.events()) == 1
        log.append([("told", 1, {})])


def test_events_can_be_neither_changed_nor_removed_by_accident(path: Path) -> None:
    EventLog.create(path, [("created", None, {})])
    connection = sqlite3.connect(path)
    for statement in ("UPDATE events SET kind = 'x'", "DELETE FROM events"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            connection.execute(statement)
    connection.close()


def test_durability_is_what_it_should_be(path: Path) -> None:
    EventLog.create(path, [("created", None, {})])
    with EventLog.write(path) as log:
        assert log._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert log._connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert not path.with_name("study.db-wal").exists()


def test_a_file_is_made_whole_or_not_at_all(path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        EventLog.create(path, [("created", None, {"bad": float("inf")})])
    assert list(path.parent.iterdir()) == []
    EventLog.create(path, [("created", None, {"first": True})])
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        EventLog.create(path, [("created", None, {"first": False})])
    assert path.read_bytes() == before and os.listdir(path.parent) == ["study.db"]


def test_a_process_killed_while_it_makes_a_study_leaves_nothing_in_the_way(path: Path) -> None:
    for pause in (0.0, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05):
        process = start(_make_many, path.parent)
        process.join(0.15 + pause)
        kill(process)
    for study in path.parent.glob("made-*.db"):
        with make(study) as opened:
            measure(opened, opened.ask(1))


def _make_many(folder: Path) -> None:
    number = 0
    while True:
        number += 1
        make(folder / f"made-{os.getpid()}-{number}.db").close()


def test_two_processes_that_create_at_once_make_one_study(path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda k: _create(path, k), range(8)))
    assert sum(made) == 1
    with EventLog.read(path) as log:
        assert len(log.events()) == 1


def _create(path: Path, number: int) -> bool:
    try:
        EventLog.create(path, [("created", None, {"by": number})])
    except FileExistsError:
        return False
    return True


def test_a_missing_event_is_noticed(path: Path) -> None:
    EventLog.create(path, [("created", None, {}), ("a", None, {}), ("b", None, {})])
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER events_are_never_removed")
        connection.execute("DELETE FROM events WHERE sequence = 2")
    connection.close()
    with EventLog.read(path) as log, pytest.raises(StudyDamaged, match="event 2 is missing"):
        log.events()
