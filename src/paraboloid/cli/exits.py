"""What all commands share: errors become a sentence on standard error and a documented exit code."""

import functools
import sys
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

import click

from paraboloid.core import ParaboloidError
from paraboloid.run import ExecutorLost, TooManyFailures
from paraboloid.store import StoreError, StudyDamaged, StudyHeld, VersionMismatch

__all__ = ["DAMAGED", "FAILED", "HELD", "INTERRUPTED", "TOO_MANY_FAILURES", "USAGE", "code_of", "exits_with_its_code"]

FAILED = 1  # something outside went wrong: the disk, a worker, the cluster
USAGE = 2  # called wrongly
HELD = 3  # another process writes to the study
TOO_MANY_FAILURES = 4  # of the measurements; resumable
DAMAGED = 5  # the file is no whole study, or of a newer version
INTERRUPTED = 130  # Ctrl-C; 128 + the number of any other signal

P = ParamSpec("P")
R = TypeVar("R")

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (StudyHeld, HELD),
    (StudyDamaged, DAMAGED),
    (VersionMismatch, DAMAGED),
    (TooManyFailures, TOO_MANY_FAILURES),
    (StoreError, FAILED),
    (ExecutorLost, FAILED),
)


def code_of(error: ParaboloidError) -> int:
    """Return the exit code of an error of ours.

    >>> code_of(StudyHeld("process 4711 on bench-3 writes to it"))
    3
    """
    return next((code for kind, code in _CODES if isinstance(error, kind)), USAGE)


def exits_with_its_code(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into a message on standard error and the documented exit code."""

    @functools.wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except ParaboloidError as error:
            click.echo(f"Error: {error}", err=True)
            sys.exit(code_of(error))
        except (OSError, BrokenProcessPool, MemoryError) as error:
            click.echo(f"Error: the run failed: {error or type(error).__name__}. Nothing was changed.", err=True)
            sys.exit(FAILED)
        except (KeyboardInterrupt, click.Abort):  # a prompt turns the first into the second
            click.echo("Interrupted. Nothing was changed.", err=True)
            sys.exit(INTERRUPTED)

    return guarded
