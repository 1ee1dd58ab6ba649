"""The figures of a report; each says in one sentence what to see."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from paraboloid.core import Certificate, Counts, Domain, Vector
from paraboloid.report.diagnosis import Residuals
from paraboloid.report.drawing import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    Frame,
    contour_lines,
    knob_ticks,
    label,
    nice_ticks,
    picture,
    tick_labels,
    value_ticks,
)
from paraboloid.report.subject import Rows
from paraboloid.report.surface import Direction, Surface
from paraboloid.report.wording import clean, counted, number, units

__all__ = [
    "Figure",
    "bar_figure",
    "contour_figure",
    "fitted_figure",
    "forecast_figure",
    "importance",
    "important_pairs",
    "order_figure",
    "slice_figure",
    "thinned",
]

MOST_DOTS = 300
MOST_BARS = 12
GRID = 49
STEPS = 61


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture and the sentence below it.

    >>> Figure("<svg></svg>", "A flat line.").caption
    'A flat line.'
    """

    svg: str
    caption: str


def thinned(n: int, most: int, *, always: Counts | None = None) -> Counts:
    """Return at most so many of n rows, evenly spread, and those that must not be missing.

    >>> thinned(5, 10), thinned(100, 3)
    (array([0, 1, 2, 3, 4]), array([ 0, 50, 99]))
    """
    if n <= most:
        return np.arange(n)
    some = np.round(np.linspace(0, n - 1, most)).astype(np.int64)
    return some if always is None else np.union1d(some, always[:most])


def forecast_figure(certificate: Certificate, n: int, eps: float | None) -> Figure:
    """Return expected loss against further measurements, with the limit that no design can beat."""
    more = np.linspace(0.0, 4.0 * n, STEPS)
    expected = np.array([certificate.regret_after(extra) for extra in more])
    limit = certificate.regret_unit / (n + more)
    top = 1.08 * max(float(expected.max()), float(np.minimum(limit, 2 * expected.max()).max()))
    if eps is not None and eps < 3 * top:
        top = max(top, 1.08 * eps)
    frame = Frame("forecast", (0.0, float(more[-1])), (0.0, top))
    frame.axes(
        tick_labels(nice_ticks(0.0, float(more[-1]))),
        tick_labels(nice_ticks(0.0, top)),
        "further measurements",
        "expected loss",
    )
    frame.curve(more, limit, GREY, dash="6 4")
    frame.curve(more, expected, BLUE, width=2.5)
    frame.dots(np.zeros(1), expected[:1], ORANGE, size=9, opacity=1)
    if eps is not None and eps <= top:
        frame.curve(np.array([0.0, float(more[-1])]), np.array([eps, eps]), ORANGE, dash="2 3")
        frame.note(float(more[-1]), eps + 0.02 * top, "wanted", anchor="end")
    x = 4.0 * n
    legend = ((BLUE, "", "forecast", 20), (GREY, "6 4", "limit: best possible design", 38))
    for colour, dash, text, y in legend:
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        frame.pieces.append(f'<path fill="none" stroke="{colour}" stroke-width="2"{dashed} d="M170 {y}h22"/>')
        frame.pieces.append(label(197, y + 4, text))
    half = certificate.measurements_for(certificate.regret / 2)
    said = f"Halving the expected loss would take about {counted(half, 'further measurement')}"
    caption = (
        f"The blue curve is what further, well-placed measurements would leave of the expected loss "
        f"({number(certificate.regret, digits=3)} now); the dashed line is the limit that no placement of as many "
        f"measurements can beat. {said}."
    )
    return Figure(frame.finished(f"Expected loss against further measurements, from 0 to {x:,.0f}. {caption}"), caption)


