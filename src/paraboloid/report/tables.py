"""The tables of a report, as texts: settings, quality, tolerances, directions, far values, failures, all rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paraboloid.core import Certificate, Domain, doubt_about_shape
from paraboloid.report.diagnosis import Failures, Residuals
from paraboloid.report.subject import Rows, Subject
from paraboloid.report.surface import Direction, Surface, is_log, tolerances_of
from paraboloid.report.wording import clean, counted, number, significant, spans_decades, units, with_unit

__all__ = [
    "Table",
    "direction_table",
    "failure_table",
    "far_table",
    "knob_table",
    "part_text",
    "quality_table",
    "row_table",
    "setting_table",
    "tolerance_table",
]

MOST_ROWS = 400
MOST_CELLS = 4000
FINEST = 1e-5
"""Of a knob's range: nothing can be set finer, and digits beyond it are noise to a reader."""

NOTHING = 1e-3
"""Of a knob's range: a setting nearer to zero counts as zero where its interval is the whole range."""

MOST_DIRECTIONS = 12
MOST_FAR = 10
MOST_COLUMNS = 4
"""Knobs that have a column of their own in the table of all rows; more are written into one cell."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its heads, its rows of texts, and which columns are numbers.

    >>> Table(("knob", "setting"), [("time", "35 min")]).rows[0][1]
    '35 min'
    """

    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    note: str = ""


def _ends(domain: Domain, k: int) -> tuple[float, float]:
    place = np.zeros((2, domain.dimension))
    place[:, k] = -1.0, 1.0
    low, high = domain.from_unit(place)[:, k]
    return float(low), float(high)


def _range(domain: Domain, k: int) -> str:
    low, high = _ends(domain, k)
    text = f"{number(low, digits=6)} to {number(high, digits=6)}"
    return text + (" (log scale)" if is_log(domain)[k] else "")


def _finest(domain: Domain, k: int, x: float) -> float:
    """Return the smallest step of a knob at x that is worth a digit."""
    low, high = _ends(domain, k)
    return FINEST * (x * float(np.log(high / low)) if is_log(domain)[k] else high - low)


def knob_table(domain: Domain) -> Table:
    """Return the knobs and their ranges, where there is no answer yet."""
    rows = [(clean(name), _range(domain, k), units(domain)[k]) for k, name in enumerate(domain.names)]
    return Table(("knob", "range", "unit"), rows)


def setting_table(subject: Subject) -> Table:
    """Return the recommended setting of each knob with its interval."""
    assert subject.result is not None
    c = subject.result.certificate
    domain, x = subject.domain, subject.result.x
    rows = []
    for k, name in enumerate(domain.names):
        unit = units(domain)[k]
        if c is None:
            rows.append((clean(name), with_unit(number(x[k], digits=6), unit), "not known", _range(domain, k)))
            continue
        covariance = subject.result.estimate.covariance
        error = float("nan") if covariance is None else float(np.sqrt(max(covariance[k, k], 0.0)))
        setting, between = _setting(domain, k, float(x[k]), (float(c.x_ci[k, 0]), float(c.x_ci[k, 1])), error)
        rows.append((clean(name), with_unit(setting, unit), between, _range(domain, k)))
    share = f"{subject.confidence:.0%}"
    return Table(("knob", "set to", f"best setting lies in ({share})", "allowed range"), rows)


def _setting(domain: Domain, k: int, x: float, interval: tuple[float, float], error: float) -> tuple[str, str]:
    """Return a setting and its interval as texts, with digits that fit the interval.

    An interval that is the whole range, or spans decades, says nothing of digits: then three are significant, and more
    where the standard error of the setting says that more are known.
    """
    low, high = interval
    ends, finest = _ends(domain, k), _finest(domain, k, x)
    width = ends[1] - ends[0]
    is_whole = low <= ends[0] + 1e-9 * width and high >= ends[1] - 1e-9 * width
    if not is_whole and not spans_decades(low, high):
        step = max((high - low) / 2, finest)
        return number(x, step), f"{number(low, step)} to {number(high, step)}"
    between = " to ".join(number(end, digits=6) if end in ends else significant(end) for end in (low, high))
    coarse = number(x, width / 100) if abs(x) < NOTHING * width and not is_log(domain)[k] else significant(x)
    fine = number(x, max(error, finest)) if np.isfinite(error) else coarse
    return (fine if abs(float(fine) - x) < abs(float(coarse) - x) else coarse), between


