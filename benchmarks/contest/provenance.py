"""Which version of the package a row was measured with."""

import hashlib
import os
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import paraboloid

__all__ = ["made_by", "source_of_ours", "versions"]


def made_by() -> dict[str, str]:
    """Return the commit, marked if the tree differs from it, and digits that stand for the package's text."""
    return {"commit": _commit(), "source": source_of_ours()}


def versions(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the commits of rows, one for each text of the package.

    A tree that differed from its commit elsewhere, and not in the package, counts as that commit.
    """
    of: dict[str, str] = {}
    for row in rows:
        commit, source = str(row.get("commit", "an earlier version")), str(row.get("source", ""))
        of[source] = min(of.get(source, commit), commit, key=len)
    return sorted(set(of.values()))


def source_of_ours() -> str:
    """Return ten digits that stand for the text of the package that is measured, committed or not."""
    folder, digest = Path(paraboloid.__file__).parent, hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(os.fsencode(path.relative_to(folder)) + path.read_bytes())
    return digest.hexdigest()[:10]


def _commit() -> str:
    here = Path(__file__).parent
    said = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=here, capture_output=True, text=True)
    return said.stdout.strip() or "unknown"
