"""Bad input: the error's type, and a message that names what was given, what is needed, what to do."""

from collections.abc import Callable

import numpy as np
import pytest

from paraboloid.algorithms import estimate_hessian, hessian_dependent, quadratic_search, universal
from paraboloid.core import (
    MeasurementError,
    ParaboloidError,
    ReplayMismatch,
    Steps,
    UsageError,
    check_budget,
    check_dimension,
    check_hessian,
    check_point_in_ball,
    check_positive,
    check_symmetric,
    eigenvalues_above_rounding,
    frozen_array,
)
from tests.support import drive, random_hessian

TAKES_HESSIAN: dict[str, Callable[..., object]] = {
    "hessian_dependent": hessian_dependent,
    "quadratic_search": quadratic_search,
}
SMALLEST: dict[str, tuple[Callable[[int, int], Steps[object]], Callable[[int], int]]] = {
    # Algorithm 1: T - 2d - 1 ≥ 1. Algorithm 2: T₁ - 4d - 1 ≥ 1. The Hessian estimate: one triple along d² directions.
    "hessian_dependent": (lambda d, T: hessian_dependent(np.eye(d), T), lambda d: 2 * d + 2),
    "quadratic_search": (lambda d, T: quadratic_search(np.eye(d), T), lambda d: 4 * d + 2),
    "estimate_hessian": (lambda d, T: estimate_hessian(d, T), lambda d: 3 * d * d),
    # Universal: 15^0.8 = 8.7 -> 9 leaves 6 = 4·1 + 2; 22 -> ⌈11.86⌉ = 12 = 3·4 and 10 = 4·2 + 2; 218^0.8 = 74.3 -> 75.
    "universal": (lambda d, T: universal(d, T), lambda d: {1: 15, 2: 22, 5: 218}[d]),
}


def test_errors_are_also_the_builtin_that_a_caller_expects() -> None:
    assert issubclass(UsageError, ParaboloidError) and issubclass(UsageError, ValueError)
    assert issubclass(MeasurementError, ParaboloidError) and issubclass(MeasurementError, RuntimeError)
    assert issubclass(ReplayMismatch, ParaboloidError) and issubclass(ReplayMismatch, RuntimeError)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_budget_works_and_one_less_names_it(name: str, d: int) -> None:
    build, smallest = SMALLEST[name]
    _, experiments = drive(build(d, smallest(d)), lambda x: float(x @ x) / 2)
    assert experiments
    with pytest.raises(
        UsageError,
        match=rf"budget {smallest(d) - 1} is too small for .* in dimension {d}: the smallest that works is "
        rf"{smallest(d)}. Give budget={smallest(d)} or more",
    ):
        build(d, smallest(d) - 1)


@pytest.mark.parametrize("name", SMALLEST)
@pytest.mark.parametrize("budget", [1000.0, True, "1000", None, np.float64(1000), 1000j, [1000]], ids=repr)
def test_a_budget_that_is_no_whole_number_is_refused_before_anything_runs(name: str, budget: int) -> None:
    with pytest.raises(
        UsageError, match=r"budget must be a whole number, got .* Write it as an int, for example 10_000"
    ):
        SMALLEST[name][0](2, budget)


@pytest.mark.parametrize("budget", [0, -5])
@pytest.mark.parametrize("name", SMALLEST)
def test_no_or_a_negative_budget_is_too_small(name: str, budget: int) -> None:
    with pytest.raises(UsageError, match=f"budget {budget} is too small"):
        SMALLEST[name][0](2, budget)


def test_whole_numbers_of_numpy_are_whole_numbers() -> None:
    assert check_budget(np.int32(7), smallest=7, what_for="x") == 7
    assert check_dimension(np.uint8(3)) == 3


@pytest.mark.parametrize("build", [estimate_hessian, universal])
@pytest.mark.parametrize(
    ("dimension", "message"), [(0, "at least 1, got 0"), (-2, "at least 1, got -2"), (2.0, "whole")]
)
def test_the_dimension_is_a_whole_number_of_at_least_one(build, dimension: int, message: str) -> None:  # type: ignore[no-untyped-def]  # two signatures
    with pytest.raises(UsageError, match=rf"dimension must be .*{message}"):
        build(dimension, 10_000)


