"""The answer so far, for the page: the same numbers as in the report, worked out once for each state of the study."""

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from paraboloid.core import Certificate
from paraboloid.report.advice import concerns, next_steps, plain_status
from paraboloid.report.diagnosis import lack_of_fit
from paraboloid.report.figures import Figure, forecast_figure
from paraboloid.report.of_study import study_subject
from paraboloid.report.surface import surface_of
from paraboloid.report.tables import Table, quality_table, setting_table
from paraboloid.report.wording import clean, number
from paraboloid.study import Study, StudyStatus

__all__ = ["Fit", "Fitting", "fit_of"]

SHARES = (0.25, 0.5, 1.0, 2.0)
"""Of the measurements so far: how many more the forecast speaks of."""


SHORT = 12
"""Characters of a cell that fit on one line of a phone."""


@dataclass(frozen=True, slots=True)
class Fit:
    """What the study says so far.

    Parameters
    ----------
    sentence
        How it stands.
    concerns, steps
        What speaks against the answer, and what to do next.
    settings, quality
        The recommended setting, and how good it is; None before there is an answer.
    forecast, figure
        What more measurements would leave of the expected loss; None where there is no honest forecast.
    """

    sentence: str
    concerns: Sequence[str]
    steps: Sequence[str]
    settings: Table | None = None
    quality: Table | None = None
    forecast: Table | None = None
    figure: Figure | None = None


def fit_of(study: Study) -> Fit:
    """Return what a study says so far.

    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "oven.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study:
    ...     fit = fit_of(study)
    >>> fit.settings is None, fit.steps
    (True, ['Measure: ask for the first settings, make the measurements, and tell their values.'])
    """
    subject = study_subject(study)
    surface = surface_of(subject)
    misfit = None if surface is None else lack_of_fit(surface)
    is_trusted = misfit is not None and not misfit.is_sure
    found = concerns(subject, misfit)
    steps = next_steps(subject, surface, found, is_trusted=is_trusted)
    common = (
        clean(plain_status(subject), 2000),
        [clean(text, 2000) for text in found],
        [clean(text, 2000) for text in steps],
    )
    if surface is None or subject.result is None:
        return Fit(*common)
    c = subject.result.certificate
    settings = _unbroken(setting_table(subject))
    if c is None:
        return Fit(*common, settings)
    n = max(1, subject.evidence.n_measurements)
    is_known = is_trusted and math.isfinite(c.regret_bound) and c.regret > 0 and c.regret_unit > 0
    return Fit(
        *common,
        settings,
        quality_table(subject, c, is_trusted=is_trusted),
        _forecast(c, n) if is_known else None,
        forecast_figure(c, n, subject.eps) if is_known else None,
    )


def _unbroken(table: Table) -> Table:
    """Return a table whose short cells stay on one line: a number is not parted from its unit."""
    rows = [[cell.replace(" ", "\u00a0") if len(cell) <= SHORT else cell for cell in row] for row in table.rows]
    return Table(table.heads, rows, table.note)


def _forecast(c: Certificate, n: int) -> Table:
    more = sorted({max(1, round(share * n)) for share in SHARES})
    rows = [(f"{extra:,} more", number(c.regret_after(extra), digits=3)) for extra in more]
    return Table(("after", "expected loss"), rows)


class Fitting:
    """Keeps the last fit, for as long as the log of the study stays the same."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._lock = threading.Lock()
        self._kept: tuple[int, Fit] | None = None

    def fit(self, status: StudyStatus) -> Fit:
        """Return the fit of the study as it stands."""
        with self._lock:
            if self._kept is None or self._kept[0] != status.events:
                self._kept = (status.events, fit_of(self._study))
            return self._kept[1]