def quality_table(subject: Subject, c: Certificate, *, is_trusted: bool) -> Table:
    """Return how good the answer is, in the unit of the value; without trust where the response is no paraboloid."""
    evidence = subject.evidence
    direction = "below" if subject.sign < 0 else "above"
    bound, loss = number(c.regret_bound, digits=3), number(c.regret, digits=3)
    if loss == "none":
        loss = "not known"
    elif bound == "none":
        loss += " (not to be relied on: there is no bound)"
    elif not is_trusted:
        loss, bound = (f"{text} if it were a paraboloid, which it is not" for text in (loss, bound))
    n_failed = int(evidence.failures.sum())
    failed = f", and {n_failed:,} more gave no value" if n_failed else ""
    settings = int(np.sum(evidence.counts > 0))
    rounds = f" in {counted(subject.n_rounds, 'round')}" if subject.n_rounds else ""
    rows = [
        ("value to expect there", f"{number(subject.sign * c.fun, c.fun_se)} ± {number(c.fun_se, c.fun_se)}"),
        (f"expected loss: how far it is {direction} the best possible", loss),
        (f"loss at most ({c.confidence:.0%})", "no bound can be given" if bound == "none" else bound),
        ("one measurement scatters by (σ)", number(c.sigma, digits=3)),
        ("measurements", f"{evidence.n_measurements:,} at {counted(settings, 'setting')}{rounds}{failed}"),
    ]
    doubt = doubt_about_shape(c.regret_bound, c.regret_bound_if_quadratic) if is_trusted else ""
    return Table(("what", "how much"), rows, f"The loss is {doubt}." if doubt else "")


def tolerance_table(surface: Surface, domain: Domain, worsening: float) -> Table:
    """Return how far each knob alone may drift."""
    rows = []
    for k, found in enumerate(tolerances_of(surface, domain, worsening)):
        step = None if spans_decades(found.low, found.high) else (found.high - found.low) / 20
        low, high = (significant(end) if step is None else number(end, step) for end in (found.low, found.high))
        edges = [word for word, is_edge in (("low", found.is_edge_low), ("high", found.is_edge_high)) if is_edge]
        remark = "the whole range" if len(edges) == 2 else f"up to the {edges[0]} end of the range" if edges else ""
        place = float(domain.from_unit(surface.z)[k])
        setting = significant(place) if step is None else number(place, step)
        unit = units(domain)[k]
        rows.append((clean(domain.names[k]), with_unit(setting, unit), f"{low} to {high}", remark))
    return Table(("knob", "recommended", "may drift between", "remark"), rows)


def part_text(direction: Direction, domain: Domain, most: int = 4, *, is_short: bool = False) -> str:
    """Return what a move along a direction does to the knobs, as text."""
    parts = []
    for k, change in direction.parts[:most]:
        unit = "" if change.startswith("×") else units(domain)[k]
        parts.append(f"{clean(domain.names[k], 40)} {with_unit(change, unit)}")
    more = len(direction.parts) - most
    rest = "" if more <= 0 else ", …" if is_short else f" and {counted(more, 'more knob')}"
    return ", ".join(parts) + rest


def direction_table(directions: Sequence[Direction], chosen: Sequence[int], domain: Domain) -> Table:
    """Return the directions with what each may drift by."""
    stiffest = max((one.curvature for one in directions), default=1.0)
    rows = []
    for k in chosen:
        one = directions[k]
        if one.curvature <= 0:
            word = "bends the wrong way"
        elif one.is_flat:
            word = "flat, as far as can be seen"
        elif one.drift > 1:
            word = "hardly matters"
        else:
            word = (
                "stiff"
                if one.curvature > 0.3 * stiffest
                else "middling"
                if one.curvature > 0.03 * stiffest
                else "sloppy"
            )
        reach = "" if one.drift <= 1 else " and more: beyond half the range"
        error = "" if not np.isfinite(one.curvature_se) else f" ± {number(one.curvature_se, digits=2)}"
        rows.append((str(k + 1), part_text(one, domain) + reach, f"{number(one.curvature, digits=3)}{error}", word))
    left_out = len(directions) - len(chosen)
    note = f"{left_out} directions in between are left out." if left_out else ""
    return Table(("direction", "may drift together by", "curvature", "in a word"), rows, note)


