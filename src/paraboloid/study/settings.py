"""What a study is told when it is made, kept in its first event."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from paraboloid.core import Ball, Box, Domain, Knob, UsageError, check_budget, check_positive

__all__ = ["ADAPTIVE", "Settings", "domain_payload", "seed_of"]

ADAPTIVE = "adaptive"
"""The algorithm of a study that names none: the adaptive search, worked out from the evidence itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """Domain, direction, limits and seed of a study.

    Parameters
    ----------
    domain
        Where may be measured.
    is_maximised
        Whether large values are wanted.
    budget, eps
        How many measurements may be handed out, and the accuracy that is wanted; None where not limited.
    confidence
        Of bounds and intervals.
    seed
        Of every random choice of the study.
    batch
        Size of every round, if it is fixed.
    algorithm, arguments
        The name of the algorithm that is followed, and what it is called with beside, in plain types.
    """

    domain: Domain
    is_maximised: bool
    budget: int | None
    eps: float | None
    confidence: float
    seed: int
    batch: int | None
    algorithm: str = ADAPTIVE
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.budget is not None:
            budget = check_budget(self.budget, smallest=1, what_for="a study")
            object.__setattr__(self, "budget", budget)
        if self.batch is not None:
            object.__setattr__(self, "batch", check_budget(self.batch, smallest=1, what_for="a batch"))
        if self.eps is not None:
            object.__setattr__(self, "eps", check_positive("eps", self.eps))
        if not (isinstance(self.confidence, int | float) and 0 < self.confidence < 1):
            raise UsageError(f"confidence must lie between 0 and 1, got {self.confidence!r}; 0.95 is usual.")
        object.__setattr__(self, "confidence", float(self.confidence))

    @property
    def sign(self) -> float:
        """+1 to minimise, -1 to maximise: values are multiplied by it, and always minimised inside."""
        return -1.0 if self.is_maximised else 1.0

    def payload(self) -> dict[str, Any]:
        """Return the settings in plain types."""
        return {
            "domain": domain_payload(self.domain),
            "maximize": self.is_maximised,
            "budget": self.budget,
            "eps": self.eps,
            "confidence": self.confidence,
            "seed": self.seed,
            "batch": self.batch,
            "algorithm": self.algorithm,
            "arguments": dict(self.arguments),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "Settings":
        """Return the settings of a first event."""
        return cls(
            _domain(payload["domain"]),
            payload["maximize"],
            payload["budget"],
            payload["eps"],
            payload["confidence"],
            payload["seed"],
            payload["batch"],
            payload.get("algorithm", ADAPTIVE),
            payload.get("arguments", {}),
        )

    def check_same(self, given: Mapping[str, Any], path: object) -> None:
        """Raise a `UsageError` if something given at a later opening differs from what the study was made with."""
        mine = self.payload()
        for name, value in given.items():
            if value is None or mine[name] == value:
                continue
            advice = "Leave it out to go on with the stored one, or make a new study at another path."
            if name in ("budget", "eps"):
                advice = f"Leave it out, and call study.extend({name}=...) to change it."
            raise UsageError(f"{path} was made with {name} {mine[name]!r}, but {name} {value!r} is given. {advice}")


def domain_payload(domain: Domain) -> dict[str, Any]:
    """Return a domain in plain types."""
    if isinstance(domain, Box):
        return {
            "box": [
                {"name": knob.name, "low": knob.low, "high": knob.high, "unit": knob.unit, "log": knob.log}
                for knob in domain.knobs
            ]
        }
    return {"ball": {"centre": domain.centre.tolist(), "radius": domain.radius, "names": list(domain.names)}}


def _domain(payload: Mapping[str, Any]) -> Domain:
    if "box" in payload:
        return Box([Knob(**knob) for knob in payload["box"]])
    return Ball(**payload["ball"])


def seed_of(rng: int | np.random.SeedSequence | np.random.Generator | None) -> int:
    """Return the seed that a study keeps for ``rng``.

    >>> seed_of(0) == seed_of(0)
    True
    """
    return int(np.random.default_rng(rng).integers(2**31))


def whole(name: str, given: SupportsIndex) -> int:
    """Return a count of at least one."""
    try:
        number = given.__index__()
    except (AttributeError, TypeError):
        number = -1
    if isinstance(given, bool) or number < 1:
        raise UsageError(f"{name} must be a whole number of at least 1, got {given!r}.")
    return number


def seconds(name: str, given: float | None) -> float | None:
    """Return a duration above zero, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or not (isinstance(given, int | float) and math.isfinite(given) and given > 0):
        raise UsageError(f"{name} must be a number of seconds above 0, got {given!r}.")
    return float(given)
