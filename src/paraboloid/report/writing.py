"""A report on the disk: written whole or not at all, and never over something that is no report of ours."""

import errno
import os
import tempfile
from contextlib import suppress
from pathlib import Path

from paraboloid.core import UsageError
from paraboloid.report.page import GENERATOR

__all__ = ["check_writable", "write_report"]

HEAD = 4096
"""Bytes of a file that are looked at to tell whose it is."""

OURS = f'<meta name="generator" content="{GENERATOR}">'.encode()
DATABASE = b"SQLite format 3\x00"


def check_writable(path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Return where a report may be written, or raise a `UsageError`: before the work of making it.

    A file that is no report of ours is written over only with ``force``, and a database, such as a study, never.

    >>> check_writable("no such folder/oven.html")
    Traceback (most recent call last):
    paraboloid.core.errors.UsageError: the folder ...no such folder does not exist. Make it first, or give another path.
    """
    where = Path(path).expanduser().resolve()  # what a link points to is judged and written
    if not where.parent.is_dir():
        raise UsageError(f"the folder {where.parent} does not exist. Make it first, or give another path.")
    if not where.exists():
        return where
    if not where.is_file():
        raise UsageError(f"{where} exists and is no file. Give another path for the report.")
    with where.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(DATABASE):
        raise UsageError(f"{where} is a database, and never written over. Give another path for the report.")
    if OURS not in head and head and not force:
        raise UsageError(
            f"{where} exists and is no report of ours. Give another path, or say that it may be lost (force)."
        )
    return where


def write_report(path: str | os.PathLike[str], text: str, *, force: bool = False) -> Path:
    """Write a report to a path, whole or not at all, and return where it is.

    Parameters
    ----------
    path
        The file; an earlier report of ours is replaced.
    text
        What `html_report` returned.
    force
        Whether a file that is no report of ours may be replaced too.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_report(folder / "oven.html", "<p>It is warm.</p>").name
    'oven.html'
    """
    where = check_writable(path, force=force)
    handle, name = tempfile.mkstemp(dir=where.parent, prefix=f".{where.name[:100]}.", suffix=".part")
    try:
        with open(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), 0o666 & ~_umask())
        _place(Path(name), where, force=force)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return where


def _place(part: Path, where: Path, *, force: bool) -> None:
    """Give a finished file its name; what somebody put there meanwhile is judged again."""
    if not where.exists():
        try:
            os.link(part, where)  # fails where a file is, which a renaming does not
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS):
                raise
        else:
            os.unlink(part)
            return
    check_writable(where, force=force)
    os.replace(part, where)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
