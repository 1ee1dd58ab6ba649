"""Bounds, rates and sample counts: pure functions of numbers, each citing its equation in the paper."""

from paraboloid.theory.energy import energy_spectrum, expected_log_likelihood_ratio, optimal_energy_spectrum
from paraboloid.theory.finite_budget import effective_rank, finite_budget_rate, regime_thresholds
from paraboloid.theory.instance_limit import elliptope_minimum, instance_limit_bounds, unit_instance
from paraboloid.theory.limits import minimax_limit, samples_for_accuracy
from paraboloid.theory.lower_bounds import (
    bayes_lower_bound,
    energy_lower_bound,
    hard_instance,
    uncertainty_lower_bound,
    weak_lower_bound,
)
from paraboloid.theory.spectrum import inverse_root_trace, positive_eigenvalues
from paraboloid.theory.truncation import (
    truncation_bias_bound,
    truncation_tail_bound,
    truncation_variance_bound,
)

__all__ = [
    "bayes_lower_bound",
    "effective_rank",
    "elliptope_minimum",
    "energy_lower_bound",
    "energy_spectrum",
    "expected_log_likelihood_ratio",
    "finite_budget_rate",
    "hard_instance",
    "instance_limit_bounds",
    "inverse_root_trace",
    "minimax_limit",
    "optimal_energy_spectrum",
    "positive_eigenvalues",
    "regime_thresholds",
    "samples_for_accuracy",
    "truncation_bias_bound",
    "truncation_tail_bound",
    "truncation_variance_bound",
    "uncertainty_lower_bound",
    "unit_instance",
    "weak_lower_bound",
]
