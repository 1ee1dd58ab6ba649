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
from paraboloid.core.errors import MeasurementError, ParaboloidError, ReplayMismatch, UsageError
from paraboloid.core.experiment import Experiment, Measurements
from paraboloid.core.procedure import Log, Procedure, Steps, measure
from paraboloid.core.result import Estimate, Result, Status

__all__ = [
    "Counts",
    "Estimate",
    "Experiment",
    "Log",
    "Matrix",
    "MeasurementError",
    "Measurements",
    "ParaboloidError",
    "Procedure",
    "ReplayMismatch",
    "Result",
    "Status",
    "Steps",
    "UsageError",
    "Vector",
    "check_budget",
    "check_dimension",
    "check_hessian",
    "check_point_in_ball",
    "check_positive",
    "check_symmetric",
    "eigenvalues_above_rounding",
    "frozen_array",
    "measure",
]
