"""Small pictures as inline SVG: a frame with axes, curves, bands, dots. No script, no outside link, every text escaped.

All pictures are 360 wide and have text of 12: on a phone they fill the screen, on a desk several stand side by side,
and the text is readable on both.
"""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from paraboloid.core import Domain, Matrix, Vector
from paraboloid.report.surface import is_log
from paraboloid.report.wording import clean, shortened

__all__ = [
    "BLUE",
    "GREY",
    "INK",
    "ORANGE",
    "Frame",
    "contour_lines",
    "knob_ticks",
    "nice_ticks",
    "picture",
    "tick_labels",
    "value_ticks",
]

BLUE, ORANGE, GREY, INK = "#0072B2", "#D55E00", "#595959", "#1b1b1b"
"""From Okabe and Ito's palette, told apart with any common colour deficiency; markers and dashes differ as well."""

WIDTH = 360
LONG_TICK = 6  # characters: five such texts would touch each other below a picture


def picture(name: str, title: str, body: Sequence[str], height: int) -> str:
    """Return a whole SVG element with its title, which is also its text for those who cannot see it.

    >>> picture("a", "1 < 2", [], 100)[:60]
    '<svg viewBox="0 0 360 100" role="img" aria-labelledby="a"><t'
    """
    safe = html.escape(clean(title, 600))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{html.escape(name)}">'
        f'<title id="{html.escape(name)}">{safe}</title>{"".join(body)}</svg>'
    )


def label(x: float, y: float, text: str, *, anchor: str = "start", longest: int = 40, turn: bool = False) -> str:
    """Return a piece of text in a picture, escaped and cut."""
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    shown = html.escape(shortened(clean(text), longest))
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turned}>{shown}</text>'


