"""Whole scripts with workers: killed, interrupted, and without the guard that spawned workers need."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.run.test_parallel import Lines, is_alive, wait_until

SCRIPT = """
import os, sys, time
from paraboloid import minimize
from paraboloid.run import Crew, Job
from tests.run.test_parallel import Lines, SlowlyOnce

def bowl(x, rng):
    time.sleep(0.02)
    return float(x @ x + rng.standard_normal())

def kept_waiting():
    with Crew(SlowlyOnce(Lines(sys.argv[1])), 2) as crew:
        crew.submit(Job(0, [1.0]))
        print(*crew.process_ids, flush=True)
        list(crew.completed())

def interrupted():
    tell = lambda so_far: print("round", flush=True)
    result = minimize(bowl, [(-1, 1)], budget=100_000, rng=0, workers=2, callback=tell)
    print(result.stop_reason, result.nfev, flush=True)
"""


@contextmanager
def script(path: Path, ending: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a script of its own in a process group of its own; it is ended in any case."""
    path.write_text(SCRIPT + ending)
    root = Path(__file__).parents[2]
    command = [sys.executable, str(path), *map(str, arguments)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        with process:
            yield process
            process.kill()
    finally:
        process.kill()


GUARDED = '\nif __name__ == "__main__":\n    '


def test_when_the_parent_is_killed_its_workers_leave(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with script(tmp_path / "script.py", GUARDED + "kept_waiting()", lines.path) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        wait_until(lambda: len(lines.read()) == 1)  # one is measuring, one is idle
        assert len(pids) == 2 and all(is_alive(pid) for pid in pids)
        process.kill()
        wait_until(lambda: not any(is_alive(pid) for pid in pids))


def test_ctrl_c_returns_what_is_known_and_ends_the_workers(tmp_path: Path) -> None:
    with script(tmp_path / "script.py", GUARDED + "interrupted()") as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["round\n", "round\n"]
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all at once
        output, errors = process.communicate(timeout=30)
    assert process.returncode == 0, errors
    reason, n_measured = output.split()[-2:]
    assert reason == "STOPPED" and 3 <= int(n_measured) < 100_000
    assert len(children) >= 2
    wait_until(lambda: not any(is_alive(int(pid)) for pid in children))


def test_a_script_without_its_guard_is_told_so(tmp_path: Path) -> None:
    with script(tmp_path / "script.py", "\ninterrupted()") as process:
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert '`if __name__ == "__main__":`' in errors
