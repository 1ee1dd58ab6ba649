"""Paraboloid: find the best setting of a noisy system with the fewest measurements, and know how good it is."""

import logging
from importlib.metadata import version

from paraboloid import algorithms, core, numerics, problems, run, theory
from paraboloid.core import (
    Estimate,
    Experiment,
    MeasurementError,
    Measurements,
    ParaboloidError,
    ReplayMismatch,
    Result,
    Status,
    UsageError,
)

__version__ = version("paraboloid")
__all__ = [
    "Estimate",
    "Experiment",
    "MeasurementError",
    "Measurements",
    "ParaboloidError",
    "ReplayMismatch",
    "Result",
    "Status",
    "UsageError",
    "algorithms",
    "core",
    "numerics",
    "problems",
    "run",
    "theory",
]

logging.getLogger("paraboloid").addHandler(logging.NullHandler())
