"""The command line as a user meets it: help, exit codes, what goes where, and Ctrl-C in a real process."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import paraboloid
from paraboloid.cli import main
from paraboloid.core import MeasurementError
from paraboloid.reproduction import EXPERIMENTS

TINY = ["reproduce", "--tiny", "--workers", "1", "--only", "energy"]


def run_process(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "paraboloid", *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )


def files_in(directory: Path) -> dict[str, bytes]:
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


def test_version_and_help_of_a_real_process() -> None:
    assert run_process("--version").stdout == f"paraboloid, version {paraboloid.__version__}\n"
    answer = run_process("--help")
    assert answer.returncode == 0
    assert "reproduce" in answer.stdout and "Example:" in answer.stdout
    assert answer.stderr == ""


def test_help_of_reproduce_names_experiments_exit_codes_and_an_example() -> None:
    answer = CliRunner().invoke(main, ["reproduce", "--help"])
    assert answer.exit_code == 0
    assert "paraboloid reproduce --quick --output reproduction\n" in answer.output
    assert "130  interrupted" in answer.output
    for name in EXPERIMENTS:
        assert name in answer.output
    assert "--tiny" not in answer.output


def test_results_go_to_standard_output_and_the_rest_to_standard_error(tmp_path: Path) -> None:
    answer = CliRunner().invoke(main, [*TINY, "--output", str(tmp_path / "out")])
    assert answer.exit_code == 0, answer.output
    assert "energy" in answer.stdout and "Written" not in answer.stdout
    assert f"Written to {tmp_path / 'out'}" in answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_json_prints_just_what_the_file_holds(tmp_path: Path) -> None:
    answer = CliRunner().invoke(main, [*TINY, "--json", "--rng", "7", "--output", str(tmp_path / "out")])
    printed = json.loads(answer.stdout)
    assert printed == json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert (printed["size"], printed["rng"], list(printed["experiments"])) == ("tiny", 7, ["energy"])
    assert set(printed["versions"]) >= {"python", "numpy", "scipy", "paraboloid"}
    assert sorted(printed["files"]) == sorted(files_in(tmp_path / "out"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reproduce", "--tiny", "--only", "theorem_9"], "unknown experiment 'theorem_9'. Known are theorem_1,"),
        (["reproduce", "--tiny", "--workers", "0"], "0 is not in the range x>=1"),
        (["reproduce", "--tiny", "--rng", "-1"], "-1 is not in the range x>=0"),
        (["reproduce", "--huge"], "No such option"),
        (["reproduse"], "No such command"),
    ],
)
def test_a_wrong_call_says_so_and_exits_with_2(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = CliRunner().invoke(main, arguments)
    assert answer.exit_code == 2
    assert message in answer.stderr
    assert answer.stdout == ""
    assert list(tmp_path.iterdir()) == []


def test_a_directory_with_something_else_in_it_is_refused_before_anything_is_done(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("years of work", encoding="utf-8")
    answer = CliRunner().invoke(main, [*TINY, "--output", str(out)])
    assert answer.exit_code == 2
    assert "holds something that is not a reproduction: thesis.tex" in answer.stderr
    assert "Nothing was changed" in answer.stderr
    assert files_in(tmp_path) == {"out/thesis.tex": b"years of work"}


def test_a_failed_run_exits_with_1_and_an_error_of_ours_with_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(bench: object) -> None:
        raise OSError("No space left on device")

    def no_measurement(bench: object) -> None:
        raise MeasurementError("value number 3 is nan")

    for broken, code, message in ((no_space, 1, "No space left"), (no_measurement, 2, "value number 3 is nan")):
        monkeypatch.setitem(EXPERIMENTS, "energy", broken)
        answer = CliRunner().invoke(main, [*TINY, "--output", str(tmp_path / "out")])
        assert (answer.exit_code, answer.stdout) == (code, "")
        assert message in answer.stderr
        assert list(tmp_path.iterdir()) == []


def interrupt_when_busy(arguments: list[str], parent: Path, *, whole_group: bool) -> tuple[int, str]:
    """Start a real process, send it SIGINT once it has begun to write, and return its exit code and messages."""
    process = subprocess.Popen(
        [sys.executable, "-m", "paraboloid", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        patience = time.monotonic() + 120
        while not list(parent.glob("*.partial")) and not list(parent.glob(".*.partial")):
            assert time.monotonic() < patience and process.poll() is None, "it did not begin"
            time.sleep(0.02)
        time.sleep(1.5)  # its workers are up
        if whole_group:
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does on Ctrl-C
        else:
            process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=120)
        patience = time.monotonic() + 20
        while is_group_alive(process.pid):
            assert time.monotonic() < patience, "its workers were left behind"
            time.sleep(0.05)
    finally:
        process.kill()
    return process.returncode, messages


def is_group_alive(leader: int) -> bool:
    """Tell whether any process of a group still runs."""
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT to another process is not Ctrl-C there")
@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "group"])
def test_ctrl_c_leaves_the_earlier_result_and_nothing_half(whole_group: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert CliRunner().invoke(main, [*TINY, "--output", str(out)]).exit_code == 0
    before = files_in(tmp_path)
    code, messages = interrupt_when_busy(
        ["reproduce", "--full", "--only", "theorem_3", "--workers", "2", "--output", str(out)],
        tmp_path,
        whole_group=whole_group,
    )
    assert code == 130
    assert messages == "Interrupted. Nothing was changed.\n"  # no traceback, of a worker or of the pool
    assert files_in(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