def slice_figure(
    surface: Surface, domain: Domain, k: int, rows: Rows, residuals: Residuals, confidence: float
) -> Figure:
    """Return the fitted value against one knob, the others as recommended, with the measurements moved onto it."""
    low, high = surface.view(k)
    along = np.linspace(low, high, STEPS)
    line = np.tile(surface.z, (STEPS, 1))
    line[:, k] = along
    middle = surface.values(line)
    half = stats.t.ppf((1 + confidence) / 2, max(surface.fit.freedom, 1.0)) * surface.standard_errors(line)
    near = np.flatnonzero(surface.shows(rows.points[residuals.index]))
    far = residuals.far[np.isin(residuals.far, near)]
    shown = near[thinned(len(near), MOST_DOTS, always=np.searchsorted(near, far))]
    places = rows.points[residuals.index[shown]]
    moved = np.tile(surface.z, (len(shown), 1))
    moved[:, k] = places[:, k]
    values = surface.values(moved) + residuals.left[shown]
    usual = values[~np.isin(shown, residuals.far)]
    frame = _value_frame(f"slice{k}", (low, high), middle, usual, half)
    name, unit = clean(domain.names[k], 40), units(domain)[k]
    y_ticks, y_title = value_ticks(*frame.y_range)
    frame.axes(knob_ticks(domain, k, low, high), y_ticks, f"{name} [{unit}]" if unit else name, y_title)
    frame.band(along, middle - half, middle + half)
    frame.dots(places[:, k], values, GREY)
    frame.curve(along, middle, BLUE)
    best = surface.values(surface.z[None, :])
    frame.diamond(float(surface.z[k]), float(best[0]))
    hidden = int(np.sum((values < frame.y_range[0]) | (values > frame.y_range[1]) | (np.abs(places[:, k]) > 1 + 1e-9)))
    rise = float(np.max(np.abs(middle - best)))
    caption = f"{name}: {_rise_in_words(rise, surface.sigma, 'part shown' if surface.is_closed_in else 'range')}"
    caption += f" {hidden} dots lie outside the picture." if hidden > 1 else " One dot lies outside." if hidden else ""
    return Figure(frame.finished(f"Fitted value against {caption}"), caption)


def _rise_in_words(rise: float, sigma: float, where: str) -> str:
    """Return how much a knob matters over its range, or the part of it that is shown."""
    size = number(rise, digits=2)
    times = rise / max(sigma, 1e-300)
    if times < 1:
        return f"nearly flat; over its {where} the value changes by {size}, less than the noise of one measurement."
    compared = f" ({times:,.0f} times the noise of one measurement)" if times < 1e4 else ""
    return (
        f"over its {where} the value differs by up to {size}{compared} from that at the recommended setting (diamond)."
    )


def _value_frame(name: str, x_range: tuple[float, float], middle: Vector, values: Vector, half: Vector) -> Frame:
    """Return a frame that shows the curve, the band as far as it is of the curve's size, and all but wild dots."""
    span = float(np.ptp(middle))
    dots = values[np.isfinite(values)]
    low, high = float(middle.min()), float(middle.max())
    if dots.size:
        inner = np.quantile(dots, [0.01, 0.99])
        room = max(span, 3 * float(np.ptp(inner)), 1e-300)
        low, high = min(low, max(float(dots.min()), low - room)), max(high, min(float(dots.max()), high + room))
    band = float(np.median(half)) if np.all(np.isfinite(half)) else 0.0
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        return Frame(name, x_range, (low - 0.1 * (abs(low) or 1.0), high + 0.1 * (abs(high) or 1.0)))
    margin = 0.06 * (high - low) + min(band, 0.25 * (high - low))
    return Frame(name, x_range, (low - margin, high + margin))


def importance(surface: Surface) -> Vector:
    """Return how much the value changes with each knob over half its range, shape (d,)."""
    size: Vector = np.abs(np.diag(surface.fit.hessian)) / 2 + np.abs(surface.gradient)
    return size


def important_pairs(surface: Surface, most: int = 3) -> list[tuple[int, int]]:
    """Return the pairs of knobs that the value depends on most, by curvature and interaction.

    >>> import paraboloid
    >>> def bowl(x):
    ...     return x[0] ** 2 + x[2] ** 2 + 0.01 * x[1] ** 2
    >>> result = paraboloid.minimize(bowl, [(-1, 1)] * 3, budget=30, rng=0)
    >>> from paraboloid.report.surface import surface_of
    >>> important_pairs(surface_of(result.subject), most=1)
    [(0, 2)]
    """
    bend, size = surface.fit.hessian, importance(surface)
    pairs = [(i, j) for i in range(len(bend)) for j in range(i + 1, len(bend))]
    return sorted(pairs, key=lambda pair: -float(size[pair[0]] + size[pair[1]] + abs(bend[pair])))[:most]


