"""Sheets from people and spreadsheets: read right, or refused by row and column; all rows or none (FAULTS F1 to F7)."""

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid import Box, Knob, Study, TrialState, UsageError
from paraboloid.study.sheet_cells import looks_like_date, neutralised, plain, read_number
from paraboloid.study.sheet_columns import NEARNESS
from paraboloid.study.sheet_reading import read_old_data, read_sheet, tell_sheet
from paraboloid.study.sheet_table import MOST_BYTES, MOST_ROWS
from paraboloid.study.sheet_writing import export_rows, history_rows, sheet_rows, write_table
from tests.study.support import filled, make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def told(folder: Path, content: str | bytes, *, n: int = 3) -> list[float | None]:
    """Tell a new study of n trials a sheet of this content, and return the values of its trials."""
    (folder / "study.db").unlink(missing_ok=True)
    with make(folder / "study.db") as study:
        study.ask(n)
        tell_sheet(study, read_sheet(written(folder, content), study))
        return [trial.value for trial in study.trials()[:n]]


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study that asked for 15 trials and takes nothing of what it is told here, so that all tests may share it."""
    with make(tmp_path_factory.mktemp("refusing") / "study.db") as study:
        study.ask(15)
        yield study


def refusal(study: Study, folder: Path, content: str | bytes) -> str:
    """Return why a sheet is refused, after checking that nothing of it was taken."""
    with pytest.raises(UsageError) as refused:
        tell_sheet(study, read_sheet(written(folder, content), study))
    assert study.status().counts["RUNNING"] == 15 and study.status().n_measurements == 0
    return str(refused.value)


def written(folder: Path, content: str | bytes) -> Path:
    path = folder / "filled.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# -- F1: how a file is written -----------------------------------------------------------------------------------------

PLAIN = "id,value,note\n1,80.5,cold\n2,79.25,\n3,1234.5,\n"
VALUES = [80.5, 79.25, 1234.5]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("\n", "\r"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t").encode("utf-16"),
        "sep=;\n" + PLAIN.replace(",", ";"),
        "\n , ,\n" + PLAIN,
        PLAIN.replace(",", " , "),
        PLAIN.replace(",", ";").replace(".", ","),
        PLAIN.replace(",", ";").replace(".", ",").replace("1234", "1.234"),
        PLAIN.replace(",", ";").replace("1234", "1,234"),
        PLAIN.replace("1234.5", '"1,234.5"'),
        PLAIN.replace("1234.5", "1 234.5"),
        PLAIN.replace("1234.5", "1\u202f234.5"),
        PLAIN.replace("1234.5", "1'234.5"),
        PLAIN.replace("1234.5", "1.2345e3"),
        PLAIN.replace("cold", "kühl").encode("latin-1"),
        PLAIN.replace("cold", "5 µl at 20 °C").encode("cp1252"),
        PLAIN.replace("cold", '"two\nlines, and a ""quotation"""'),
        PLAIN.replace("id", " ID ").replace("value", "Value"),
        PLAIN + "\n,,\n\n",
        "note,value,id\n,80.5,1\n,79.25,2\n,1234.5,3\n",
        "id,value,operator\n1,80.5,Ann\n2,79.25,Bo\n3,1234.5,\n",
        "id,value,,\n1,80.5,,\n2,79.25,,\n3,1234.5,,\n",
        "id,value\n1.0,80.5\n2.0,79.25\n3.0,1234.5\n",
    ],
)
def test_the_same_sheet_in_every_dress(folder: Path, content: str | bytes) -> None:
    assert told(folder, content) == VALUES


def test_latin_1_and_utf_8_keep_the_letters_of_a_note(folder: Path) -> None:
    told(folder, "id,value,note\n1,80.5,kühl, aber gut\n".replace(", aber", " aber").encode("latin-1"))
    with Study.read(folder / "study.db") as study:
        assert study.trial(1).note == "kühl aber gut"


