"""``paraboloid run``: what measures, how it may fail, who else writes, and what is printed where."""

import contextlib
import json
import os
import pty
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from paraboloid.cli import main
from paraboloid.study import Study
from tests.cli.support import ENVIRONMENT, paraboloid, program, started, told, wait_until, write_study


def run_here(folder: Path, *arguments: str, code: int = 0) -> Result:
    """Run in this process: no signal is needed, and a process takes a second to start."""
    answer = CliRunner().invoke(main, ["run", str(folder / "study.toml"), *arguments])
    assert answer.exit_code == code, f"{answer.exit_code}\n{answer.output}\n{answer.exception!r}"
    return answer


def failures(folder: Path) -> list[str]:
    with Study.read(folder / "study.db") as study:
        return [f"{trial.reason}\n{trial.note}" for trial in study.trials("FAILED")]


def test_a_command_is_measured_to_the_end_and_the_recommendation_printed(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path), "workers": 2})
    answer = run_here(tmp_path)
    # Without noise at whole numbers, the program's values may be found out to be exact there: then the setting is 3.
    assert re.search(r"│ a +│ (2\.9|3\.0|3 )", answer.stdout) and "The budget of 30 measurements" in answer.stdout
    assert "Made" in answer.stderr and "Made" not in answer.stdout
    with Study.read(tmp_path / "study.db") as study:
        assert np.all(np.abs(study.recommend().x - [3, -1]) < 0.1)  # noise 0.01, curvature 2


def test_json_is_all_that_is_on_standard_output(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path)}, budget=12)
    printed = json.loads(run_here(tmp_path, "--json").stdout)
    assert printed["status"]["counts"]["COMPLETE"] == 12
    assert set(printed["recommendation"]["x"]) == {"a", "b"}
    assert printed["recommendation"]["stop_reason"] == "BUDGET_SPENT"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import sys; sys.stderr.write('no licence'); sys.exit(3)", "exit code 3; standard error: no licence"),
        ("print('garbage')", "it printed no number, but garbage"),
        ("print(7); print('nan')", "value must be finite"),
        ("print(7, 'inf')", "value must be finite"),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        (
            "import sys, time; sys.stderr.write('stuck\\n'); sys.stderr.flush(); time.sleep(60)",
            "took longer than 0.5 s",
        ),
    ],
)
def test_a_command_that_always_fails_ends_the_run_and_the_reason_is_kept(
    text: str, reason: str, tmp_path: Path
) -> None:
    write_study(tmp_path, {"command": program(tmp_path, text), "timeout": 0.5, "workers": 5})
    answer = run_here(tmp_path, code=4)
    assert "5 of 5 measurements failed" in answer.stderr and "run the same command to go on" in answer.stderr
    assert len(failures(tmp_path)) >= 5 and all(reason in failure for failure in failures(tmp_path))
    if "stuck" in text:
        assert all("standard error: stuck" in failure for failure in failures(tmp_path))


def test_after_too_many_failures_the_mended_command_goes_on(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path, "raise SystemExit(1)")})
    run_here(tmp_path, code=4)
    program(tmp_path)
    answer = run_here(tmp_path)
    assert "5 failed" in answer.stderr
    with Study.read(tmp_path / "study.db") as study:
        assert (study.status().n_measurements, study.status().n_failures) == (25, 5)


def test_a_command_that_fails_sometimes_is_measured_around(tmp_path: Path) -> None:
    flaky = "import sys; a, b = map(float, sys.argv[1:]); sys.exit(1) if a + b > 6 else print((a - 1) ** 2 + b ** 2)"
    write_study(tmp_path, {"command": program(tmp_path, flaky), "workers": 2}, budget=40)
    run_here(tmp_path)
    with Study.read(tmp_path / "study.db") as study:
        status, result = study.status(), study.recommend()
    assert status.n_failures > 0 and status.n_measurements + status.n_failures == 40
    assert np.all(np.abs(result.x - [1, 0]) < 0.1)  # no noise


