"""Real processes of the command line, for tests."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from paraboloid.store import EventLog

PATIENCE = 60.0  # seconds: on a busy machine things take their time, and a test that waits is not wrong
ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
BOWL = "import sys; a, b = map(float, sys.argv[1:]); print((a - 3) ** 2 + (b + 1) ** 2 + 0.01 * ((a * 997) % 1))"
"""A program that measures: settings as arguments, the value on standard output."""


def paraboloid(
    *arguments: str, cwd: Path, code: int | None = 0, given: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    done = subprocess.run(
        [sys.executable, "-m", "paraboloid", *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert code is None or done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


class Started:
    """A command that is at work; its output goes to files, so that no pipe is full."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        self._files = [cwd / f"output-{time.monotonic_ns()}", cwd / f"errors-{time.monotonic_ns()}"]
        with self._files[0].open("wb") as output, self._files[1].open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "paraboloid", *arguments],
                cwd=cwd,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._files[0].read_text(encoding="utf-8")

    @property
    def errors(self) -> str:
        return self._files[1].read_text(encoding="utf-8")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        return self.process.wait(PATIENCE)


@contextmanager
def started(*arguments: str, cwd: Path) -> Iterator[Started]:
    """Start a command, and kill it in the end if it is still there."""
    command = Started(*arguments, cwd=cwd)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait()


def wait_until(is_true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def write_study(
    folder: Path, measure: dict[str, Any], *, budget: int = 30, study: str = "seed = 1", names: str = "ab"
) -> Path:
    """Write a study.toml over two knobs from -5 to 5; texts and lists of JSON are TOML's."""
    knobs = "".join(f'[[knob]]\nname = "{name}"\nlow = -5\nhigh = 5\n' for name in names)
    table = "".join(f"{key} = {json.dumps(value)}\n" for key, value in measure.items())
    path = folder / "study.toml"
    path.write_text(f"[study]\nbudget = {budget}\n{study}\n{knobs}[measure]\n{table}", encoding="utf-8")
    return path


def program(folder: Path, text: str = BOWL) -> list[str]:
    """Write a program into the folder, and return the command that measures with it."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    return [sys.executable, "-S", "program.py", "{a}", "{b}"]


def events(path: Path) -> list[Any]:
    with EventLog.read(path) as log:
        return log.events()


def told(path: Path) -> list[int]:
    """Return the trials that were told, in order."""
    return [event.trial for event in events(path) if event.kind == "told"] if path.exists() else []
