"""From a study to the subject of its report."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from paraboloid.core import Domain, Evidence, Measurements
from paraboloid.report.subject import Rows, Subject

__all__ = ["StudyView", "study_subject"]


class StudyView(Protocol):
    """What a report needs of a study; `paraboloid.Study` has it. It is not imported: a study imports reports."""

    @property
    def path(self) -> Path:
        """Its file."""

    @property
    def domain(self) -> Domain:
        """Where may be measured."""

    @property
    def settings(self) -> dict[str, Any]:
        """What it was made with."""

    def status(self) -> Any:
        """Return where it stands."""

    def recommend(self) -> Any:
        """Return its answer."""

    def trials(self) -> Sequence[Any]:
        """Return all trials in order."""


def study_subject(study: StudyView) -> Subject:
    """Return what the report of a study is made of; a study without any value has one too.

    Examples
    --------
    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "oven.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study:
    ...     subject = study_subject(study)
    >>> subject.title, subject.result
    ('oven', None)
    """
    status, domain, settings = study.status(), study.domain, study.settings
    rows = _rows(study.trials(), domain)
    named: dict[str, Any] = {
        "title": study.path.stem,
        "path": study.path.name,  # reports are passed on, and folders are nobody else's business
        "eps": settings["eps"],
        "left": status.left,
        "warnings": tuple(status.warnings),
        "n_rounds": status.n_rounds,
        "rows": (rows,),
        "is_ordered": True,
    }
    if status.n_measurements:
        concluded: Subject = study.recommend().subject
        return replace(concluded, **named)
    sign = -1.0 if settings["maximize"] else 1.0
    return Subject(
        domain,
        _failed(rows, domain),
        None,
        sign,
        status.message,
        status.phase != "RUNNING",
        settings["confidence"],
        **named,
    )


def _rows(trials: Sequence[Any], domain: Domain) -> Rows:
    """Return the trials as columns."""
    settings = [_values(trial.executed or trial.x, domain) for trial in trials]
    points = domain.to_unit(np.array(settings)) if settings else np.zeros((0, domain.dimension))
    return Rows(
        np.array([trial.id for trial in trials], dtype=np.int64),
        np.array([trial.round for trial in trials], dtype=np.int64),
        points,
        np.array([trial.count for trial in trials], dtype=np.int64),
        np.array([trial.failures for trial in trials], dtype=np.int64),
        np.array([np.nan if trial.value is None else trial.value for trial in trials], dtype=np.float64),
        np.array([np.nan if trial.sem is None else trial.sem for trial in trials], dtype=np.float64),
        [trial.state.name for trial in trials],
        ["; ".join(filter(None, (trial.note, trial.reason))) for trial in trials],
    )


def _values(setting: Mapping[str, float], domain: Domain) -> list[float]:
    return [setting[name] for name in domain.names]


def _failed(rows: Rows, domain: Domain) -> Evidence:
    """Return the evidence of a study in which nothing has a value."""
    nothing = np.zeros(rows.n_rows)
    tried = Measurements(np.zeros(rows.n_rows, dtype=np.int64), nothing, nothing, failures=rows.failures)
    return Evidence.empty(domain.dimension).with_measurements(rows.points, tried)
