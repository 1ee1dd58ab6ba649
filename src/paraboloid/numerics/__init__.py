"""Exact pieces of numerical work: projections and minimisers on the ball, truncated and quantised means."""

from paraboloid.numerics.ball import minimise_on_ball, project_onto_ball
from paraboloid.numerics.closing_in import Closed, close_in, n_low
from paraboloid.numerics.fit import QuadraticFit, fit_quadratic
from paraboloid.numerics.lack_of_fit import LackOfFit, lack_of_fit
from paraboloid.numerics.low_values import close_in_low
from paraboloid.numerics.lowest import close_in_on_lowest
from paraboloid.numerics.model import Model, looked_at_closely, modelled
from paraboloid.numerics.order import OrderEffect, order_effect
from paraboloid.numerics.profile import Profile
from paraboloid.numerics.quadratic_model import (
    features,
    gradient_map,
    matrix_to_vector,
    n_terms,
    trace_form,
    upper_triangle,
    vector_to_matrix,
)
from paraboloid.numerics.quantisation import QuantisedSum, Quantiser, quantise
from paraboloid.numerics.region import minimise_on_region, project_onto_region, random_points
from paraboloid.numerics.saddle import fit_least_squares, fit_saddle
from paraboloid.numerics.smooth import SmoothFit
from paraboloid.numerics.smooth_fit import fit_smooth
from paraboloid.numerics.tails import Limited, limit_tails
from paraboloid.numerics.truncation import AS_PRINTED, CENTRED, Truncation, median_of_means, truncated_mean
from paraboloid.numerics.variance import weigh_by_variance
from paraboloid.numerics.window import Window

__all__ = [
    "AS_PRINTED",
    "CENTRED",
    "Closed",
    "LackOfFit",
    "Limited",
    "Model",
    "OrderEffect",
    "Profile",
    "QuadraticFit",
    "QuantisedSum",
    "Quantiser",
    "SmoothFit",
    "Truncation",
    "Window",
    "close_in",
    "close_in_low",
    "close_in_on_lowest",
    "features",
    "fit_least_squares",
    "fit_quadratic",
    "fit_saddle",
    "fit_smooth",
    "gradient_map",
    "lack_of_fit",
    "limit_tails",
    "looked_at_closely",
    "matrix_to_vector",
    "median_of_means",
    "minimise_on_ball",
    "minimise_on_region",
    "modelled",
    "n_low",
    "n_terms",
    "order_effect",
    "project_onto_ball",
    "project_onto_region",
    "quantise",
    "random_points",
    "trace_form",
    "truncated_mean",
    "upper_triangle",
    "vector_to_matrix",
    "weigh_by_variance",
]
