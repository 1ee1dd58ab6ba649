"""The columns of a sheet: which knob or field each header names, in which unit, and settings as they are written."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from paraboloid.core import Box, Domain, UsageError
from paraboloid.study.sheet_cells import canonical, plain

__all__ = ["Column", "Columns", "SheetKnob", "knobs_of", "match_columns"]

NEARNESS = 1e-5
"""Of half a knob's range: settings are written this exactly, and one that is so near to the asked one is that one."""
FIELDS = ("id", "value", "sem", "note", "state", "study", "count", "scatter", "key")
_RESERVED = re.compile(r"(?:id|value(?: \d+)?|sem|note|state|study|count|scatter|key|attempt|round)")
_WITH_UNIT = re.compile(r"(.*\S)\s*(?:\[(.*)\]|\((.*)\))")
_REPLICATE = re.compile(r"value(?: (\d+))?")


@dataclass(frozen=True, slots=True)
class SheetKnob:
    """A knob as it stands on a sheet: its header, its unit, its range, and how exactly its settings are written."""

    name: str
    unit: str
    half: float
    is_log: bool = False
    low: float = -math.inf
    high: float = math.inf

    @property
    def title(self) -> str:
        """Name without unit, told from the sheet's own columns."""
        return f"knob {self.name}" if _RESERVED.fullmatch(canonical(self.name)) else self.name

    @property
    def header(self) -> str:
        """Name and unit."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title

    def is_near(self, written: float, asked: float) -> bool:
        """Tell whether a written setting is the asked one, but for the digits that are not written."""
        return abs(written - asked) <= 2 * NEARNESS * self.half * (abs(asked) if self.is_log else 1.0)

    def written(self, setting: float) -> str:
        """Return a setting in as few digits as tell it from its neighbours.

        >>> SheetKnob("temperature", "°C", 30.0).written(176.53846153846155)
        '176.5385'
        """
        reach = NEARNESS * self.half * (abs(setting) if self.is_log else 1.0)
        text = next(
            (text for n in range(1, 17) if abs(float(text := f"{setting:.{n}g}") - setting) <= reach), repr(setting)
        )
        if "e" in text and 1e-6 <= abs(setting) < 1e15:
            return f"{Decimal(text):f}"
        return text


def knobs_of(domain: Domain) -> tuple[SheetKnob, ...]:
    """Return the knobs of a domain as they stand on a sheet.

    >>> from paraboloid import Box, Knob
    >>> [knob.header for knob in knobs_of(Box([Knob("temperature", 150, 210, "°C")]))]
    ['temperature [°C]']
    """
    if not isinstance(domain, Box):
        r = domain.radius
        return tuple(
            SheetKnob(n, "", r, low=c - r, high=c + r) for n, c in zip(domain.names, domain.centre, strict=True)
        )
    return tuple(
        SheetKnob(
            k.name,
            k.unit,
            math.log(k.high / k.low) / 2 if k.log else k.high / 2 - k.low / 2,
            is_log=k.log,
            low=k.low,
            high=k.high,
        )
        for k in domain.knobs
    )


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its place and its header as written."""

    place: int
    header: str


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The columns of a sheet by what they mean.

    Parameters
    ----------
    fields
        id, sem, note and the like, by name.
    values
        The columns of values: one, or one for each replicate.
    knobs
        By name of the knob.
    extra
        Columns that mean nothing here.
    """

    fields: Mapping[str, Column]
    values: tuple[Column, ...]
    knobs: Mapping[str, Column]
    extra: tuple[Column, ...]

    @property
    def numeric(self) -> tuple[Column, ...]:
        """The columns that hold numbers."""
        fields = tuple(self.fields[name] for name in ("sem", "count", "scatter") if name in self.fields)
        return (*self.values, *self.knobs.values(), *fields)


def match_columns(header: Sequence[str], knobs: Sequence[SheetKnob], names: Mapping[str, str] | None = None) -> Columns:
    """Return what each column means, or raise a `UsageError` for a column given twice or in another unit.

    Parameters
    ----------
    header
        The header of the table.
    knobs
        The knobs of the study.
    names
        Headers that stand for a knob or field, by the name of that.
    """
    renamed = {canonical(text): name for name, text in (names or {}).items()}
    fields: dict[str, Column] = {}
    values: dict[str, Column] = {}
    found: dict[str, Column] = {}
    extra = []
    for place, text in enumerate(header):
        column = Column(place, text.strip())
        kind, name = _meaning(plain(text.strip()), knobs, renamed)
        target = {"knob": found, "field": fields, "value": values}.get(kind)
        if target is None:
            extra.append(column)
        elif name in target:
            raise UsageError(f"columns {target[name].header!r} and {column.header!r} both mean {name}. Keep one.")
        else:
            target[name] = column
    return Columns(fields, tuple(values.values()), found, tuple(extra))


def _meaning(text: str, knobs: Sequence[SheetKnob], renamed: Mapping[str, str]) -> tuple[str, str]:
    """Return (kind, name) of a header: knob, field, value, or neither."""
    with_unit = _WITH_UNIT.fullmatch(text)
    for title, unit in (
        (text, None),
        (with_unit[1], with_unit[2] or with_unit[3] or "") if with_unit else (text, None),
    ):
        wanted = renamed.get(canonical(title))
        knob = _knob(title, knobs) if wanted is None else next((k for k in knobs if k.name == wanted), None)
        if knob is not None:
            if unit is not None:
                _check_unit(text, unit, knob)
            return "knob", knob.name
        plain_name = wanted or canonical(title)
        if (_REPLICATE.fullmatch(plain_name) and "value" not in renamed.values()) or wanted == "value":
            return "value", plain_name
        if plain_name in FIELDS and unit is None and plain_name != "value":
            return "field", plain_name
    return "extra", text


def _knob(title: str, knobs: Sequence[SheetKnob]) -> SheetKnob | None:
    exact = [knob for knob in knobs if knob.title == title]
    alike = exact or [knob for knob in knobs if canonical(knob.title) == canonical(title)]
    return alike[0] if len(alike) == 1 else None


def _check_unit(header: str, unit: str, knob: SheetKnob) -> None:
    if _same_unit(unit, knob.unit):
        return
    expected = f"[{knob.unit}]" if knob.unit else "no unit"
    raise UsageError(
        f"column {header!r} is in [{unit}], but the study has {knob.name} in {expected}. Convert the numbers, and "
        f"write the header {knob.header!r}."
    )


def _same_unit(one: str, other: str) -> bool:
    """Tell whether two units are one, look-alike letters aside; case matters (mW and MW)."""

    def form(unit: str) -> str:
        return "".join(unicodedata.normalize("NFKC", unit.replace("º", "°").replace("˚", "°")).split())

    return form(one) == form(other)