@pytest.mark.parametrize("text", ["1,234", "1.234"])
def test_a_mark_that_may_be_two_things_is_refused_unless_the_file_decides(
    refusing: Study, folder: Path, text: str
) -> None:
    message = refusal(refusing, folder, f"id;value\n1;{text}\n2;5\n")
    assert "row 2, column 'value'" in message and "thousands mark" in message
    assert told(folder, f"id;value\n1;{text}\n2;0,5\n")[0] == (1.234 if "," in text else 1234.0)
    assert told(folder, f"id;value\n1;{text}\n2;0.5\n")[0] == (1234.0 if "," in text else 1.234)
    assert "thousands" in refusal(refusing, folder, f"id;value\n1;{text}\n2;0.5\n3;0,5\n")


def test_with_commas_between_cells_three_decimals_are_decimals(folder: Path) -> None:
    assert told(folder, "id,value\n1,1.234\n2,5.678\n")[:2] == [1.234, 5.678]


@pytest.mark.parametrize("row", ["1,80,5,,", "1,80,5", "1,80,5,cold,,x"])
def test_a_decimal_comma_between_commas_is_not_taken_for_a_standard_error(
    refusing: Study, folder: Path, row: str
) -> None:
    message = refusal(refusing, folder, f"id,value,sem,note\n{row}\n")
    assert "row 2" in message and "decimal comma" in message


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_every_number_that_we_write_is_read_back(number: float, has_comma: bool) -> None:
    text = repr(number).replace(".", ",") if has_comma else repr(number)
    read = read_number(text)
    assert read is not None
    assert read.resolved("," if has_comma else ".") == number


@given(st.integers(-(10**15), 10**15), st.sampled_from([",", ".", " ", "\u00a0", "'"]))
def test_thousands_are_read_whatever_marks_them(number: int, mark: str) -> None:
    text = f"{number:,}".replace(",", mark)
    read = read_number(text)
    assert read is not None
    assert read.resolved("." if mark == "," else ",") == number


@given(st.text("0123456789.,' eE+-", max_size=12))
def test_what_is_read_as_a_number_is_one_to_python_once_its_groups_are_gone(text: str) -> None:
    read = read_number(text)
    if read is not None:
        digits = re.sub(r"[^0-9]", "", re.split(r"[eE]", text)[0])
        assert digits and np.isfinite(float(digits))
        assert re.fullmatch(r"[+\-0-9.,' eE]+", text)


# -- F2: columns, blank rows, what is no number ------------------------------------------------------------------------


def test_rows_that_are_not_filled_in_leave_their_trials_open(folder: Path) -> None:
    assert told(folder, "id,value,state\n1,,\n\n2,80.5,\n3,,RUNNING\n") == [None, 80.5, None]
    with Study.read(folder / "study.db") as study:
        assert [trial.state.name for trial in study.trials()[:3]] == ["RUNNING", "COMPLETE", "RUNNING"]


@pytest.mark.parametrize("text", ["n/a", "N/A", "NA", "nan", "-", "–", "'-", "none", "inf", "-inf", "failed"])
def test_no_value_is_a_failure_and_what_was_written_is_kept(folder: Path, text: str) -> None:
    told(folder, f"id,value\n1,{text}\n2,80.5\n")
    with Study.read(folder / "study.db") as study:
        trial = study.trial(1)
        assert trial.state is TrialState.FAILED and trial.value is None and text in trial.note
        assert study.status().n_measurements == 1


@pytest.mark.parametrize(("text", "value"), [("<0.1", 0.1), ("> 99.9", 99.9), ("≤0,5", 0.5), (">=1e3", 1000.0)])
def test_a_limit_that_was_passed_is_censored(folder: Path, text: str, value: float) -> None:
    assert told(folder, f"id;value\n1;{text}\n")[0] == value
    with Study.read(folder / "study.db") as study:
        assert study.trial(1).state is TrialState.CENSORED and text in study.trial(1).note
        assert study.status().n_measurements == 0


@pytest.mark.parametrize(
    "text", ["#DIV/0!", "80.5 %", "about 80", "80.5?", "1_000", "0x10", "1.2.3", "1,23,456", "--5", "=A1"]
)
def test_anything_else_is_refused_by_row_and_column(refusing: Study, folder: Path, text: str) -> None:
    message = refusal(refusing, folder, f'note,id,value\n,2,79.0\n,1,"{text}"\n')
    assert "row 3, column 'value'" in message and repr(text) in message and "nothing was taken" in message


