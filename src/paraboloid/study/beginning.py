"""The beginning of a study: its first event, and the state that its log tells."""

import gc
import logging
import platform
import uuid
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np

from paraboloid.core import Domain, Knob, UsageError, as_domain
from paraboloid.store import EventLog
from paraboloid.study.algorithm import arguments_of, is_ours, name_of
from paraboloid.study.following import Follower, Unnamed
from paraboloid.study.rounds import Planner, Searcher
from paraboloid.study.settings import ADAPTIVE, Settings, domain_payload, seed_of, whole
from paraboloid.study.state import State

__all__ = ["as_given", "create", "find_or_create", "own_version", "planner_of", "replayed"]

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


def as_given(
    domain: Domain | Sequence[Knob | Sequence[float]] | None,
    algorithm: str | Callable[..., Any] | None,
    arguments: Mapping[str, Any] | None,
    *,
    maximize: bool | None,
    budget: SupportsIndex | None,
    batch: SupportsIndex | None,
    rng: Any,
) -> dict[str, Any]:
    """Return what `Study.open` is given in plain types, None where nothing is; what is plain already is left out."""
    is_seed = isinstance(rng, int | np.integer | np.random.SeedSequence)
    return {
        "domain": None if domain is None else domain_payload(as_domain(domain)),
        "maximize": None if maximize is None else bool(maximize),
        "budget": None if budget is None else whole("budget", budget),
        "batch": None if batch is None else whole("batch", batch),
        # A generator, of whatever kind, is somewhere in its stream: nothing can be compared with it.
        "seed": seed_of(rng) if is_seed else None,
        "algorithm": None if algorithm is None else name_of(algorithm),
        "arguments": None if arguments is None else arguments_of(arguments),
    }


def planner_of(state: State, named: str | None, path: Path, *, is_writer: bool) -> Planner:
    """Return what decides for a study; code that only the file names is not run."""
    made = state.made
    assert made is not None
    if named is not None and named != made.algorithm:
        raise UsageError(
            f"{path} was made with algorithm {made.algorithm}, but {named} is given. Make a new study for another one."
        )
    if made.algorithm == ADAPTIVE:
        return Searcher()
    if is_ours(made.algorithm) or named is not None:
        return Follower(made)
    if is_writer:
        raise UsageError(
            f'{path} follows the algorithm "{made.algorithm}". A file must not decide which code is run, so name it as '
            f'well: Study.open(path, algorithm="{made.algorithm}"), or algorithm = "{made.algorithm}" in study.toml.'
        )
    return Unnamed(made)


def find_or_create(path: Path, given: Mapping[str, Any], rng: Any, if_exists: str) -> None:
    """See to it that there is a study at a path, as `Study.open` is told."""
    if if_exists not in ("resume", "error"):
        raise UsageError(f'if_exists must be "resume" or "error", got {if_exists!r}.')
    if if_exists == "error" and path.exists():
        raise UsageError(f'{path} exists. Give if_exists="resume" to go on with it, or another path.')
    if not path.parent.is_dir():
        raise UsageError(f"the folder {path.parent} does not exist. Make it first, or give another path.")
    if given["domain"] is not None and not path.exists():
        create(path, given, seed_of(rng))
    elif not path.exists():
        raise UsageError(f"there is no study at {path}. Give domain= to create one, or check the path.")


def create(path: Path, given: Mapping[str, Any], seed: int) -> None:
    """Make the file of a study, unless another process has made it in the meantime."""
    settings = Settings.from_payload(
        {
            **given,
            "maximize": bool(given["maximize"]),
            "confidence": 0.95 if given["confidence"] is None else given["confidence"],
            "seed": seed,
            "algorithm": given["algorithm"] or ADAPTIVE,
            "arguments": given["arguments"] or {},
        }
    )
    if settings.algorithm != ADAPTIVE:
        Follower(settings)  # a mistake in its arguments is seen before there is a file
    elif settings.arguments:
        raise UsageError(f"arguments are for another algorithm=, got {dict(settings.arguments)}.")
    versions = {"paraboloid": own_version(), "numpy": np.__version__, "python": platform.python_version()}
    first = {"study": uuid.uuid4().hex, **settings.payload(), "versions": versions}
    try:
        EventLog.create(path, [("created", None, first)])
    except FileExistsError:
        logger.info("%s was made by another process at the same time", path)


def own_version() -> str:
    """Return the version of Paraboloid that is at work."""
    return version("paraboloid")
