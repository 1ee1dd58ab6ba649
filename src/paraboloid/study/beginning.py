"""The beginning of a study: its first event, and the state that its log tells."""

import gc
import logging
import platform
import uuid
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid.store import EventLog
from paraboloid.study.settings import Settings
from paraboloid.study.state import State

__all__ = ["create", "own_version", "replayed"]

logger = logging.getLogger("paraboloid")


def replayed(log: EventLog) -> State:
    """Return the state that a log tells."""
    state = State()
    # The collector would go over hundreds of thousands of new objects again and again, and find no garbage.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        state.apply(log.events())
    finally:
        if was_enabled:
            gc.enable()
    return state


def create(path: Path, given: Mapping[str, Any], seed: int) -> None:
    """Make the file of a study, unless another process has made it in the meantime."""
    settings = Settings.from_payload(
        {
            **given,
            "maximize": bool(given["maximize"]),
            "confidence": 0.95 if given["confidence"] is None else given["confidence"],
            "seed": seed,
        }
    )
    versions = {"paraboloid": own_version(), "numpy": np.__version__, "python": platform.python_version()}
    first = {"study": uuid.uuid4().hex, "algorithm": "adaptive", **settings.payload(), "versions": versions}
    try:
        EventLog.create(path, [("created", None, first)])
    except FileExistsError:
        logger.info("%s was made by another process at the same time", path)


def own_version() -> str:
    """Return the version of Paraboloid that is at work."""
    return version("paraboloid")
