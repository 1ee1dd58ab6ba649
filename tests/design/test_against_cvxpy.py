"""The design solver against cvxpy's optimum of the same convex problem on a fine grid of candidates."""

import cvxpy as cp
import numpy as np
import pytest
from cvxpy.atoms.affine.diag import diag
from cvxpy.atoms.affine.sum import sum as cp_sum
from cvxpy.atoms.matrix_frac import matrix_frac

from paraboloid.core import Matrix, Shape
from paraboloid.design import solve_design
from paraboloid.numerics import features, gradient_map
from tests.support import random_hessian


def candidates(shape: Shape) -> Matrix:
    """Return a grid in two dimensions so fine that its optimum is that of the region to a fraction of a per cent."""
    if shape is Shape.BOX:
        steps = np.linspace(-1.0, 1.0, 17)
        return np.array([[a, b] for a in steps for b in steps])
    angles, radii = np.linspace(0.0, 2 * np.pi, 48, endpoint=False), np.linspace(0.1, 1.0, 10)
    rings = [[r * np.cos(t), r * np.sin(t)] for r in radii for t in angles]
    return np.array([[0.0, 0.0], *rings])


def best_by_cvxpy(phi: Matrix, B: Matrix, M0: Matrix, n: float) -> float:
    """Return the least tr(B (M₀ + n Σ wφφᵀ)⁻¹ Bᵀ) over weights w that sum to one."""
    w = cp.Variable(len(phi), nonneg=True)
    information = M0 + n * (phi.T @ diag(w) @ phi)
    problem = cp.Problem(cp.Minimize(matrix_frac(B.T, information)), [cp_sum(w) == 1])
    problem.solve(solver=cp.CLARABEL)  # type: ignore[no-untyped-call]  # cvxpy has no types here
    return float(problem.value)


@pytest.mark.parametrize("shape", [Shape.BALL, Shape.BOX])
@pytest.mark.parametrize("with_data", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_the_solver_s_value_is_that_of_cvxpy(shape: Shape, with_data: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = random_hessian(rng, [1.0, 8.0])
    z = rng.uniform(-0.6, 0.6, 2)
    B = np.linalg.cholesky(np.linalg.inv(A)).T @ gradient_map(z)
    start = candidates(shape)
    phi = features(start)
    few = features(rng.uniform(-0.7, 0.7, (15, 2)))
    M0, n = (few.T @ few, 30.0) if with_data else (np.zeros((6, 6)), 1.0)
    expected = best_by_cvxpy(phi, B, M0, n)
    design = solve_design(shape, B, start=start, rng=rng, M0=M0 if with_data else None, n=n, gap=0.005, searches=100)
    # The solver may leave the grid, so it may be better by what the grid costs, and worse by its gap of 0.5 %.
    assert design.gap <= 0.005
    assert expected * 0.99 <= design.value <= expected * 1.0051
    phi = features(design.points)
    information = M0 + n * (phi.T * design.weights) @ phi
    assert design.value == pytest.approx(np.trace(B @ np.linalg.pinv(information) @ B.T), rel=1e-4)
    assert design.weights.sum() == pytest.approx(1.0) and design.weights.min() >= 0
