"""An output directory that is replaced as a whole or not at all, and never if it holds something of somebody else."""

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from paraboloid.core import UsageError

__all__ = ["MADE_BY", "RESULTS", "check_replaceable", "replaced_directory"]

RESULTS = "results.json"
MADE_BY = "paraboloid reproduce"


def check_replaceable(directory: Path) -> None:
    """Raise a `UsageError` unless the directory does not exist, is empty, or holds only what we wrote ourselves."""
    if not directory.exists() and not directory.is_symlink():
        return
    if not directory.is_dir() or directory.is_symlink():
        raise UsageError(f"the output {directory} exists and is no directory. Give another --output.")
    held = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if not path.is_dir()}
    foreign = sorted(held - _our_files(directory))
    if foreign:
        shown = ", ".join(foreign[:3]) + (f" and {len(foreign) - 3} more" if len(foreign) > 3 else "")
        raise UsageError(
            f"the output directory {directory} holds something that is not a reproduction: {shown}. "
            f"Nothing was changed. Give another --output, or move it away."
        )


def _our_files(directory: Path) -> set[str]:
    """Return the files that the results in the directory list as theirs; none if there are no such results."""
    try:
        results = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
        return set(results["files"]) if results["made_by"] == MADE_BY else set()
    except (OSError, ValueError, TypeError, KeyError):
        return set()


@contextmanager
def replaced_directory(directory: Path) -> Iterator[Path]:
    """Give a fresh directory beside the wanted one, and put it in its place when the block ends without an error.

    An error or Ctrl-C inside the block removes it again and leaves what was there untouched.
    """
    directory = directory.absolute()
    check_replaceable(directory)
    directory.parent.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid4().hex[:8]
    partial = directory.with_name(f".{directory.name}.{mark}.partial")
    partial.mkdir()
    try:
        yield partial
        check_replaceable(directory)  # somebody may have put something there meanwhile
        _swap(partial, directory, directory.with_name(f".{directory.name}.{mark}.old"))
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _swap(new: Path, directory: Path, aside: Path) -> None:
    """Rename ``new`` to ``directory``; what was there is put back if that fails, and removed if it does not."""
    existed = directory.exists()
    try:
        if existed:
            os.rename(directory, aside)
        os.rename(new, directory)
    except BaseException:
        if aside.exists() and not directory.exists():
            os.rename(aside, directory)
        raise
    finally:
        if aside.exists() and directory.exists():
            shutil.rmtree(aside, ignore_errors=True)
