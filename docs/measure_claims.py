"""Measure the figures that docs/certificate.md and docs/not-quadratic.md quote: ``python docs/measure_claims.py``.

It takes some two minutes on one core.
"""

import numpy as np

from paraboloid import minimize
from paraboloid.core import Vector

RUNS, SMALLER_RUNS = 40, 20


def bias_of_the_value(rise: float, budget: int) -> str:
    """Return how much too good the fitted value at the answer is, on a bowl of two knobs with unit noise."""
    found = []
    for seed in range(RUNS):
        noise = np.random.default_rng(1000 + seed)

        def measure(x: Vector, noise: np.random.Generator = noise) -> float:
            return float(rise * np.sum((x - 0.2) ** 2) + noise.standard_normal())

        result = minimize(measure, [(-1, 1)] * 2, budget=budget, rng=seed)
        truth = rise * float(np.sum((result.x - 0.2) ** 2))
        found.append((truth - result.fun, result.fun_se, np.isfinite(result.regret_bound)))
    better, error, is_bounded = np.array(found, dtype=np.float64).T
    return (
        f"rise {rise:g}, {budget} measurements: too good by {better.mean():.3f} ± {better.std() / RUNS**0.5:.3f}, "
        f"standard error said to be {error.mean():.3f}, root mean square of the ratio "
        f"{np.sqrt(np.mean((better / error) ** 2)):.2f}, bounds given in {is_bounded.mean():.0%}"
    )


def smaller_range(half_width: float, budget: int) -> str:
    """Return what a second search in a smaller range brings, on the curve of docs/not-quadratic.md."""
    found = []
    for seed in range(SMALLER_RUNS):
        seen: list[tuple[float, float]] = []
        noise = np.random.default_rng(seed)

        def measure(x: Vector, seen: list[tuple[float, float]] = seen, noise: np.random.Generator = noise) -> float:
            value = float(np.exp(3 * x[0]) - 3 * x[0] + 0.5 * noise.standard_normal())
            seen.append((float(x[0]), value))
            return value

        first = minimize(measure, [(-1, 1)], budget=200, rng=seed)
        low, high = max(-1, first.x[0] - half_width), min(1, first.x[0] + half_width)
        old = np.array([pair for pair in seen if low <= pair[0] <= high])
        second = minimize(measure, [(low, high)], budget=budget, rng=seed + 100, data=(old[:, :1], old[:, 1]))
        losses = [float(np.exp(3 * result.x[0]) - 3 * result.x[0] - 1) for result in (first, second)]
        found.append((*losses, second.regret_bound))
    before, after, bound = np.array(found).T
    given = np.isfinite(bound)
    return (
        f"±{half_width:g}, {budget} measurements: mean loss from {before.mean():.4f} to {after.mean():.4f}, "
        f"{given.sum()} bounds given of {SMALLER_RUNS}, {np.sum(after[given] <= bound[given])} held"
    )


def main() -> None:
    """Print them."""
    for rise, budget in ((0.0, 100), (0.0, 400), (0.3, 100), (1.0, 100), (1.0, 400), (3.0, 100)):
        print(bias_of_the_value(rise, budget), flush=True)
    for half_width in (0.25, 0.35):
        print(smaller_range(half_width, 400), flush=True)


if __name__ == "__main__":
    main()
