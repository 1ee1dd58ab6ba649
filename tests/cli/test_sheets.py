"""``ask``, ``tell``, ``export`` and ``import``: what they print, what they leave behind, and how they exit."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from paraboloid import Study, TrialState
from paraboloid.cli import main
from tests.study.support import make, measure

TOML = """
[study]
maximize = true
budget = 40
seed = 0

[[knob]]
name = "temperature"
low = 150
high = 210
unit = "°C"

[[knob]]
name = "time"
low = 20
high = 60
unit = "min"
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    make(path).close()
    return path


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output
    return result


def called(*arguments: object) -> Any:
    """Return the JSON that a command prints."""
    return json.loads(call(*arguments, "--json").stdout)


def rows_of(path: Path) -> list[dict[str, str]]:
    with open(path, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def fill(path: Path, values: list[str]) -> None:
    """Fill in the values of a sheet from the top, as a spreadsheet would save it."""
    rows = rows_of(path)
    for row, value in zip(rows, values, strict=False):
        row["value"] = value
    with open(path, "w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


# -- ask ---------------------------------------------------------------------------------------------------------------


def test_ask_prints_trials_and_json_has_them_whole(study: Path) -> None:
    printed = call("ask", study)
    assert "temperature [°C]" in printed.stdout and "time [min]" in printed.stdout and printed.stderr == ""
    asked = called("ask", study, "-n", 3)
    assert [trial["id"] for trial in asked["trials"]] == [2, 3, 4]
    with Study.read(study) as opened:
        assert [dict(trial.x) for trial in opened.trials("RUNNING")][1:] == [trial["x"] for trial in asked["trials"]]


def test_a_study_toml_makes_the_study(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(TOML, encoding="utf-8")
    call("ask", tmp_path / "study.toml", "-n", 2)
    call("tell", tmp_path / "study.toml", 1, 17.5)
    call("tell", tmp_path, 2, 18)
    with Study.read(tmp_path / "study.db") as opened:
        assert opened.status().n_measurements == 2 and opened.settings["maximize"] and opened.settings["budget"] == 40


def test_a_sheet_has_the_rest_of_the_round_and_nothing_is_asked_if_it_cannot_be_written(study: Path) -> None:
    sheet = study.parent / "monday.csv"
    sheet.write_text("precious")
    assert "exists" in call("ask", study, "--sheet", sheet, code=2).stderr
    assert "does not exist" in call("ask", study, "--sheet", study.parent / "no" / "sheet.csv", code=2).stderr
    with Study.read(study) as opened:
        assert opened.trials() == []
    sheet.unlink()
    said = call("ask", study, "--sheet", sheet)
    assert said.stdout == "" and "5 trials written" in said.stderr
    rows = rows_of(sheet)
    assert list(rows[0]) == ["id", "temperature [°C]", "time [min]", "value", "sem", "note", "state", "study"]
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5"]


def test_a_lost_sheet_is_written_again_without_asking(study: Path) -> None:
    first, second = study.parent / "first.csv", study.parent / "second.csv"
    call("ask", study, "--sheet", first)
    call("ask", study, "--running", "--sheet", second)
    assert first.read_bytes() == second.read_bytes()
    assert len(called("ask", study, "--running")["trials"]) == 5
    with Study.read(study) as opened:
        assert len(opened.trials()) == 5 and all(trial.attempt == 1 for trial in opened.trials())


def test_when_the_budget_is_handed_out_ask_says_so_and_writes_no_sheet(study: Path) -> None:
    assert len(called("ask", study, "-n", 100)["trials"]) == 40
    said = call("ask", study, "--sheet", study.parent / "empty.csv")
    assert "budget of 40" in said.stderr and said.stdout == "" and not (study.parent / "empty.csv").exists()
    assert called("ask", study)["trials"] == []


def test_a_process_killed_before_its_sheet_is_there_gives_the_same_trials_to_the_next(study: Path) -> None:
    script = (
        "import os, signal, sys; from paraboloid.cli import main, sheets\n"
        "sheets.write_table = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "main(['ask', sys.argv[1], '--sheet', sys.argv[2]])\n"
    )
    sheet = study.parent / "monday.csv"
    ended = subprocess.run([sys.executable, "-c", script, str(study), str(sheet)], timeout=60)
    assert ended.returncode == -signal.SIGKILL and not sheet.exists()
    with Study.read(study) as opened:
        lost = [(trial.id, dict(trial.x)) for trial in opened.trials("RUNNING")]
    again = called("ask", study, "-n", 5)["trials"]
    assert len(lost) == 5 and [(trial["id"], trial["x"]) for trial in again] == lost
    assert [trial["attempt"] for trial in again] == [2] * 5


# -- tell --------------------------------------------------------------------------------------------------------------


def test_tell_takes_values_of_every_kind(study: Path) -> None:
    call("ask", study, "-n", 9)
    assert call("tell", study, 1, 17.5, "--sem", 0.3, "--note", "cold").stdout == "trial 1: COMPLETE, value 17.5\n"
    told = called("tell", study, 2, -5, "-6.5", "--x", "temperature=201.5")
    assert (told["values"], told["executed"]["temperature"]) == ([-5.0, -6.5], 201.5)
    assert called("tell", study, 3, "--failed", "--note", "spilled")["state"] == "FAILED"
    assert called("tell", study, 4, "--abandon")["state"] == "ABANDONED"
    assert called("tell", study, 5, 99.9, "--censored")["state"] == "CENSORED"
    assert called("tell", study, 6, "<0.1")["state"] == "CENSORED"
    assert called("tell", study, 7, "n/a")["state"] == "FAILED"
    assert called("tell", study, 8, "80,5")["value"] == 80.5
    old = called("tell", study, "old", 16.5, "--x", "temperature=170", "--x", "time=30")
    assert old["round"] == 0 and old["x"] == {"temperature": 170.0, "time": 30.0}


def test_telling_twice_is_nothing_or_a_correction(study: Path) -> None:
    call("ask", study)
    call("tell", study, 1, 17.5)
    call("tell", study, 1, 17.5)
    assert "--replace" in call("tell", study, 1, 18, code=2).stderr
    assert called("tell", study, 1, 18, "--replace")["value"] == 18
    assert [row["kind"] for row in csv.DictReader(io.StringIO(call("export", study, "-", "--history").stdout))] == [
        *("asked", "told", "corrected")
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "either the ID"),
        ([1], "give the value"),
        ([1, "--censored"], "give the value"),
        ([99, 1], "no trial 99"),
        (["x", 1], "ID must be"),
        (["-1", 1], "ID must be"),
        ([1, "about 3"], "no number"),
        ([1, "1,234"], "may be two"),
        ([1, "1", "<2"], "told apart"),
        ([1, 1, "--sem", 0], "sem must be above 0"),
        ([1, 1, "--x", "speed=3"], "knobs"),
        ([1, 1, "--x", "time"], "NAME=TEXT"),
        ([1, 1, "--x", "time=x"], "no number"),
        ([1, 1, "--x", "time=1", "--x", "time=2"], "twice"),
        ([1, 1, "--dry-run"], "for sheets"),
        (["old", 1], "needs its setting"),
        ([1, 1, "--sheet", "s.csv"], "either the ID"),
        (["--sheet", "s.csv", "--note", "x"], "stand in its columns"),
        (["--sheet", "none.csv"], "no file"),
    ],
)
def test_a_wrong_call_of_tell_exits_with_2_and_takes_nothing(study: Path, arguments: list[Any], message: str) -> None:
    call("ask", study)
    said = call("tell", study, *arguments, code=2)
    assert message in said.stderr and said.stdout == ""
    with Study.read(study) as opened:
        assert opened.trial(1).state is TrialState.RUNNING and opened.status().n_measurements == 0


def test_a_round_by_sheet(study: Path) -> None:
    sheet = study.parent / "monday.csv"
    call("ask", study, "--sheet", sheet)
    fill(sheet, ["17.5", "n/a", "<3", "18,25", ""])
    trial = call("tell", study, "--sheet", sheet, "--dry-run")
    assert trial.stdout == "4 rows: would be 4 told.\n"
    with Study.read(study) as opened:
        assert opened.status().counts["RUNNING"] == 5
    first = call("tell", study, "--sheet", sheet)
    assert first.stdout == "4 rows: 4 told.\n" and "1 trials are still out" in first.stderr
    assert called("tell", study, "--sheet", sheet)["counts"] == {"same": 4}
    fill(sheet, ["17.6"])
    refused = call("tell", study, "--sheet", sheet, code=2)
    assert "monday.csv, row 2: trial 1 was told 17.5 before" in refused.stderr and "--replace" in refused.stderr
    assert called("tell", study, "--sheet", sheet, "--replace")["counts"] == {"corrected": 1, "same": 3}
    with Study.read(study) as opened:
        found = [(trial.state.name, trial.value) for trial in opened.trials()]
    assert found == [("COMPLETE", 17.6), ("FAILED", None), ("CENSORED", 3.0), ("COMPLETE", 18.25), ("RUNNING", None)]


def test_warnings_are_sentences_on_standard_error(study: Path) -> None:
    call("ask", study)
    said = call("tell", study, 1, 17.5, "--x", "time=65")
    assert said.stderr.startswith("Warning: trial 1 was measured outside the bounds") and "line" not in said.stderr


# -- exit codes of the file itself -------------------------------------------------------------------------------------


def test_a_study_that_another_process_writes_to_may_be_exported_and_not_told(study: Path) -> None:
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from paraboloid import Study\ns = Study.open(sys.argv[1]); print(1, flush=True); input()",
            str(study),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None and holder.stdout.readline() == "1\n"
        for command in (["ask", study], ["tell", study, 1, 2], ["import", study, "x.csv"]):
            assert str(holder.pid) in call(*command, code=3).stderr
        assert called("export", study, study.parent / "all.csv")["rows"] == 0
        holder.communicate("\n", timeout=30)


def test_a_damaged_study_exits_with_5_and_a_missing_one_with_2(tmp_path: Path) -> None:
    (tmp_path / "bad.db").write_bytes(b"no study" * 100)
    for command in (["ask"], ["tell", 1, 2], ["export", "-"], ["import", "x.csv"]):
        call(command[0], tmp_path / "bad.db", *command[1:], code=5)
        assert "no study" in call(command[0], tmp_path / "none.db", *command[1:], code=2).stderr
    assert (tmp_path / "bad.db").read_bytes() == b"no study" * 100 and not (tmp_path / "none.db").exists()


# -- export and import -------------------------------------------------------------------------------------------------


def test_export_writes_every_trial_and_overwrites_nothing(study: Path) -> None:
    with Study.open(study) as opened:
        measure(opened, opened.ask(3))
        opened.ask(1)
    everything = study.parent / "all.csv"
    assert "5 rows" in call("export", study, everything).stderr
    assert [row["state"] for row in rows_of(everything)] == ["COMPLETE"] * 3 + ["RUNNING", "WAITING"]
    before = everything.read_bytes()
    assert "exists" in call("export", study, everything, code=2).stderr and everything.read_bytes() == before
    printed = call("export", study, "-").stdout
    assert list(csv.DictReader(io.StringIO(printed))) == rows_of(everything)
    call("export", study, "-", "--json", code=2)


def test_import_takes_old_data_once_and_notices_a_copy(study: Path) -> None:
    notebook = study.parent / "notebook.csv"
    notebook.write_text(
        "day;temperature;time;yield\n1;170;30;16,5\n1;170;30;16,5\n2;180;35;19,75\n", encoding="latin-1"
    )
    options = ["--column", "value=yield"]
    assert "no column value" in call("import", study, notebook, code=2).stderr
    assert called("import", study, notebook, *options, "--dry-run")["counts"] == {"old": 3}
    assert called("import", study, notebook, *options, "--where", "day=1")["counts"] == {"old": 2}
    done = call("import", study, notebook, *options)
    assert done.stdout == "3 rows: 2 told before, unchanged, 1 told as old data.\n" and "not used: day" in done.stderr
    assert called("import", study, notebook, *options)["counts"] == {"same": 3}
    copy = study.parent / "copy.csv"
    copy.write_bytes(notebook.read_bytes())
    assert "--again" in call("import", study, copy, *options, code=2).stderr
    assert called("import", study, copy, *options, "--source", "notebook")["counts"] == {"same": 3}
    with Study.read(study) as opened:
        assert opened.status().n_measurements == 3 and opened.status().left == 40
    assert called("import", study, copy, *options, "--again")["counts"] == {"old": 3}


def test_a_real_process_prints_utf_8_and_keeps_its_streams_apart(study: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    for arguments, is_json in ((["ask", str(study), "--json"], True), (["export", str(study), "-"], False)):
        ended = subprocess.run(
            [sys.executable, "-m", "paraboloid", *arguments], capture_output=True, timeout=60, env=environment
        )
        assert ended.returncode == 0 and ended.stderr == b""
        text = ended.stdout.decode()
        assert json.loads(text)["trials"] if is_json else text.startswith("id,temperature [°C],")


@pytest.mark.parametrize("command", ["ask", "tell", "export", "import"])
def test_help_has_an_example_to_paste_and_the_exit_codes(command: str) -> None:
    text = call(command, "--help").stdout
    assert f"paraboloid {command} study.toml" in text and "Exit codes:" in text and "--json" in text