def test_a_hanging_command_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    text = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(600)'])\n"
        "open(f'child-{child.pid}', 'w').close()\ntime.sleep(600)\n"
    )
    write_study(tmp_path, {"command": program(tmp_path, text), "timeout": 1.0, "workers": 5})
    run_here(tmp_path, code=4)
    children = [int(path.name.removeprefix("child-")) for path in tmp_path.glob("child-*")]
    assert len(children) >= 5
    wait_until(lambda: not any(_is_alive(pid) for pid in children), "the end of what the commands started")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_command_that_prints_without_end_fills_no_memory_and_fails(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path, "while True: print('x' * 1000)"), "timeout": 1, "workers": 5})
    run_here(tmp_path, code=4)
    assert all("took longer than 1 s" in failure and len(failure) < 10_000 for failure in failures(tmp_path))


def test_settings_never_reach_a_shell_unless_asked(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": ["echo", "{a} {b}; touch owned; echo 5"]}, budget=6)
    run_here(tmp_path)
    assert not (tmp_path / "owned").exists()
    (tmp_path / "study.db").unlink()
    write_study(
        tmp_path, {"command": "touch owned; echo {a} {b} | awk '{{print $1 * $1 + $2 * $2}}'", "shell": True}, budget=6
    )
    run_here(tmp_path)
    assert (tmp_path / "owned").exists()


def test_a_pattern_finds_the_value_and_its_standard_error(tmp_path: Path) -> None:
    text = "import sys; a, b = map(float, sys.argv[1:]); print(f'loss: {a * a + b * b} +- 0.25'); print('took 3')"
    pattern = r"loss: (?P<value>\S+) \+- (?P<sem>\S+)"
    write_study(tmp_path, {"command": program(tmp_path, text), "pattern": pattern}, budget=6)
    run_here(tmp_path)
    with Study.read(tmp_path / "study.db") as study:
        assert {trial.sem for trial in study.trials()} == {0.25}
        assert all(trial.value == trial.x["a"] ** 2 + trial.x["b"] ** 2 for trial in study.trials())


def test_the_seed_of_a_command_differs_between_trials_and_repeats_with_the_study(tmp_path: Path) -> None:
    seen = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        write_study(folder, {"command": ["echo", "{a}", "{b}", "{seed}"]}, budget=8)
        run_here(folder)
        with Study.read(folder / "study.db") as study:
            seen.append([trial.value for trial in study.trials()])
    assert seen[0] == seen[1] and len(set(seen[0])) == 8


def test_a_vector_function_with_repeats_is_measured_in_blocks(tmp_path: Path) -> None:
    (tmp_path / "vector.py").write_text(
        "def measure(x, rng):\n    return ((x - 1) ** 2).sum(axis=1) + rng.standard_normal(len(x))\n"
    )
    write_study(tmp_path, {"python": "vector:measure", "vectorized": True, "repeats": 100}, budget=2000)
    run_here(tmp_path)
    with Study.read(tmp_path / "study.db") as study:
        trials = study.trials()
        assert len(trials) == 20 and all(trial.count == 100 and trial.scatter > 0 for trial in trials)
        assert np.all(np.abs(study.recommend().x - 1) < 0.5)


def test_a_python_function_that_raises_leaves_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text("def measure(x):\n    raise RuntimeError('the pump is off')\n")
    write_study(tmp_path, {"python": "raising:measure"})
    run_here(tmp_path, code=4)
    assert all("the pump is off" in failure and "raising.py" in failure for failure in failures(tmp_path))


def test_a_hanging_python_function_is_ended(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(
        "import time\ndef measure(x):\n    time.sleep(600 if x[0] > 4 else 0)\n    return float(x @ x)\n"
    )
    write_study(tmp_path, {"python": "hanging:measure", "timeout": 0.5}, budget=8)
    run_here(tmp_path)
    assert failures(tmp_path) and all("took longer than 0.5 s" in failure for failure in failures(tmp_path))


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ({"python": "nowhere_at_all:measure"}, "nowhere_at_all cannot be imported (ModuleNotFoundError"),
        ({"python": "math:squrt"}, "there is no function squrt in"),
        ({"command": ["echo", "{a}"]}, "does not use the knob 'b'"),
        ({"command": ["echo", "{a}", "{b}", "{c}"]}, "placeholder {c}, but the knobs are a, b"),
        ({"command": ["echo"], "python": "math:sqrt"}, "and not both"),
        ({"command": "echo '{a} {b}"}, "cannot be split"),
        ({"command": ["echo", "{a}", "{b}"], "pattern": "("}, "is no regular expression"),
        ({"command": ["echo", "{a}", "{b}"], "workers": 0}, "workers must be at least 1"),
        ({"command": ["echo", "{a}", "{b}"], "wrokers": 2}, "a key named 'wrokers' is not known"),
        ({"command": ["echo", "{a}", "{b}"], "directory": "nowhere"}, "does not exist"),
    ],
)
def test_a_wrong_study_toml_is_refused_before_anything_is_made(
    measure: dict[str, object], message: str, tmp_path: Path
) -> None:
    write_study(tmp_path, measure)
    assert message in run_here(tmp_path, code=2).stderr
    assert not (tmp_path / "study.db").exists()


