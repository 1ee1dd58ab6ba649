"""Exact values with wild ones among them, of a response that is no quadratic at any scale."""

import numpy as np

from paraboloid import minimize
from paraboloid.core import Evidence, Measurements, Shape, Vector
from paraboloid.numerics.model import modelled

MINIMISER = np.array([0.3, -0.2])


def rippled(x: Vector) -> float:
    """Return a bowl whose ripples are the finer the nearer the minimum is, and whose sides differ; least, and zero."""
    z = 5 * (x - MINIMISER)
    size = np.log(np.maximum(np.abs(z), 1e-300))
    bent = np.exp(2 * size + 0.1 * np.sin(np.where(z > 0, 10.0, 5.5) * size))
    return float(np.sum(bent * np.array([1.0, 300.0])))


def test_the_search_closes_in_on_a_rippled_bowl_as_if_there_were_no_wild_values() -> None:
    """The worst of eight on other seeds (600 to 607) was 2e-12, with a median of 6e-14; before, 0.66 and 0.5."""

    def measured(x: Vector, rng: np.random.Generator) -> float:
        return rippled(x) + (float(rng.standard_cauchy()) if rng.random() < 0.2 else 0.0)

    results = [minimize(measured, [(-1, 1)] * 2, budget=400, rng=seed) for seed in range(5)]
    assert np.median([rippled(result.x) for result in results]) < 1e-7
    assert any("ost values are exact" in result.message for result in results)


def test_an_exact_value_below_all_that_a_fit_promises_is_the_answer() -> None:
    """A pit that no smooth model would have: its value was measured twice, and is no wild one."""
    rng = np.random.default_rng(0)
    points = MINIMISER + 0.6 * 0.01 ** rng.random((60, 1)) * rng.uniform(-1, 1, (60, 2))
    values = np.array([[rippled(x)] * 2 for x in points]) + 7.0
    values[::6, 0] += rng.standard_cauchy(10)
    values[1] = 2.0
    model = modelled(Evidence.empty(2).with_measurements(points, Measurements.from_values(values)), Shape.BOX, True)
    assert np.array_equal(model.minimiser, points[1]) and model.least == 2.0 and not model.is_plain


def test_a_step_at_the_bottom_does_not_send_the_answer_away() -> None:
    """As in COCO's noisy functions, that fall by 1000 below 1e-8. Before, the first of these ten was left by 0.5."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        points = MINIMISER + 0.6 * 1e-5 ** rng.random((200, 1)) * rng.uniform(-1, 1, (200, 2))
        values = np.array([[rippled(x) - (1000 if rippled(x) < 1e-8 else 0)] * 2 for x in points])
        values[::6, 0] += rng.standard_cauchy(34)
        model = modelled(Evidence.empty(2).with_measurements(points, Measurements.from_values(values)), Shape.BOX, True)
        assert rippled(model.minimiser) < 1e-7
