"""The closed-form designs are in the region, and have the value that the theory says."""

import numpy as np
import pytest

from paraboloid.core import Ball, Box, Domain, Shape
from paraboloid.design.closed_form import closed_form_design
from paraboloid.numerics import features, gradient_map, n_terms
from paraboloid.theory import instance_limit_bounds


@pytest.mark.parametrize("shape", list(Shape))
@pytest.mark.parametrize("d", [1, 2, 3, 7, 12])
@pytest.mark.parametrize("condition", [1.0, 1e3])
@pytest.mark.parametrize("size", [0.0, 0.3, 0.65, 0.9, 1.0])
def test_the_value_is_the_upper_bound(shape: Shape, d: int, condition: float, size: float) -> None:
    rng = np.random.default_rng([d, int(condition), int(100 * size)])
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    A = (Q * np.geomspace(condition, 1, d)) @ Q.T
    z = rng.standard_normal(d)
    z *= size / (np.linalg.norm(z) if shape is Shape.BALL else np.abs(z).max())
    domain: Domain = Ball(np.zeros(d)) if shape is Shape.BALL else Box([(-1, 1)] * d)
    _, upper = instance_limit_bounds(A, z, domain)
    C = np.linalg.inv(A)
    n = 4 * n_terms(d) if shape is Shape.BALL else 40 * n_terms(d)
    points, weights = closed_form_design(shape, C, z, n, rng)
    reach = np.linalg.norm(points, axis=1).max() if shape is Shape.BALL else np.abs(points).max()
    assert reach <= 1 + 1e-12
    assert weights.sum() == pytest.approx(1)
    assert np.all(weights > -1e-15)
    phi, G = features(points), gradient_map(z)
    M = (phi.T * weights) @ phi
    value = float(np.trace(C @ G @ np.linalg.pinv(M, rcond=1e-11, hermitian=True) @ G.T)) / 2
    if shape is Shape.BALL:  # balanced signs: exact, or better where pairs help the line
        assert value <= upper * (1 + 1e-6)
    else:  # random signs: their covariance is right on average; with 40p of them within a fifth
        assert value <= 1.2 * upper
