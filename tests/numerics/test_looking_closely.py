"""The verdict looks at a sample of many places, and a bound at all of them where that may make it narrower."""

import numpy as np
import pytest

from paraboloid.algorithms import conclude
from paraboloid.core import Box, Evidence, Measurements, Shape
from paraboloid.design import assess_closely
from paraboloid.numerics import looked_at_closely, modelled, n_terms

D = 6
CORNERS, SINGLE, REPEATS = 320, 300, 5


def corners_and_single_places(noise: float) -> Evidence:
    """Return a bowl measured mostly in corners, which tell no curvature along a knob: x² is one in all of them."""
    rng = np.random.default_rng(0)
    points = np.vstack([rng.choice([-1.0, 1.0], (CORNERS, D)), rng.uniform(-1, 1, (SINGLE, D))])
    points[:CORNERS] *= 1 - 1e-6 * np.arange(CORNERS)[:, None]  # each of its own
    repeats = [REPEATS] * CORNERS + [1] * SINGLE
    values = [3 * float(z @ z) + noise * rng.standard_normal(n) for z, n in zip(points, repeats, strict=True)]
    return Evidence.empty(D).with_measurements(points, Measurements.from_values(values))


def test_the_verdict_looks_at_places_that_tell_a_quadratic() -> None:
    """Those with most measurements alone would not: then rounding decided, and the bound took it for granted."""
    model = modelled(corners_and_single_places(noise=1.0), Shape.BOX, True)
    assert model.lack is not None and model.lack.contrasts is not None and model.lack.contrasts.is_full
    corners = int(np.sum(np.abs(model.lack.contrasts.points).min(axis=1) > 0.99))
    assert 0.5 < corners / len(model.lack.contrasts.points) < 0.95  # five sixths of the measurements


@pytest.mark.parametrize(("noise", "is_wide"), [(0.001, False), (1.0, True)])
def test_a_bound_looks_at_all_places_where_doubt_about_the_shape_makes_it_wide(noise: float, is_wide: bool) -> None:
    evidence = corners_and_single_places(noise)
    model = modelled(evidence, Shape.BOX, True)
    closely = looked_at_closely(evidence, model)
    assert model.lack is not None and closely is not None
    assert closely.n_contrasts == CORNERS + SINGLE - n_terms(D) > model.lack.n_contrasts
    quality, lack = assess_closely(model, evidence, 0.95)
    assert lack is not None and lack.n_contrasts == (closely if is_wide else model.lack).n_contrasts
    stated = conclude(evidence, Box([(-1.0, 1.0)] * D)).certificate
    assert stated is not None and stated.regret_bound == quality.regret_bound


def test_few_places_are_looked_at_once() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (100, 2))
    values = np.sum(points**2, axis=1) + 0.1 * rng.standard_normal(100)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    model = modelled(evidence, Shape.BOX, True)
    assert looked_at_closely(evidence, model) is model.lack is not None
