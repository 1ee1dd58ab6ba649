"""Numbers and names as people read them: as many digits as are known, no character that plays tricks."""

import math
import unicodedata

from paraboloid.core import Box, Domain

__all__ = ["clean", "counted", "factor", "number", "shortened", "significant", "spans_decades", "units", "with_unit"]

LONGEST = 200  # characters of a name or a remark that are shown
FORBIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn"}
"""Categories of characters without a sign of their own: controls, marks that turn the writing around, halves."""


def clean(text: object, longest: int = LONGEST) -> str:
    r"""Return a text of the user's without characters that cannot be seen or written, on one line, cut if very long.

    >>> clean("furnace\x00 \u202etxt\n2")
    'furnace� �txt 2'
    """
    flat = " ".join(str(text).replace("\u00ad", "").split())
    seen = "".join("\ufffd" if unicodedata.category(sign) in FORBIDDEN else sign for sign in flat[: longest + 1])
    return shortened(seen, longest)


def counted(n: int, what: str) -> str:
    """Return a count with its noun.

    >>> counted(1, "round"), counted(12000, "round")
    ('1 round', '12,000 rounds')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def shortened(text: str, longest: int) -> str:
    """Return a text that is cut, with a sign that it was.

    >>> shortened("temperature", 8)
    'tempera…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def number(value: float | None, step: float | None = None, digits: int = 4) -> str:
    """Return a number with two digits of its uncertainty ``step``, or with so many digits if that is not known.

    >>> number(180.2345, 1.3), number(0.00123456), number(123456.7, 2000), number(float("inf"))
    ('180.2', '0.001235', '123457', 'none')
    """
    if value is None or not math.isfinite(value):
        return "none"
    if step is None or not math.isfinite(step) or step <= 0:
        return _plain(f"{value:.{digits}g}")
    decimals = max(0, 1 - math.floor(math.log10(step)))
    if decimals > 7 or abs(value) >= 1e9:
        significant = 1 if value == 0 else math.floor(math.log10(abs(value))) + decimals + 1
        return _plain(f"{value:.{min(max(significant, 2), 15)}g}")
    written = f"{value:.{decimals}f}"
    return written[1:] if written.startswith("-") and not float(written) else written


def significant(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits; of a large one all digits before the point.

    >>> significant(0.000123456), significant(1.23456), significant(12345.6)
    ('0.000123', '1.23', '12346')
    """
    return f"{value:.0f}" if 10**digits <= abs(value) < 1e7 else number(value, digits=digits)


def factor(ratio: float) -> str:
    """Return a factor with three digits, and more where it is so near to one that they are needed.

    >>> factor(3.1623), factor(0.12), factor(1.000234)
    ('×3.16', '×0.12', '×1.00023')
    """
    apart = abs(ratio - 1)
    leading = math.floor(-math.log10(apart)) if 1e-12 < apart < 1 else 0  # digits that are those of one
    return f"×{_plain(f'{ratio:.{max(3, leading + 3)}g}')}"


def spans_decades(low: float, high: float) -> bool:
    """Tell whether an interval goes over a factor of ten or more, so that digits that fit its width lose its low end.

    >>> spans_decades(0.001, 1.0), spans_decades(0.5, 1.0), spans_decades(-1.0, 1.0)
    (True, False, False)
    """
    return high >= 10 * low > 0 or low <= 10 * high < 0


def _plain(written: str) -> str:
    """Return 1.2e-05 as 1.2e-5."""
    mantissa, mark, exponent = written.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else written


def units(domain: Domain) -> tuple[str, ...]:
    """Return the unit of each knob; empty where there is none.

    >>> from paraboloid.core import Box, Knob
    >>> units(Box([Knob("temperature", 150, 210, "°C"), (0, 1)]))
    ('°C', '')
    """
    if isinstance(domain, Box):
        return tuple(clean(knob.unit, 40) for knob in domain.knobs)
    return ("",) * domain.dimension


def with_unit(text: str, unit: str) -> str:
    """Return a number with its unit behind it.

    >>> with_unit("180", "°C"), with_unit("180", "")
    ('180 °C', '180')
    """
    return f"{text} {unit}" if unit else text
