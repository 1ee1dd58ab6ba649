"""Results as tables for people and as JSON for programs: the same numbers, on standard output."""

import json
import math
from collections.abc import Mapping
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import OptimizeResult

from paraboloid.core import Box, Domain, doubt_about_shape

__all__ = [
    "as_plain",
    "at_most",
    "duration",
    "number",
    "print_json",
    "print_recommendation",
    "print_table",
    "recommendation",
]


CERTIFIED = ("fun", "fun_se", "regret", "regret_bound", "regret_bound_if_quadratic", "confidence", "sigma")
"""Fields of an answer that says how good it is; the paper's algorithms give none."""


def as_plain(value: Any) -> Any:
    """Return what JSON can hold; what is not finite becomes None.

    >>> as_plain({"x": np.array([1.5, np.inf]), "n": np.int64(3)})
    {'x': [1.5, None], 'n': 3}
    """
    if isinstance(value, Mapping):
        return {str(key): as_plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        return as_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [as_plain(entry) for entry in value]
    if isinstance(value, np.generic):
        return as_plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(as_plain(value), indent=1, ensure_ascii=False, allow_nan=False))


def print_table(table: Table) -> None:
    """Print a table on standard output, as wide as it needs to be where there is no terminal."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=max(console.width, 160))
    console.print(table)


def number(value: float | None, digits: int = 4) -> str:
    """Return a number as people read it; "none" for what is not known or not bounded.

    >>> number(0.0123456), number(float("inf"))
    ('0.01235', 'none')
    """
    return "none" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def at_most(bound: float | None, confidence: float) -> str:
    """Return what is said of a regret bound, also where there is none.

    >>> at_most(0.0123456, 0.95), at_most(None, 0.95)
    ('at most 0.01235 at 95%', 'no bound')
    """
    said = number(bound)
    return "no bound" if said == "none" else f"at most {said} at {confidence:.0%}"


def duration(seconds: float) -> str:
    """Return a time span in words.

    >>> duration(42), duration(150), duration(7300), duration(200_000)
    ('42 s', '2 min 30 s', '2 h 1 min', '2 d 7 h')
    """
    whole = round(max(0.0, seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def recommendation(result: OptimizeResult, domain: Domain) -> dict[str, Any]:
    """Return the answer of a study in plain types: settings and intervals by knob name."""
    names = domain.names
    seen = result.x_best_observed
    return {
        "x": dict(zip(names, as_plain(result.x), strict=True)),
        "x_ci": dict(zip(names, as_plain(_intervals(result)), strict=True)),
        **{key: as_plain(result.get(key)) for key in CERTIFIED},
        "doubt_about_shape": _doubt(result) or None,
        **{key: as_plain(result[key]) for key in ("nfev", "nfail", "rounds", "stop_reason", "success", "message")},
        "caveats": as_plain(result.get("caveats", [])),
        "x_best_observed": None if seen is None else dict(zip(names, as_plain(seen), strict=True)),
    }


def _intervals(result: OptimizeResult) -> Any:
    """Return an interval for each knob, not bounded where the algorithm gives none."""
    return result.get("x_ci", np.full((len(result.x), 2), np.nan))


def _doubt(result: OptimizeResult) -> str:
    return doubt_about_shape(result.get("regret_bound"), result.get("regret_bound_if_quadratic"))


def units(domain: Domain) -> tuple[str, ...]:
    """Return the unit of each knob; empty where there is none."""
    return tuple(knob.unit for knob in domain.knobs) if isinstance(domain, Box) else ("",) * domain.dimension


def print_recommendation(result: OptimizeResult, domain: Domain) -> None:
    """Print the answer of a study: a table of settings, and how good they are."""
    is_certified = "confidence" in result
    share = f"{result.confidence:.0%}" if is_certified else "not known"
    table = Table("knob", "setting", f"from ({share})", f"to ({share})", "unit")
    for name, x, (low, high), unit in zip(domain.names, result.x, _intervals(result), units(domain), strict=True):
        table.add_row(name, number(x, 6), number(low, 6), number(high, 6), unit)
    print_table(table)
    if is_certified:
        click.echo(f"value there   {number(result.fun, 6)} ± {number(result.fun_se, 3)}")
        bound = at_most(result.regret_bound, result.confidence)
        click.echo(f"regret        {number(result.regret)} expected, {bound}")
        if doubt := _doubt(result):
            click.echo(f"shape         {doubt}")
    click.echo(f"measurements  {result.nfev}, of which {result.nfail} failed, in {result.rounds} rounds")
    click.echo(result.message)
