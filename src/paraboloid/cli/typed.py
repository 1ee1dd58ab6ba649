"""What is typed after a command: values, limits, settings and pairs, read by the rules of sheets."""

from collections.abc import Sequence
from typing import Any

from paraboloid.core import UsageError
from paraboloid.study.sheet_cells import is_blank, read_cell, read_number

__all__ = ["pairs", "settings_of", "trial_number", "value_and_state"]


def trial_number(text: str) -> int:
    """Return the number of a trial.

    >>> trial_number("12")
    12
    """
    if not text.isascii() or not text.isdigit():
        raise UsageError(f'ID must be the number of a trial, or "old" for old data, got {text!r}.')
    return int(text)


def value_and_state(values: Sequence[str], state: str | None) -> tuple[Any, str | None]:
    """Return the value of what was typed, and the state, which a limit such as <0.1 implies.

    >>> value_and_state(["<0.1"], None)
    (0.1, 'CENSORED')
    """
    if not values:
        if state is None or state == "CENSORED":
            raise UsageError("give the value, or --failed or --abandon if there is none.")
        return None, state
    numbers, limits = [], 0
    for text in values:
        cell = read_cell(text)
        number = None if cell is None or cell.number is None else cell.number.resolved("")
        if cell is None or (cell.number is not None and number is None):
            raise UsageError(
                f"{text!r} is no number, or may be two. Write it with a decimal point, or n/a for no value."
            )
        numbers.append(float("nan") if number is None else number)
        limits += bool(cell.limit)
    if limits not in (0, len(numbers)):
        raise UsageError(f"{' '.join(values)}: values and limits are told apart. Tell the values alone.")
    return numbers if len(numbers) > 1 else numbers[0], "CENSORED" if limits else state


def settings_of(given: Sequence[str]) -> dict[str, float] | None:
    """Return what was really set, by knob, or None if nothing is given.

    >>> settings_of(["temperature=176.5"])
    {'temperature': 176.5}
    """
    read = {}
    for name, text in pairs("--x", given).items():
        number = read_number(text)
        setting = None if number is None else number.resolved("")
        if setting is None:
            raise UsageError(f"--x {name}={text}: no number. Give the setting in the unit of the knob.")
        read[name] = setting
    return read or None


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Return the texts of an option that may be given again, by name.

    >>> pairs("--where", ["batch=7"])
    {'batch': '7'}
    """
    found = {}
    for text in given:
        name, mark, rest = text.partition("=")
        if not mark or is_blank(name) or is_blank(rest):
            raise UsageError(f"{option} takes NAME=TEXT, got {text!r}.")
        if name.strip() in found:
            raise UsageError(f"{option} {name.strip()} is given twice.")
        found[name.strip()] = rest.strip()
    return found
