"""Paraboloid: find the best setting of a noisy system with the fewest measurements, and know how good it is."""

import logging
from importlib.metadata import version

from paraboloid import algorithms, core, design, numerics, problems, run, store, theory
from paraboloid.core import (
    Ball,
    Box,
    Certificate,
    Estimate,
    Evidence,
    Experiment,
    Knob,
    MeasurementError,
    Measurements,
    ParaboloidError,
    ReplayMismatch,
    Result,
    Status,
    UsageError,
)
from paraboloid.design import instance_limit
from paraboloid.integrations.scipy import scipy_method
from paraboloid.minimise import maximize, minimize
from paraboloid.planning import Plan, plan
from paraboloid.study import Study, Trial, TrialState

__version__ = version("paraboloid")
__all__ = [
    "Ball",
    "Box",
    "Certificate",
    "Estimate",
    "Evidence",
    "Experiment",
    "Knob",
    "MeasurementError",
    "Measurements",
    "ParaboloidError",
    "Plan",
    "ReplayMismatch",
    "Result",
    "Status",
    "Study",
    "Trial",
    "TrialState",
    "UsageError",
    "algorithms",
    "core",
    "design",
    "instance_limit",
    "maximize",
    "minimize",
    "numerics",
    "plan",
    "problems",
    "run",
    "scipy_method",
    "store",
    "theory",
]

logging.getLogger("paraboloid").addHandler(logging.NullHandler())
