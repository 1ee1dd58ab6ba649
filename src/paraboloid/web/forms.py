"""Forms as they come: fields by name, and what was typed about each trial."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl

from paraboloid.core import UsageError
from paraboloid.web.typed import Typed

__all__ = ["Form", "form_of"]

MOST_NAMES = 5000
"""Fields of a form."""
_FIELD = re.compile(r"(value|note|failed|given-up|sem|version)-(\d{1,9})")
_KNOB = re.compile(r"knob-(\d{1,9})-(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of a form in their order; a name may come again."""

    fields: Sequence[tuple[str, str]]

    def text(self, name: str) -> str:
        """Return the last field of this name, or ""."""
        return next((text for field, text in reversed(self.fields) if field == name), "")

    def whole(self, name: str) -> int | None:
        """Return a whole number, None if nothing is typed, or raise a `UsageError`."""
        text = self.text(name).strip()
        if text and not (text.isascii() and text.isdigit() and len(text) < 16):
            raise UsageError(f"{text[:60]!r} is no whole number.")
        return int(text) if text else None

    def rows(self, knobs: Sequence[str]) -> list[Typed]:
        """Return what was typed, trial by trial; rows that were left empty are left out."""
        found: dict[int, dict[str, list[str]]] = {}
        settings: dict[int, dict[str, str]] = {}
        for name, text in self.fields:
            if field := _FIELD.fullmatch(name):
                found.setdefault(int(field[2]), {}).setdefault(field[1], []).append(text)
            elif (knob := _KNOB.fullmatch(name)) and int(knob[2]) < len(knobs):
                settings.setdefault(int(knob[1]), {})[knobs[int(knob[2])]] = text
        rows = [_typed(number, texts, settings.get(number, {})) for number, texts in found.items()]
        return [row for row in rows if not row.is_empty]


def _typed(number: int, texts: dict[str, list[str]], settings: dict[str, str]) -> Typed:
    version = texts.get("version", [""])[-1]
    return Typed(
        number,
        version=int(version) if version.isascii() and version.isdigit() and len(version) < 16 else -1,
        values=tuple(texts.get("value", ())),
        is_failed="failed" in texts,
        is_given_up="given-up" in texts,
        note=texts.get("note", [""])[-1],
        sem=texts.get("sem", [""])[-1],
        settings=settings,
    )


def form_of(body: bytes) -> Form | None:
    """Return the fields that a browser has sent, or None if they cannot be read.

    >>> form_of(b"value-1=80%2C5&note-1=").rows(())
    [Typed(trial=1, version=-1, values=('80,5',), is_failed=False, is_given_up=False, note='', sem='', settings={})]
    """
    try:
        text = body.decode("ascii")
        return Form(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MOST_NAMES))
    except ValueError:  # also what cannot be decoded
        return None
