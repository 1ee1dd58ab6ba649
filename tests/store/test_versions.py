"""Files of older versions are migrated after a copy was made, files of newer versions are refused (A11, A17)."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from paraboloid import Study
from paraboloid.store import VERSION, EventLog, VersionMismatch
from paraboloid.store.schema import MIGRATIONS, backup_path, migrate
from tests.study.support import make, measure

FIXTURES = Path(__file__).parent / "fixtures"


def version_of(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


@pytest.mark.parametrize("version", range(1, VERSION + 1))
def test_every_version_that_was_ever_released_opens(tmp_path: Path, version: int) -> None:
    path = tmp_path / "study.db"
    shutil.copyfile(FIXTURES / f"version-{version}.study", path)
    before = path.read_bytes()
    with Study.read(path) as reader:  # reading changes nothing
        answer = reader.recommend()
        assert reader.status().n_measurements == 12
    assert path.read_bytes() == before
    with make(path) as study:
        assert list(study.recommend().x) == list(answer.x)
        measure(study, study.ask(2))
        assert study.status().n_measurements == 14
    assert version_of(path) == VERSION
    copy = path.with_name(f"study.db.backup-v{version}")
    assert copy.exists() == (version < VERSION)
    if version < VERSION:
        assert version_of(copy) == version
        with EventLog.read(copy) as log, EventLog.read(path) as now:
            assert now.events()[: len(log.events())] == log.events()


def test_a_copy_made_before_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    (tmp_path / "study.db.backup-v1").write_text("precious")
    shutil.copyfile(FIXTURES / "version-1.study", path)
    make(path).close()
    assert (tmp_path / "study.db.backup-v1").read_text() == "precious"
    assert version_of(tmp_path / "study.db.backup-v1.2") == 1
    assert backup_path(path, 1).name == "study.db.backup-v1.3"


def test_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    make(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    before = path.read_bytes()
    for use in (make, Study.read):
        with pytest.raises(VersionMismatch, match=f"version {VERSION + 1}.*up to {VERSION}"):
            use(path)
    assert path.read_bytes() == before


def test_a_migration_that_fails_halfway_leaves_the_old_version(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    make(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    broken = (*MIGRATIONS, "CREATE TABLE more (x); CREATE TABLE more (x);")
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(connection, path, broken)
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    connection.close()
    assert "more" not in tables and version_of(path) == VERSION
    make(path).close()


def test_an_event_of_a_kind_that_is_not_known_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    with make(path) as study:
        study._log.append([("remark", None, {"text": "by a later release of the same schema"})])
    with make(path) as study:
        assert len(study.ask(1)) == 1
