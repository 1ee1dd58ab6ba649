"""``status``, ``recommend``, ``plan``, ``doctor`` and all help: looks that disturb nobody."""

import csv
import json
import re
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import paraboloid
from paraboloid.cli import main
from paraboloid.study import Study
from tests.cli.support import program

BOX = paraboloid.Box([paraboloid.Knob("temperature", 150, 210, "°C"), paraboloid.Knob("time", 20, 60, "min")])


def call(*arguments: str, code: int = 0) -> Result:
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == code, f"{answer.exit_code}\n{answer.output}\n{answer.exception!r}"
    return answer


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with 40 values, of which one failed, and a trial that is out."""
    path = tmp_path_factory.mktemp("measured") / "study.db"
    noise = np.random.default_rng(1)
    with Study.open(path, BOX, maximize=True, budget=60, rng=0) as study:
        for number in range(40):
            (trial,) = study.ask()
            x = trial.x
            value = 20 - 0.01 * (x["temperature"] - 180) ** 2 - 0.02 * (x["time"] - 35) ** 2 + 0.1 * noise.normal()
            study.tell(trial.id, value if number else float("nan"))
        study.ask()
    return path


@pytest.fixture
def copy(measured: Path, tmp_path: Path) -> Iterator[Path]:
    yield Path(shutil.copy(measured, tmp_path / "study.db"))


def test_status_says_it_in_words_and_in_json(measured: Path) -> None:
    words = call("status", str(measured)).stdout
    assert "39; 1 failed" in words and "1 RUNNING" in words and "nobody" in words and "best setting" in words
    numbers = json.loads(call("status", str(measured), "--json").stdout)
    assert (numbers["n_measurements"], numbers["n_failures"], numbers["counts"]["RUNNING"]) == (39, 1, 1)
    with Study.read(measured) as study:
        assert numbers["estimate"] == study.status().as_dict()["estimate"]


@pytest.mark.parametrize("given", ["study.db", "study.toml", "."])
def test_a_study_is_found_by_its_file_its_settings_or_its_folder(given: str, measured: Path) -> None:
    where = measured.parent if given == "." else measured.with_name(given)
    assert json.loads(call("status", str(where), "--json").stdout)["path"] == str(measured)


def test_recommend_prints_the_model_s_optimum_with_its_bound(measured: Path) -> None:
    printed = json.loads(call("recommend", str(measured), "--json").stdout)
    with Study.read(measured) as study:
        result = study.recommend()
    assert list(printed["x"].values()) == result.x.tolist() and printed["fun"] == result.fun
    assert printed["x_ci"]["time"] == result.x_ci[1].tolist() and printed["regret_bound"] == result.regret_bound
    assert printed["regret_bound_if_quadratic"] == result.regret_bound_if_quadratic <= result.regret_bound
    words = call("recommend", str(measured)).stdout
    assert "°C" in words and f"{result.x[0]:.6g}" in words and "at 95%" in words


@pytest.mark.parametrize(("sigma", "is_said"), [(1.0, True), (0.01, False)])
def test_doubt_about_the_shape_is_said_where_it_makes_the_bound_wide(
    sigma: float, is_said: bool, tmp_path: Path
) -> None:
    noise = np.random.default_rng(2)
    with Study.open(tmp_path / "study.db", [(-1, 1)] * 2, budget=150, rng=0) as study:
        while trials := study.ask(50):
            for trial in trials:
                z = np.array(list(trial.x.values()))
                study.tell(trial.id, 3 * np.sum((z - 0.2) ** 2) + sigma * noise.standard_normal())
    printed = json.loads(call("recommend", str(tmp_path), "--json").stdout)
    status = json.loads(call("status", str(tmp_path), "--json").stdout)["estimate"]
    narrow, wide = printed["regret_bound_if_quadratic"], printed["regret_bound"]
    assert (wide >= 2 * narrow) == is_said and status["regret_bound_if_quadratic"] == narrow
    sentence = f"at most {narrow:.3g} if the response is a paraboloid;"
    assert (printed["doubt_about_shape"] or "").startswith(sentence) == is_said
    for command in ("recommend", "status"):
        assert (sentence in call(command, str(tmp_path)).stdout) == is_said


def test_recommend_without_a_value_and_a_study_that_is_not_there_are_refused(tmp_path: Path) -> None:
    Study.open(tmp_path / "study.db", BOX, budget=10).close()
    assert "nothing has been measured" in call("recommend", str(tmp_path), code=2).stderr
    for command in ("status", "recommend", "doctor"):
        assert "there is no" in call(command, str(tmp_path / "other.db"), code=2).stderr
    assert json.loads(call("status", str(tmp_path), "--json").stdout)["estimate"] is None


def test_plan_from_a_guess_is_the_plan_of_the_library_and_its_inverse() -> None:
    guess = ["plan", "--knobs", "2", "--rise", "8", "--rise", "4", "--noise", "1"]
    costs = json.loads(call(*guess, "--eps", "0.01", "--json").stdout)
    made = paraboloid.plan([(-1, 1), (-1, 1)], eps=0.01, rise=[8, 4], sigma=1.0)
    middle = costs["rows"][2]
    assert middle["measurements"] == made.measurements_certain and costs["smallest"] == made.smallest
    bought = json.loads(call(*guess, "--budget", str(made.measurements_certain), "--json").stdout)["rows"][2]
    # A whole number of measurements: the accuracy is met by less than what one measurement makes.
    assert 0.01 * (1 - 1 / made.measurements_certain) <= bought["regret_bound"] <= 0.01
    assert "No bound can be given below 8" in call(*guess, "--eps", "0.01").stdout


@pytest.mark.parametrize("wanted", [("--eps", "0.2"), ("--budget", "2")])
def test_a_plan_prints_no_row_twice(wanted: tuple[str, str]) -> None:
    guess = ["plan", "--knobs", "2", "--rise", "8", "--rise", "4", "--noise", "1", *wanted]
    rows = json.loads(call(*guess, "--json").stdout)["rows"]
    numbers = [row["measurements"] for row in rows]
    assert len(set(numbers)) < len(numbers) == 5, "or this tests nothing"
    printed = [line.split()[1] for line in call(*guess).stdout.splitlines() if line.startswith("│")]
    assert printed == [str(n) for n in dict.fromkeys(numbers)]


def test_plan_from_a_study_follows_its_forecast(measured: Path) -> None:
    rows = json.loads(call("plan", str(measured), "--budget", "100", "--json").stdout)["rows"]
    with Study.read(measured) as study:
        result = study.recommend()
    assert rows[2]["measurements"] == 100 and rows[2]["regret"] == pytest.approx(result.forecast(100), rel=1e-12)
    assert rows[0]["measurements"] == 25 and rows[4]["measurements"] == 400
    wanted = result.regret_bound / 3
    costs = json.loads(call("plan", str(measured), "--eps", str(wanted), "--json").stdout)["rows"]
    n, ratio = costs[2]["measurements"], result.regret_bound / result.regret
    assert ratio * result.forecast(n) <= wanted < ratio * result.forecast(n - 1)
    assert "further measurements" in call("plan", str(measured), "--eps", str(wanted)).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--knobs", "2"], "give --eps"),
        (["--eps", "1", "--budget", "1"], "give --eps"),
        (["--eps", "1"], "give a guess"),
        (["--eps", "1", "--rise", "1", "--knobs", "2"], "both --rise and --noise"),
        (["--eps", "1", "--rise", "1", "--noise", "1"], "number of knobs"),
        (["--eps", "-1", "--rise", "1", "--noise", "1", "--knobs", "2"], "eps"),
        (["--eps", "1", "--rise", "-1", "--noise", "1", "--knobs", "2"], "rise"),
        (["--eps", "1", "--rise", "1", "--noise", "0", "--knobs", "2"], "sigma"),
        (["--budget", "0", "--rise", "1", "--noise", "1", "--knobs", "2"], "budget"),
    ],
)
def test_a_plan_that_cannot_be_made_says_what_is_missing(arguments: list[str], message: str) -> None:
    assert message in call("plan", *arguments, code=2).stderr


def test_doctor_finds_a_whole_study_whole_and_names_the_versions(measured: Path) -> None:
    before = measured.read_bytes()
    found = json.loads(call("doctor", str(measured), "--json").stdout)
    texts = {finding["about"]: finding["text"] for finding in found["findings"]}
    assert found["is_whole"] and texts["holder"] == "nobody"
    assert sqlite3.sqlite_version in texts["SQLite"] and paraboloid.__version__ in texts["version"]
    assert measured.read_bytes() == before


def test_doctor_names_the_process_that_holds_the_study(tmp_path: Path) -> None:
    with Study.open(tmp_path / "study.db", BOX, budget=10) as study:
        (trial,) = study.ask()
        study.tell(trial.id, 1.0)
        found = json.loads(call("doctor", str(tmp_path), "--json").stdout)
    (holder,) = [finding["text"] for finding in found["findings"] if finding["about"] == "holder"]
    assert "it is alive" in holder and found["is_whole"]


def damage(path: Path, kind: str) -> None:
    content = bytearray(path.read_bytes())
    if kind == "cut":
        content = content[: len(content) - 8192]
    elif kind == "flipped":
        # The first decimal of a value becomes another one: still JSON, where a minus or a leading 1 might not be.
        values = re.finditer(rb'"value": -?\d+\.(?=\d)', content)
        place = next(value.end() for value in values if value.start() > len(content) // 2)
        content[place] ^= 0x01
    elif kind == "header":
        content[:100] = bytes(100)
    elif kind == "empty":
        content = bytearray()
    else:
        content = bytearray(b"this is no database, but a letter\n" * 10)
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["cut", "flipped", "header", "empty", "letter"])
def test_doctor_finds_damage_salvages_what_is_left_and_changes_nothing(kind: str, copy: Path) -> None:
    damage(copy, kind)
    before = copy.read_bytes()
    target = copy.with_name("salvaged.csv")
    found = json.loads(call("doctor", str(copy), "--salvage", str(target), "--json", code=5).stdout)
    assert not found["is_whole"] and copy.read_bytes() == before
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (len(rows) > 0) == (kind not in ("empty", "letter"))
    if kind in ("flipped", "header"):
        assert len(rows) == 40
    for row in rows:
        if row["state"] == "COMPLETE" and row["is_intact"] == "True" and row["temperature [°C]"]:
            x, y = float(row["temperature [°C]"]), float(row["time [min]"])
            true = 20 - 0.01 * (x - 180) ** 2 - 0.02 * (y - 35) ** 2
            assert abs(float(row["value"]) - true) < 0.7  # seven standard deviations of its noise
    for command in ("status", "recommend"):
        call(command, str(copy), code=5)


def test_a_salvage_writes_over_nothing(copy: Path) -> None:
    target = copy.with_name("salvaged.csv")
    target.write_text("years of work")
    assert "is not written over" in call("doctor", str(copy), "--salvage", str(target), code=2).stderr
    assert target.read_text() == "years of work"


OURS = ("doctor", "init", "plan", "recommend", "run", "status")


@pytest.mark.parametrize("name", sorted(main.commands))
def test_every_command_has_examples_exit_codes_and_json(name: str) -> None:
    shown = call(name, "--help").output
    assert "Example" in shown and f"  paraboloid {name}" in shown
    assert "Exit codes:" in shown
    assert "--json" in shown


def examples(command: click.Command) -> list[str]:
    lines = [line.strip() for line in (command.help or "").splitlines()]
    return [line for line in lines if line.startswith(f"paraboloid {command.name}")]


@pytest.mark.parametrize(
    "line",
    [
        line
        for name in OURS
        for line in examples(main.commands[name])
        if line != "paraboloid init" and "--dask" not in line
    ],
)
def test_the_examples_of_the_help_can_be_pasted(
    line: str, measured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A bare `paraboloid init` asks at a terminal (tests/cli/test_init.py), --dask needs a cluster (tests/examples).
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line)[1:]
    if words[0] == "run":
        Path("study.toml").write_text(
            '[study]\nbudget = 5\n[[knob]]\nname = "a"\nlow = -5\nhigh = 5\n[[knob]]\nname = "b"\nlow = -5\nhigh = 5\n'
            f"[measure]\ncommand = {json.dumps(program(tmp_path))}\n"
        )
    elif words[0] != "init":
        shutil.copy(measured, tmp_path / "study.db")
        knobs = "".join(f'[[knob]]\nname = "{k.name}"\nlow = {k.low}\nhigh = {k.high}\n' for k in BOX.knobs)
        Path("study.toml").write_text(knobs)
    call(*words)
