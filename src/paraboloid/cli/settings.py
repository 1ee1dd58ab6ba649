"""``study.toml``: what is searched, how it is measured, and where the study lies."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from paraboloid.core import Box, Knob, UsageError

__all__ = ["MeasureSettings", "StudySettings", "read_settings", "study_path"]

SECTIONS = ("study", "knob", "measure")
STUDY_KEYS = ("maximize", "budget", "eps", "confidence", "seed", "batch", "algorithm", "arguments")
KNOB_KEYS = ("name", "low", "high", "unit", "log")
MEASURE_KEYS = (
    *("python", "command", "shell", "pattern", "directory"),
    *("workers", "timeout", "retries", "most_failed", "repeats", "vectorized"),
)


@dataclass(frozen=True, slots=True)
class MeasureSettings:
    """How a measurement is made: the table ``[measure]``.

    Parameters
    ----------
    python, command
        ``module:function``, or a program with its arguments (text only with ``shell``, or to be split); one of them.
    shell
        Whether the command is one text for the shell.
    pattern
        Regular expression for the value in what the command prints; the last number if it is not given.
    directory
        Where the command runs and modules are found.
    workers, timeout, retries
        Measurements side by side; seconds for one; how often one is tried again whose worker died.
    most_failed
        Share of failed measurements above which the run stops.
    repeats, vectorized
        Measurements in each trial; whether the Python function takes many settings at once.
    """

    python: str | None = None
    command: str | tuple[str, ...] | None = None
    shell: bool = False
    pattern: str | None = None
    directory: Path = Path()
    workers: int = 1
    timeout: float | None = None
    retries: int = 2
    most_failed: float = 0.5
    repeats: int = 1
    vectorized: bool = False

    def __post_init__(self) -> None:
        if (self.python is None) == (self.command is None):
            raise UsageError(
                '[measure] needs either python = "module:function" or command = [...], and not both; '
                "`paraboloid init --help` shows examples."
            )
        for name in ("workers", "repeats"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.timeout is not None and not self.timeout > 0:
            raise UsageError(f"timeout must be a number of seconds above 0, got {self.timeout}.")
        if self.retries < 0 or not 0 <= self.most_failed <= 1:
            raise UsageError(
                f"retries must be at least 0 and most_failed from 0 to 1, got {self.retries} and {self.most_failed}."
            )
        if self.shell and not isinstance(self.command, str):
            raise UsageError("shell = true needs command to be one text, as it would be typed.")


@dataclass(frozen=True, slots=True)
class StudySettings:
    """The content of a ``study.toml``.

    Parameters
    ----------
    path, database
        The file itself, and the study's log beside it.
    domain
        The knobs.
    study
        What `Study.open` is given beside: maximize, budget, eps, confidence, seed, batch, algorithm, arguments.
    measure
        How to measure; None if measurements are told by hand.
    """

    path: Path
    database: Path
    domain: Box
    study: Mapping[str, Any]
    measure: MeasureSettings | None


def study_path(given: Path) -> Path:
    """Return the log that a path means: of a ``study.toml``, or of a folder, the ``study.db`` that belongs to it.

    >>> study_path(Path("oven/study.toml")).name, study_path(Path("oven.db")).name
    ('study.db', 'oven.db')
    """
    if given.is_dir():
        return given / "study.db"
    return given.with_suffix(".db") if given.suffix == ".toml" else given


def read_settings(path: Path) -> StudySettings:
    """Return the content of a ``study.toml``, or raise a `UsageError` that names the line or the key."""
    where = path / "study.toml" if path.is_dir() else path
    if not where.exists():
        raise UsageError(f"there is no {where}. Make one with `paraboloid init {where}`, or check the path.")
    try:
        content = tomllib.loads(where.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{where} cannot be read as TOML: {error}. Text needs quotes; see `paraboloid init`."
        ) from error
    try:
        _refuse_unknown(content, SECTIONS, "a table")
        study = _checked(content.get("study", {}), STUDY_KEYS, "[study]")
        knobs = content.get("knob", [])
        if not isinstance(knobs, list) or not knobs:
            raise UsageError("it names no knobs; each begins with a line [[knob]].")
        box = Box([_knob(knob, number) for number, knob in enumerate(knobs, start=1)])
        measure = _measure(content["measure"], where.resolve().parent) if "measure" in content else None
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    return StudySettings(where, study_path(where), box, study, measure)


def _refuse_unknown(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> None:
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UsageError(f"{what} named {unknown[0]!r} is not known; known are {', '.join(known)}.")


_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(("maximize", "log", "shell", "vectorized"), ((bool,), "true or false")),
    **dict.fromkeys(("budget", "seed", "batch", "workers", "retries", "repeats"), ((int,), "a whole number")),
    **dict.fromkeys(("eps", "confidence", "timeout", "most_failed", "low", "high"), ((int, float), "a number")),
    **dict.fromkeys(("name", "unit", "python", "pattern", "directory", "algorithm"), ((str,), "a text in quotes")),
    "command": ((str, list), "a text or a list of texts"),
    "arguments": ((dict,), "a table, [study.arguments]"),
}


def _checked(given: Any, known: tuple[str, ...], where: str) -> dict[str, Any]:
    """Return a table whose keys are known and whose values have the right kind."""
    if not isinstance(given, dict):
        raise UsageError(f"{where} must be a table of its own, got {given!r}.")
    _refuse_unknown(given, known, f"{where}: a key")
    for key, value in given.items():
        kinds, wanted = _KINDS[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise UsageError(f"{where}: {key} must be {wanted}, got {value!r}.")
    return dict(given)


def _knob(given: Any, number: int) -> Knob:
    table = _checked(given, KNOB_KEYS, f"[[knob]] number {number}")
    missing = [key for key in ("name", "low", "high") if key not in table]
    if missing:
        raise UsageError(f"[[knob]] number {number} has no {missing[0]}.")
    return Knob(**table)


def _measure(given: Any, folder: Path) -> MeasureSettings:
    table = _checked(given, MEASURE_KEYS, "[measure]")
    command = table.get("command")
    if isinstance(command, list):
        if not command or not all(isinstance(part, str) for part in command):
            raise UsageError(f"[measure]: command must be a list of texts in quotes, got {command!r}.")
        table["command"] = tuple(command)
    table["directory"] = folder / table.get("directory", ".")
    return MeasureSettings(**table)