def test_states_and_standard_errors_have_their_columns(folder: Path) -> None:
    content = (
        "id,value,sem,state,note\n1,80.5,0.3,complete,\n2,,,FAILED,spilled\n3,99.9,,Censored,full\n4,,,abandoned,\n"
    )
    assert told(folder, content, n=4) == [80.5, None, 99.9, None]
    with Study.read(folder / "study.db") as study:
        assert [trial.state.name for trial in study.trials()[:4]] == ["COMPLETE", "FAILED", "CENSORED", "ABANDONED"]
        assert (study.trial(1).sem, study.trial(2).note) == (0.3, "spilled")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,value,sem\n1,80,0\n", "row 2, column 'sem'"),
        ("id,value,sem\n1,80,-1\n", "row 2, column 'sem'"),
        ("id,value,sem\n1,80,much\n", "row 2, column 'sem'"),
        ("id,value,state\n1,80,done\n", "row 2, column 'state'"),
        ("id,value,state\n1,,COMPLETE\n", "row 2: its state is COMPLETE"),
        ("id,value,value\n1,80,81\n", "both mean value"),
        ("id,note\n1,80\n", "no column value"),
        ("value,note\n80,\n", "no column id"),
        ("trial,yield\n1,80\n", "no column is known"),
        ("id,value\n,80\n", "no id"),
        ("id,value,\n1,80,81\n", "no header"),
        ("id,value\n1,1e999\n", "too large"),
        ('id,value\n1,"80\n', "Quotation marks"),
    ],
)
def test_what_cannot_be_meant_is_refused(refusing: Study, folder: Path, content: str, message: str) -> None:
    assert message in refusal(refusing, folder, content)


def test_every_problem_is_said_at_once_and_not_only_the_first(refusing: Study, folder: Path) -> None:
    rows = "".join(f"{number},x\n" for number in range(1, 16))
    message = refusal(refusing, folder, f"id,value\n{rows}")
    assert message.count("row ") == 10 and "and 5 more" in message


def test_replicates_have_a_column_each(folder: Path) -> None:
    with make(folder / "study.db") as study:
        trials = study.ask(2, repeats=3)
        rows = [list(row) for row in sheet_rows(study, trials)]
        first = rows[0].index("value 1")
        rows[1][first : first + 3] = ["1", "2", "n/a"]
        rows[2][first : first + 3] = ["4", "", ""]
        write_table(folder / "sheet.csv", rows)
        tell_sheet(study, read_sheet(folder / "sheet.csv", study))
        assert (study.trial(1).values, study.trial(1).failures, study.trial(2).value) == ((1.0, 2.0), 1, 4.0)
        rows[1][first : first + 3] = ["1", "<2", ""]
        write_table(folder / "mixed.csv", rows)
        with pytest.raises(UsageError, match="row 2: '<2' is a limit"):
            read_sheet(folder / "mixed.csv", study)
    with make(folder / "blocks.db", budget=600) as study, pytest.raises(UsageError, match="50 replicates"):
        list(sheet_rows(study, study.ask(1, repeats=51)))


# -- F3: ids, all or none, twice, edited settings ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1,80\n99,81\n", "row 3, column 'id': there is no trial 99"),
        ("1,80\n2,81\n1,80\n", "row 4, column 'id': trial 1 is in row 2 too"),
        ("1,80\nx,81\n", "row 3, column 'id'"),
        ("1,80\n1.5,81\n", "row 3, column 'id'"),
        ("1,80\n1e0,81\n", "row 3, column 'id'"),
        ("1,80\n-2,81\n", "row 3, column 'id'"),
    ],
)
def test_wrong_ids_refuse_the_whole_sheet(refusing: Study, folder: Path, rows: str, message: str) -> None:
    assert message in refusal(refusing, folder, f"id,value\n{rows}")


