"""The lowest point of the box, on bowls and on saddles, however ill-conditioned."""

import itertools

import numpy as np
import pytest

from paraboloid.core import Matrix, Shape, Vector
from paraboloid.numerics import minimise_on_region
from paraboloid.numerics.saddle import lowest_in_box


def value(H: Matrix, b: Vector, z: Vector) -> float:
    return float(z @ H @ z / 2 + b @ z)


def turned(eigenvalues: Vector, rng: np.random.Generator) -> Matrix:
    Q, _ = np.linalg.qr(rng.standard_normal((eigenvalues.size, eigenvalues.size)))
    return np.asarray((Q * eigenvalues) @ Q.T)


def lowest_on_faces(H: Matrix, b: Vector) -> float:
    """Return the least value over the stationary points of all faces: the least of all, for few knobs."""
    found = np.inf
    for face in itertools.product((-1.0, 0.0, 1.0), repeat=b.size):
        z, free = np.array(face), np.array(face) == 0
        if np.any(free):
            part = H[np.ix_(free, free)]
            z[free] = np.linalg.lstsq(part, -b[free] - H[np.ix_(free, ~free)] @ z[~free], rcond=None)[0]
        if np.abs(z).max() <= 1:
            found = min(found, value(H, b, z))
    return found


@pytest.mark.parametrize("condition", [1e2, 1e4, 1e6])
def test_a_bowl_is_solved_exactly(condition: float) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        H, b = turned(np.geomspace(1.0, condition, 5), rng), 30 * rng.standard_normal(5)
        exact = value(H, b, minimise_on_region(Shape.BOX, H, b))
        assert value(H, b, lowest_in_box(H, b)) <= exact + 1e-9 * abs(exact)


@pytest.mark.parametrize("condition", [1e0, 1e2, 1e4])
def test_a_saddle_of_three_knobs_is_as_low_as_its_lowest_face(condition: float) -> None:
    rng = np.random.default_rng(1)
    for _ in range(40):
        H, b = turned(np.array([-1.0, 1.0, condition]), rng), rng.standard_normal(3)
        least = lowest_on_faces(H, b)
        assert value(H, b, lowest_in_box(H, b)) <= least + 1e-6 * max(1.0, abs(least))


def test_a_bowl_that_is_flat_but_for_rounding_has_a_lowest_point() -> None:
    """Cholesky's factors end in an error there: seen where noise of a factor left one curvature of five at 1e-14."""
    H, b = np.ones((2, 2)), np.array([-1.0, -1.0])
    found = minimise_on_region(Shape.BOX, H, b)
    assert np.abs(found).max() <= 1
    assert value(H, b, found) == pytest.approx(-0.5)