def test_a_second_run_is_refused_and_told_who_has_the_study(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path, "import time; time.sleep(0.3); print(1)")}, budget=1000)
    with started("run", cwd=tmp_path) as first:
        wait_until(lambda: bool(told(tmp_path / "study.db")), "the first answer")
        refused = run_here(tmp_path, code=3)
        assert f"process {first.process.pid} on {os.uname().nodename}" in refused.stderr
        looked = paraboloid("status", "--json", cwd=tmp_path)
        assert str(first.process.pid) in json.loads(looked.stdout)["holder"]
        first.send(signal.SIGINT)
        assert first.end() == 130


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_one_signal_ends_in_good_order_and_the_running_measurements_count(
    number: signal.Signals, code: int, tmp_path: Path
) -> None:
    text = "import time; open('begun', 'a').write('x'); time.sleep(1); print(1)"
    write_study(tmp_path, {"command": program(tmp_path, text), "workers": 2}, budget=1000)
    with started("run", "--grace", "30", cwd=tmp_path) as run:
        wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").stat().st_size >= 2, "two at work")
        run.send(number)
        assert run.end() == code, run.errors
    begun = (tmp_path / "begun").stat().st_size
    assert len(told(tmp_path / "study.db")) == begun, "what was begun was waited for, and nothing more was begun"
    assert "run the same command to go on" in run.errors and "Traceback" not in run.errors
    with Study.read(tmp_path / "study.db") as study:
        assert study.status().holder is None and not study.status().running


@pytest.mark.parametrize("kind", ["command", "python"])
def test_a_second_signal_ends_at_once_and_what_was_cut_off_comes_back(kind: str, tmp_path: Path) -> None:
    if kind == "command":
        measure: dict[str, object] = {
            "command": program(tmp_path, "open('begun', 'a').write('x')\nimport time; time.sleep(600)")
        }
    else:
        text = "import time\ndef measure(x):\n    open('begun', 'a').write('x')\n    time.sleep(600)\n"
        (tmp_path / "endless.py").write_text(text)
        measure = {"python": "endless:measure"}
    write_study(tmp_path, {**measure, "workers": 2})
    with started("run", "--grace", "600", cwd=tmp_path) as run:
        wait_until(lambda: (tmp_path / "begun").exists() and (tmp_path / "begun").stat().st_size >= 2, "two at work")
        run.send(signal.SIGINT)
        wait_until(lambda: "once more, and they are ended at once" in run.errors, "the answer to the first")
        run.send(signal.SIGINT)
        began = time.monotonic()
        assert run.end() == 130, run.errors
        assert time.monotonic() - began < 15, "at once, not after the grace of 600 s"
    assert "2 measurements were cut off, and come back" in run.errors and "Traceback" not in run.errors
    with Study.read(tmp_path / "study.db") as study:
        assert study.status().holder is None
        assert [trial.is_lost for trial in study.status().running] == [True, True]
        assert study.status().n_failures == 0, "what we cut off has not failed"


