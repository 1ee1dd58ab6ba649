"""Ctrl-C, SIGTERM and SIGHUP as wishes that are counted, never as exceptions in the middle of something."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Wishes", "heard"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Wishes:
    """How often somebody wished that the process ends, and by which signal first."""

    def __init__(self) -> None:
        self.count = 0
        self.first = 0

    def _take(self, number: int, frame: FrameType | None) -> None:
        self.first = self.first or number
        self.count += 1

    @property
    def exit_code(self) -> int:
        """128 and the number of the first signal, as shells have it."""
        return 128 + self.first

    @property
    def name(self) -> str:
        """The first signal by its name."""
        return "Ctrl-C" if self.first == signal.SIGINT else signal.Signals(self.first).name


@contextmanager
def heard() -> Iterator[Wishes]:
    """Count the signals that ask this process to end, for as long as the block lasts.

    >>> with heard() as wishes:
    ...     signal.raise_signal(signal.SIGTERM)
    >>> wishes.count, wishes.exit_code
    (1, 143)
    """
    wishes = Wishes()
    before = {}
    for name in NAMES:
        number = getattr(signal, name, None)
        # What is ignored stays ignored: a run under nohup is meant to go on when the terminal is closed.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, wishes._take)
    try:
        yield wishes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
