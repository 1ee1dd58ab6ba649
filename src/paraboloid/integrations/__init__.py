"""Thin adapters to other packages: the border where their words are turned into ours, and back.

The sampler for Optuna is in `paraboloid.integrations.optuna`, which is not loaded from here: Optuna is an extra.
"""

from paraboloid.integrations.scipy import scipy_method

__all__ = ["scipy_method"]
