"""Noisy test problems with known minimum, for simulation, tests, benchmarks and docs."""

from paraboloid.problems.noise import (
    Exponential,
    Gaussian,
    Heteroscedastic,
    Laplace,
    LogNormal,
    Noise,
    Noiseless,
    Rademacher,
    StudentT,
    TwoPoint,
    Uniform,
    VaryingSkew,
    named_noise,
)
from paraboloid.problems.quadratic import NoisyQuadratic

__all__ = [
    "Exponential",
    "Gaussian",
    "Heteroscedastic",
    "Laplace",
    "LogNormal",
    "Noise",
    "Noiseless",
    "NoisyQuadratic",
    "Rademacher",
    "StudentT",
    "TwoPoint",
    "Uniform",
    "VaryingSkew",
    "named_noise",
]
