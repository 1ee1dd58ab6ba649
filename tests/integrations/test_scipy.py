"""`paraboloid.scipy_method` through the real `scipy.optimize.minimize`: SciPy's protocol for methods of one's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import Bounds, LinearConstraint, OptimizeResult, OptimizeWarning
from scipy.optimize import minimize as typed_minimize

import paraboloid
from paraboloid import UsageError, scipy_method

minimize: Any = typed_minimize  # its stubs list the options of SciPy's own methods only
Array = npt.NDArray[np.float64]
BOUNDS = [(-1.0, 2.0), (0.0, 4.0)]
BEST = np.array([0.5, 1.5])


def bowl(x: Array) -> float:
    """Without noise, so that a quadratic's minimum is found to rounding."""
    return float((x[0] - 0.5) ** 2 + 3 * (x[1] - 1.5) ** 2 + (x[0] - 0.5) * (x[1] - 1.5) + 7)


def noisy(x: Array, rng: np.random.Generator) -> float:
    return bowl(x) + 0.1 * float(rng.standard_normal())


def solved(fun: Callable[..., Any] = bowl, x0: Any = (0.0, 1.0), **given: Any) -> OptimizeResult:
    given = {"bounds": BOUNDS, "options": {"budget": 40, "rng": 0}, **given}
    result: OptimizeResult = minimize(fun, x0, method=scipy_method, **given)
    return result


def test_the_result_has_the_fields_of_scipy_and_the_minimum_of_the_model() -> None:
    calls: list[Array] = []

    def counted(x: Array) -> float:
        calls.append(x.copy())
        return bowl(x)

    result = solved(counted)
    assert isinstance(result, OptimizeResult)
    assert result.x.shape == (2,)
    np.testing.assert_allclose(result.x, BEST, atol=1e-6)
    assert result.fun == pytest.approx(7.0, abs=1e-6)
    assert result.success is True
    assert (result.status, result.nfev) == (0, 40)
    assert len(calls) == 40
    assert 1 <= result.nit <= 8
    assert result.message.startswith("The budget is spent")
    assert all(np.all((np.array(BOUNDS).T[0] <= x) & (x <= np.array(BOUNDS).T[1])) for x in calls)


def test_it_is_the_same_search_as_our_own_door() -> None:
    ours = paraboloid.minimize(noisy, BOUNDS, budget=60, rng=3)
    theirs = solved(noisy, options={"budget": 60, "rng": 3})
    np.testing.assert_array_equal(theirs.x, ours.x)
    assert theirs.regret_bound == ours.regret_bound


def test_further_arguments_reach_the_function_alone_or_in_a_tuple() -> None:
    def shifted(x: Array, shift: float, scale: float = 1.0) -> float:
        return scale * bowl(x - shift)

    np.testing.assert_allclose(solved(shifted, args=(0.25, 2.0)).x, BEST + 0.25, atol=1e-6)
    np.testing.assert_allclose(solved(shifted, args=0.25).x, BEST + 0.25, atol=1e-6)


def test_a_parameter_rng_is_given_after_the_arguments_but_not_if_they_hold_it() -> None:
    seen: list[np.random.Generator] = []

    def measured(x: Array, scale: float, rng: np.random.Generator) -> float:
        seen.append(rng)
        return scale * bowl(x)

    assert solved(measured, args=(2.0,)).nfail == 0
    assert len({id(rng) for rng in seen[-2:]}) == 2
    own = np.random.default_rng(5)
    seen.clear()
    assert solved(measured, args=(2.0, own)).nfail == 0
    assert all(rng is own for rng in seen)


def test_a_function_may_return_an_array_of_one_number_and_change_its_x() -> None:
    def careless(x: Array) -> Array:
        value = np.array([bowl(x)])
        x[:] = np.nan
        return value

    result = solved(careless)
    assert result.nfail == 0
    np.testing.assert_allclose(result.x, BEST, atol=1e-6)


@pytest.mark.parametrize("bounds", [Bounds([-1, 0], [2, 4]), Bounds(-1, 4), np.array(BOUNDS), tuple(BOUNDS)])
def test_both_forms_of_bounds_are_understood(bounds: Any) -> None:
    np.testing.assert_allclose(solved(bounds=bounds).x, BEST, atol=1e-6)


def test_a_single_number_as_start_is_one_knob() -> None:
    result = minimize(lambda x: (x[0] - 2) ** 2, 1.0, method=scipy_method, bounds=[(0, 3)], options={"budget": 9})
    np.testing.assert_allclose(result.x, [2.0], atol=1e-6)


