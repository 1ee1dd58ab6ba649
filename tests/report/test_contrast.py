"""Colours of the page by the rule of WCAG: text has a contrast of 4.5 at least, lines and marks of 3."""

import re
from importlib import resources

import pytest

from paraboloid.report.drawing import BLUE, GREY, INK, ORANGE

STYLE = (resources.files("paraboloid.report") / "report.css").read_text(encoding="utf-8")


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(2 * digit for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast("#000", "#fff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)  # the known lightest grey that passes


def test_every_text_is_dark_enough_on_every_ground() -> None:
    texts = re.findall(r"(?<![-\w])(?:color|fill): (#\w+)", STYLE)
    grounds = re.findall(r"background: (#\w+)", STYLE)
    assert len(texts) >= 4 and len(grounds) >= 2
    assert all(contrast(text, ground) >= 4.5 for text in texts for ground in grounds)


def test_lines_and_marks_are_seen() -> None:
    assert all(contrast(colour, "#fff") >= 3 for colour in (BLUE, ORANGE, GREY, INK))