def contour_figure(surface: Surface, domain: Domain, pair: tuple[int, int], rows: Rows, worsening: float) -> Figure:
    """Return the fitted surface over two knobs as lines of equal value, the others as recommended."""
    i, j = pair
    (x_low, x_high), (y_low, y_high) = surface.view(i), surface.view(j)
    x, y = np.linspace(x_low, x_high, GRID), np.linspace(y_low, y_high, GRID)
    grid = np.tile(surface.z, (GRID * GRID, 1))
    grid[:, i], grid[:, j] = np.tile(x, GRID), np.repeat(y, GRID)
    height = surface.values(grid).reshape(GRID, GRID)
    names = [clean(domain.names[k], 40) for k in pair]
    titles = [f"{name} [{units(domain)[k]}]" if units(domain)[k] else name for name, k in zip(names, pair, strict=True)]
    frame = Frame(f"contour{i}-{j}", (x_low, x_high), (y_low, y_high), height=350)
    frame.axes(knob_ticks(domain, i, x_low, x_high), knob_ticks(domain, j, y_low, y_high), titles[0], titles[1])
    best = float(surface.values(surface.z[None, :])[0])
    is_shaded = _good_region(frame, surface, pair, worsening)
    written: list[tuple[float, float]] = []
    levels, _ = value_ticks(float(height.min()), float(height.max()), 8)
    for level, text in levels:
        _draw_contour(frame, contour_lines(x, y, height, level), text, written)
    near = np.flatnonzero(surface.shows(rows.points))
    chosen = near[thinned(len(near), MOST_DOTS)]
    shown, works, failed = rows.points[chosen], rows.counts[chosen] > 0, rows.failures[chosen] > 0
    frame.dots(shown[works, i], shown[works, j], GREY)
    frame.crosses(shown[failed, i], shown[failed, j], ORANGE)
    frame.diamond(float(surface.z[i]), float(surface.z[j]))
    said = (
        f"in the shaded area the value is within {number(worsening, digits=3)} of {number(best, worsening)}, that of "
        f"the recommended setting (diamond); a long, slanted area means that one knob can make up for the other."
    )
    if not is_shaded:
        said = "the value bends down in some direction, so that the recommended setting (diamond) lies at the edge."
    caption = f"{names[0]} and {names[1]}: {said}"
    return Figure(frame.finished(f"Lines of equal value over {caption}"), caption)


def _good_region(frame: Frame, surface: Surface, pair: tuple[int, int], worsening: float) -> bool:
    """Shade where the fit is worse than the recommended setting by less than so much; tell whether it is a bowl."""
    block = surface.fit.hessian[np.ix_(pair, pair)]
    eigenvalues, axes = np.linalg.eigh(block)
    if eigenvalues[0] <= 1e-12 * eigenvalues[1]:
        return False
    slope = surface.gradient[list(pair)]
    shift = -np.linalg.solve(block, slope)
    size = 2 * worsening + float(slope @ np.linalg.solve(block, slope))
    angle = np.linspace(0.0, 2 * np.pi, 73)
    circle = np.array([np.cos(angle), np.sin(angle)]) * np.sqrt(size / eigenvalues)[:, None]
    place = np.clip((axes @ circle).T + shift + surface.z[list(pair)], -50.0, 50.0)
    d = "M" + "L".join(f"{frame.x(a):.1f} {frame.y(b):.1f}" for a, b in place) + "Z"
    frame.pieces.append(f'<path fill="{BLUE}" fill-opacity=".18" d="{d}" clip-path="url(#{frame.name}-c)"/>')
    return True


def _draw_contour(
    frame: Frame, pieces: Sequence[tuple[Vector, Vector]], text: str, written: list[tuple[float, float]]
) -> None:
    """Draw one line of equal value, and its value where no other stands; ``written`` are the places of those."""
    if not pieces:
        return
    d = "".join(f"M{frame.x(a[0]):.1f} {frame.y(b[0]):.1f}L{frame.x(a[1]):.1f} {frame.y(b[1]):.1f}" for a, b in pieces)
    frame.pieces.append(f'<path fill="none" stroke="{BLUE}" stroke-width="1" d="{d}"/>')
    a, b = max(pieces, key=lambda piece: float(piece[0][0] + piece[1][0]))  # towards the upper right corner
    x, y = max(frame.x(a[0]), frame.left + 8.0 * len(text)), max(frame.y(b[0]), frame.top + 12.0)
    if any(abs(x - u) < 8 * len(text) + 6 and abs(y - v) < 13 for u, v in written):
        return
    written.append((x, y))
    frame.pieces.append(
        f'<g stroke="#fff" stroke-width="3" paint-order="stroke">{label(x, y, text, anchor="end", longest=9)}</g>'
    )


