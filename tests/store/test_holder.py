"""One writer at a time: who it is, when it may be followed, and that clocks and copies deceive nobody."""

import gc
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from paraboloid import Study
from paraboloid.store import EventLog, Holder, Place, StudyHeld, this_place, uptime
from tests.store.holding import hold, hold_silently
from tests.store.support import kill, start, wait_for
from tests.study.support import make, measure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def test_a_second_writer_is_told_who_holds_the_study(path: Path) -> None:  # A12
    said = path.with_name("said")
    process = start(hold, path, said)
    wait_for(said, "held")
    here = this_place()
    for take_over in (False, True):  # a holder that lives is not followed
        with pytest.raises(StudyHeld, match=f"process {process.pid} on {here.host}"):
            make(path, take_over=take_over)
    with Study.read(path) as reader:
        assert f"process {process.pid}" in str(reader.status().holder)
    kill(process)
    with make(path) as study:  # it is surely gone: nothing more is asked
        assert [trial.attempt for trial in study.ask(2)] == [2, 2]


def test_a_process_cannot_open_a_study_twice_but_may_drop_and_reopen_it(path: Path) -> None:
    study = make(path)
    with pytest.raises(StudyHeld, match=f"process {this_place().pid}"):
        make(path)
    study.ask()
    del study
    gc.collect()
    with make(path) as study:
        assert study.ask()[0].attempt == 2


def test_a_silent_holder_is_followed_on_demand_and_can_write_no_more(path: Path) -> None:  # A12, A14
    said = path.with_name("said")
    process = start(hold_silently, path, said)
    wait_for(said, "held")
    while (holder := _holder(path)).silence is not None and holder.silence < 0.3:
        pass
    with pytest.raises(StudyHeld, match="take_over=True"):
        make(path)
    with make(path, take_over=True) as study:
        (again,) = study.ask(1)
        assert (again.id, again.attempt) == (1, 2)
        path.with_name("go on").touch()
        content = wait_for(said, "closed")
        assert f"StudyHeld: {path} was taken over by process {this_place().pid}" in content
        measure(study, [again])  # the old holder's close did not let go of what is ours
        assert study.status().n_measurements == 1
    kill(process)


def test_a_holder_gives_signs_of_life_while_it_measures_for_long(path: Path) -> None:
    with make(path, lease=0.2):  # nothing is asked or told: as in a long measurement
        end = uptime() + 30
        while _holder(path).beats < 3 and uptime() < end:
            pass
        assert _holder(path).beats >= 3
        with pytest.raises(StudyHeld):
            make(path, take_over=True)


def _holder(path: Path) -> Holder:
    with EventLog.read(path) as log:
        holder = log.holder()
    assert holder is not None
    return holder


def _rewritten(path: Path, **columns: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE holder SET {name} = ?", (value,))
    connection.close()


@pytest.fixture
def left_open(path: Path) -> Path:
    """A study whose holder is another machine, which was switched off (or so it seems from here)."""
    study = make(path)
    study.ask()
    _rewritten(path, host="bench-3", machine="another", boot="another/pid:[1]", pid=4711, lease=0.3)
    # The WAL stays: the connection is dropped, not closed, as by a crash.
    study._log._heartbeat.stop()  # type: ignore[union-attr]  # a writer has one
    copy = path.with_name("elsewhere.db")
    for end in ("", "-wal"):
        shutil.copyfile(f"{path}{end}", f"{copy}{end}")
    del study
    gc.collect()
    _rewritten(copy, inode=str(copy.stat().st_ino))
    return copy


@pytest.mark.filterwarnings("ignore:.*-wal file is gone")
def test_a_holder_on_another_machine_is_followed_after_a_lease_was_watched(left_open: Path) -> None:
    with pytest.raises(StudyHeld, match="process 4711 on bench-3"):
        make(left_open)
    before = uptime()
    with make(left_open, take_over=True) as study:
        assert uptime() - before >= 0.3
        assert study.ask()[0].attempt == 2


@pytest.mark.filterwarnings("ignore:.*-wal file is gone")
def test_a_holder_that_gives_a_sign_while_watched_is_not_followed(left_open: Path) -> None:
    _rewritten(left_open, lease=3.0)
    process = start(_beat_elsewhere, left_open)
    with pytest.raises(StudyHeld, match="bench-3"):
        make(left_open, take_over=True)
    process.join(10)


def _beat_elsewhere(path: Path) -> None:
    import time

    time.sleep(0.5)
    _rewritten(path, beats=7)


def test_wall_clocks_decide_nothing(path: Path) -> None:  # A13
    study = make(path)
    study.ask(1, lease=3600.0)
    for when in ("1999-01-01T00:00:00.000000Z", "2199-01-01T00:00:00.000000Z"):
        _rewritten(path, time=when)
        for take_over in (False, True):
            with pytest.raises(StudyHeld):
                make(path, take_over=take_over)
    study.close()


def test_a_clock_that_jumps_a_day_makes_no_trial_stale_and_keeps_the_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # A13
    import time

    real = time.time
    with make(path) as study:
        first = study.ask(1, lease=3600.0)
        for jump in (86_400.0, -86_400.0):
            monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
            assert not any(trial.is_lost for trial in study.status().running)
            assert all(trial.age < 60 for trial in study.status().running)
            measure(study, study.ask(2))
        monkeypatch.undo()
        measure(study, first)
    with EventLog.read(path) as log:
        events = log.events()
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert [event.time for event in events] != sorted(event.time for event in events)


def test_who_lives_is_known_by_process_and_start_and_boot() -> None:
    here = this_place()
    me = Holder(here, "token", "1", 60.0, 0, uptime(), "")
    assert me.is_alive is False  # this process has no study open with that token
    parent = Holder(replace(here, pid=1, started=""), "token", "1", 60.0, 0, uptime(), "")
    assert parent.is_alive is True
    used_again = replace(parent, place=replace(parent.place, started="12345"))
    assert used_again.is_alive is False
    before_boot = replace(me, place=replace(here, boot="earlier/" + here.boot.split("/")[1]))
    assert before_boot.is_alive is False and before_boot.silence is None
    other_container = replace(me, place=replace(here, boot=here.boot + "1"))
    assert other_container.is_alive is None
    elsewhere = replace(me, place=Place("bench-3", "another", "another/pid", 1, ""))
    assert elsewhere.is_alive is None and elsewhere.silence is None


def test_a_study_can_be_renamed_and_a_copy_of_an_open_one_opens_on_its_own(path: Path) -> None:  # A18
    with make(path) as study:
        measure(study, study.ask(3))
        (out,) = study.ask()
        copy = path.with_name("copy.db")
        for end in ("", "-wal"):
            shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        with make(copy) as other:
            assert other.status().n_measurements == 3
            assert [trial.id for trial in other.ask()] == [out.id + 1]  # what is out in the original stays out
            measure(other, other.trials("RUNNING"))
        measure(study, [out])
        assert study.status().n_measurements == 4
    moved = path.rename(path.with_name("a name with blanks, ünïcode & ?#%.db"))
    with make(moved) as study:
        assert study.status().n_measurements == 4 and study.settings["study"] == Study.read(copy).settings["study"]
