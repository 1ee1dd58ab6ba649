"""Exact pieces of numerical work: projections and minimisers on the ball, truncated and quantised means."""

from paraboloid.numerics.ball import minimise_on_ball, project_onto_ball
from paraboloid.numerics.quantisation import QuantisedSum, Quantiser, quantise
from paraboloid.numerics.truncation import AS_PRINTED, CENTRED, Truncation, median_of_means, truncated_mean

__all__ = [
    "AS_PRINTED",
    "CENTRED",
    "QuantisedSum",
    "Quantiser",
    "Truncation",
    "median_of_means",
    "minimise_on_ball",
    "project_onto_ball",
    "quantise",
    "truncated_mean",
]
