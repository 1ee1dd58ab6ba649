"""The report as one HTML file: every section from the same subject, escaped by jinja2, readable without a script."""

import datetime
from importlib import resources
from importlib.metadata import version
from typing import Any

import numpy as np

from paraboloid.core import Certificate, check_positive, doubt_about_shape
from paraboloid.design.closed_form import closed_form_design
from paraboloid.numerics import n_terms
from paraboloid.report import tables
from paraboloid.report.advice import concerns, next_steps, plain_status
from paraboloid.report.diagnosis import LackOfFit, Residuals, failures_of, lack_of_fit, order_of, residuals_of
from paraboloid.report.figures import (
    Figure,
    bar_figure,
    contour_figure,
    direction_rows,
    fitted_figure,
    forecast_figure,
    importance,
    important_pairs,
    order_figure,
    slice_figure,
)
from paraboloid.report.subject import Rows, Subject
from paraboloid.report.surface import Direction, Surface, directions_of, surface_of, typical_worsening
from paraboloid.report.templates import template_environment
from paraboloid.report.wording import clean, number

__all__ = ["html_report"]

MOST_SLICES = 12
MOST_REASONS = 5
GENERATOR = "paraboloid report"


def html_report(subject: Subject, *, worsening: float | None = None) -> str:
    """Return the report of a study or a run as one HTML document, complete in itself.

    Parameters
    ----------
    subject
        ``result.subject`` of a result of `paraboloid.minimize`, or `study_subject` of a `paraboloid.Study`.
    worsening
        Tolerances say how far the knobs may drift until the value is worse by so much; the scatter of one measurement
        if it is not given.

    Examples
    --------
    >>> import paraboloid
    >>> result = paraboloid.minimize(lambda x: (x[0] - 1) ** 2, [(0, 3)], budget=9, rng=0)
    >>> page = html_report(result.subject)
    >>> page.startswith("<!doctype html>"), "<script" in page
    (True, False)
    """
    environment = template_environment("paraboloid.report")
    chosen = None if worsening is None else check_positive("worsening", worsening)
    text: str = environment.get_template("report.html.jinja").render(**_context(subject, chosen))
    return text.strip() + "\n"


def _context(subject: Subject, worsening: float | None) -> dict[str, Any]:
    """Return everything that the template shows; what cannot be shown is None."""
    surface, rows = surface_of(subject), subject.all_rows()
    misfit = None if surface is None else lack_of_fit(surface)
    found = concerns(subject, misfit)
    is_trusted = misfit is not None and not misfit.is_sure
    residuals = None if surface is None else residuals_of(surface, rows)
    made: dict[str, Any] = {
        "generator": GENERATOR,
        "version": version("paraboloid"),
        "written": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "style": (resources.files("paraboloid.report") / "report.css").read_text(encoding="utf-8"),
        "title": clean(subject.title) or "Paraboloid",
        "path": clean(subject.path, 400),
        "goal": "large" if subject.sign < 0 else "small",
        "sentence": clean(plain_status(subject), 2000),
        "concerns": [clean(text, 2000) for text in found],
        "steps": [clean(text, 2000) for text in next_steps(subject, surface, found, is_trusted=is_trusted)],
        "knobs": tables.knob_table(subject.domain),
        "answer": None,
        "shape": None,
        "checks": None,
        "failures": _failures(subject, rows),
        "table": tables.row_table(subject, rows, residuals) if rows.n_rows else None,
    }
    if surface is not None and residuals is not None and misfit is not None:
        amount = typical_worsening(surface) if worsening is None else worsening
        made["answer"] = _answer(subject, is_trusted)
        made["shape"] = _shape(subject, surface, rows, residuals, amount, worsening is None)
        made["checks"] = _checks(subject, surface, rows, residuals, misfit)
    return made


def _answer(subject: Subject, is_trusted: bool) -> dict[str, Any]:
    """Return the headline and how good it is."""
    assert subject.result is not None
    c = subject.result.certificate
    return {
        "settings": tables.setting_table(subject),
        "value": None if c is None else f"{number(subject.sign * c.fun, c.fun_se)} ± {number(c.fun_se, c.fun_se)}",
        "quality": None if c is None else tables.quality_table(subject, c, is_trusted=is_trusted),
        "forecast": _forecast(subject, c) if is_trusted else None,
        "steps": _forecast_table(c, subject.evidence.n_measurements) if c is not None and is_trusted else None,
    }


def _forecast(subject: Subject, c: Certificate | None) -> Figure | None:
    if c is None or not np.isfinite(c.regret_bound) or not c.regret > 0 or not c.regret_unit > 0:
        return None  # where no bound can be given, a forecast would be idle
    return forecast_figure(c, max(1, subject.evidence.n_measurements), subject.eps)


