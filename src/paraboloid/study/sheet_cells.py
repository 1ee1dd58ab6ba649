"""The cells of a sheet: what people and spreadsheets write, read by one rule for each, and text that cannot act.

A number may have a decimal point or a decimal comma, and thousands marked by a point, a comma, a blank or an
apostrophe. One mark before exactly three digits ("1,234") may be either: then the other numbers of the file decide, or
nobody does.
"""

import re
import unicodedata
from dataclasses import dataclass

__all__ = ["Cell", "Number", "canonical", "is_blank", "looks_like_date", "neutralised", "read_cell", "read_number"]

NO_VALUE = frozenset({"n/a", "na", "nan", "n.a.", "-", "--", "–", "—", "none", "null", "inf", "-inf", "failed"})
"""What people write where a measurement gave no value; the trial is FAILED."""
SPREADSHEET_ERRORS = re.compile(r"#(N/A|DIV/0!|VALUE!|REF!|NAME\?|NUM!|NULL!|WERT!|BEZUG!|NV|SPILL!)", re.IGNORECASE)

_BLANKS = "\u0020\u00a0\u2009\u202f'\u2019"
_EXPONENT = r"(?:[eE][+-]?\d+)?"
_GROUPED_BY_BLANKS = re.compile(rf"[+-]?\d{{1,3}}(?:[{_BLANKS}]\d{{3}})+(?:[.,]\d+)?{_EXPONENT}")
_DECIMAL = re.compile(rf"[+-]?(?:\d+[.,]?\d*|[.,]\d+){_EXPONENT}")
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")
_GROUPED = re.compile(
    rf"[+-]?\d{{1,3}}(?:(?:,\d{{3}})+\.\d*|(?:\.\d{{3}})+,\d*|(?:,\d{{3}}){{2,}}|(?:\.\d{{3}}){{2,}}){_EXPONENT}"
)
_LIMIT = re.compile(r"(<=|>=|<|>|≤|≥)\s*(.+)")
_ACTS = re.compile(r"'*[=+\-@\t\r]")
_MONTHS = (
    r"(?:jan|feb|fév|mar|mär|mrz|apr|avr|may|mai|maj|jun|juin|jul|juil|aug|août|ago"
    r"|sep|oct|okt|out|nov|dec|dez|déc|dic)"
)
_DATES = re.compile(
    r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\.?(?:[ T].*)?"  # 12.05.2026, 2026-05-12T08:00
    r"|\d{1,2}[-/]\d{1,4}"  # 1-2, 5/2026
    r"|\d{1,2}:\d{2}(?::\d{2}.*)?"  # 12:30
    rf"|\d{{1,4}}[.\-/ ]*{_MONTHS}[^\W\d]*[.\-/ ]*\d{{0,4}}"  # 1-May, 01. Mai
    rf"|{_MONTHS}[^\W\d]*[.\-/ ]*\d{{1,4}}",  # May-05
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written.

    Parameters
    ----------
    value
        The number, the mark taken for a decimal one.
    decimal
        The decimal mark that the cell proves ("." or ","), or "" where it proves none.
    grouped
        The number if its only mark stands for thousands, where that cannot be told; None elsewhere.
    mark
        That only mark.
    """

    value: float
    decimal: str = ""
    grouped: float | None = None
    mark: str = ""

    def resolved(self, decimal: str) -> float | None:
        """Return the number in a file with this decimal mark ("" if that is not known), or None if it may be two."""
        if self.grouped is None:
            return self.value
        return {self.mark: self.value, "": None}.get(decimal, self.grouped)


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell for a value says: a number, a limit that was passed, or that there is no value."""

    number: Number | None
    limit: str = ""


def canonical(text: str) -> str:
    """Return a name as it is compared: blanks, case and look-alike letters aside.

    >>> canonical("  Temperature   of Bath ")
    'temperature of bath'
    """
    return " ".join(unicodedata.normalize("NFKC", text.replace("º", "°").replace("˚", "°")).split()).casefold()


def is_blank(text: str) -> bool:
    """Tell whether nothing is written.

    >>> is_blank(" \u00a0")
    True
    """
    return not text.strip()


def neutralised(text: str) -> str:
    """Return text that a spreadsheet shows and does not run; `plain` gives back what it was.

    >>> neutralised("=1+1"), neutralised("day 2"), plain(neutralised("=1+1"))
    ("'=1+1", 'day 2', '=1+1')
    """
    return f"'{text}" if _ACTS.match(text) else text


def plain(text: str) -> str:
    """Return the text that was neutralised.

    >>> plain("'@home"), plain("it's")
    ('@home', "it's")
    """
    return text[1:] if text.startswith("'") and _ACTS.match(text) else text


def looks_like_date(text: str) -> bool:
    """Tell whether a cell that is no number is a date or a time.

    >>> looks_like_date("1-May"), looks_like_date("12.05.2026"), looks_like_date("n/a")
    (True, True, False)
    """
    return _DATES.fullmatch(text.strip()) is not None


def read_number(text: str) -> Number | None:
    """Return the number that is written, or None if it is none.

    >>> read_number("1.234,5")
    Number(value=1234.5, decimal=',', grouped=None, mark='')
    >>> read_number("1,234")
    Number(value=1.234, decimal='', grouped=1234.0, mark=',')
    """
    written = plain(text.strip()).strip().replace("−", "-")
    if _GROUPED_BY_BLANKS.fullmatch(written):
        written = re.sub(rf"[{_BLANKS}]", "", written)
        return _decimal(written)
    if _EITHER.fullmatch(written):
        mark = "," if "," in written else "."
        return Number(float(written.replace(",", ".")), "", float(written.replace(mark, "")), mark)
    if _DECIMAL.fullmatch(written):
        return _decimal(written)
    if _GROUPED.fullmatch(written):
        decimal = "." if written.rfind(".") > written.rfind(",") else ","
        if written.count(decimal) > 1:  # 1.234.567: groups only
            decimal = "," if decimal == "." else "."
        group = "," if decimal == "." else "."
        return Number(float(written.replace(group, "").replace(",", ".")), decimal)
    return None


def _decimal(written: str) -> Number:
    decimal = "," if "," in written else "." if "." in written else ""
    return Number(float(written.replace(",", ".")), decimal)


def read_cell(text: str) -> Cell | None:
    """Return what a cell for a value says, or None if it says nothing that is known.

    >>> read_cell("<0.1").limit, read_cell("n/a").number, read_cell("80,5").number.value
    ('<', None, 80.5)
    """
    written = text.strip()
    if plain(written).strip().casefold() in NO_VALUE:
        return Cell(None)
    limit = _LIMIT.fullmatch(written)
    number = read_number(limit[2] if limit else written)
    return None if number is None else Cell(number, limit[1] if limit else "")