def bar_figure(
    name: str, bars: Sequence[tuple[str, float, float | None]], *, title: str, legend: tuple[str, str], is_log: bool
) -> str:
    """Return a picture of horizontal bars, each with its name above it and, beside it, what it is compared with."""
    values = [v for _, *pair in bars for v in pair if v is not None and np.isfinite(v) and v > 0]
    top = max(values, default=1.0)
    low = min(values, default=1.0) / 2 if is_log else 0.0
    has_two = any(other is not None for _, _, other in bars)
    step = 48 if has_two else 32
    head = 24 if has_two else 4

    def length(value: float) -> float:
        if not (np.isfinite(value) and value > 0):
            return 0.0
        share = np.log(value / low) / np.log(top / low) if is_log else value / top
        return float(max(1.0, 270 * share))

    body = []
    if has_two:
        body.append(f'<rect x="4" y="4" width="12" height="10" fill="{BLUE}"/>{label(20, 13, legend[0])}')
        body.append(
            f'<rect x="150" y="4" width="12" height="10" fill="#fff" stroke="{INK}"/>{label(166, 13, legend[1])}'
        )
    for row, (text, value, other) in enumerate(bars):
        y = head + row * step
        body.append(label(4, y + 12, text, longest=52))
        body.append(f'<rect x="4" y="{y + 17}" width="{length(value):.1f}" height="9" fill="{BLUE}"/>')
        body.append(label(length(value) + 9, y + 26, number(value, digits=3)))
        if other is not None:
            width = length(other)
            body.append(f'<rect x="4.5" y="{y + 30}" width="{width:.1f}" height="9" fill="#fff" stroke="{INK}"/>')
            body.append(label(width + 9, y + 39, number(other, digits=3)))
    return picture(name, title, body, head + len(bars) * step + 6)


def direction_rows(directions: Sequence[Direction]) -> list[int]:
    """Return which directions a figure shows: all, or the stiffest and the sloppiest.

    >>> direction_rows([])
    []
    """
    n = len(directions)
    return list(range(n)) if n <= MOST_BARS else [*range(MOST_BARS // 2), *range(n - MOST_BARS // 2, n)]


def order_figure(rows: Rows, residuals: Residuals, *, is_ordered: bool) -> Figure:
    """Return the residuals, in standard deviations, in the order of measuring."""
    shown = thinned(len(residuals.index), 2 * MOST_DOTS, always=residuals.far)
    place = shown.astype(np.float64) + 1
    score = np.clip(residuals.score[shown], -8.0, 8.0)
    reach = max(3.5, float(np.abs(score).max(initial=0.0)) * 1.05)
    frame = Frame("order", (0.5, len(residuals.index) + 0.5), (-reach, reach))
    x_title = "in the order of measuring" if is_ordered else "round by round"
    frame.axes(
        tick_labels(nice_ticks(1.0, float(max(len(residuals.index), 2)))), _score_ticks(reach), x_title, "residual / σ"
    )
    ends = np.array(frame.x_range)
    frame.band(ends, np.full(2, -2.0), np.full(2, 2.0), GREY)
    frame.dots(place, score, BLUE, size=4.5)
    far = np.isin(shown, residuals.far)
    frame.crosses(place[far], score[far], ORANGE)
    window = max(5, len(residuals.index) // 20)
    has_mean = len(residuals.index) >= 4 * window
    if has_mean:
        total = np.cumsum(np.concatenate([[0.0], np.clip(residuals.score, -3.0, 3.0)]))
        middle = (total[window:] - total[:-window]) / window
        at = thinned(len(middle), 100)
        frame.curve(np.asarray(at + 1 + (window - 1) / 2, dtype=np.float64), middle[at], INK, width=1.5)
    caption = "What the fit leaves over, in standard deviations: most dots belong in the grey band, without a trend"
    caption += "; the black line is their running mean" if has_mean else ""
    caption += "; × marks values beyond 4." if len(residuals.far) else "."
    return Figure(frame.finished(caption), caption)


def fitted_figure(residuals: Residuals, sigma: float) -> Figure:
    """Return the residuals against the fitted value."""
    shown = thinned(len(residuals.index), 2 * MOST_DOTS, always=residuals.far)
    fitted, score = residuals.fitted[shown], np.clip(residuals.score[shown], -8.0, 8.0)
    low, high = float(fitted.min()), float(fitted.max())
    margin = 0.04 * (high - low) or sigma or 1.0
    reach = max(3.5, float(np.abs(score).max(initial=0.0)) * 1.05)
    frame = Frame("fitted", (low - margin, high + margin), (-reach, reach))
    x_ticks, x_title = value_ticks(*frame.x_range)
    frame.axes(x_ticks, _score_ticks(reach), f"fitted {x_title}", "residual / σ")
    frame.band(np.array(frame.x_range), np.full(2, -2.0), np.full(2, 2.0), GREY)
    frame.dots(fitted, score, BLUE, size=4.5)
    caption = (
        "The same against the fitted value: a cloud without a shape is good; a bow or a trend means that the response "
        "is no paraboloid over this range, a funnel that the noise is not the same everywhere."
    )
    return Figure(frame.finished(caption), caption)


def _score_ticks(reach: float) -> list[tuple[float, str]]:
    step = 2 if reach < 6 else 4
    return [(float(k), f"{k}") for k in range(-8, 9, step) if abs(k) <= reach]