def test_the_answer_does_not_depend_on_the_start() -> None:
    np.testing.assert_array_equal(solved(x0=[-1.0, 4.0]).x, solved(x0=[2.0, 0.0]).x)


@pytest.mark.parametrize("bounds", [None, [(-1, 2), (0, None)], [(-1, 2), (-np.inf, 4)], Bounds([-1, 0], [2, np.inf])])
def test_open_bounds_are_refused_before_anything_is_measured(bounds: Any) -> None:
    with pytest.raises(UsageError, match=r"finite range for every knob.*x\[[01]\]"):
        solved(pytest.fail, bounds=bounds)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x0": [0.0, 5.0]}, r"x0\[1\] = 5 is not between 0 and 4"),
        ({"x0": [np.nan, 1.0]}, r"x0\[0\] = nan"),
        ({"x0": [0.0, 1.0, 2.0]}, "x0 has 3 numbers, but bounds has 2 ranges"),
        ({"bounds": [(2, -1), (0, 4)]}, "low < high"),
        ({"bounds": [(1, 1), (0, 4)], "x0": [1, 1]}, "left out"),
        ({"bounds": [1, 2]}, "pairs"),
        ({"bounds": Bounds([0, 0, 0], [1, 1, 1])}, "pairs"),
        ({"options": {}}, "budget"),
        ({"options": {"rng": 0}}, "budget"),
        ({"jac": lambda x: x}, "jac was given"),
        ({"jac": True}, "jac was given"),
        ({"hess": lambda x: np.eye(2)}, "hess was given"),
        ({"hessp": lambda x, p: p}, "hessp was given"),
        ({"constraints": {"type": "ineq", "fun": lambda x: x[0]}}, "constraints were given"),
        ({"constraints": [LinearConstraint(np.eye(2), 0, 1)]}, "constraints were given"),
        ({"constraints": LinearConstraint(np.eye(2), 0, 1)}, "constraints were given"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_measured(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        solved(pytest.fail, **given)


def test_an_unknown_option_is_a_warning_that_points_to_the_callers_line() -> None:
    with pytest.warns(OptimizeWarning, match="Unknown solver options: maxiter, gtol") as caught:
        result = minimize(
            bowl, [0, 1], method=scipy_method, bounds=BOUNDS, options={"budget": 20, "maxiter": 5, "gtol": 1.0}
        )
    assert result.nfev == 20
    assert [warning.filename for warning in caught] == [__file__]


def test_tol_is_eps_unless_eps_is_given() -> None:
    result = solved(noisy, tol=0.5, options={"rng": 0})
    assert result.stop_reason == "ACCURACY_REACHED"
    assert result.regret_bound <= 0.5
    eps = result.regret_bound / 4  # which the search for tol has not reached
    assert solved(noisy, tol=0.5, options={"rng": 0, "eps": eps}).regret_bound <= eps


def test_the_callback_gets_x_or_the_whole_result_by_its_name() -> None:
    points: list[Array] = []
    results: list[OptimizeResult] = []

    def whole(intermediate_result: OptimizeResult) -> None:
        results.append(intermediate_result)

    rounds = solved(callback=lambda xk: points.append(xk)).nit
    assert len(points) == rounds - 1
    assert all(x.shape == (2,) for x in points)
    solved(callback=whole)
    np.testing.assert_array_equal([result.x for result in results], points)
    assert [result.nit for result in results] == list(range(1, rounds))


def test_stop_iteration_in_the_callback_returns_what_is_known() -> None:
    def enough(intermediate_result: OptimizeResult) -> None:
        if intermediate_result.nfev >= 10:
            raise StopIteration

    result = solved(callback=enough)
    assert 10 <= result.nfev < 40
    assert result.success is False
    assert result.stop_reason == "STOPPED"
    np.testing.assert_allclose(result.x, BEST, atol=1e-6)


def test_another_error_in_the_callback_is_not_swallowed() -> None:
    def broken(xk: Array) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        solved(callback=broken)


def test_failed_measurements_are_counted_and_never_a_penalty() -> None:
    calls = iter(range(10**6))

    def sometimes(x: Array) -> float:
        return float("nan") if next(calls) % 4 == 3 else bowl(x)

    result = solved(sometimes)
    assert (result.nfev, result.nfail) == (40, 10)
    np.testing.assert_allclose(result.x, BEST, atol=1e-6)


def test_processes_measure_side_by_side_and_give_the_same_answer() -> None:
    alone = solved(noisy, options={"budget": 30, "rng": 4})
    together = solved(noisy, options={"budget": 30, "rng": 4, "workers": 2})
    np.testing.assert_array_equal(together.x, alone.x)
