"""What other processes do to a study in the tests of storage; loaded once by the server that forks them."""

import os
import sqlite3
import time
from pathlib import Path

from paraboloid import Study
from paraboloid.store import StoreError
from tests.store.support import say
from tests.study.support import make, measure


def hold(path: Path, said: Path) -> None:
    study = make(path)
    study.ask(2)
    say(said, "held")
    time.sleep(600)


def hold_silently(path: Path, said: Path) -> None:
    """Hold a study, but give no sign of life: as a process that hangs."""
    study = make(path, lease=0.2)
    assert study._log._heartbeat is not None
    study._log._heartbeat.stop()
    study.ask(1)
    say(said, "held")
    while not said.with_name("go on").exists():
        time.sleep(0.01)
    try:
        study.ask(1)
    except StoreError as error:
        say(said, f"{type(error).__name__}: {error}")
    study.close()
    say(said, "closed")
    time.sleep(600)


def lock_the_file(path: Path, said: Path, seconds: float) -> None:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    say(said, "locked")
    time.sleep(seconds)
    connection.execute("ROLLBACK")
    connection.close()
    say(said, "free")


def poll(path: Path, said: Path) -> None:
    """Read the status as fast as possible until told to stop; say what went wrong."""
    say(said, "polling")
    n = 0
    try:
        with Study.read(path) as reader:
            while not said.with_name("stop").exists():
                reader.status()
                n += 1
        say(said, f"fine {n}")
    except Exception as error:
        say(said, f"{type(error).__name__}: {error}")


def try_to_work_as_nobody(path: Path, said: Path) -> None:
    """Try to write without the right to; the superuser may write everywhere, so this is somebody else."""
    os.setgid(65534)
    os.setuid(65534)
    try:
        with make(path) as study:
            measure(study, study.ask())
        say(said, "worked")
    except Exception as error:
        say(said, f"{type(error).__name__}: {error}")
    try:
        with Study.read(path) as reader:
            say(said, f"reads {reader.status().n_measurements}")
    except Exception as error:
        say(said, f"reading {type(error).__name__}: {error}")
    say(said, "done")
