"""Where to measure and how often: the criterion, optimal designs with certificates, batches in whole repeats."""

from paraboloid.design.batch import merge, next_batch, pilot
from paraboloid.design.certificate import Quality, assess, assess_closely, robust_covariance, without_bound
from paraboloid.design.checks import check_points, pilot_with_checks
from paraboloid.design.criterion import free_inverse, regret_weight
from paraboloid.design.failures import away_from_failures
from paraboloid.design.instance_limit import instance_limit, optimal_design
from paraboloid.design.likely_instance import believed, likely_instance, recommended
from paraboloid.design.possible_truths import is_suspected
from paraboloid.design.scattered import scattered_batch, scattered_once
from paraboloid.design.smooth_batch import next_smooth_batch
from paraboloid.design.solver import Design, solve_design

__all__ = [
    "Design",
    "Quality",
    "assess",
    "assess_closely",
    "away_from_failures",
    "believed",
    "check_points",
    "free_inverse",
    "instance_limit",
    "is_suspected",
    "likely_instance",
    "merge",
    "next_batch",
    "next_smooth_batch",
    "optimal_design",
    "pilot",
    "pilot_with_checks",
    "recommended",
    "regret_weight",
    "robust_covariance",
    "scattered_batch",
    "scattered_once",
    "solve_design",
    "without_bound",
]
