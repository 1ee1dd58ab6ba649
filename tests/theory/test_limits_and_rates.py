"""Theorems 1 and 2 and the energy spectra against values worked by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid import theory
from paraboloid.algorithms import hessian_dependent
from paraboloid.core import Experiment, UsageError
from tests.support import drive, random_hessian

seeds = st.integers(0, 2**32 - 1)


def test_the_limit_is_half_the_squared_trace_of_the_inverse_root() -> None:
    # ½(1 + 2)² = 4.5; ½(½ + 1 + 10)² = ½·11.5² = 66.125; ½·(0.1)² = 0.005.
    assert theory.minimax_limit(np.diag([1.0, 0.25])) == 4.5
    assert theory.minimax_limit(np.diag([4.0, 1.0, 0.01])) == pytest.approx(66.125, rel=1e-15)
    assert theory.minimax_limit([[100.0]]) == pytest.approx(0.005, rel=1e-15)


def test_a_zero_eigenvalue_does_not_count() -> None:
    assert theory.inverse_root_trace(np.diag([4.0, 0.25, 0.0])) == 2.5
    assert theory.minimax_limit(np.zeros((3, 3))) == 0.0
    assert theory.positive_eigenvalues(np.diag([1.0, 0.0, 9.0])).tolist() == [9.0, 1.0]
    rng = np.random.default_rng(1)
    turned = random_hessian(rng, [4.0, 1.0, 0.25, 0.0, 0.0, 0.0])  # zeros come out as ±1e-16
    assert theory.positive_eigenvalues(turned) == pytest.approx([4.0, 1.0, 0.25], rel=1e-12)
    # ½(½ + 1 + 2)² = 6.125
    assert theory.minimax_limit(turned) == pytest.approx(6.125, rel=1e-12)


@given(seeds, st.floats(0.01, 100.0))
def test_the_limit_is_turned_with_the_problem_and_falls_with_its_scale(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    lam = 10 ** rng.uniform(-2, 2, 4)
    limit = theory.minimax_limit(np.diag(lam))
    assert theory.minimax_limit(random_hessian(rng, lam)) == pytest.approx(limit, rel=1e-9)  # 10⁴ · d eps with room
    assert theory.minimax_limit(scale * np.diag(lam)) == pytest.approx(limit / scale, rel=1e-12)


@pytest.mark.parametrize(("accuracy", "samples"), [(0.01, 450), (0.011, 410), (4.5, 1), (9.0, 1), (1e-6, 4_500_000)])
def test_the_sample_count_is_the_limit_over_the_accuracy(accuracy: float, samples: int) -> None:
    # 4.5/0.011 = 409.09 -> 410; 4.5/9 = ½ -> 1.
    assert theory.samples_for_accuracy(np.diag([1.0, 0.25]), accuracy) == samples


def test_thresholds_are_the_product_of_the_sums_over_the_largest_eigenvalues() -> None:
    # λ = 4, 1, 1/4: λ^-½ = ½, 1, 2 and λ^-3/2 = ⅛, 1, 8, largest first.
    # ½·⅛ = 1/16; 3/2 · 9/8 = 27/16; 7/2 · 73/8 = 511/16.
    thresholds = theory.regime_thresholds(np.diag([0.25, 4.0, 1.0]))
    assert thresholds == pytest.approx([1 / 16, 27 / 16, 511 / 16], rel=1e-14)


def test_the_erratum_on_the_order_and_on_the_product_matters() -> None:
    # Smallest first, or the ratio instead of the product, would resolve other directions at T = 20: as printed the
    # ratio of the smallest is 2/8 = ¼, and every k would do; with the product and largest first it is k* = 2.
    A = np.diag([0.25, 4.0, 1.0])
    assert theory.effective_rank(A, 20) == 2
    # (½ + 1)²/20 + ¼: what is left out is the smallest eigenvalue.
    assert theory.finite_budget_rate(A, 20) == pytest.approx(2.25 / 20 + 0.25, rel=1e-14)
    # 511/16 = 31.94: from T = 32 on everything is resolved, (7/2)²/32.
    assert [theory.effective_rank(A, T) for T in (31, 32)] == [2, 3]
    assert theory.finite_budget_rate(A, 32) == pytest.approx(12.25 / 32, rel=1e-14)


def test_no_direction_may_be_resolved() -> None:
    # λ = 0.01, 0.0025: the first threshold is λ^-2 = 10⁴ > T = 100, so k* = 0 and the rate is λ₁.
    A = np.diag([0.01, 0.0025])
    assert theory.effective_rank(A, 100) == 0
    assert theory.finite_budget_rate(A, 100) == pytest.approx(0.01, rel=1e-14)
    assert [theory.effective_rank([[0.1]], T) for T in (99, 101)] == [0, 1]  # λ^-2 = 100


def test_all_directions_of_a_singular_hessian_are_those_it_has() -> None:
    A = np.diag([1.0, 0.0, 1.0])  # rank 2: thresholds 1 and 2·2 = 4
    assert theory.effective_rank(A, 1000) == 2
    assert theory.finite_budget_rate(A, 1000) == pytest.approx(4 / 1000, rel=1e-14)
    assert theory.finite_budget_rate(np.zeros((2, 2)), 10) == 0.0


def test_theorem_2_needs_more_than_three_samples_per_direction() -> None:
    assert theory.finite_budget_rate(np.eye(2), 7) > 0
    with pytest.raises(UsageError, match=r"budget 6 is too small for Theorem 2 with a Hessian of rank 2.* is 7"):
        theory.finite_budget_rate(np.eye(2), 6)


@given(seeds, st.integers(13, 10**6))
def test_the_rate_falls_with_the_budget_up_to_a_factor_and_matches_theorem_1_in_the_end(seed: int, T: int) -> None:
    A = np.diag(10 ** np.random.default_rng(seed).uniform(-3, 2, 4))
    rank = theory.effective_rank(A, T)
    assert rank <= theory.effective_rank(A, 2 * T) <= 4
    last = int(np.ceil(theory.regime_thresholds(A)[-1])) + 13
    assert theory.finite_budget_rate(A, last) * last == pytest.approx(2 * theory.minimax_limit(A), rel=1e-12)


def test_energy_is_repeats_times_the_squared_length_along_each_column() -> None:
    # 2·1 + 100·0.36 = 38 and 100·0.64 = 64; along the diagonals 2·½ + 100·(1.4)²/2 = 99 and 1 + 100·0.04/2 = 3.
    experiments = [Experiment([[1.0, 0.0]], repeats=2), Experiment([[0.6, 0.8]], repeats=100)]
    assert theory.energy_spectrum(experiments, np.eye(2)) == pytest.approx([38.0, 64.0], rel=1e-14)
    diagonals = np.array([[1.0, 1.0], [1.0, -1.0]]) / 2**0.5
    assert theory.energy_spectrum(experiments, diagonals) == pytest.approx([99.0, 3.0], rel=1e-13)
    assert theory.energy_spectrum([], np.eye(2)).tolist() == [0.0, 0.0]
    with pytest.raises(UsageError, match="basis has 3 rows, but the recorded points have 2 entries"):
        theory.energy_spectrum(experiments, np.eye(3))


@given(seeds, st.integers(1000, 10**6))
def test_algorithm_1_spends_the_optimal_energy_up_to_rounding(seed: int, T: int) -> None:
    rng = np.random.default_rng(seed)
    d = 4
    A = random_hessian(rng, 10 ** rng.uniform(-1, 1, d))
    basis = np.linalg.eigh(A).eigenvectors[:, ::-1]
    _, experiments = drive(hessian_dependent(A, T), lambda x: 0.0)
    spent = theory.energy_spectrum(experiments, basis)
    # 2⌈R_k/2⌉ is within 2 of R_k, and R_k within 2d + 1 of the spectrum of T samples.
    assert np.abs(spent - theory.optimal_energy_spectrum(A, T)).max() <= 2 * d + 3
    assert theory.optimal_energy_spectrum(A, T).sum() == pytest.approx(T, rel=1e-12)


def test_the_optimal_spectrum_is_in_proportion_to_the_inverse_roots() -> None:
    # λ^-½ = ½, 1, 2 of 3.5: 700 samples give 100, 200, 400.
    assert theory.optimal_energy_spectrum(np.diag([0.25, 4.0, 1.0]), 700) == pytest.approx([100, 200, 400], rel=1e-14)


def test_the_expected_log_likelihood_ratio_by_hand() -> None:
    # 2·(2·0.5)²·10 = 20; 2·(4·0.25)²·3 = 6.
    assert theory.expected_log_likelihood_ratio(2.0, 0.5, 10.0) == 20.0
    assert theory.expected_log_likelihood_ratio(4.0, -0.25, 3.0) == 6.0