@dataclass(slots=True)
class Frame:
    """A plotting area with its two scales; pieces are added in order of drawing.

    >>> frame = Frame("f", (0.0, 10.0), (0.0, 1.0))
    >>> round(frame.x(0.0)), round(frame.y(0.0))
    (60, 192)
    """

    name: str
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    height: int = 232
    left: int = 60
    right: int = 12
    top: int = 12
    bottom: int = 40
    pieces: list[str] = field(default_factory=list)

    def x(self, value: float) -> float:
        """Return the place of a value from left to right."""
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (WIDTH - self.left - self.right)

    def y(self, value: float) -> float:
        """Return the place of a value from top to bottom."""
        low, high = self.y_range
        return self.height - self.bottom - (value - low) / (high - low) * (self.height - self.top - self.bottom)

    def axes(
        self,
        x_ticks: Sequence[tuple[float, str]],
        y_ticks: Sequence[tuple[float, str]],
        x_title: str,
        y_title: str,
    ) -> None:
        """Draw the scales and their names."""
        right, foot = WIDTH - self.right, self.height - self.bottom
        for value, text in y_ticks:
            y = self.y(value)
            self.pieces.append(f'<path class="g" d="M{self.left} {y:.1f}H{right}"/>')
            self.pieces.append(label(self.left - 5, y + 4, text, anchor="end", longest=9))
        self.pieces.append(f'<path class="a" d="M{self.left} {self.top}V{foot}H{right}"/>')
        for value, text in x_ticks:
            x = self.x(value)
            self.pieces.append(f'<path class="a" d="M{x:.1f} {foot}v4"/>')
            anchor = "end" if x > right - 14 else "middle"
            self.pieces.append(label(min(x, right), foot + 16, text, anchor=anchor, longest=9))
        middle = (self.left + right) / 2
        self.pieces.append(label(middle, self.height - 6, x_title, anchor="middle", longest=44))
        self.pieces.append(label(10, (self.top + foot) / 2, y_title, anchor="middle", longest=28, turn=True))

    def curve(self, x: Vector, y: Vector, colour: str, *, dash: str = "", width: float = 2.0) -> None:
        """Draw a line through points, cut at the frame."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        d = self._path(x, y)
        self.pieces.append(
            f'<path fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed} d="{d}"{self._clip}/>'
        )

    def band(self, x: Vector, low: Vector, high: Vector, colour: str = BLUE) -> None:
        """Fill the space between two curves."""
        d = self._path(np.concatenate([x, x[::-1]]), np.concatenate([low, high[::-1]])) + "Z"
        self.pieces.append(f'<path fill="{colour}" fill-opacity=".16" d="{d}"{self._clip}/>')

    def dots(self, x: Vector, y: Vector, colour: str, *, size: float = 4.0, opacity: float = 0.55) -> None:
        """Draw a dot at each point inside the frame: one path of points with round ends, ten bytes for each."""
        inside = (x >= self.x_range[0]) & (x <= self.x_range[1]) & (y >= self.y_range[0]) & (y <= self.y_range[1])
        d = "".join(f"M{self.x(a):.1f} {self.y(b):.1f}h0" for a, b in zip(x[inside], y[inside], strict=True))
        if d:
            self.pieces.append(
                f'<path fill="none" stroke="{colour}" stroke-opacity="{opacity:g}" stroke-width="{size:g}" '
                f'stroke-linecap="round" d="{d}"/>'
            )

    def crosses(self, x: Vector, y: Vector, colour: str) -> None:
        """Draw a small × at each point inside the frame."""
        inside = (x >= self.x_range[0]) & (x <= self.x_range[1]) & (y >= self.y_range[0]) & (y <= self.y_range[1])
        d = "".join(
            f"M{self.x(a) - 3:.1f} {self.y(b) - 3:.1f}l6 6m0-6l-6 6" for a, b in zip(x[inside], y[inside], strict=True)
        )
        if d:
            self.pieces.append(f'<path fill="none" stroke="{colour}" stroke-width="1.5" d="{d}"/>')

    def diamond(self, x: float, y: float) -> None:
        """Mark the recommended setting."""
        d = f"M{self.x(x):.1f} {self.y(y) - 6:.1f}l6 6l-6 6l-6-6Z"
        self.pieces.append(f'<path fill="{ORANGE}" stroke="#fff" stroke-width="1" d="{d}"/>')

    def note(self, x: float, y: float, text: str, *, anchor: str = "start") -> None:
        """Write a text at a place of the frame's scales, held inside."""
        place = min(max(self.x(x), self.left + 3), WIDTH - self.right - 3)
        self.pieces.append(label(place, self.y(y), text, anchor=anchor))

    def finished(self, title: str) -> str:
        """Return the picture."""
        box = (
            f'<clipPath id="{self.name}-c"><rect x="{self.left}" y="{self.top}" '
            f'width="{WIDTH - self.left - self.right}" height="{self.height - self.top - self.bottom}"/></clipPath>'
        )
        return picture(self.name, title, [box, *self.pieces], self.height)

    @property
    def _clip(self) -> str:
        return f' clip-path="url(#{self.name}-c)"'

    def _path(self, x: Vector, y: Vector) -> str:
        span = self.y_range[1] - self.y_range[0]
        y = np.clip(y, self.y_range[0] - 9 * span, self.y_range[1] + 9 * span)  # drawers choke on huge numbers
        return "M" + "L".join(f"{self.x(a):.1f} {self.y(b):.1f}" for a, b in zip(x, y, strict=True))