BAD_MATRICES = [
    (
        [[1.0, 2.0], [0.0, 1.0]],
        r"must be symmetric, but entry \[0, 1\] is 2 and entry \[1, 0\] is 0. Give \(A \+ A.T\)",
    ),
    (np.zeros((0, 0)), r"square matrix with at least one row, got shape \(0, 0\)"),
    (np.ones((2, 3)), r"square matrix with at least one row, got shape \(2, 3\). A diagonal one is written"),
    ([1.0, 2.0], r"must have 2 axes, got 1 \(shape \(2,\)\)"),
    (3.0, r"must have 2 axes, got 0"),
    ([[np.nan]], r"not a finite number: \[\[nan\]\]"),
    ([[np.inf]], r"not a finite number"),
    ([[1.0 + 1j]], r"array of real numbers .*complex numbers"),
    (np.eye(2) * 1j, r"array of real numbers (.|\n)*complex numbers"),
    ("abc", r"array of real numbers with 2 axes, got 'abc'"),
    ([["1", "0"], ["0", "1"]], r"array of real numbers with 2 axes, got"),
    ([[1.0, 2.0], [3.0]], r"array of real numbers"),
    (None, r"hessian"),
]


@pytest.mark.parametrize("name", TAKES_HESSIAN)
@pytest.mark.parametrize(("matrix", "message"), BAD_MATRICES, ids=[str(i) for i in range(len(BAD_MATRICES))])
def test_a_hessian_that_is_none_is_refused_by_every_algorithm_that_takes_one(
    name: str, matrix: object, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        TAKES_HESSIAN[name](matrix, 1000)


def test_an_indefinite_hessian_is_refused_where_it_is_known_and_allowed_where_it_is_estimated() -> None:
    with pytest.raises(
        UsageError, match=r"positive semidefinite, but its smallest eigenvalue is -1 \(the largest is 3\)"
    ):
        hessian_dependent([[1.0, 2.0], [2.0, 1.0]], 100)
    quadratic_search([[1.0, 2.0], [2.0, 1.0]], 100)


def test_rounding_in_the_callers_matrix_is_forgiven_and_repaired() -> None:
    A = np.array([[1.0, 0.1 + 1e-15], [0.1, 1.0]])
    assert np.array_equal(check_symmetric("A", A), check_symmetric("A", A).T)
    rng = np.random.default_rng(0)
    assert check_hessian(random_hessian(rng, [1e6, 1.0, 0.0])).shape == (3, 3)  # its zero comes out at ±1e-10
    with pytest.raises(UsageError, match="symmetric"):
        check_symmetric("A", [[1.0, 0.1], [0.1 + 1e-9, 1.0]])


def test_total_budget_is_at_least_the_budget() -> None:
    with pytest.raises(UsageError, match=r"999 is too small .* the smallest that works is 1000"):
        quadratic_search(np.eye(2), 1000, total_budget=999)


@pytest.mark.parametrize("point", [[1.0, 0.0], [1 + 5e-10, 0.0], [0.6, 0.8]])
def test_points_of_the_ball_and_rounded_ones_pass(point: list[float]) -> None:
    assert check_point_in_ball("x", point, 2).tolist() == point


@pytest.mark.parametrize("given", [0.0, -1.0, float("nan"), float("inf"), None, "x", 1j], ids=repr)
def test_a_positive_number_is_finite_and_above_zero(given: float) -> None:
    with pytest.raises(UsageError, match=r"^accuracy must be a .*number above 0, got"):
        check_positive("accuracy", given)


def test_arrays_are_read_only_float_copies() -> None:
    given = np.array([1, 2])
    frozen = frozen_array("x", given, 1)
    given[0] = 9
    assert frozen.tolist() == [1.0, 2.0]
    assert frozen.dtype == np.float64
    assert not frozen.flags.writeable


def test_eigenvalues_of_rounding_size_count_as_zero() -> None:
    assert eigenvalues_above_rounding(np.array([1e-17, 1e-12, 1.0])).tolist() == [False, True, True]
    assert eigenvalues_above_rounding(np.zeros(2)).tolist() == [False, False]
    rng = np.random.default_rng(1)
    for rank in range(1, 10):
        lam = np.linalg.eigvalsh(random_hessian(rng, np.arange(10) < rank)).astype(np.float64)
        assert eigenvalues_above_rounding(lam).sum() == rank
