"""Real processes for the tests of storage: started in a moment, killed for good."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["paraboloid", "tests.study.crashing", "tests.store.holding"])


def start(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Start a process of its own; the server that forks it has one thread only and has loaded the package."""
    process = _context.Process(target=work, args=arguments, daemon=True)
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    """End a process by SIGKILL and wait until it is gone."""
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join(30)
    assert process.exitcode == -signal.SIGKILL


def wait_for(path: Path, text: str = "", *, seconds: float = 60.0) -> str:
    """Return the content of a file once it holds the text."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        content = path.read_text(encoding="utf-8") if path.exists() else ""
        if path.exists() and text in content:
            return content
        time.sleep(0.005)
    raise AssertionError(f"{path} did not hold {text!r} within {seconds} s")


def say(path: Path, text: str) -> None:
    """Append a line to a file at once, as an acknowledgement that survives the process."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, f"{text}\n".encode())
    os.close(handle)