def test_a_second_time_changes_nothing_and_another_value_names_its_row(folder: Path) -> None:
    with make(folder / "study.db") as study:
        study.ask(3)
        (folder / "sheet.csv").write_text("id,value\n1,80\n2,n/a\n3,<5\n")
        sheet = read_sheet(folder / "sheet.csv", study)
        before = study.status().events
        assert tell_sheet(study, sheet, dry_run=True) == ["told"] * 3 and study.status().events == before
        assert tell_sheet(study, sheet) == ["told"] * 3
        after = study.status().events
        assert tell_sheet(study, read_sheet(folder / "sheet.csv", study)) == ["same"] * 3
        assert study.status().events == after
        (folder / "other.csv").write_text("id,value\n\n2,n/a\n1,81\n")
        with pytest.raises(UsageError, match=r"other\.csv, row 4: trial 1 was told 80\.0 before"):
            tell_sheet(study, read_sheet(folder / "other.csv", study))
        assert study.status().events == after
        corrected = read_sheet(folder / "other.csv", study, replace=True)
        assert tell_sheet(study, corrected) == ["same", "corrected"] and study.trial(1).value == 81


def test_an_edited_setting_is_what_was_measured_and_noted(folder: Path) -> None:
    with make(folder / "study.db") as study:
        changes = {
            1: {"value": "80", "temperature [°C]": "201.5"},
            2: {"value": "81"},
            3: {"value": "", "time [min]": "1"},
        }
        sheet = filled(folder, study, changes)
        tell_sheet(study, sheet)
        trial = study.trial(1)
        assert trial.executed == {"temperature": 201.5, "time": trial.x["time"]}
        assert "201.5 in place of" in trial.note and len(sheet.notices) == 1 and "row 2" in sheet.notices[0]
        assert study.trial(2).executed is None and study.trial(2).note == ""
        assert study.trial(3).state is TrialState.RUNNING


def test_the_digits_that_a_sheet_leaves_out_are_no_edit(folder: Path) -> None:
    box = Box([Knob("flow", 1e-12, 3e-12), Knob("pH", 1.23456789, 9.87654321), Knob("dose", 1e-3, 1e4, "mg", log=True)])
    with Study.open(folder / "study.db", box, budget=60, rng=1) as study:
        trials = study.ask(30)
        rows = [list(row) for row in sheet_rows(study, trials)]
        for trial, row in zip(trials, rows[1:], strict=True):
            unit = box.to_unit([float(text) for text in row[1:4]]) - box.to_unit(list(trial.x.values()))
            assert np.abs(unit).max() <= NEARNESS * (1 + 1e-9)
            row[4] = "1"
        write_table(folder / "sheet.csv", rows)
        sheet = read_sheet(folder / "sheet.csv", study)
        assert sheet.notices == () and all(answer.x is None for answer in sheet.answers)
        assert max(len(text) for row in rows[1:] for text in row[1:4]) <= 12


@pytest.mark.parametrize("decimal_comma", [False, True])
def test_a_sheet_with_decimal_comma_goes_out_and_comes_back(folder: Path, decimal_comma: bool) -> None:
    with make(folder / "study.db") as study:
        sheet = filled(folder, study, {k: {"value": "80,5"} for k in (1, 2, 3)}, decimal_comma=decimal_comma)
        assert [answer.value for answer in sheet.answers] == [80.5] * 3 and sheet.notices == ()
    assert ((folder / "sheet.csv").read_bytes().count(b";") > 0) is decimal_comma


def test_a_sheet_of_another_study_is_refused_though_its_ids_are_known(folder: Path) -> None:
    with make(folder / "a.db") as mine, make(folder / "b.db", rng=5) as other:
        other.ask(3)
        filled(folder, mine, {1: {"value": "80"}})
        with pytest.raises(UsageError, match=r"row 2, column 'study': the sheet is of the study P-"):
            read_sheet(folder / "sheet.csv", other)


def test_a_setting_outside_the_bounds_is_used_with_a_warning(folder: Path) -> None:  # E5
    with make(folder / "study.db") as study:
        sheet = filled(folder, study, {1: {"value": "80", "time [min]": "65"}})
        with pytest.warns(UserWarning, match="outside the bounds"):
            tell_sheet(study, sheet)


# -- F4: dates ---------------------------------------------------------------------------------------------------------

DATES = ["1-May", "01. Mai", "May-05", "12.05.2026", "2026-05-12", "5/12/26", "1/2", "12:30", "12:30:00", "1 août 2026"]


