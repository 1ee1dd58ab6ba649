"""``paraboloid init``: a study.toml from options, or from answers at a terminal; never over a file."""

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.cli import main
from paraboloid.cli.init import _toml, knob_from_text
from paraboloid.cli.settings import read_settings
from paraboloid.core import Knob, UsageError
from tests.cli.support import ENVIRONMENT

OVEN = ["--knob", "temperature,150,210,°C", "--knob", "catalyst,0.01,1,g/L,log", "--maximize", "--budget", "40"]


def init(*arguments: str, code: int = 0) -> Result:
    answer = CliRunner().invoke(main, ["init", *arguments])
    assert answer.exit_code == code, answer.output
    return answer


def test_the_file_says_what_the_options_said(tmp_path: Path) -> None:
    init(str(tmp_path), *OVEN, "--python", "process:measure", "--workers", "4", "--timeout", "60", "--seed", "3")
    read = read_settings(tmp_path / "study.toml")
    assert read.domain.knobs == (Knob("temperature", 150, 210, "°C"), Knob("catalyst", 0.01, 1, "g/L", True))
    assert read.study == {"maximize": True, "budget": 40, "seed": 3}
    assert read.measure is not None
    assert (read.measure.python, read.measure.workers, read.measure.timeout) == ("process:measure", 4, 60.0)
    assert read.database == tmp_path / "study.db"


def test_every_commented_line_may_be_used(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    init(str(path), *OVEN, "--command", "simulate {temperature} {catalyst}")
    lines = [line.removeprefix("# ") if "=" in line else line for line in path.read_text().splitlines()]
    unlogged = [line for line in lines if not line.startswith("log = true  #") or "acts by" not in line]
    path.write_text("\n".join(unlogged))
    read = read_settings(path)
    assert read.study["eps"] == 0.01 and read.study["batch"] == 8 and read.study["confidence"] == 0.95
    assert read.measure is not None and read.measure.command == ("simulate", "{temperature}", "{catalyst}")
    assert read.measure.retries == 2 and read.measure.pattern == r"loss: (\S+)"


def test_by_hand_leaves_the_measuring_to_people(tmp_path: Path) -> None:
    answer = init(str(tmp_path / "oven.toml"), *OVEN, "--by-hand")
    assert answer.stdout == f"{tmp_path / 'oven.toml'}\n" and "paraboloid ask" in answer.stderr
    assert read_settings(tmp_path / "oven.toml").measure is None
    refused = CliRunner().invoke(main, ["run", str(tmp_path / "oven.toml")])
    assert refused.exit_code == 2 and "no table [measure]" in refused.stderr


def test_json_says_what_was_written(tmp_path: Path) -> None:
    printed = json.loads(init(str(tmp_path), *OVEN, "--by-hand", "--json").stdout)
    assert printed["path"] == str(tmp_path / "study.toml") and printed["knobs"] == ["temperature", "catalyst"]
    assert printed["text"] == (tmp_path / "study.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--knob is missing, and there is no terminal"),
        (["--knob", "a,0,1"], "--maximize or --minimize is missing"),
        (["--knob", "a,0,1", "--minimize"], "--budget or --eps is missing"),
        (["--knob", "a,0,1", "--minimize", "--budget", "9"], "--python, --command or --by-hand is missing"),
        (["--knob", "a,0"], 'a knob is given as "name,low,high"'),
        (["--knob", "a,1,0"], "needs low < high"),
        (["--knob", "a,0,1", "--knob", "a,0,2"], "different names"),
        ([*OVEN, "--by-hand", "--python", "a:b"], "give one of"),
        ([*OVEN, "--python", "measure"], "module:function"),
        ([*OVEN, "--command", "simulate {temperature}"], "does not use the knob 'catalyst'"),
        (["--knob", "a,0,1", "--minimize", "--budget", "0", "--by-hand"], "budget"),
        (["--knob", "a,0,1", "--minimize", "--eps", "-1", "--by-hand"], "eps"),
    ],
)
def test_what_is_wrong_or_missing_is_named_and_nothing_written(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    assert message in init(str(tmp_path), *arguments, code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text("years of work")
    assert "is not written over" in init(str(tmp_path), *OVEN, "--by-hand", code=2).stderr
    assert (tmp_path / "study.toml").read_text() == "years of work"


def test_at_a_terminal_it_asks_for_everything(tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "paraboloid", "init"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = bytearray()

    def read() -> None:
        try:
            while part := os.read(mine, 4096):
                seen.extend(part)
        except OSError:  # the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    answers = [
        "temperature",
        "210",
        "150",
        "°C",
        "n",
        "temperature",
        "150",
        "210",
        "°C",
        "n",
        "",
        "y",
        "40",
        "python",
        "",
    ]
    try:
        for answer in answers:
            count = len(seen)
            end = time.monotonic() + 30
            while len(seen) == count and not seen.endswith((b": ", b"]: ")) and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(0.1)
            os.write(mine, f"{answer}\n".encode())
        assert run.wait(30) == 0, seen.decode()
    finally:
        run.kill()
        run.wait()
        reader.join(10)
        os.close(mine)
    assert "needs low < high" in seen.decode()
    read_back = read_settings(tmp_path / "study.toml")
    assert read_back.domain.knobs == (Knob("temperature", 150, 210, "°C"),)
    assert read_back.study == {"maximize": True, "budget": 40}
    assert read_back.measure is not None and read_back.measure.python == "process:measure"


def test_ctrl_c_at_a_prompt_writes_nothing(tmp_path: Path) -> None:
    mine, theirs = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "paraboloid", "init"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while b"Name of knob 1" not in seen:
            seen += os.read(mine, 4096)
        # Python itself may miss a signal in the moment before it begins to read; a person presses Ctrl-C again.
        for _ in range(6):
            run.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.wait(5)
                break
        assert run.returncode == 130
    finally:
        run.kill()
        run.wait()
        os.close(mine)
    assert list(tmp_path.iterdir()) == []


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_any_text_survives_the_writing(text: str) -> None:
    assert tomllib.loads(f"name = {_toml(text)}")["name"] == text


@pytest.mark.parametrize("text", ["", "a", "a,0", "a,zero,1", "a,0,1,m,log,more", "a,0,1,m,s", ",0,1"])
def test_a_bad_knob_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        knob_from_text(text)
