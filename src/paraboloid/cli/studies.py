"""How commands come to a study: by its study.db, or by the study.toml beside it, which may also name its algorithm."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import click

from paraboloid.cli.settings import StudySettings, read_settings, study_path
from paraboloid.core import UsageError
from paraboloid.study import Study

__all__ = ["in_words_of_commands", "looking", "open_study", "options_of", "read_study", "writing"]


def read_study(given: Path) -> Study:
    """Look at a study, given by a study.db, a study.toml or a folder.

    An algorithm ``module:factory`` is run only if the study.toml was given that names it: a study.db alone must not
    decide which code is run.
    """
    return Study.read(study_path(given), algorithm=_algorithm_of(given))


def open_study(given: Path) -> Study:
    """Open a study for writing; make it if a study.toml is given that has none yet."""
    path = study_path(given)
    if path.exists() or not _is_settings(given):
        return Study.open(path, algorithm=_algorithm_of(given))
    settings = read_settings(given)
    return Study.open(settings.database, settings.domain, **options_of(settings))


def options_of(settings: StudySettings) -> dict[str, Any]:
    """Return what a ``study.toml`` says to `Study.open` beside the domain; its folder is where modules are found."""
    options = dict(settings.study)
    if "algorithm" in options:
        where = str(settings.path.resolve().parent)
        if where not in sys.path:
            sys.path.insert(0, where)
    return {"rng": options.pop("seed", None), **options}


@contextmanager
def writing(given: Path) -> Iterator[Study]:
    """Open a study for writing, with warnings said as sentences; made if a study.toml is given that has none yet."""
    with _speaking(), open_study(given) as opened:
        yield opened


@contextmanager
def looking(given: Path) -> Iterator[Study]:
    """Look at a study, with warnings said as sentences."""
    with _speaking(), read_study(given) as opened:
        yield opened


@contextmanager
def _speaking() -> Iterator[None]:
    """Say warnings on standard error as sentences, without the lines of our code that raised them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _say
        yield


def _say(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    click.echo(f"Warning: {message}", err=True)


@contextmanager
def in_words_of_commands() -> Iterator[None]:
    """Name the options of the command line in errors that name those of Python."""
    try:
        yield
    except UsageError as error:
        raise UsageError(str(error).replace("replace=True", "--replace")) from error


def _is_settings(given: Path) -> bool:
    return given.is_dir() or given.suffix == ".toml"


def _algorithm_of(given: Path) -> str | None:
    if not _is_settings(given):
        return None
    try:
        return options_of(read_settings(given)).get("algorithm")
    except UsageError:  # the study itself does not need the study.toml any more
        return None
