"""The drive of ``paraboloid run`` over a file that cannot be written for a while: it waits, and drops no value."""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from paraboloid.cli import driving
from paraboloid.cli.driving import Drive
from paraboloid.core import Vector
from paraboloid.run import Crew
from paraboloid.study import Study
from tests.cli.support import told, wait_until


@pytest.mark.parametrize("trouble", ["locked", "full"])
def test_a_value_that_cannot_be_written_is_kept_and_written_later(
    trouble: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driving, "PAUSE", 0.1)
    path, said, measured = tmp_path / "study.db", list[str](), list[float]()
    with (
        Study.open(path, [(0, 1)], budget=6, rng=0, timeout=0.2) as study,
        contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        own = study._log._connection

        def begin() -> None:
            if trouble == "locked":
                other.execute("BEGIN IMMEDIATE")
            else:  # a real SQLITE_FULL: the file may not grow by a single page
                own.execute(f"PRAGMA max_page_count = {own.execute('PRAGMA page_count').fetchone()[0]}")

        def end() -> None:
            if trouble == "locked":
                other.execute("ROLLBACK")
            else:
                own.execute("PRAGMA max_page_count = 1073741823")

        def measure(x: Vector) -> float:
            measured.append(float(x[0]))
            if len(measured) == 2:
                begin()
                if trouble == "full":
                    raise RuntimeError("x" * 5000)  # with its reason the answer needs a page that is not to be had
            return float(x[0]) ** 2

        @contextlib.contextmanager
        def hired() -> Iterator[Crew]:
            with Crew(measure) as crew:
                yield crew

        drive = Drive(study, hired, say=said.append)
        drive.start()
        wait_until(lambda: len(said) >= 2, "two tries in vain")
        n_measured = len(measured)
        end()
        assert n_measured == 2, "nothing more is measured while the last answer is not safe"
        assert drive.wait(30) and drive.error is None
    assert all("Trying again" in sentence for sentence in said)
    assert len(measured) == 6, "nothing is measured twice"
    assert sorted(told(path)) == list(range(1, 7))
