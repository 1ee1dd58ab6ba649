"""One published algorithm per file, each a generator of experiments that reads like its pseudo-code."""

from paraboloid.algorithms.adaptive import adaptive
from paraboloid.algorithms.conclusion import conclude
from paraboloid.algorithms.hessian_dependent import hessian_dependent
from paraboloid.algorithms.hessian_estimate import estimate_hessian
from paraboloid.algorithms.proposal import propose
from paraboloid.algorithms.quadratic_search import quadratic_search
from paraboloid.algorithms.universal import universal

__all__ = ["adaptive", "conclude", "estimate_hessian", "hessian_dependent", "propose", "quadratic_search", "universal"]
