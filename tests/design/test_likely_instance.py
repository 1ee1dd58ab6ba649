"""Designs are made for curvatures as far apart as they probably are."""

import numpy as np
import pytest

from paraboloid.core import Evidence, Matrix, Measurements, Shape, Vector
from paraboloid.design import likely_instance
from paraboloid.numerics import QuadraticFit, fit_quadratic, n_terms, random_points
from tests.support import ball_point, random_hessian, rotation

D = 8


def fitted(hessian: Matrix, minimiser: Vector, rng: np.random.Generator, turned: Matrix | None = None) -> QuadraticFit:
    """Return the fit to 3p measurements with unit noise, in turned coordinates where a rotation is given."""
    n = 3 * n_terms(D)
    z = random_points(Shape.BALL, n, D, rng) * np.where(np.arange(n) % 3, 1.0, 0.5)[:, None]
    away = z - minimiser
    values = np.sum((away @ hessian) * away, axis=1) / 2 + rng.standard_normal(n)
    points = z if turned is None else z @ turned.T
    evidence = Evidence.empty(D).with_measurements(points, Measurements.from_values(values[:, None]))
    return fit_quadratic(evidence, Shape.BALL)


def test_a_round_bowl_is_known_better_and_so_is_its_minimiser() -> None:
    """The mean squared errors fall to 0.21 and 0.30 in these twenty draws, whose means have relative errors of 7 to
    19 %: what is asked for is several of these away, and an estimator that changes nothing would fail."""
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        hessian, minimiser = 10 * np.eye(D), ball_point(rng, D, 0.7)
        fit = fitted(hessian, minimiser, rng)
        likely = likely_instance(fit, Shape.BALL)
        errors.append(
            [
                [np.sum((found.hessian - hessian) ** 2), np.sum((found.minimiser - minimiser) ** 2)]
                for found in (fit, likely)
            ]
        )
    before, after = np.mean(errors, axis=0)
    assert after[0] < 0.5 * before[0]
    assert after[1] < 0.8 * before[1]


def test_curvatures_that_are_far_apart_stay_what_they_are() -> None:
    """Second-order perturbation theory: each moves by at most 2 Σ s²/|λ_i - λ_j|, and that is little here."""
    rng = np.random.default_rng(1)
    fit = fitted(random_hessian(rng, np.geomspace(100, 1e5, D)), ball_point(rng, D, 0.5), rng)
    likely = likely_instance(fit, Shape.BALL)
    assert np.allclose(np.linalg.eigvalsh(likely.hessian), np.linalg.eigvalsh(fit.hessian), rtol=0.1)
    assert np.linalg.norm(likely.minimiser - fit.minimiser) < 0.05


@pytest.mark.parametrize("condition", [1.0, 30.0])
def test_it_turns_with_the_coordinates(condition: float) -> None:
    rng = np.random.default_rng(2)
    Q = rotation(rng, D)
    hessian, minimiser = random_hessian(rng, np.geomspace(10, 10 * condition, D)), ball_point(rng, D, 0.5)
    here = likely_instance(fitted(hessian, minimiser, np.random.default_rng(3)), Shape.BALL)
    there = likely_instance(fitted(hessian, minimiser, np.random.default_rng(3), Q), Shape.BALL)
    assert np.allclose(there.hessian, Q @ here.hessian @ Q.T, atol=1e-3)
    assert np.allclose(there.minimiser, Q @ here.minimiser, atol=1e-4)


def test_the_order_of_the_curvatures_and_their_range_are_kept() -> None:
    rng = np.random.default_rng(4)
    fit = fitted(random_hessian(rng, np.geomspace(5, 20, D)), ball_point(rng, D, 0.3), rng)
    before = np.linalg.eigh(fit.hessian)
    after = np.diag(before[1].T @ likely_instance(fit, Shape.BALL).hessian @ before[1])
    assert np.all(np.diff(after) >= -1e-9)
    assert before[0][0] - 1e-9 <= after[0]
    assert after[-1] <= before[0][-1] + 1e-9