@pytest.mark.parametrize("text", [*DATES, "2026-05-12 08:00", "01.Jan", "Dec 26"])
def test_dates_are_known_as_such_in_every_column(refusing: Study, folder: Path, text: str) -> None:
    for column, row in (
        ("value", f'1,"{text}",,'),
        ("id", f'"{text}",80,,'),
        ("sem", f'1,80,"{text}",'),
        ("time", f'1,80,,"{text}"'),
    ):
        message = refusal(refusing, folder, f"id,value,sem,time\n{row}\n")
        assert f"row 2, column '{column}'" in message and "is a date" in message


def test_a_date_counted_in_days_is_no_setting(refusing: Study, folder: Path) -> None:
    assert "counts in days" in refusal(refusing, folder, "id,value,time\n1,80,46154\n")  # 12 May 2026


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_is_taken_for_a_date(number: float) -> None:
    assert not looks_like_date(repr(number))


def test_our_ids_and_marks_are_none_of_the_things_that_spreadsheets_turn_into_others(folder: Path) -> None:
    with make(folder / "study.db") as study:
        for row in list(sheet_rows(study, study.ask(40)))[1:]:
            assert re.fullmatch(r"\d+", row[0]) and re.fullmatch(r"P-[0-9a-f]{6}", row[-1])


# -- F5: cells that would act ------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("='+-@\t\ra1 "), max_size=6))
def test_neutralised_text_cannot_act_and_comes_back(text: str) -> None:
    safe = neutralised(text)
    assert not safe.startswith(("=", "+", "-", "@", "\t", "\r")) and plain(safe) == text


def test_notes_reasons_and_names_are_neutralised_and_read_back(folder: Path) -> None:
    box = Box([Knob("=cmd|' /C calc'!A0", 0, 1, "@x"), Knob("value", 0, 1), Knob("-y", 0, 1)])
    with Study.open(folder / "study.db", box, budget=20, rng=0) as study:
        first, second = study.ask(2)
        study.tell(first.id, -1.5, note="=HYPERLINK(1)")
        study.tell(second.id, None, note="+1")
        write_table(folder / "all.csv", export_rows(study))
        write_table(folder / "history.csv", history_rows(study))
        sheet = list(sheet_rows(study, study.ask(1)))
    rows = []
    for name in ("all.csv", "history.csv"):
        with open(folder / name, encoding="utf-8-sig", newline="") as file:
            rows += list(csv.reader(file))
    for cell in (cell for row in [*rows, *sheet] for cell in row):
        assert not cell.startswith(("=", "+", "@", "\t", "\r"))
        assert not cell.startswith("-") or float(cell) < 0
    with Study.open(folder / "copy.db", box, budget=20, rng=0) as copy:
        tell_sheet(copy, read_old_data(folder / "all.csv", copy))
        notes = {trial.note for trial in copy.trials()}
        assert notes == {"=HYPERLINK(1)", "+1"} and copy.trial(1).x == first.x and copy.trial(1).value == -1.5


# -- F6: half-written, locked, long ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_lost", [1, 2, 4, 9, 15])
def test_a_file_that_ends_in_the_middle_of_a_line_is_refused(refusing: Study, folder: Path, n_lost: int) -> None:
    content = "id,value,note\n1,80.5,x\n2,79.25,long note\n"
    assert "middle of a line" in refusal(refusing, folder, content[:-n_lost])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"\n\n  \n", "empty"),
        (b",,\n,,\n", "blank rows only"),
        (PLAIN.encode() + b"\0" * 512 + b"\n", "zero bytes"),
        (b"PK\x03\x04 spreadsheet", "save the sheet as CSV"),
        (b"id,value\n1,80\x81\x8d\n", "UTF-8"),
        (b"SQLite format 3\0", "a study"),
    ],
)
def test_what_is_no_whole_sheet_is_refused(refusing: Study, folder: Path, content: bytes, message: str) -> None:
    assert message.casefold() in refusal(refusing, folder, content).casefold()