def far_table(rows: Rows, residuals: Residuals, domain: Domain) -> Table:
    """Return the rows that lie far from the fit."""
    made = []
    for at in residuals.far[:MOST_FAR]:
        row = int(residuals.index[at])
        made.append(
            (
                str(int(rows.ids[row])),
                _setting_text(rows, row, domain),
                number(float(rows.means[row]), digits=6),
                number(float(residuals.fitted[at]), digits=6),
                f"{residuals.score[at]:+.1f} σ",
                clean(rows.note(row)),
            )
        )
    more = len(residuals.far) - len(made)
    note = f"{more:,} more rows lie beyond 4 σ." if more > 0 else ""
    return Table(("number", "setting", "measured", "fitted", "away", "note"), made, note)


def failure_table(failures: Sequence[Failures], domain: Domain, most: int = 8) -> Table:
    """Return the share of failures in each third of each knob."""
    rows = [
        (
            clean(domain.names[one.knob]),
            *(f"{f:,} of {n:,}" if n else "not tried" for f, n in zip(one.failed, one.attempts, strict=True)),
        )
        for one in failures[:most]
    ]
    left_out = len(failures) - len(rows)
    note = f"{left_out} knobs along which failures differ less are left out." if left_out > 0 else ""
    return Table(("knob", "failed in the low third", "in the middle", "in the high third"), rows, note)


def row_table(subject: Subject, rows: Rows, residuals: Residuals | None) -> Table:
    """Return every row, or the first and the last where there are too many for a page."""
    n, domain = rows.n_rows, subject.domain
    half = max(30, min(MOST_ROWS, MOST_CELLS // domain.dimension) // 2)
    shown = np.arange(n) if n <= 2 * half else np.r_[:half, n - half : n]
    left = {} if residuals is None else {int(r): k for k, r in enumerate(residuals.index)}
    has_columns = domain.dimension <= MOST_COLUMNS
    names = [clean(name, 60) for name in domain.names]
    heads = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units(domain), strict=True)]
    old = "old" if subject.rows else ""  # where only the evidence was kept, rounds are not known
    made = []
    for row in shown:
        at = left.get(int(row))
        value = number(float(rows.means[row]), digits=6) if rows.counts[row] else ""
        sem = float(rows.sems[row])
        place = domain.from_unit(rows.points[row])
        setting = (
            [number(float(v), digits=6) for v in place] if has_columns else [_setting_text(rows, int(row), domain)]
        )
        made.append(
            (
                str(int(rows.ids[row])),
                str(int(rows.rounds[row])) if rows.rounds[row] else old,
                *setting,
                f"{value} ± {number(sem, digits=2)}" if np.isfinite(sem) else value,
                str(int(rows.counts[row])) if rows.counts[row] > 1 else "",
                str(int(rows.failures[row])) if rows.failures[row] else "",
                "" if at is None or residuals is None else f"{residuals.score[at]:+.1f}",
                rows.state(int(row)).lower(),
                clean(rows.note(int(row))),
            )
        )
    columns = heads if has_columns else ["setting"]
    heads_all = ("number", "round", *columns, "value", "mean of", "failed", "residual / σ", "state", "note")
    hidden = n - len(made)
    note = (
        "" if hidden == 0 else f"{hidden:,} of {n:,} rows, those in the middle, are left out here. {_export(subject)}"
    )
    return Table(heads_all, made, note)


def _export(subject: Subject) -> str:
    if subject.path:
        return f"All of them: paraboloid export {clean(subject.path, 400)} all.csv"
    return "All of them are in the arrays of result.subject.all_rows()."


def _setting_text(rows: Rows, row: int, domain: Domain) -> str:
    place = domain.from_unit(rows.points[row])
    parts = zip(domain.names, place, units(domain), strict=True)
    return ", ".join(f"{clean(name, 40)} {with_unit(number(float(v)), unit)}" for name, v, unit in parts)
