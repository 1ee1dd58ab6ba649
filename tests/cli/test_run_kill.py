"""``kill -9`` of ``paraboloid run``, then the same command again: goes on, repeats nothing, says what it found."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from paraboloid.study import Study
from tests.cli.support import (
    ENVIRONMENT,
    PATIENCE,
    events,
    paraboloid,
    program,
    started,
    told,
    wait_until,
    write_study,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 is of POSIX")
ROOT = Path(__file__).parents[2]

# Writes down that it has measured before it answers: what the study was never told may still have been measured.
RECORDING = """
import os, sys
a, b = map(float, sys.argv[1:])
with open("measured", "a") as file:
    file.write(f"{a!r} {b!r}\\n")
print((a - 3) ** 2 + (b + 1) ** 2 + 0.01 * ((a * 997) % 1))
"""


def test_dozens_of_kills_lose_and_repeat_nothing(tmp_path: Path) -> None:
    kills = 30
    write_study(tmp_path, {"command": program(tmp_path, RECORDING), "workers": 2}, budget=120)
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.killing", str(tmp_path / "study.toml"), str(kills), "4"],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    codes = [json.loads(row)["code"] for row in done.stdout.splitlines()]
    assert codes.count(-signal.SIGKILL) >= kills // 2, f"most runs were at work when they were killed: {codes}"
    assert codes[-1] == 0, (tmp_path / f"study.toml.errors-{kills}").read_text()
    log = events(tmp_path / "study.db")
    answers = Counter(event.trial for event in log if event.kind == "told")
    assert len(answers) == 120 and set(answers.values()) == {1}, "every trial is answered, and counted once"
    answered: set[int] = set()
    for event in log:
        assert not (event.kind == "asked" and event.trial in answered), "no answered point is handed out again"
        if event.kind == "told":
            answered.add(event.trial)
    with Study.read(tmp_path / "study.db") as study:
        status, result = study.status(), study.recommend()
    n_asked = sum(event.kind == "asked" for event in log)
    n_measured = len((tmp_path / "measured").read_text().splitlines())
    assert status.n_measurements == 120
    assert 120 <= n_measured <= n_asked, "measured at least once each, never without having been asked"
    assert status.possible_extra_runs == n_asked - 120
    # The noise is at most 0.01, and the curvature 2: the optimum is known to some hundredths.
    assert np.all(np.abs(result.x - [3, -1]) < 0.1)


def test_a_killed_run_with_worker_processes_goes_on_and_says_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\ndef measure(a, b, rng):\n    time.sleep(0.2)\n    return a * a + b * b + rng.normal()\n"
    )
    write_study(tmp_path, {"python": "slow:measure", "workers": 2}, budget=14)
    with started("run", cwd=tmp_path) as run:
        wait_until(lambda: len(told(tmp_path / "study.db")) >= 4, "the first answers")
        run.process.kill()
        run.end()
    before = told(tmp_path / "study.db")
    again = paraboloid("run", "--json", cwd=tmp_path)
    assert f"Found {tmp_path / 'study.db'}: {len(before)} of 14 measured" in again.stderr
    assert "trials were handed out and never answered" in again.stderr and "up to attempt 2" in again.stderr
    assert told(tmp_path / "study.db")[: len(before)] == before
    assert sorted(told(tmp_path / "study.db")) == list(range(1, 15))
    assert json.loads(again.stdout)["status"]["n_measurements"] == 14
    third = paraboloid("run", cwd=tmp_path)
    assert "14 of 14 measured" in third.stderr, "a finished study is not measured again"
    assert len(told(tmp_path / "study.db")) == 14


def test_the_commands_of_a_killed_run_are_ended_too(tmp_path: Path) -> None:
    hang = "import os, time; open(f'pid-{os.getpid()}', 'w').close(); time.sleep(600)"
    write_study(tmp_path, {"command": program(tmp_path, hang), "workers": 2})
    with started("run", cwd=tmp_path) as run:
        wait_until(lambda: len(list(tmp_path.glob("pid-*"))) == 2, "two commands")
        run.process.kill()
        run.end()
    wait_until(lambda: not [pid for pid in pids(tmp_path) if is_alive(pid)], "the end of the commands")


def pids(folder: Path) -> list[int]:
    return [int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False
