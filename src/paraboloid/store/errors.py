"""What can go wrong with the file of a study, as a short tree under `ParaboloidError`.

::

    ParaboloidError
    └── StoreError (RuntimeError)
        ├── StudyHeld         another process writes to the study
        ├── StudyBusy         the file stayed locked (also a TimeoutError)
        ├── StudyDamaged      the file is not a study, or not a whole one
        ├── StudyReadOnly     the file or its folder cannot be written (also a PermissionError)
        ├── StorageFull       nothing more could be written (also an OSError)
        └── VersionMismatch   the file was written by a newer version
"""

import sqlite3
from pathlib import Path

from paraboloid.core import ParaboloidError

__all__ = [
    "StorageFull",
    "StoreError",
    "StudyBusy",
    "StudyDamaged",
    "StudyHeld",
    "StudyReadOnly",
    "VersionMismatch",
    "translated",
]


class StoreError(ParaboloidError, RuntimeError):
    """The file of a study could not be used as wanted."""


class StudyHeld(StoreError):  # noqa: N818 - the name says what happened
    """Another process writes to this study; the message names its host and process id."""


class StudyBusy(StoreError, TimeoutError):  # noqa: N818 - the name says what happened
    """The file stayed locked by another process for the whole waiting time."""


class StudyDamaged(StoreError):  # noqa: N818 - the name says what happened
    """The file is not a study, or not a whole one; it was not changed."""


class StudyReadOnly(StoreError, PermissionError):  # noqa: N818 - the name says what happened
    """The file or its folder cannot be written."""


class StorageFull(StoreError, OSError):  # noqa: N818 - the name says what happened
    """The storage took nothing more; nothing was half-written."""


class VersionMismatch(StoreError):  # noqa: N818 - the name says what happened
    """The file was written by a newer version of Paraboloid."""


def translated(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StoreError:
    """Return what an error of SQLite means for the study, with what to do next."""
    name = getattr(error, "sqlite_errorname", None) or ""
    cause = f"SQLite says: {error}"
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StudyBusy(f"{path} stayed locked by another process ({cause}). Wait for it to end, and try again.")
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return StudyReadOnly(
            f"{path} or its folder cannot be written ({cause}). Nothing was measured. Change the permissions, or copy "
            f"the study to a folder of yours; Study.read(path) looks at it without writing."
        )
    # Python cannot read a text, or the words of an error, in which bytes were flipped.
    is_garbled = isinstance(error, UnicodeDecodeError) or "decode" in str(error)
    if is_garbled or name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_ERROR")):
        return damaged(path, cause)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_TOOBIG", "SQLITE_NOMEM")):
        return StorageFull(
            f"{path} could not be written: the disk, the quota or a file-size limit is used up, or the disk fails "
            f"({cause}). Nothing was half-written. Free some space and do the same again."
        )
    return StoreError(f"{path}: {cause}. Run `paraboloid doctor {path}`.")


def damaged(path: Path, what: str) -> StudyDamaged:
    """Return the error for a file that cannot be trusted."""
    return StudyDamaged(
        f"{path} is not a whole study: {what}. It was not changed. Run `paraboloid doctor {path}`, which saves "
        f"the rows that can be read, or restore a copy."
    )
