"""Lower bounds against hand-worked values, independent integration, and the upper bound of Algorithm 1."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from paraboloid import theory
from paraboloid.core import UsageError, Vector
from tests.support import random_hessian

seeds = st.integers(0, 2**32 - 1)


def test_hard_instances_by_hand() -> None:
    # x_k² = λ_k^-3/2 Σλ^-½/(2T): λ = 1, ¼, T = 150: 1·3/300 = 0.01 and 8·3/300 = 0.08.
    assert theory.hard_instance(np.diag([1.0, 0.25]), 150) ** 2 == pytest.approx([0.01, 0.08], rel=1e-13)
    signed = theory.hard_instance(np.diag([0.25, 1.0]), 150, signs=[1, -1])  # largest eigenvalue first
    assert np.abs(signed) == pytest.approx([0.08**0.5, 0.1], rel=1e-13)
    plus = theory.hard_instance(np.diag([0.25, 1.0]), 150)
    assert np.sign(signed * plus).tolist() == [-1.0, 1.0]


def test_the_smallest_budget_of_a_hard_instance_puts_it_just_inside_the_ball() -> None:
    # Σ x_k² = (1 + 8)·3/(2T) = 13.5/T ≤ 1 from T = 14 on.
    A = np.diag([1.0, 0.25])
    assert float(np.sum(theory.hard_instance(A, 14) ** 2)) == pytest.approx(13.5 / 14, rel=1e-13)
    with pytest.raises(UsageError, match=r"budget 13 is too small for a hard instance inside .* is 14"):
        theory.hard_instance(A, 13)


def test_a_hard_instance_of_a_singular_hessian_lies_in_its_row_space() -> None:
    rng = np.random.default_rng(5)
    A = random_hessian(rng, [4.0, 1.0, 0.0, 0.0])
    x = theory.hard_instance(A, 100)
    # λ^-3/2 = ⅛, 1 and Σλ^-½ = 1.5: |x|² = 1.125·1.5/200.
    assert float(x @ x) == pytest.approx(1.125 * 1.5 / 200, rel=1e-10)
    assert np.linalg.pinv(A, rcond=1e-10, hermitian=True) @ A @ x == pytest.approx(x, abs=1e-12)


@pytest.mark.parametrize("signs", [[1.0], [1.0, 2.0], [0.0, 1.0], [1.0, 1.0, 1.0]])
def test_signs_are_one_for_each_direction(signs: list[float]) -> None:
    with pytest.raises(UsageError, match=r"signs must be 2 numbers that are \+1 or -1, got"):
        theory.hard_instance(np.eye(2), 100, signs=signs)


def test_energy_bound_by_hand_and_weak_bound_from_it() -> None:
    # ½[(1 - 1·¼·2)·1·¼ + (1 - 0)·4·¼] = ½(0.125 + 1).
    assert theory.energy_lower_bound([1.0, 4.0], [0.5, 0.5], [2.0, 0.0]) == 0.5625
    # (1 + 2)²/(8·100) = 0.01125; at the hard instance any energy that adds up to T gives just this.
    A = np.diag([1.0, 0.25])
    assert theory.weak_lower_bound(A, 100) == pytest.approx(0.01125, rel=1e-14)
    for share in (0.0, 0.3, 1.0):
        bound = theory.energy_lower_bound([1.0, 0.25], theory.hard_instance(A, 100), [100 * share, 100 * (1 - share)])
        assert bound == pytest.approx(0.01125, rel=1e-12)
    with pytest.raises(UsageError, match="must have equal lengths, got 2, 1 and 2"):
        theory.energy_lower_bound([1.0, 4.0], [0.5], [2.0, 0.0])


def test_the_weak_bound_needs_its_hard_instances_inside_the_ball() -> None:
    with pytest.raises(UsageError, match=r"budget 13 is too small for the weak lower bound.* is 14"):
        theory.weak_lower_bound(np.diag([1.0, 0.25]), 13)
    with pytest.raises(UsageError, match="at least one positive eigenvalue"):
        theory.weak_lower_bound(np.zeros((2, 2)), 13)


def algorithm_1_regret(lam: Vector, T: int) -> float:
    """Return Σ ½ λ_k/(2 λ_k² t_k), the exact regret of Algorithm 1 under unit noise before its projection.

    The projection never hurts, so the minimax regret is at most this: an upper bound for every lower bound.
    """
    R = lam**-0.5 / np.sum(lam**-0.5) * (T - 2 * lam.size - 1)
    return float(np.sum(1 / (4 * lam * np.ceil(R / 2))))


@given(seeds, st.sampled_from([1, 2, 5, 20]), st.integers(0, 9))
def test_every_lower_bound_is_below_what_algorithm_1_reaches(seed: int, d: int, decades: int) -> None:
    lam = 10 ** np.random.default_rng(seed).uniform(-2, 2, d)
    A = np.diag(lam)
    T = int(np.ceil(theory.regime_thresholds(A)[-1])) + (2 * d + 2) * 10**decades
    reached = algorithm_1_regret(lam, T)
    assert 0 < theory.weak_lower_bound(A, T) <= reached
    assert 0 <= theory.bayes_lower_bound(A, T) <= reached
    assert theory.bayes_lower_bound(A, T) * T <= theory.minimax_limit(A)


def bayes_bound_by_quadrature(lam: Vector, T: int) -> float:
    """The bound of Section 3.3 with its two expectations over |x₀| integrated against the chi density."""
    d = lam.size
    scale = T ** (-1 / 3)  # standard deviation of each entry of x₀

    def expectation_outside(weight: Callable[[float], float]) -> float:
        def integrand(r: float) -> float:
            return float(weight(r) * stats.chi.pdf(r / scale, d) / scale)

        middle = 1 + 10 * scale
        near = integrate.quad(integrand, 1.0, middle, epsabs=0.0)[0]
        return float(near + integrate.quad(integrand, middle, middle + 40 * scale, epsabs=0.0)[0])

    outside = expectation_outside(lambda r: 1.0)
    largest = float(lam.max())
    lost = expectation_outside(lambda r: largest / 2 * (1 + r) ** 2)
    error = (
        0.5 * float(np.sum(lam**-0.5)) ** 2 / (T * (1 + d**0.5 * scale) ** 2 + T ** (2 / 3) * float(np.sum(lam**-2.0)))
    )
    return max(0.0, float((error - lost) / (1 - outside)))


@pytest.mark.parametrize("T", [200, 1000, 10_000, 10**6])
@pytest.mark.parametrize("lam", [[1.0], [4.0, 0.5], [0.2, 0.1, 0.05], [1.0] * 10])
def test_the_bayes_bound_agrees_with_integration(lam: list[float], T: int) -> None:
    expected = bayes_bound_by_quadrature(np.array(lam), T)
    assert theory.bayes_lower_bound(np.diag(lam), T) == pytest.approx(expected, rel=1e-7, abs=1e-14)  # quad's 1.5e-8


def test_the_bayes_bound_by_hand_where_the_ball_holds_the_prior() -> None:
    # d = 1, λ = 1, T = 10⁶: the prior's deviation is 10^-2, so nothing lies outside (100 deviations away), and the
    # bound is ½/(10⁶·(1.01)² + 10⁴) = 0.5/1,030,100.
    assert theory.bayes_lower_bound([[1.0]], 10**6) == pytest.approx(0.5 / 1_030_100, rel=1e-14)
    # A singular Hessian is reduced to its row space.
    assert theory.bayes_lower_bound(np.diag([1.0, 0.0]), 10**6) == pytest.approx(0.5 / 1_030_100, rel=1e-14)


@pytest.mark.parametrize("lam", [[1.0], [4.0, 0.5], [1.0] * 10])
def test_the_bayes_bound_tends_to_the_limit_of_theorem_1(lam: list[float]) -> None:
    limit = theory.minimax_limit(np.diag(lam))
    gaps = [1 - theory.bayes_lower_bound(np.diag(lam), T) * T / limit for T in (10**9, 10**12, 10**15)]
    # To leading order the gap is (2 d^½ + Tr A^-2) T^-1/3: it falls tenfold with every thousandfold T.
    slope = 2 * len(lam) ** 0.5 + float(np.sum(np.array(lam) ** -2.0))
    assert gaps[2] == pytest.approx(slope * 1e-5, rel=0.01)
    assert gaps[0] > gaps[1] > gaps[2] > 0


def test_the_bayes_bound_is_zero_where_it_says_nothing() -> None:
    assert theory.bayes_lower_bound([[100.0]], 1) == 0.0
    assert theory.bayes_lower_bound(np.eye(100), 1) == 0.0  # to rounding, no prior mass lies in the ball
    assert theory.bayes_lower_bound(np.zeros((2, 2)), 100) == 0.0