def test_a_sheet_that_is_open_missing_or_a_folder_is_refused(folder: Path) -> None:
    with make(folder / "study.db") as study:
        study.ask(3)
        (folder / "sheet.csv").write_text(PLAIN)
        (folder / ".~lock.sheet.csv#").write_text(",ann,bench-3,,;")
        with pytest.raises(UsageError, match="open in a spreadsheet"):
            read_sheet(folder / "sheet.csv", study)
        (folder / ".~lock.sheet.csv#").unlink()
        os.mkfifo(folder / "pipe.csv")
        for wrong, message in ((folder, "folder"), (folder / "none.csv", "no file"), (folder / "pipe.csv", "no file")):
            with pytest.raises(UsageError, match=message):
                read_sheet(wrong, study)
        assert len(read_sheet(folder / "sheet.csv", study).answers) == 3


LONG = """
import resource, sys
from pathlib import Path
from paraboloid import Study, UsageError
from paraboloid.study.sheet_reading import read_old_data
with Study.open(sys.argv[1]) as study:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        read_old_data(Path(sys.argv[2]), study)
    except UsageError as error:
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)
"""


@pytest.mark.parametrize("width", [0, 60])
def test_a_million_rows_are_refused_in_bounded_memory(folder: Path, width: int) -> None:
    make(folder / "study.db").close()
    with open(folder / "long.csv", "w") as file:
        file.write("temperature,time,value,note\n")
        row = f"180,35,80.5,{'x' * width}\n"
        file.writelines([row] * 1_000_000)
    ended = subprocess.run(
        [sys.executable, "-c", LONG, str(folder / "study.db"), str(folder / "long.csv")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    megabytes, _, message = ended.stdout.partition(" ")
    assert f"{MOST_ROWS:,} rows" in message
    # The bytes, their text and a copy of it without its first line; rows of at most MOST_ROWS lists of five cells.
    assert int(megabytes) <= 4 * MOST_BYTES / 2**20 + MOST_ROWS * 600 / 2**20


def test_a_hundred_thousand_rows_are_read(folder: Path) -> None:
    with Study.open(folder / "study.db", [(0, 1)], budget=5, rng=0) as study:
        rows = (f"{k / MOST_ROWS},{k % 7}.5\r\n" for k in range(MOST_ROWS))
        (folder / "long.csv").write_text("x1,value\r\n" + "".join(rows))
        sheet = read_old_data(folder / "long.csv", study)
        assert len(sheet.answers) == MOST_ROWS and sheet.rows[-1] == MOST_ROWS + 1


# -- F7: units ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "header", ["temperature [°F]", "temperature [K]", "Temperature (°c)", "temperature []", "time [s]"]
)
def test_another_unit_is_refused(refusing: Study, folder: Path, header: str) -> None:
    message = refusal(refusing, folder, f'id,value,"{header}"\n1,80,180\n')
    assert header.strip() in message and "Convert" in message


@pytest.mark.parametrize(
    "header", ["temperature [°C]", "temperature", "TEMPERATURE [ °C ]", "temperature(ºC)", "temperature [˚C]"]
)
def test_the_unit_of_the_study_in_any_dress_is_taken(folder: Path, header: str) -> None:
    with make(folder / "study.db") as study:
        study.ask(1)
        (folder / "sheet.csv").write_text(f"id,value,{header}\n1,80,151.25\n", encoding="utf-8")
        (answer,) = read_sheet(folder / "sheet.csv", study).answers
        assert answer.x == {"temperature": 151.25}


def test_a_unit_where_the_study_has_none_is_refused_and_milligrams_are_no_grams(folder: Path) -> None:
    for box, header in (
        (Box([(0, 1)]), "x1 [g]"),
        (Box([Knob("x1", 0, 1, "mg")]), "x1 [g]"),
        (Box([Knob("x1", 0, 1, "mW")]), "x1 [MW]"),
    ):
        with Study.open(folder / "study.db", box, rng=0) as study:
            (folder / "old.csv").write_text(f"{header},value\n0.5,80\n")
            with pytest.raises(UsageError, match="Convert"):
                read_old_data(folder / "old.csv", study)
        (folder / "study.db").unlink()


def test_look_alike_letters_of_micro_are_one_unit(folder: Path) -> None:
    with Study.open(folder / "study.db", Box([Knob("x", 0, 1, "\u00b5l")]), rng=0) as study:
        (folder / "old.csv").write_text("x [\u03bcl],value\n0.5,80\n", encoding="utf-8")
        assert len(read_old_data(folder / "old.csv", study).answers) == 1
