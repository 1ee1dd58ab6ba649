"""Sheets and exports that go out, and old data that comes in: nothing is overwritten, nothing counts twice."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from paraboloid import Ball, Box, Knob, Study, UsageError
from paraboloid.study.sheet_columns import knobs_of
from paraboloid.study.sheet_reading import read_old_data, tell_sheet
from paraboloid.study.sheet_writing import export_rows, history_rows, sheet_rows, write_table
from tests.study.support import BOX, filled, make, measure


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


# -- sheets that go out ------------------------------------------------------------------------------------------------


def test_a_sheet_is_in_random_order_that_is_that_of_the_seed_and_the_round(tmp_path: Path) -> None:
    orders = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        with make(tmp_path / name, budget=None, batch=24, rng=seed) as study:
            orders.append([tuple(row[1:3]) for row in list(sheet_rows(study, study.ask(24)))[1:]])
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        n_changes = sum(one != other for one, other in itertools.pairwise(order))
        assert n_changes > 1.5 * (len(set(order)) - 1)  # in a sorted list each setting is one stretch: once
        assert order != sorted(order)


def test_nothing_is_overwritten_and_a_file_is_whole_or_not_there(folder: Path) -> None:
    (folder / "old.csv").write_text("precious")
    with pytest.raises(UsageError, match="exists"):
        write_table(folder / "old.csv", [["id"]])
    assert (folder / "old.csv").read_text() == "precious"

    def rows() -> Iterator[list[str]]:
        raise OSError(28, "No space left on device")
        yield

    with pytest.raises(OSError, match="No space"):
        write_table(folder / "new.csv", rows())

    def rows_during_which_somebody_is_faster() -> Iterator[list[str]]:
        yield ["id"]
        (folder / "new.csv").write_text("theirs")

    with pytest.raises(UsageError, match="somebody else"):
        write_table(folder / "new.csv", rows_during_which_somebody_is_faster())
    assert (folder / "new.csv").read_text() == "theirs"
    assert sorted(path.name for path in folder.iterdir()) == ["new.csv", "old.csv"]


def test_a_written_sheet_has_its_mark_and_line_ends_for_spreadsheets(folder: Path) -> None:
    with make(folder / "study.db") as study:
        write_table(folder / "sheet.csv", sheet_rows(study, study.ask(1)))
    content = (folder / "sheet.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfid,temperature [\xc2\xb0C],") and content.count(b"\r\n") == 2


def test_a_ball_has_sheets_too(folder: Path) -> None:
    ball = Ball([1.0, 2.0], 0.5)
    assert [knob.header for knob in knobs_of(ball)] == ["x1", "x2"]
    with Study.open(folder / "study.db", ball, budget=20, rng=1) as study:
        sheet = filled(folder, study, {k: {"value": "1"} for k in (1, 2, 3)})
        assert tell_sheet(study, sheet) == ["told"] * 3


# -- exports and old data ----------------------------------------------------------------------------------------------


def test_what_is_exported_and_told_to_another_study_gives_the_same_answer(folder: Path) -> None:
    with make(folder / "study.db") as study:
        while trials := study.ask(4):
            measure(study, trials)
        study.tell(3, 12.5, x={"time": 33.25}, replace=True)
        study.tell(4, [1.0, 2.0, 4.0], replace=True)
        study.tell(5, 3.0, sem=0.25, replace=True)
        study.tell(6, None, replace=True)
        write_table(folder / "all.csv", export_rows(study))
        expected, status = study.recommend(), study.status()
    with make(folder / "copy.db") as copy:
        tell_sheet(copy, read_old_data(folder / "all.csv", copy))
        found = copy.recommend()
        assert (copy.status().n_measurements, copy.status().n_failures) == (status.n_measurements, status.n_failures)
    # A block in place of three values, and the order of trials: the same but for rounding.
    assert np.allclose(found.x, expected.x, rtol=1e-6) and found.fun == pytest.approx(expected.fun, rel=1e-6)


def test_the_history_has_every_attempt_and_correction(folder: Path) -> None:
    with make(folder / "study.db") as study:
        study.ask(1)
        study.retry(1)
        study.ask(1)
        study.tell(1, 5.0)
        study.tell(1, 6.0, replace=True)
        rows = list(history_rows(study))
    assert [row[2] for row in rows[1:]] == ["asked", "retried", "asked", "told", "corrected"]


OLD = "time,temperature,yield,day\n30,170,16.5,1\n30,170,16.5,1\n40,180,19,2\n"


def old(folder: Path, study: Study, content: str, name: str = "old.csv", **options: str) -> list[str]:
    (folder / name).write_text(content)
    return tell_sheet(study, read_old_data(folder / name, study, names={"value": "yield"}, **options))  # type: ignore[arg-type]


def test_old_data_is_told_once_equal_rows_count_each_and_a_changed_value_is_noticed(folder: Path) -> None:
    with make(folder / "study.db") as study:
        assert old(folder, study, OLD) == ["old"] * 3
        assert old(folder, study, OLD) == ["same"] * 3
        shuffled = "yield,temperature,time\n19,180,40\n16.5,170,30\n16.5,170,30\n"
        assert old(folder, study, shuffled) == ["same"] * 3
        assert old(folder, study, OLD + "50,190,18,3\n") == ["same"] * 3 + ["old"]
        with pytest.raises(UsageError, match=r"old\.csv, row 4: .*replace=True"):
            old(folder, study, OLD.replace("19", "18"))
        assert old(folder, study, OLD.replace("19", "18"), "new.csv", source="another notebook") == ["old"] * 3
        assert study.status().n_measurements == 7 and study.status().left == 40


def test_old_data_may_be_chosen_by_a_column_and_needs_every_knob(folder: Path) -> None:
    with make(folder / "study.db") as study:
        (folder / "old.csv").write_text(OLD)
        names = {"value": "yield"}
        sheet = read_old_data(folder / "old.csv", study, names=names, where={"Day": "2"})
        assert sheet.rows == (4,) and sheet.answers[0].x == {"temperature": 180.0, "time": 40.0}
        wrongs: list[tuple[dict[str, Any], str]] = [
            ({"where": {"shift": "1"}}, "no column shift"),
            ({"names": {"value": "loss"}}, "no column value"),
            ({"names": {**names, "speed": "day"}}, "speed is no knob"),
        ]
        for wrong, message in wrongs:
            with pytest.raises(UsageError, match=message):
                read_old_data(folder / "old.csv", study, **{"names": names, **wrong})
        for content, message in (
            ("time,yield\n30,1\n", r"no column temperature \[°C\]"),
            ("time,temperature,yield\n30,,1\n", "row 2, column 'temperature': there is a value, but no setting"),
            ("time,temperature,yield\nn/a,170,1\n", "row 2, column 'time'"),
        ):
            with pytest.raises(UsageError, match=message):
                old(folder, study, content)
        assert study.status().n_measurements == 0


def test_a_log_knob_that_is_not_above_zero_is_refused_by_row(folder: Path) -> None:
    with Study.open(folder / "study.db", Box([Knob("dose", 1, 100, log=True)]), rng=0) as study:
        (folder / "old.csv").write_text("dose,value\n5,1\n0,2\n")
        with pytest.raises(UsageError, match="row 3, column 'dose'"):
            read_old_data(folder / "old.csv", study)


def test_the_bounds_of_the_study_are_those_of_its_knobs_on_sheets() -> None:
    assert [(knob.low, knob.high) for knob in knobs_of(BOX)] == [(150, 210), (20, 60)]
