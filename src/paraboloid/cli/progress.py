"""How a run goes, on standard error: a bar on a terminal, a line now and then elsewhere."""

import contextlib
import logging
import math
import sys
import time
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from paraboloid.cli.printing import at_most, duration, number
from paraboloid.study import StudyStatus

__all__ = ["Display", "line"]

SHARE = 0.05
"""Of the time, that may be spent on working out how it goes: with 10⁵ measurements a look takes a second."""


def line(status: StudyStatus, seconds: float, n_new: int) -> str:
    """Return how a study stands in one line; ``n_new`` measurements were made in these seconds.

    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "study.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study:
    ...     line(study.status(), 0.0, 0)
    '0 of 9 measured, 9 left'
    """
    done = status.n_measurements - status.n_old + status.n_failures
    parts = [f"{done} of {status.budget} measured" if status.budget else f"{done} measured"]
    if status.n_failures:
        parts[0] += f" ({status.n_failures} failed)"
    best = status.estimate
    if best is not None:
        setting = ", ".join(f"{name} = {number(value)}" for name, value in best["x"].items())
        parts.append(f"best {setting}")
        parts.append(f"regret {number(best['regret'])}, {at_most(best['regret_bound'], best['confidence'])}")
    left = _left(status, done)
    if left is not None:
        parts.append(f"{left} left" if status.eps is None else f"about {left} left")
        if n_new and left:
            parts.append(f"{duration(left * seconds / n_new)} to go")
    return ", ".join(parts)


def _left(status: StudyStatus, done: int) -> int | None:
    """Return the number of measurements until the end, as far as it can be foreseen."""
    left = None if status.budget is None else max(0, status.budget - done)
    bound = math.inf if status.estimate is None else status.estimate["regret_bound"] or math.inf
    if status.eps is None or not math.isfinite(bound):
        return left
    missing = max(0, math.ceil(done * (bound / status.eps - 1)))  # the bound falls like 1/n
    return missing if left is None else min(left, missing)


class Display:
    """Shows how a run goes; a terminal that is gone disturbs nothing.

    Parameters
    ----------
    every
        Seconds between lines where there is no terminal; 0 for none.
    """

    def __init__(self, every: float) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._every = every
        self._began = time.monotonic()
        self._due = self._began + (0.5 if self._console.is_terminal else every)
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._first: int | None = None
        self._handler = _ToDisplay(self)

    def __enter__(self) -> "Display":
        logging.getLogger("paraboloid").addHandler(self._handler)
        if self._console.is_terminal:
            self._bar = Progress(
                BarColumn(bar_width=20), TextColumn("{task.description}"), console=self._console, auto_refresh=False
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        logging.getLogger("paraboloid").removeHandler(self._handler)
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()

    def say(self, text: str) -> None:
        """Print a line."""
        with contextlib.suppress(OSError, ValueError):  # the terminal may be gone, and the run goes on
            if self._bar is None:
                print(text, file=sys.stderr, flush=True)
            else:
                self._console.print(Text(text))

    @property
    def is_due(self) -> bool:
        """Whether it is time for another look."""
        return (self._bar is not None or self._every > 0) and time.monotonic() >= self._due

    def show(self, status: StudyStatus, took: float) -> None:
        """Show how it goes; ``took`` is how many seconds it cost to find out."""
        now = time.monotonic()
        done = status.n_measurements - status.n_old + status.n_failures
        self._first = done if self._first is None else self._first
        text = line(status, now - self._began, done - self._first)
        self._due = now + max(0.5 if self._bar is not None else self._every, took / SHARE)
        if self._bar is None or self._task is None:
            self.say(text)
            return
        with contextlib.suppress(OSError):
            self._bar.update(self._task, description=text, total=status.budget, completed=done)
            self._bar.refresh()

    def begin_at(self, n_measured: int) -> None:
        """Take so many measurements for made before this run, so that they do not count for its speed."""
        self._first = n_measured
        self._began = time.monotonic()


class _ToDisplay(logging.Handler):
    """Shows what the library warns of."""

    def __init__(self, display: Display) -> None:
        super().__init__(logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        self._display.say(record.getMessage())
