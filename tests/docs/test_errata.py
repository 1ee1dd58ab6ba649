"""Each erratum on docs/paper.md, shown by a computation: what is printed fails where what we list holds."""

import math

import numpy as np
import pytest
from scipy import integrate

from paraboloid import theory
from paraboloid.core import Matrix


def pseudo_inverse(matrix: Matrix) -> Matrix:
    inverse: Matrix = np.linalg.pinv(matrix, rcond=1e-8).astype(np.float64)
    return inverse


@pytest.fixture
def perturbed() -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """A of rank 3 in d = 5, an estimate Â near it, Â₀ without the small eigenvalues, the projector P₁ on its range."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0][:, :3]
    A = (Q * [3.0, 2.0, 1.0]) @ Q.T
    error = 1e-2 * rng.standard_normal((5, 5))
    A_hat = A + (error + error.T) / 2
    lam, e = np.linalg.eigh(A_hat)
    lam, e = lam[lam > 0.5], e[:, lam > 0.5]
    return A, A_hat, (e * lam) @ e.T, e @ e.T


def test_the_ratio_of_theorem_2_scales_the_wrong_way() -> None:
    """Make f flatter by s and leave the noise: the same relative noise takes 1/s² times as many samples."""
    lam, s = np.array([1.0, 0.25]), 0.1
    flatter = s * lam
    product = np.sum(lam**-0.5) * np.sum(lam**-1.5)
    assert np.sum(flatter**-0.5) * np.sum(flatter**-1.5) == pytest.approx(product / s**2)
    ratio = np.sum(lam**-0.5) / np.sum(lam**-1.5)
    assert np.sum(flatter**-0.5) / np.sum(flatter**-1.5) == pytest.approx(ratio * s)  # fewer samples for a flatter f


def test_theorem_2_with_the_smallest_eigenvalue_first_falls_below_a_proved_bound() -> None:
    """With λ = (1e-8, 1) and T = 1000 it gives k* = 0 and a rate of 1e-8; along λ = 1 alone one loses 1/(8T)."""
    smallest_first, T = np.array([1e-8, 1.0]), 1_000
    assert np.all(np.cumsum(smallest_first**-0.5) * np.cumsum(smallest_first**-1.5) > T)
    assert theory.weak_lower_bound([[1.0]], T) > 10_000 * smallest_first[0]
    assert theory.finite_budget_rate(np.diag(smallest_first), T) == pytest.approx(1 / T + 1e-8)


def test_f_about_z_0_needs_the_factor_one_half(perturbed: tuple[Matrix, Matrix, Matrix, Matrix]) -> None:
    A, _, _, P_1 = perturbed
    x_0, x = np.full(5, 0.3), np.array([0.1, -0.2, 0.3, 0.0, 0.5])
    z_0 = pseudo_inverse(P_1 @ A @ P_1) @ A @ x_0
    f = (x - x_0) @ A @ (x - x_0) / 2
    assert f == pytest.approx((x - z_0) @ A @ (x - z_0) / 2)
    assert P_1 @ z_0 == pytest.approx(z_0)


def test_the_display_for_z_minus_z_0_is_z_0_minus_z(perturbed: tuple[Matrix, Matrix, Matrix, Matrix]) -> None:
    A, _, A_0, P_1 = perturbed
    x_0, A_1, inverse = np.full(5, 0.3), P_1 @ A @ P_1, pseudo_inverse(A_0)
    z = (2 * inverse @ A - inverse @ A @ inverse @ A) @ x_0
    z_0 = pseudo_inverse(A_1) @ A @ x_0
    printed = pseudo_inverse(A_1) @ np.linalg.matrix_power((A_0 - A_1) @ inverse, 2) @ A @ x_0
    assert np.abs(printed).max() > 1e-6
    assert z_0 - z == pytest.approx(printed, abs=1e-12)


def test_the_inverse_that_stays_bounded_is_that_of_a_not_of_its_estimate(
    perturbed: tuple[Matrix, Matrix, Matrix, Matrix],
) -> None:
    A, A_hat, A_0, _ = perturbed
    assert np.linalg.norm(pseudo_inverse(A_0)) == pytest.approx(np.linalg.norm(pseudo_inverse(A)), rel=0.05)
    assert np.linalg.norm(np.linalg.inv(A_hat)) > 50 * np.linalg.norm(pseudo_inverse(A))


def test_the_triangle_inequality_printed_for_a_minus_a_1_fails() -> None:
    """‖A - A₁‖ ≤ ‖A - Â₀‖ + ‖Â₀ - A₁‖; with Â₀ = A₁ the printed right-hand side is zero and the left is not."""
    A = np.array([[1.0, 0.1], [0.1, 0.01]])
    P_1 = np.diag([1.0, 0.0])
    A_1 = P_1 @ A @ P_1
    A_0 = A_1
    assert np.linalg.norm(A - A_1) > 2 * np.linalg.norm(A_0 - A_1)
    assert np.linalg.norm(A - A_1) <= np.linalg.norm(A - A_0) + np.linalg.norm(A_0 - A_1)


def test_the_truncation_proof_needs_absolute_values() -> None:
    X = mean = -1.0
    m = 2.0
    assert abs(X) - m > abs(X - mean) - m + mean
    assert abs(X) - m <= abs(X - mean) - m + abs(mean)


def test_the_hard_instances_of_appendix_c_leave_the_ball_unless_the_inner_sum_stops_at_k_star() -> None:
    lam, T = np.array([1.0, 1e-4]), 7
    assert theory.effective_rank(np.diag(lam), T) == 1
    assert lam[0] ** -1.5 * np.sum(lam**-0.5) / (2 * T) > 1
    assert lam[0] ** -1.5 * np.sum(lam[:1] ** -0.5) / (2 * T) < 1


def test_hard_instances_fit_from_half_the_threshold_of_theorem_2_on() -> None:
    A = np.diag([1.0, 0.25])
    threshold = theory.regime_thresholds(A)[-1]
    T = math.ceil(threshold / 2)
    assert np.linalg.norm(theory.hard_instance(A, T)) <= 1
    lam = np.array([1.0, 0.25])
    assert np.sum(lam**-1.5) * np.sum(lam**-0.5) / (2 * (T - 1)) > 1


def test_the_elementary_proposition_holds_where_its_proof_does_not(
    perturbed: tuple[Matrix, Matrix, Matrix, Matrix],
) -> None:
    """With P₁ = I and singular A, A₁A₁⁻¹ is not P₁, which the proof uses; A = AA₁⁻¹A holds all the same."""
    A = perturbed[0]
    A_1 = A
    assert np.abs(A_1 @ pseudo_inverse(A_1) - np.eye(5)).max() > 0.5
    assert pytest.approx(A) == A @ pseudo_inverse(A_1) @ A


def expected_ratio(point: tuple[float, float], *, other_is_known: bool) -> float:
    """Return E[L₁s₁] after one sample at ``point``, for λ = (1, 1) and minimisers at (±0.6, ±0.6)."""

    def f(s_1: float, s_2: float) -> float:
        return ((point[0] - 0.6 * s_1) ** 2 + (point[1] - 0.6 * s_2) ** 2) / 2

    def divergence(y: float, others: tuple[float, ...]) -> float:
        plus, minus = (sum(math.exp(-((y - f(s, o)) ** 2) / 2) for o in others) / len(others) for s in (1.0, -1.0))
        return 0.5 * (plus - minus) * math.log(plus / minus) / math.sqrt(2 * math.pi)

    known = [(1.0,), (-1.0,)] if other_is_known else [(1.0, -1.0)]
    return sum(integrate.quad(divergence, -12, 14, args=(others,))[0] for others in known) / len(known)


def test_the_likelihood_identity_is_an_equality_only_given_the_other_signs() -> None:
    """With the other sign unknown the noise is larger than Gaussian alone, and E[Ls] smaller: all that is needed."""
    point = (0.7, 0.7)
    identity = theory.expected_log_likelihood_ratio(1.0, 0.6, point[0] ** 2)
    assert expected_ratio(point, other_is_known=True) == pytest.approx(identity, rel=1e-6)
    assert expected_ratio(point, other_is_known=False) < 0.95 * identity


def test_the_last_step_of_the_tail_bound_is_right() -> None:
    """¼ + (1-θ)(e^(1+θ) - 2 - θ)/(1+θ)² ≤ 1 on [0, 1], which the paper leaves to calculus: it is e - 1.75 at most."""
    theta = np.linspace(0, 1, 10_001)
    bound = 0.25 + (1 - theta) * (np.exp(1 + theta) - 2 - theta) / (1 + theta) ** 2
    assert bound.max() == pytest.approx(math.e - 1.75)
    assert np.all(np.diff(bound) < 0)
