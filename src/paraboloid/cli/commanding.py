"""A measurement by a command: a program is started, and the number that it prints is the value.

Never through a shell unless asked. The program runs in a process group of its own, so that a timeout ends all that it
has started; and a watcher ends it when whoever started it dies, kill -9 included: no orphan goes on measuring.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from paraboloid.core import MeasurementError, UsageError, Vector

__all__ = ["CommandMeasurement", "end_commands", "last_number"]

KEPT = 64 * 1024
"""Bytes of what a command prints that are kept: the last ones. A command that prints for ever fills nothing."""
SHOWN = 2000
"""Characters of standard error that go into the reason of a failure."""

# A number that stands alone: no part of a word, a date, a time, a version or a number with thousands marks.
_NUMBER = re.compile(
    r"(?<![\w.,+/-])(?<!\d:)([-+]?(?:(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|nan|inf(?:inity)?))(?![.,:/-]?\w)", re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_CAN_GROUP = hasattr(os, "killpg")
_running: set["subprocess.Popen[bytes]"] = set()


def last_number(text: str) -> float:
    """Return the last number in a text, or raise a `MeasurementError`.

    >>> last_number("step 3 of 3: loss = 0.25 (better)")
    0.25
    """
    found = _NUMBER.findall(text)
    if not found:
        raise MeasurementError(f"it printed no number, but {_tail(text) or 'nothing'}")
    return float(found[-1])


@dataclass(frozen=True, slots=True)
class CommandMeasurement:
    """A command with placeholders for the knobs; called with a setting, it returns the number that was printed.

    Parameters
    ----------
    command
        Program and arguments, or a text: split as a shell would, or given to one with ``shell``.
    names
        Knobs in order; ``{name}`` stands for the setting, ``{seed}`` for a whole number that is another for each
        measurement and the same when the study is repeated; ``{{`` and ``}}`` are braces.
    shell
        Whether the shell runs it.
    pattern
        Regular expression for the value (and, as group ``sem``, its standard error); the last number if None.
    timeout
        Seconds after which it is ended.
    directory
        Where it runs.

    Examples
    --------
    >>> import sys
    >>> measure = CommandMeasurement((sys.executable, "-c", "print({width} ** 2)"), ("width",))
    >>> measure(np.array([3.0]), np.random.default_rng(0))
    9.0
    """

    command: str | tuple[str, ...]
    names: tuple[str, ...]
    shell: bool = False
    pattern: str | None = None
    timeout: float | None = None
    directory: str = "."

    def __post_init__(self) -> None:
        words = self._words()
        used = {name for word in words for name in _PLACEHOLDER.findall(word) if name}
        unknown = sorted(used - {*self.names, "seed"})
        if unknown:
            raise UsageError(
                f"the command has a placeholder {{{unknown[0]}}}, but the knobs are {', '.join(self.names)}; write "
                f"{{{{{unknown[0]}}}}} for braces that stay."
            )
        unused = [name for name in self.names if name not in used]
        if unused:
            raise UsageError(f"the command does not use the knob {unused[0]!r}: put {{{unused[0]}}} where it belongs.")
        try:
            re.compile(self.pattern or "")
        except re.error as error:
            raise UsageError(f"pattern {self.pattern!r} is no regular expression: {error}.") from error
        if not Path(self.directory).is_dir():
            raise UsageError(f"the directory {self.directory} of the command does not exist.")

    def _words(self) -> Sequence[str]:
        if not isinstance(self.command, str):
            return self.command
        try:
            words = [self.command] if self.shell else shlex.split(self.command)
        except ValueError as error:
            raise UsageError(f"the command {self.command!r} cannot be split ({error}); give a list.") from error
        if not words or not words[0].strip():
            raise UsageError("the command is empty.")
        return words

    def words_at(self, setting: Mapping[str, str]) -> list[str]:
        """Return program and arguments with placeholders filled in."""

        def filled(match: "re.Match[str]") -> str:
            return match[0][0] if match[1] is None else setting[match[1]]

        return [_PLACEHOLDER.sub(filled, word) for word in self._words()]

    def __call__(self, x: Vector, rng: np.random.Generator) -> Any:
        """Measure once."""
        setting = {"seed": str(int(rng.integers(2**31)))}
        setting.update(zip(self.names, (repr(float(value)) for value in x), strict=True))
        words = self.words_at(setting)
        try:
            code, printed, complaint = self._run(words)
        except OSError as error:
            raise MeasurementError(f"{words[0]} could not be started: {error}") from error
        if code is None:
            raise MeasurementError(f"took longer than {self.timeout:g} s and was ended{_said(complaint)}")
        if code != 0:
            how = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
            raise MeasurementError(f"{how}{_said(complaint)}")
        try:
            return self._read(printed)
        except MeasurementError as error:
            raise MeasurementError(f"{error}{_said(complaint)}") from error

    def _read(self, printed: str) -> Any:
        if self.pattern is None:
            return last_number(printed)
        found = None
        for found in re.finditer(self.pattern, printed):  # noqa: B007 - the last one is wanted
            pass
        if found is None:
            raise MeasurementError(
                f"nothing that it printed fits the pattern {self.pattern!r}; it printed {_tail(printed)!r}"
            )
        groups = found.groupdict()
        text = groups.get("value") or (found[1] if found.re.groups else found[0])
        try:
            value = float(text)
            return (value, float(groups["sem"])) if groups.get("sem") else value
        except (TypeError, ValueError) as error:
            raise MeasurementError(f"the pattern found {text!r}, which is no number") from error

    def _run(self, words: list[str]) -> tuple[int | None, str, str]:
        """Return (exit code or None after a timeout, standard output, standard error)."""
        process = subprocess.Popen(
            words[0] if self.shell else words,
            shell=self.shell,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **_OWN_GROUP,
        )
        _running.add(process)
        watcher = _watch(process.pid)
        assert process.stdout is not None and process.stderr is not None
        readers = [_Reader(process.stdout), _Reader(process.stderr)]
        try:
            code: int | None = process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _running.discard(process)
            if process.returncode is None:
                _end(process)
            if watcher is not None:
                watcher.kill()
                watcher.communicate()
        return code, readers[0].text(), readers[1].text()


_OWN_GROUP: dict[str, Any] = {"process_group": 0} if _CAN_GROUP else {}


class _Reader:
    """Reads a stream to its end, and keeps the last of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._parts: deque[bytes] = deque()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        size = 0
        with contextlib.suppress(OSError, ValueError), self._stream as stream:
            while part := os.read(stream.fileno(), 65536):
                self._parts.append(part)
                size += len(part)
                while size - len(self._parts[0]) > KEPT:
                    size -= len(self._parts.popleft())

    def text(self) -> str:
        # A program that the command left behind may keep the stream open; what is there after a second is all.
        self._thread.join(1.0)
        return b"".join(list(self._parts)).decode("utf-8", errors="replace")


def _watch(pid: int) -> "subprocess.Popen[bytes] | None":
    """Start a shell that waits for the end of this process, and then ends the command's group."""
    if not _CAN_GROUP:
        return None
    return subprocess.Popen(
        ["/bin/sh", "-c", 'read -r _; kill -s KILL -- "-$0"', str(pid)],
        stdin=subprocess.PIPE,  # its other end closes when this process ends, in whatever way
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **_OWN_GROUP,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    if _CAN_GROUP:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def end_commands() -> None:
    """End the commands that this process is waiting for, with all that they have started."""
    for process in list(_running):
        _end_soon(process)
    deadline = time.monotonic() + 5.0
    while _running and time.monotonic() < deadline:
        time.sleep(0.01)


def _end_soon(process: "subprocess.Popen[bytes]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if _CAN_GROUP:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _tail(text: str) -> str:
    words = text.strip()
    return words if len(words) <= 200 else f"...{words[-200:]}"


def _said(complaint: str) -> str:
    words = complaint.strip()
    if not words:
        return ""
    return f"; standard error: {words if len(words) <= SHOWN else '...' + words[-SHOWN:]}"
