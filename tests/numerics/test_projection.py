"""Projection onto the ball in the A-pseudometric: the lemma of Appendix A, optimality, and its symmetries."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.core import Matrix, Vector
from paraboloid.numerics import project_onto_ball
from tests.support import ball_point, random_hessian, rotation

seeds = st.integers(0, 2**32 - 1)
dimensions = st.sampled_from([1, 2, 3, 5, 20])
EPS = float(np.finfo(np.float64).eps)


def distance(A: Matrix, u: Vector, v: Vector) -> float:
    """The g of Appendix A."""
    return float((u - v) @ A @ (u - v))


def instance(seed: int, d: int, *, spread: float = 3.0) -> tuple[np.random.Generator, Matrix, Vector]:
    """Return a random Hessian, eigenvalues over ``spread`` decades and maybe some zero, and a point of norm ≤ 30."""
    rng = np.random.default_rng(seed)
    eigenvalues = 10 ** rng.uniform(-spread / 2, spread / 2, d) * (rng.random(d) > 0.15)
    return rng, random_hessian(rng, eigenvalues), ball_point(rng, d, 10 ** rng.uniform(-1, 1.5))


def rounding(A: Matrix, *points: Vector) -> float:
    """Bound the rounding of ``distance``: some d eps times |A| and the squared lengths, and ten times that."""
    size = sum(float(np.linalg.norm(point)) for point in points)
    return 100 * len(A) * EPS * float(np.linalg.norm(A, 2)) * (1 + size) ** 2


@given(seeds, dimensions)
def test_projection_never_takes_a_point_of_the_ball_farther_away(seed: int, d: int) -> None:
    rng, A, x = instance(seed, d)
    projected = project_onto_ball(x, A)
    for norm in (0.0, 0.5, 1.0):
        x0 = ball_point(rng, d, norm)
        assert distance(A, projected, x0) <= distance(A, x, x0) + rounding(A, x, x0)


@given(seeds, dimensions)
def test_for_a_point_outside_the_ball_its_own_distance_to_the_ball_is_added(seed: int, d: int) -> None:
    rng, A, x = instance(seed, d)
    z0 = ball_point(rng, d, 10 ** rng.uniform(0, 1))
    to_ball = distance(A, z0, project_onto_ball(z0, A))
    projected = project_onto_ball(x, A)
    assert distance(A, projected, z0) <= distance(A, x, z0) + to_ball + rounding(A, x, z0)


@given(seeds, dimensions, st.sampled_from([0.25, 1.0, 1.5]))
def test_no_point_of_the_ball_is_nearer(seed: int, d: int, radius: float) -> None:
    rng, A, x = instance(seed, d)
    projected = project_onto_ball(x, A, radius=radius)
    assert np.linalg.norm(projected) <= radius
    least = distance(A, projected, x)
    for _ in range(50):
        near = projected + rng.standard_normal(d) * 10 ** rng.uniform(-6, 0)
        other = near * min(1.0, radius / float(np.linalg.norm(near)))
        assert least <= distance(A, other, x) + rounding(A, x, other)


@given(seeds, dimensions)
def test_the_conditions_of_optimality_hold(seed: int, d: int) -> None:
    # A(x̂ - x*) = μ x* with μ ≥ 0, and μ = 0 unless |x*| = 1: sufficient, as the problem is convex.
    _, A, x = instance(seed, d)
    projected = project_onto_ball(x, A)
    force = A @ (x - projected)
    mu = max(0.0, float(projected @ force) / max(float(projected @ projected), EPS))
    scale = float(np.linalg.norm(A, 2)) * (1 + float(np.linalg.norm(x)))
    allowed = 1000 * d * EPS * scale  # the solver stops at 4 eps of μ ≤ scale; eigenvectors are exact to d eps |A|
    assert np.linalg.norm(force - mu * projected) <= allowed
    assert np.linalg.norm(projected) >= 1 - 1e-9 or mu <= allowed


@pytest.mark.parametrize("ratio", [1e-12, 1e12])
@pytest.mark.parametrize("point", [(2.0, 3.0), (0.5, 3.0), (3.0, 0.5), (1e-6, 1.5), (-40.0, 0.01)])
def test_an_extreme_condition_number_costs_no_accuracy(ratio: float, point: tuple[float, float]) -> None:
    # Diagonal, so the eigenvectors are exact: (λ_i + μ) x_i = λ_i x̂_i must hold to rounding in every entry, with the μ
    # of that entry in which it is best seen, and the point lies on the sphere.
    lam, x = np.array([1.0, ratio]), np.array(point)
    projected = project_onto_ball(x, np.diag(lam))
    seen = int(np.argmax(np.abs(1 - projected / x)))
    mu = lam[seen] * (x[seen] / projected[seen] - 1)
    assert mu > 0
    # One entry's rounding of eps is eps/|1 - x_i/x̂_i| in μ; the seen entry changes by at least some 10 %.
    assert (lam + mu) * projected == pytest.approx(lam * x, rel=1e-12)
    assert np.linalg.norm(projected) == pytest.approx(1.0, abs=1e-12)


@given(seeds, dimensions)
def test_projecting_again_changes_nothing(seed: int, d: int) -> None:
    _, A, x = instance(seed, d)
    once = project_onto_ball(x, A)
    # A point of the sphere is turned into the eigenbasis and back with an error of some d eps.
    assert np.abs(project_onto_ball(once, A) - once).max() <= 100 * d * EPS


def test_points_a_rounding_error_outside_the_ball_are_not_mirrored() -> None:
    rng = np.random.default_rng(0)
    for _ in range(2000):
        d = int(rng.integers(1, 6))
        A = np.diag(rng.uniform(0.1, 10.0, d))
        x = ball_point(rng, d, 1.0) * (1 + rng.integers(0, 3) * EPS)
        assert np.abs(project_onto_ball(x, A) - x).max() <= 100 * EPS


def test_a_point_of_the_sphere_keeps_entries_far_below_its_rounding() -> None:
    """To complete the norm by the first entry would cost √eps where that entry is zero."""
    for small in (0.0, 1e-12, 2e-3):
        for steps in range(-3, 4):
            x = np.array([small, -np.sqrt(1 - small * small) * (1 + steps * EPS)])
            for lowest in (0.0, 1.0):
                projected = project_onto_ball(x, np.diag([lowest, 3.0]))
                assert np.abs(projected - x * [lowest, 1.0]).max() <= 10 * EPS


@given(seeds, dimensions)
def test_points_inside_stay_where_they_are_but_for_what_the_hessian_does_not_see(seed: int, d: int) -> None:
    rng, A, _ = instance(seed, d)
    x = ball_point(rng, d, 0.99)
    seen = np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ A @ x
    # The eigenvalues span three decades, so the row space is known to some 1000 d eps.
    assert np.abs(project_onto_ball(x, A) - seen).max() <= 1e5 * d * EPS


@given(seeds, dimensions)
def test_a_singular_hessian_gives_the_least_norm(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    Q = rotation(rng, d)
    lam = np.where(np.arange(d) < (d + 1) // 2, 1.0, 0.0)
    A: Matrix = (Q * lam) @ Q.T
    along = rng.standard_normal(d) * 3
    projected = Q.T @ project_onto_ball(Q @ along, (A + A.T) / 2)
    seen = along * lam
    # Equal eigenvalues: it is Euclidean projection within the row space, and zero outside it.
    assert projected == pytest.approx(seen * min(1.0, 1 / max(1e-300, float(np.linalg.norm(seen)))), abs=1e-12)


@given(seeds, dimensions)
def test_turning_the_problem_turns_the_answer(seed: int, d: int) -> None:
    rng, A, x = instance(seed, d)
    Q = rotation(rng, d)
    turned: Matrix = Q @ A @ Q.T
    # Condition number 10³, eigenvectors known to d eps · 10³ at worst; the map x̂ -> x* is 1-Lipschitz in A's metric.
    tolerance = 1e6 * d * EPS * (1 + float(np.linalg.norm(x)))
    assert np.abs(project_onto_ball(Q @ x, (turned + turned.T) / 2) - Q @ project_onto_ball(x, A)).max() <= tolerance


@given(seeds, dimensions, st.integers(-300, 300))
def test_the_scale_of_the_hessian_does_not_matter(seed: int, d: int, power: int) -> None:
    _, A, x = instance(seed, d)
    # A power of two scales without rounding; what is left is the solver's 4 eps, over the condition number.
    tolerance = 1e6 * d * EPS * (1 + float(np.linalg.norm(x)))
    assert np.abs(project_onto_ball(x, A * 2.0**power) - project_onto_ball(x, A)).max() <= tolerance


def test_worked_by_hand() -> None:
    # A = diag(1, 4): (λ + μ) x = λ x̂ on the sphere.
    # The answer (0.6, 0.8) with μ = 2 needs x̂ = (λ + μ)/λ · x = (3·0.6, 1.5·0.8) = (1.8, 1.2).
    assert project_onto_ball([1.8, 1.2], np.diag([1.0, 4.0])) == pytest.approx([0.6, 0.8], abs=1e-15)
    # The same at twice the radius.
    assert project_onto_ball([3.6, 2.4], np.diag([1.0, 4.0]), radius=2.0) == pytest.approx([1.2, 1.6], abs=1e-15)
    assert project_onto_ball([-7.0], [[3.0]]).tolist() == [-1.0]
    assert project_onto_ball([5.0, 5.0], np.zeros((2, 2))).tolist() == [0.0, 0.0]