def _forecast_table(c: Certificate, n: int) -> tables.Table | None:
    """Return the forecast in numbers; the bound falls as the expected loss does, but for doubt about the shape."""
    if not np.isfinite(c.regret_bound) or not c.regret > 0:
        return None
    is_doubted = doubt_about_shape(c.regret_bound, c.regret_bound_if_quadratic) != ""
    bound = c.regret_bound_if_quadratic if is_doubted else c.regret_bound
    head = f"loss at most ({c.confidence:.0%}){', if the response is a paraboloid' if is_doubted else ''}"
    rows = []
    for more in (0, *sorted({max(1, round(n * share)) for share in (0.5, 1, 2, 4)})):
        after = c.regret_after(more)
        at_most = number(bound * after / c.regret, digits=3)
        rows.append((f"{more:,}" if more else "none (now)", number(after, digits=3), at_most))
    return tables.Table(("further measurements", "expected loss", head), rows)


def _shape(
    subject: Subject, surface: Surface, rows: Rows, residuals: Residuals, worsening: float, is_default: bool
) -> dict[str, Any]:
    """Return slices, contours, directions, tolerances and where the measurements went."""
    domain, d = subject.domain, subject.domain.dimension
    c = None if subject.result is None else subject.result.certificate
    errors = c.hess_eig_se if c is not None and len(c.hess_eig_se) == d else None
    if surface.is_closed_in and surface.smooth is None:
        errors = surface.curvature_errors()
    directions = directions_of(surface, domain, worsening, errors)
    chosen = direction_rows(directions)
    size = importance(surface)
    knobs = sorted(np.argsort(-size, kind="stable")[:MOST_SLICES].tolist()) if d > MOST_SLICES else list(range(d))
    pairs = important_pairs(surface)
    return {
        "worsening": number(worsening, digits=3),
        "is_default": is_default,
        "is_closed_in": surface.is_closed_in,
        "slices": [slice_figure(surface, domain, k, rows, residuals, subject.confidence) for k in knobs],
        "slices_left_out": d - len(knobs),
        "confidence": f"{subject.confidence:.0%}",
        "contours": [contour_figure(surface, domain, pair, rows, worsening) for pair in pairs],
        "n_pairs": d * (d - 1) // 2,
        "tolerances": tables.tolerance_table(surface, domain, worsening),
        "directions": tables.direction_table(directions, chosen, domain) if d > 1 else None,
        "stiffness": _stiffness(subject, directions, chosen) if d > 1 else None,
        "energy": _energy(subject, surface, directions, chosen),
    }


def _stiffness(subject: Subject, directions: list[Direction], chosen: list[int]) -> Figure:
    bars = [
        (
            f"{k + 1}: {tables.part_text(directions[k], subject.domain, most=2, is_short=True)}",
            directions[k].curvature,
            None,
        )
        for k in chosen
    ]
    ratio = directions[0].curvature / directions[-1].curvature if directions[-1].curvature > 0 else np.nan
    said = f"the stiffest matters {ratio:,.0f} times as much as the sloppiest"
    if not ratio < 1e6:
        said = "they differ by far" if ratio > 1 else "along those without a bar the value bends the wrong way"
    elif ratio < 1.5:
        said = "they matter about equally"
    caption = (
        f"Curvature along each direction, on a logarithmic scale, the stiffest on top: {said}. Keep the stiff "
        f"combinations tight; spend no effort on the sloppy ones."
    )
    svg = bar_figure("stiffness", bars, title=caption, legend=("", ""), is_log=True)
    return Figure(svg, caption)


def _energy(subject: Subject, surface: Surface, directions: list[Direction], chosen: list[int]) -> Figure | None:
    """Return how far out it was measured along each direction, beside the best design for this surface."""
    if not surface.is_bowl or surface.is_closed_in:
        return None  # where the noise grows with the height, the best design is another one, near the minimiser
    d = surface.z.size
    inverse = np.asarray(np.linalg.inv(surface.fit.hessian), dtype=np.float64)
    n = max(2000, 4 * n_terms(d))
    points, weights = closed_form_design(surface.shape, inverse, surface.z, n, np.random.default_rng(0))
    evidence = subject.evidence
    basis = np.column_stack([directions[k].vector for k in chosen])
    ours = evidence.counts @ ((evidence.points - surface.z) @ basis) ** 2 / max(1, evidence.n_measurements)
    best = weights @ ((points - surface.z) @ basis) ** 2 / float(weights.sum())
    bars = [
        (f"{k + 1}: {tables.part_text(directions[k], subject.domain, most=2, is_short=True)}", float(a), float(b))
        for k, a, b in zip(chosen, ours, best, strict=True)
    ]
    caption = (
        "Mean squared distance of the measurements from the recommended setting along each direction (in units of half "
        "the range): full bars are this study, open bars the best design for this surface; sloppy directions need the "
        "long bars, and a full bar far shorter than its open one says where more measurements would help most."
    )
    svg = bar_figure("energy", bars, title=caption, legend=("this study", "best design"), is_log=False)
    return Figure(svg, caption)