def nice_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return round numbers between two, at most so many.

    >>> nice_ticks(0.0, 10.3)
    [0.0, 2.5, 5.0, 7.5, 10.0]
    """
    span = high - low
    if not (math.isfinite(span) and span > 0):
        return [low]
    unit = 10.0 ** math.floor(math.log10(span / most))
    step = next(unit * m for m in (1, 2, 2.5, 5, 10, 20) if span / (unit * m) < most)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, first + most + 1) if k * step <= high + 1e-9 * span]


def tick_labels(ticks: Sequence[float]) -> list[tuple[float, str]]:
    """Return ticks with their texts, all with as many digits as they need to differ.

    >>> tick_labels([0.0, 0.25, 0.5]), tick_labels([1e7, 2e7])
    ([(0.0, '0'), (0.25, '0.25'), (0.5, '0.5')], [(10000000.0, '1e7'), (20000000.0, '2e7')])
    """
    size = max((abs(tick) for tick in ticks), default=0.0)
    gap = min((b - a for a, b in pairwise(ticks)), default=size or 1.0)
    digits = max(3, math.ceil(math.log10(max(size, 1e-300) / gap)) + 2) if gap > 0 else 4
    return [(tick, _short(0.0 if abs(tick) < 1e-9 * size else tick, min(digits, 12))) for tick in ticks]


def value_ticks(low: float, high: float, most: int = 5) -> tuple[list[tuple[float, str]], str]:
    """Return ticks of values and the name of their axis; small differences of large numbers are counted from the first.

    >>> value_ticks(0.0, 1.0)[1], value_ticks(1e9, 1e9 + 1.0, 2)
    ('value', ([(1000000000.0, '+0'), (1000000001.0, '+1')], 'value − 1000000000'))
    """
    ticks = nice_ticks(low, high, most)
    labels = tick_labels(ticks)
    if max((len(text) for _, text in labels), default=0) <= 8:
        return labels, "value"
    relative = tick_labels([tick - ticks[0] for tick in ticks])
    return [(tick, f"+{text}") for tick, (_, text) in zip(ticks, relative, strict=True)], f"value − {ticks[0]:.12g}"


def _short(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    mantissa, mark, exponent = text.partition("e")
    if not mark and len(text) > 7 and abs(value) >= 1e6:
        mantissa, mark, exponent = f"{value:.{max(0, digits - 1)}e}".partition("e")
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}" if mark else text


def knob_ticks(domain: Domain, k: int, low: float = -1.0, high: float = 1.0) -> list[tuple[float, str]]:
    """Return ticks of a knob at places in unit coordinates, with texts in its unit.

    >>> from paraboloid.core import Box, Knob
    >>> knob_ticks(Box([Knob("rate", 0.01, 100, log=True)]), 0)
    [(-1.0, '0.01'), (-0.5, '0.1'), (0.0, '1'), (0.5, '10'), (1.0, '100')]
    """
    place = np.zeros((2, domain.dimension))
    place[:, k] = low, high
    ends = domain.from_unit(place)[:, k]
    has_log = is_log(domain)[k]
    ticks = _log_ticks(*ends) if has_log else nice_ticks(float(ends[0]), float(ends[1]))
    at = np.tile(domain.from_unit(np.zeros(domain.dimension)), (len(ticks), 1))
    at[:, k] = ticks
    unit = domain.to_unit(at)[:, k]
    # Decades have short texts; on a short piece of a log scale ticks are evenly spaced, and need all their digits.
    is_wide = has_log and ticks[-1] >= 2 * ticks[0]
    texts = [_short(tick, 4) for tick in ticks] if is_wide else [text for _, text in tick_labels(ticks)]
    places = [(round(float(z), 12) + 0.0, text) for z, text in zip(unit, texts, strict=True)]
    return places[::2] if len(places) > 4 and max(map(len, texts)) >= LONG_TICK else places


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [m * 10.0**e for e in decades for m in steps if low * (1 - 1e-9) <= m * 10.0**e <= high * (1 + 1e-9)]
        if len(ticks) <= 5:
            break
    ticks = ticks[:: max(1, math.ceil(len(ticks) / 5))]
    return ticks if len(ticks) > 1 else nice_ticks(low, high)


def contour_lines(x: Vector, y: Vector, height: Matrix, level: float) -> list[tuple[Vector, Vector]]:
    """Return the pieces of the line of one level over a grid, height (y, x): marching squares.

    >>> import numpy as np
    >>> grid = np.linspace(0.0, 1.0, 3)
    >>> lines = contour_lines(grid, grid, np.add.outer(0 * grid, grid), 0.25)
    >>> sorted(float(piece[0][0]) for piece in lines)
    [0.25, 0.25]
    """
    above = height > level
    cell = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    pieces = []
    for j, i in zip(*np.nonzero((cell > 0) & (cell < 15)), strict=True):
        corners = ((j, i), (j, i + 1), (j + 1, i + 1), (j + 1, i))
        met = []
        for a, b in zip(corners, (*corners[1:], corners[0]), strict=True):
            if above[a] != above[b]:
                t = (level - height[a]) / (height[b] - height[a])
                met.append((x[a[1]] + t * (x[b[1]] - x[a[1]]), y[a[0]] + t * (y[b[0]] - y[a[0]])))
        for start, end in zip(met[::2], met[1::2], strict=True):  # two pieces where the cell is a saddle
            pieces.append((np.array([start[0], end[0]]), np.array([start[1], end[1]])))
    return pieces
