"""Storage that refuses: full, read-only, locked, far away; and readers that never disturb (A5 to A9)."""

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from paraboloid import Study, UsageError
from paraboloid.store import StorageFull, StudyBusy, is_network_filesystem, place
from tests.store.holding import lock_the_file, poll, try_to_work_as_nobody
from tests.store.support import start, wait_for
from tests.study.support import make, measure, yield_of


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


# -- A5: full ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of one megabyte; where that cannot be had, the file-size limit below is what is tested."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("a file system of its own needs the superuser; test_a_file_size_limit tests the same without")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_said_nothing_is_half_written_and_it_goes_on_after(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with make(small_disk / "study.db") as study:
        measure(study, study.ask(5))
        trials = study.ask(10)
        free = shutil.disk_usage(small_disk).free
        ballast.write_bytes(b"\x00" * max(0, free - 8192))
        told: list[int] = []
        with pytest.raises(StorageFull, match="Free some space"):
            for trial in trials * 50:  # corrections, until nothing more fits
                study.tell(trial.id, yield_of(trial.x, len(told)), replace=True, note="x" * 500)
                told.append(trial.id)
        with Study.read(small_disk / "study.db") as reader:
            assert reader.status().events == 1 + 1 + 2 + 15 + 5 + len(told)
        assert study.status().unsaved == 1
        ballast.unlink()
        (last,) = study.ask(1)  # writes what was kept in memory first
        assert study.status().unsaved == 0
        measure(study, [last])
        assert study.history(trials[len(told) % 10].id)[-1].kind in ("told", "corrected")


def test_a_file_size_limit_is_a_full_disk_too(path: Path) -> None:
    with make(path) as study:
        trials = study.ask(10)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        size = path.with_name("study.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10_000, before[1]))
        try:
            with pytest.raises(StorageFull, match="limit"):
                for trial in trials * 50:
                    study.tell(trial.id, time.monotonic(), replace=True, note="x" * 500)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert study.status().unsaved == 1
        measure(study, study.ask(3))
        assert study.status().unsaved == 0
    with Study.read(path) as reader:
        assert reader.status().n_measurements >= 4


def test_a_full_disk_at_creation_leaves_nothing(small_disk: Path) -> None:
    (small_disk / "ballast").write_bytes(b"\x00" * (shutil.disk_usage(small_disk).free - 8192))
    with pytest.raises(StorageFull):
        make(small_disk / "study.db")
    assert [file.name for file in small_disk.iterdir()] == ["ballast"]


# -- A6: read-only -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, which needs the superuser")
@pytest.mark.parametrize(("file_mode", "folder_mode"), [(0o444, 0o777), (0o644, 0o755), (0o444, 0o555)])
def test_what_cannot_be_written_is_said_before_anything_is_measured(file_mode: int, folder_mode: int) -> None:
    folder = Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True, check=True).stdout.strip())
    said = Path(subprocess.run(["mktemp"], capture_output=True, text=True, check=True).stdout.strip())
    try:
        with make(folder / "study.db") as study:
            measure(study, study.ask(3))
        (folder / "study.db").chmod(file_mode)
        folder.chmod(folder_mode)
        said.chmod(0o666)
        process = start(try_to_work_as_nobody, folder / "study.db", said)
        content = wait_for(said, "done")
        process.join(30)
        assert content.startswith("StudyReadOnly") and "Nothing was measured" in content
        assert "reads 3" in content
    finally:
        shutil.rmtree(folder)
        said.unlink()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"nowhere.*does not exist"):
        make(tmp_path / "nowhere" / "study.db")


# -- A7: locked --------------------------------------------------------------------------------------------------------


def test_a_locked_file_is_waited_for(path: Path) -> None:
    with make(path, timeout=30.0) as study:
        trials = study.ask(2)
        process = start(lock_the_file, path, path.with_name("said"), 0.5)
        wait_for(path.with_name("said"), "locked")
        measure(study, trials[:1])
        assert "free" in path.with_name("said").read_text()
        process.join(10)


def test_a_file_that_stays_locked_is_said_and_the_value_is_kept(path: Path) -> None:
    said = path.with_name("said")
    with make(path, timeout=0.2) as study:
        trials = study.ask(3)
        process = start(lock_the_file, path, said, 1.5)
        wait_for(said, "locked")
        with pytest.raises(StudyBusy, match=r"0\.2 s.*1 answer is kept in memory"):
            study.tell(trials[0].id, 1.0)
        with pytest.raises(StudyBusy):
            study.ask()
        with pytest.raises(TimeoutError):
            study.tell(trials[1].id, 2.0)
        assert study.status().unsaved == 1  # the second was not taken, since the first waits before it
        wait_for(said, "free")
        process.join(10)
        study.tell(trials[1].id, 2.0)
        assert [study.trial(trial.id).value for trial in trials] == [1.0, 2.0, None]
        study.tell(trials[0].id, 1.0)  # its client tells again, as it should
        assert study.status().n_measurements == 2 and study.status().unsaved == 0


# -- A8: readers -------------------------------------------------------------------------------------------------------


def test_readers_disturb_no_writer_and_writers_no_reader(path: Path) -> None:
    make(path, budget=100_000).close()
    pollers = [(start(poll, path, said), said) for said in (path.with_name(f"poller-{k}") for k in range(2))]
    for _, said in pollers:
        wait_for(said, "polling")
    with make(path, budget=100_000, timeout=0.5) as study:  # a lock of half a second would be noticed
        for _ in range(5000):
            measure(study, study.ask())  # one transaction to ask, one to tell: 10,000 in all
    path.with_name("stop").touch()
    for process, said in pollers:
        content = wait_for(said, "\n", seconds=30)
        process.join(30)
        content = said.read_text()
        assert "fine" in content, content
        assert int(content.split()[-1]) >= 5


# -- A9: network file systems ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ("server:/x / nfs rw", "nfs"),
        ("disk / ext4 rw\nserver:/x /home cifs rw\n", "cifs"),
        ("disk / ext4 rw\nserver:/x /home/other nfs4 rw\n", "ext4"),
        ("disk / ext4 rw\nserver:/x /home\\040of nfs4 rw\n", "ext4"),
        ("disk / ext4 rw\nserver:/x /ho nfs4 rw\n", "ext4"),
        ("server:/x /home nfs rw\ndisk /home ext4 rw\n", "ext4"),
        ("", ""),
        ("garbled\n", ""),
    ],
)
def test_the_file_system_is_read_from_the_mount_table(mounts: str, expected: str) -> None:
    assert place.filesystem_type(Path("/home/me/study.db"), mounts) == expected


def test_on_a_network_file_system_a_rollback_journal_is_used_and_a_warning_given(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path).close()
    table = path.with_name("mounts")
    table.write_text(f"disk / ext4 rw 0 0\nserver:/home {path.parent.resolve()} nfs4 rw 0 0\n")
    monkeypatch.setattr(place, "MOUNTS", table)
    assert is_network_filesystem(path)
    with pytest.warns(UserWarning, match="network file system"):
        study = make(path)
    with study:
        assert study._log._connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        measure(study, study.ask(3))
        with Study.read(path) as reader:
            assert reader.status().n_measurements == 3
        assert any("network" in warning for warning in study.status().warnings)
    monkeypatch.undo()
    with make(path) as study:  # back on a disk of its own
        assert study._log._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert study.status().n_measurements == 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads the mount table of Linux")
def test_this_machine_s_disk_is_not_taken_for_a_network(tmp_path: Path) -> None:
    assert not is_network_filesystem(tmp_path / "study.db")