def _checks(subject: Subject, surface: Surface, rows: Rows, residuals: Residuals, misfit: LackOfFit) -> dict[str, Any]:
    """Return the residuals and what was tested, each with a verdict in plain words."""
    tested = [
        _misfit_row(misfit),
        _order_row(subject, surface, rows, residuals),
        _far_row(residuals),
        _noise_row(subject, surface),
    ]
    has_residuals = len(residuals.index) > 0
    return {
        "tested": tables.Table(("question", "verdict", "what was found"), tested),
        "order": order_figure(rows, residuals, is_ordered=subject.is_ordered) if has_residuals else None,
        "fitted": fitted_figure(residuals, surface.sigma) if has_residuals else None,
        "far": tables.far_table(rows, residuals, subject.domain) if len(residuals.far) else None,
        "n_drawn": len(residuals.index),
    }


def _misfit_row(misfit: LackOfFit) -> tuple[str, str, str]:
    question = "Is the response a paraboloid?"
    if misfit.chance is None:
        return question, "cannot be told", f"{misfit.why[0].upper()}{misfit.why[1:]}."
    share = f"{misfit.chance:.0%}" if misfit.chance > 0.005 else f"{misfit.chance:.1g}"
    chance = (
        f"a misfit as large comes by chance in {share if misfit.chance > 1e-6 else 'less than 1e-6'} of all studies"
    )
    if misfit.is_sure:
        return question, "no", f"Lack of fit: {chance}."
    return question, "no sign against it", f"Lack of fit: {chance}."


def _order_row(subject: Subject, surface: Surface, rows: Rows, residuals: Residuals) -> tuple[str, str, str]:
    question = "Does something drift over time?"
    if not subject.is_ordered:
        return question, "cannot be told", "The order of single measurements was not kept."
    # One quadratic over noise of all sizes leaves neighbours alike: then residuals in units of noise are judged.
    effect = order_of(rows, residuals if surface.is_closed_in else None)
    if effect.trend == 0 and effect.likeness == 0:
        return question, "cannot be told", "There are too few measurements, or they have no order."
    scores = f"trend {effect.trend:+.1f}, likeness of neighbours {effect.likeness:+.1f} standard deviations"
    return (
        question,
        "yes" if effect.is_sure else "no sign of it",
        f"Residuals in order: {scores}; chance stays below 4.",
    )


def _far_row(residuals: Residuals) -> tuple[str, str, str]:
    question = "Are there far values (outliers)?"
    n, by_chance = len(residuals.far), 6.3e-5 * len(residuals.index)
    if n == 0:
        return question, "no", "No row lies more than 4 standard deviations from the fit."
    rows = "1 row lies" if n == 1 else f"{n:,} rows lie"
    chance = "none" if by_chance < 0.5 else f"about {by_chance:.0f}"
    return question, "yes", f"{rows} more than 4 standard deviations from the fit; chance would give {chance}."


def _noise_row(subject: Subject, surface: Surface) -> tuple[str, str, str]:
    question = "Is the noise the same everywhere?"
    if np.any(subject.evidence.precision > 0):
        return question, "as told", "Standard errors were told with the values, and used as weights."
    if surface.is_closed_in:
        points = subject.evidence.points[subject.evidence.counts > 0]
        there, farthest = float(surface.deviations(surface.z[None, :])[0]), float(surface.deviations(points).max())
        return (
            question,
            "no",
            f"It grows with the height above the minimum: σ is about {number(there, digits=2)} at the recommended "
            f"setting and {number(farthest, digits=2)} at the highest measured one. The surface is fitted where it is "
            f"small.",
        )
    if not surface.is_noise_even:
        used = surface.deviations(subject.evidence.points[subject.evidence.counts > 0])
        ratio = float(used.max() / used.min())
        return (
            question,
            "no",
            f"Its σ differs by a factor of {ratio:.2g} over the range; the fit is weighted accordingly.",
        )
    return question, "no sign against it", "No profile of the noise was found that chance would not give."


def _failures(subject: Subject, rows: Rows) -> dict[str, Any] | None:
    """Return where measurements failed and why, or None if none did."""
    n_failed = int(rows.failures.sum())
    if n_failed == 0:
        return None
    reasons = [clean(rows.note(row)) for row in np.flatnonzero(rows.failures > 0)[::-1][:200].tolist()]
    distinct = list(dict.fromkeys(reason for reason in reasons if reason))[:MOST_REASONS]
    attempts = int(rows.counts.sum()) + n_failed
    return {
        "n": f"{n_failed:,}",
        "attempts": f"{attempts:,}",
        "share": f"{n_failed / attempts:.0%}",
        "table": tables.failure_table(failures_of(rows, subject.domain), subject.domain),
        "reasons": distinct,
    }
