"""The vocabulary that every room speaks: experiments, measurements, results, errors, procedures."""

from paraboloid.core.arrays import Counts, Matrix, Vector, frozen_array
from paraboloid.core.checks import (
    check_budget,
    check_dimension,
    check_hessian,
    check_point_in_ball,
    check_positive,
    check_symmetric,
    eigenvalues_above_rounding,
)
from paraboloid.core.domain import Ball, Box, Domain, Knob, Shape, as_domain
from paraboloid.core.errors import MeasurementError, ParaboloidError, ReplayMismatch, UsageError
from paraboloid.core.evidence import Evidence, Sample
from paraboloid.core.experiment import Experiment, Measurements
from paraboloid.core.procedure import Log, Procedure, Steps, check_answer, measure
from paraboloid.core.result import Certificate, Estimate, Result, Status, doubt_about_shape

__all__ = [
    "Ball",
    "Box",
    "Certificate",
    "Counts",
    "Domain",
    "Estimate",
    "Evidence",
    "Experiment",
    "Knob",
    "Log",
    "Matrix",
    "MeasurementError",
    "Measurements",
    "ParaboloidError",
    "Procedure",
    "ReplayMismatch",
    "Result",
    "Sample",
    "Shape",
    "Status",
    "Steps",
    "UsageError",
    "Vector",
    "as_domain",
    "check_answer",
    "check_budget",
    "check_dimension",
    "check_hessian",
    "check_point_in_ball",
    "check_positive",
    "check_symmetric",
    "doubt_about_shape",
    "eigenvalues_above_rounding",
    "frozen_array",
    "measure",
]
