"""Whether the order of measurements matters: seen where it does, not where it does not."""

import numpy as np
import pytest

from paraboloid.core import Matrix, Vector
from paraboloid.numerics import order_effect

N = 120


def bowl(seed: int) -> tuple[Matrix, Vector, np.random.Generator]:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1, 1, (N, 2))
    return points, np.sum((points - 0.2) ** 2, axis=1), rng


@pytest.mark.parametrize("noise", ["normal", "heavy", "unequal"])
def test_independent_noise_raises_no_alarm(noise: str) -> None:
    """Chance: 1e-4 a run at most; two alarms in 300 runs 4e-4, three 5e-6. An alarm rate of 4 % is caught."""
    alarms = 0
    for seed in range(300):
        points, y, rng = bowl(seed)
        e = rng.standard_t(2, N) if noise == "heavy" else rng.standard_normal(N)
        alarms += order_effect(points, y + (np.exp(points[:, 0]) * e if noise == "unequal" else e)).is_sure
    assert alarms <= 2


@pytest.mark.parametrize("kind", ["drift", "memory", "days"])
def test_drift_memory_and_days_are_seen(kind: str) -> None:
    """Each effect is worth 5 standard scores and more on average; half the runs is far below what is seen."""
    seen = 0
    for seed in range(40):
        points, y, rng = bowl(seed)
        e = rng.standard_normal(N)
        if kind == "drift":
            e = e + np.linspace(-1, 1, N)
        elif kind == "memory":
            for k in range(1, N):
                e[k] += 0.7 * e[k - 1]
        else:
            e = e + 1.5 * np.repeat(rng.standard_normal(N // 20), 20)
        seen += order_effect(points, y + e).is_sure
    assert seen > 20


def test_too_few_values_say_nothing() -> None:
    points, y, _ = bowl(0)
    assert not order_effect(points[:15], y[:15] + np.arange(15)).is_sure
