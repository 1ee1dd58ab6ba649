"""Optuna's own suite of checks for samplers, run on ours."""

from collections.abc import Callable

import pytest
from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from paraboloid.integrations.optuna import QuadraticSampler

CONTINUOUS = [FloatDistribution(-1.0, 1.0), FloatDistribution(1e-7, 1.0, log=True)]


class TestQuadraticSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: QuadraticSampler(seed=0, warn_independent_sampling=False)

    @pytest.mark.parametrize("x_distribution", CONTINUOUS)
    @pytest.mark.parametrize("y_distribution", CONTINUOUS)
    def test_sample_relative_numerical(
        self,
        sampler: Callable[[], BaseSampler],
        x_distribution: BaseDistribution,
        y_distribution: BaseDistribution,
    ) -> None:
        super().test_sample_relative_numerical(sampler, x_distribution, y_distribution)

    # These ask for categories and integers, which go to the independent sampler; the basic suite above has them.
    test_sample_relative_categorical = None  # type: ignore[assignment]  # takes the inherited check away
    test_sample_relative_mixed = None  # type: ignore[assignment]  # takes the inherited check away
