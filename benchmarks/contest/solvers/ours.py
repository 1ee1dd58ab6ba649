"""Paraboloid by its front door, in its default setting or as a named variant.

``paraboloid`` is `paraboloid.minimize` as it comes. ``paraboloid:rounds=12`` passes an argument to its algorithm, and
``paraboloid:adaptive,rounds=12`` names the algorithm too (any name of `paraboloid.algorithms`). Values are JSON
(``true``, ``3``, ``0.5``), anything else is text.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import paraboloid
from contest.solvers.adapter import Answer, Meter, Solver
from paraboloid import algorithms

RECORDED = ("regret", "regret_bound", "rounds", "stop_reason", "nfail", "is_quadratic", "evidence", "verdict")
"""Fields of the result that are kept where they exist and are plain values."""


def variant(text: str) -> Solver:
    """Return the solver that the part after the colon describes; the empty text is the default."""
    words = [word for word in text.split(",") if word]
    name = words.pop(0) if words and "=" not in words[0] else "adaptive"
    arguments = dict(_argument(word) for word in words)
    if not text:
        return partial(solve, None)
    return partial(solve, partial(getattr(algorithms, name), **arguments))


def _argument(word: str) -> tuple[str, Any]:
    name, _, value = word.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def solve(algorithm: Callable[..., Any] | None, meter: Meter, seed: int) -> Answer:
    """Return the model minimum of `paraboloid.minimize`."""
    domain = paraboloid.Ball(np.zeros(meter.d)) if meter.is_ball else paraboloid.Box([(-1.0, 1.0)] * meter.d)
    result = paraboloid.minimize(
        meter.measure, domain, budget=meter.budget, algorithm=algorithm, rng=seed, vectorized=True
    )
    said = {name: _plain(result.get(name)) for name in RECORDED if name in result}
    return Answer(np.asarray(result.x), {name: value for name, value in said.items() if value is not None})


def _plain(value: Any) -> float | int | str | bool | None:
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, float | int | str | bool) else None
