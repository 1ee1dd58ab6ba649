"""A bound looks at all places, where the verdict looks at those with most measurements."""

import numpy as np

from paraboloid.algorithms import conclude
from paraboloid.core import Box, Evidence, Measurements, Shape
from paraboloid.design import assess, recommended
from paraboloid.numerics import looked_at_closely, modelled, n_terms

D = 6
CORNERS, SINGLE, REPEATS = 320, 300, 5


def corners_and_single_places() -> Evidence:
    """Return a bowl measured mostly in corners, which tell no curvature along a knob: x² is one in all of them."""
    rng = np.random.default_rng(0)
    points = np.vstack([rng.choice([-1.0, 1.0], (CORNERS, D)), rng.uniform(-1, 1, (SINGLE, D))])
    points[:CORNERS] *= 1 - 1e-6 * np.arange(CORNERS)[:, None]  # each of its own
    repeats = [REPEATS] * CORNERS + [1] * SINGLE
    values = [3 * float(z @ z) + rng.standard_normal(n) for z, n in zip(points, repeats, strict=True)]
    return Evidence.empty(D).with_measurements(points, Measurements.from_values(values))


def test_places_that_do_not_tell_a_quadratic_are_not_all_that_a_bound_looks_at() -> None:
    """Till then such a bound took the quadratic for granted."""
    evidence = corners_and_single_places()
    model = modelled(evidence, Shape.BOX, True)
    closely = looked_at_closely(evidence, model)
    assert model.lack is not None and model.lack.contrasts is not None and not model.lack.contrasts.is_full
    assert closely is not None and closely.contrasts is not None and closely.contrasts.is_full
    assert closely.n_contrasts == CORNERS + SINGLE - n_terms(D)
    answer = recommended(model.fit, model.evidence, Shape.BOX)
    hasty, sound = (assess(answer, model.evidence, Shape.BOX, 0.95, lack) for lack in (model.lack, closely))
    assert hasty.regret_bound == hasty.regret_bound_if_quadratic
    assert sound.regret_bound > sound.regret_bound_if_quadratic == hasty.regret_bound
    stated = conclude(evidence, Box([(-1.0, 1.0)] * D)).certificate
    assert stated is not None and stated.regret_bound == sound.regret_bound


def test_few_places_are_looked_at_once() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(-1, 1, (100, 2))
    values = np.sum(points**2, axis=1) + 0.1 * rng.standard_normal(100)
    evidence = Evidence.empty(2).with_measurements(points, Measurements.from_values(values[:, None]))
    model = modelled(evidence, Shape.BOX, True)
    assert looked_at_closely(evidence, model) is model.lack is not None
