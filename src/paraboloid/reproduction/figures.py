"""The look of all figures: colour-blind safe, readable in print, and written as PNG and SVG."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from paraboloid.core import UsageError
from paraboloid.reproduction.ratios import Ratio
from paraboloid.reproduction.workbench import Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "band", "check_report_extra", "power_of_ten", "ratio_band", "save_figure", "tidy"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's palette: told apart with any of the common colour deficiencies; markers and dashes differ too."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = ("-", (0, (5, 2)), (0, (1, 1)), (0, (5, 1, 1, 1)))
STYLE: dict[str, object] = {
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "paraboloid",  # the same numbers give the same file
}


def check_report_extra() -> None:
    """Raise a `UsageError` that says what to install, unless figures and pages can be made."""
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"figures and pages need the extra 'report', but {error.name} is not installed. "
            f'Run: pip install "paraboloid[report]"'
        ) from error


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib

    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]  # its keys are a literal type of 300 words
        yield


def save_figure(findings: Findings, stem: Path) -> tuple[Path, Path]:
    """Draw the findings and write them beside each other as ``stem``.png and ``stem``.svg."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=findings.size, layout="constrained")
        FigureCanvasAgg(figure)
        findings.draw(figure)
        png, svg = stem.with_suffix(".png"), stem.with_suffix(".svg")
        figure.savefig(png, dpi=130)
        figure.savefig(svg, metadata={"Date": None})
    return png, svg


def band(
    axes: "Axes",
    x: npt.ArrayLike,
    middle: npt.ArrayLike,
    *,
    low: npt.ArrayLike,
    high: npt.ArrayLike,
    label: str,
    index: int,
) -> None:
    """Draw a line with markers and its confidence band, in the index-th colour, marker and dash."""
    colour = COLOURS[index % len(COLOURS)]
    floor = np.asarray(middle, dtype=np.float64) * 1e-2  # a logarithmic axis has no place for an end at or below zero
    axes.fill_between(np.asarray(x), np.maximum(low, floor), np.asarray(high), color=colour, alpha=0.2, linewidth=0)
    axes.plot(
        np.asarray(x),
        np.asarray(middle),
        color=colour,
        marker=MARKERS[index % len(MARKERS)],
        linestyle=DASHES[index % len(DASHES)],
        label=label,
    )


def ratio_band(axes: "Axes", ratios: Sequence[Ratio], *, label: str, index: int) -> None:
    """Draw ratios against T with their 95 % intervals as a band."""
    band(
        axes,
        [r.T for r in ratios],
        [r.ratio for r in ratios],
        low=[r.low for r in ratios],
        high=[r.high for r in ratios],
        label=label,
        index=index,
    )


def tidy(axes: "Axes", *, title: str, x: str, y: str, logarithmic: str = "xy") -> None:
    """Name the axes and set those in ``logarithmic`` to a logarithmic scale."""
    axes.set(title=title, xlabel=x, ylabel=y)
    if "x" in logarithmic:
        axes.set_xscale("log")
    if "y" in logarithmic:
        axes.set_yscale("log")


def power_of_ten(number: int) -> str:
    """Return 10ⁿ for a whole power of ten, else the number with separators.

    >>> power_of_ten(10**7), power_of_ten(31_623)
    ('10⁷', '31,623')
    """
    exponent = len(str(number)) - 1
    return (
        "10" + str(exponent).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
        if number == 10**exponent
        else f"{number:,}"
    )