def test_after_the_grace_running_measurements_are_cut_off(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path, "open('begun', 'w')\nimport time; time.sleep(600)")})
    with started("run", "--grace", "0.5", cwd=tmp_path) as run:
        wait_until(lambda: (tmp_path / "begun").exists(), "the first at work")
        run.send(signal.SIGTERM)
        assert run.end() == 143
    assert "1 measurements were cut off" in run.errors


def test_a_raised_budget_in_study_toml_goes_on_and_a_changed_knob_is_refused(tmp_path: Path) -> None:
    path = write_study(tmp_path, {"command": program(tmp_path)}, budget=6)
    run_here(tmp_path)
    write_study(tmp_path, {"command": program(tmp_path)}, budget=9)
    assert "budget is now 9 (it was 6)" in run_here(tmp_path).stderr
    assert len(told(tmp_path / "study.db")) == 9
    path.write_text(path.read_text().replace("high = 5", "high = 6"))
    assert "was made with domain" in run_here(tmp_path, code=2).stderr
    write_study(tmp_path, {"command": program(tmp_path)}, budget=8)
    assert "can only be raised" in run_here(tmp_path, code=2).stderr


def test_lines_of_progress_come_now_and_then_without_a_terminal(tmp_path: Path) -> None:
    text = "import sys, time; time.sleep(0.2); print(float(sys.argv[1]) ** 2 + float(sys.argv[2]) ** 2)"
    write_study(tmp_path, {"command": program(tmp_path, text)}, budget=14)
    answer = run_here(tmp_path, "--progress-every", "0.2")
    lines = [line for line in answer.stderr.splitlines() if " of 14 measured" in line]
    assert len(lines) >= 3
    assert re.search(r"best a = .*, b = .*, regret .*, (at most .*|no bound), \d+ left, \d+ s to go", lines[-1])
    (tmp_path / "study.db").unlink()
    assert " of 14 measured" not in run_here(tmp_path, "--progress-every", "0").stderr


def test_a_terminal_gets_a_bar_on_standard_error_alone(tmp_path: Path) -> None:
    text = "import sys, time; time.sleep(0.15); print(float(sys.argv[1]) ** 2 + float(sys.argv[2]) ** 2)"
    write_study(tmp_path, {"command": program(tmp_path, text)}, budget=10)
    mine, theirs = pty.openpty()
    seen = bytearray()

    def read() -> None:
        while True:
            try:
                part = os.read(mine, 65536)
            except OSError:  # the other end is closed
                return
            if not part:
                return
            seen.extend(part)

    run = subprocess.Popen(
        [sys.executable, "-m", "paraboloid", "run"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    output, _ = run.communicate(timeout=60)
    reader.join()
    os.close(mine)
    assert run.returncode == 0
    assert "━" in seen.decode() and " of 10 measured" in seen.decode() and "best a =" in seen.decode()
    assert " of 10 measured" not in output.decode() and "regret" in output.decode()


def test_a_locked_file_is_waited_for_and_no_value_is_dropped(tmp_path: Path) -> None:
    write_study(tmp_path, {"command": program(tmp_path, "import time; time.sleep(0.2); print(1)")}, budget=8)
    with started("run", cwd=tmp_path) as run:
        wait_until(lambda: bool(told(tmp_path / "study.db")), "the first answer")
        with contextlib.closing(sqlite3.connect(tmp_path / "study.db", timeout=30, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            time.sleep(2)
            other.execute("ROLLBACK")
        assert run.end() == 0, run.errors
    assert sorted(told(tmp_path / "study.db")) == list(range(1, 9))
