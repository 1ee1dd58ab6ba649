"""`minimize` and `maximize`: every field, every kind of answer that a function may give, and awkward problems."""

import math
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from paraboloid import Ball, Box, Knob, MeasurementError, UsageError, maximize, minimize, run
from paraboloid.algorithms import adaptive
from paraboloid.core import Domain, Vector

UNIT: list[tuple[float, float]] = [(-1.0, 1.0), (-1.0, 1.0)]
FIELDS = (
    "x fun success status message nfev nit x_ci x_cov fun_se hess hess_eig sigma regret regret_bound nfail rounds "
    "regret_bound_if_quadratic stop_reason x_best_observed confidence caveats forecast"
).split()


def bowl(x: Vector) -> float:
    return float(10 * (x[0] - 0.3) ** 2 + 5 * (x[1] + 0.4) ** 2 + 2 * x[0] * x[1])


MINIMUM = np.asarray(np.linalg.solve([[20.0, 2.0], [2.0, 10.0]], [6.0, -4.0]), dtype=np.float64)


class Noisy:
    """A function with noise of its own, and the settings and values of every call."""

    def __init__(self, value: Callable[[Vector], float] = bowl, sigma: float = 0.5, seed: int = 0) -> None:
        self.value, self.sigma, self.rng = value, sigma, np.random.default_rng(seed)
        self.settings: list[Vector] = []
        self.values: list[float] = []

    def __call__(self, x: Vector) -> float:
        self.settings.append(np.array(x))
        self.values.append(self.value(x) + self.sigma * float(self.rng.standard_normal()))
        return self.values[-1]


def test_the_result_has_every_field_and_they_agree() -> None:
    fun = Noisy()
    result = minimize(fun, UNIT, budget=60, rng=1)
    assert isinstance(result, OptimizeResult) and all(field in result for field in FIELDS)
    assert result.success and result.stop_reason == "BUDGET_SPENT" and result.message.startswith("The budget is spent")
    assert (result.nfev, result.nfail, result.rounds, result.nit) == (60, 0, result.nit, result.rounds)
    assert len(fun.values) == 60 and result.rounds <= 8
    # Curvature 10 to 20, 60 values of σ = 0.5: the standard error of x is about 0.5/√60/10; five of them and the prior.
    assert np.allclose(result.x, MINIMUM, atol=0.1) and result.fun == pytest.approx(bowl(MINIMUM), abs=0.5)
    assert np.all(result.x_ci[:, 0] <= result.x) and np.all(result.x <= result.x_ci[:, 1])
    assert result.x_cov.shape == (2, 2) and np.linalg.eigvalsh(result.x_cov)[0] > 0
    assert np.allclose(result.hess, [[20, 2], [2, 10]], atol=6) and np.all(result.hess_eig > 0)
    assert result.sigma == pytest.approx(0.5, rel=0.5)
    assert 0 < result.regret < result.regret_bound < 1 and result.confidence == 0.95 and result.caveats == []
    assert 0 < result.forecast(1000) < result.forecast(10) < result.regret
    means: dict[tuple[float, ...], list[float]] = {tuple(x): [] for x in fun.settings}
    for x, value in zip(fun.settings, fun.values, strict=True):
        means[tuple(x)].append(value)
    best = min(means, key=lambda x: float(np.mean(means[x])))
    assert np.allclose(result.x_best_observed, best)


def test_noise_that_hides_no_shape_leaves_one_bound_and_a_quadratic_that_is_taken_for_granted_the_same_one() -> None:
    clear = minimize(Noisy(sigma=0.01), UNIT, budget=200, rng=0)
    assert clear.regret_bound_if_quadratic <= clear.regret_bound < 1.5 * clear.regret_bound_if_quadratic
    granted = minimize(Noisy(), UNIT, budget=60, rng=0, algorithm=partial(adaptive, smooth=False))
    assert granted.regret_bound_if_quadratic == granted.regret_bound < np.inf


def test_maximise_is_the_exact_mirror() -> None:
    one, other = Noisy(), Noisy()
    low = minimize(one, UNIT, budget=40, rng=2)
    high = maximize(lambda x: -other(x), UNIT, budget=40, rng=2)
    assert np.array_equal(one.settings, other.settings)
    assert np.array_equal(low.x, high.x) and low.fun == -high.fun and np.array_equal(low.hess, -high.hess)
    assert np.array_equal(low.x_ci, high.x_ci) and np.array_equal(low.hess_eig, -high.hess_eig)
    for field in ("regret", "regret_bound", "regret_bound_if_quadratic", "sigma", "fun_se", "message", "nfev"):
        assert low[field] == high[field]
    assert np.array_equal(low.x_best_observed, high.x_best_observed)


@pytest.mark.parametrize(("scale", "offset"), [(1e-12, 0.0), (1e12, 0.0), (1.0, 1e9), (1.0, -1e9), (1e-6, 1e3)])
def test_scale_and_offset_of_the_value_give_the_same_path(scale: float, offset: float) -> None:
    one, other = Noisy(), Noisy()
    plain = minimize(one, UNIT, budget=40, rng=3)
    scaled = minimize(lambda x: scale * (other(x) + offset), UNIT, budget=40, rng=3)
    # With an offset of 1e9 the values themselves are rounded to 1e-7, and the polished points follow.
    assert np.allclose(one.settings, other.settings, rtol=0, atol=1e-3)
    assert np.allclose(plain.x, scaled.x, rtol=0, atol=1e-3)
    assert scaled.regret / scale == pytest.approx(plain.regret, rel=0.05)
    assert scaled.sigma / scale == pytest.approx(plain.sigma, rel=0.01)
    assert scaled.fun / scale - offset == pytest.approx(plain.fun, abs=0.05)


@pytest.mark.parametrize("seed", range(1, 10))
@pytest.mark.parametrize("factors", [(1e-6, 1e6), (1e6, 1e-6)])
def test_units_of_the_knobs_give_the_same_path(factors: tuple[float, float], seed: int) -> None:
    one, other, unit = Noisy(), Noisy(), np.array(factors)
    plain = minimize(one, UNIT, budget=40, rng=seed)
    box = [(2 * u, 4 * u) for u in factors]
    scaled = minimize(lambda x: other(x / unit - 3), box, budget=40, rng=seed)
    assert np.allclose(one.settings, other.settings, rtol=0, atol=1e-5)
    assert np.allclose(plain.x, scaled.x / unit - 3, rtol=0, atol=1e-5)
    # Quantiles of some 5000 draws. Rounding may choose other pivots of a factor, and with them other draws: the
    # standard error of an end is then 1 % of the width.
    apart = np.abs(plain.x_ci - (scaled.x_ci / unit[:, None] - 3))
    assert np.all(apart < 0.05 * np.diff(plain.x_ci))
    assert np.allclose(plain.hess, scaled.hess * np.outer(unit, unit), rtol=1e-3)
    assert np.allclose(plain.x_cov, scaled.x_cov / np.outer(unit, unit), rtol=1e-3, atol=1e-9)


def test_a_log_knob_is_searched_on_its_scale() -> None:
    box = Box([Knob("rate", 1e-4, 1.0, log=True), (-1.0, 1.0)])
    fun = Noisy(lambda x: (math.log10(x[0]) + 3) ** 2 + x[1] ** 2, sigma=0.05)
    result = minimize(fun, box, budget=60, rng=5)
    assert math.log10(result.x[0]) == pytest.approx(-3, abs=0.1)
    assert 1e-4 <= min(x[0] for x in fun.settings) and max(x[0] for x in fun.settings) <= 1.0


class Sometimes:
    """A function that gives a bad answer at every third call."""

    def __init__(self, bad: Any) -> None:
        self.bad, self.calls, self.good = bad, 0, Noisy()

    def __call__(self, x: Vector) -> Any:
        self.calls += 1
        if self.calls % 3:
            return self.good(x)
        if isinstance(self.bad, Exception):
            raise self.bad
        return self.bad


@pytest.mark.parametrize(
    "bad",
    [
        math.nan,
        None,
        "text",
        1j,
        True,
        np.True_,
        np.array([1.0, 2.0, 3.0]),
        np.array([1.0]),
        [],
        {},
        math.inf,
        -math.inf,
        np.float64("nan"),
        Decimal("NaN"),
        pytest.param(10**400, id="integer beyond floats"),
        Decimal("sNaN"),
        (1.0, 0.0),
        (1.0, -1.0),
        (1.0, math.nan),
        (math.nan, 1.0),
        (1.0, None),
        (1.0, 2.0, 3.0),
        ValueError("broken"),
        StopIteration(),
    ],
    ids=repr,
)
def test_a_bad_answer_is_a_failed_measurement_and_never_a_penalty(bad: Any) -> None:
    fun = Sometimes(bad)
    result = minimize(fun, UNIT, budget=30, rng=6)
    assert (result.nfev, result.nfail, fun.calls) == (30, 10, 30)
    assert np.allclose(result.x, MINIMUM, atol=0.3)


@pytest.mark.parametrize("kind", [int, np.int64, np.float32, np.float64, np.array, Decimal, Fraction])
def test_every_kind_of_real_number_is_accepted(kind: Callable[[float], Any]) -> None:
    values = []

    def fun(x: Vector) -> Any:
        values.append(round(100 * bowl(x)))
        return kind(values[-1])

    result = minimize(fun, UNIT, budget=5, rng=7)
    assert (result.nfev, result.nfail) == (5, 0)
    assert np.array_equal(result.x, minimize(lambda x: values.pop(0), UNIT, budget=5, rng=7).x)


def test_standard_errors_are_used() -> None:
    """Half of the answers are ten thousand times worse and say so: the answer is that of the good half."""
    rng, calls = np.random.default_rng(8), iter(range(1000))

    def fun(x: Vector) -> tuple[float, float]:
        sem = 0.01 if next(calls) % 2 else 100.0
        return bowl(x) + sem * float(rng.standard_normal()), sem

    result = minimize(fun, UNIT, budget=60, rng=8)
    assert np.allclose(result.x, MINIMUM, atol=0.03)
    assert result.nfail == 0


def test_a_corner_that_always_fails_is_avoided() -> None:
    tried: list[Vector] = []

    def fun(x: Vector) -> float:
        tried.append(x)
        if x[0] > 0.6 and x[1] > 0.6:
            raise RuntimeError("too hot")
        return bowl(x)

    result = minimize(fun, UNIT, budget=60, rng=9)
    assert np.allclose(result.x, MINIMUM, atol=0.05)
    late = [x for x in tried[30:] if x[0] > 0.6 and x[1] > 0.6]
    assert len(late) <= 3 and 0 < result.nfail < 15


@pytest.mark.parametrize("budget", [1, 2, 3, 4, 5, 40])
@pytest.mark.parametrize("d", [1, 2])
def test_where_everything_fails_the_error_names_setting_and_cause(budget: int, d: int) -> None:
    def fun(x: Vector) -> float:
        raise OSError("pump is off")

    for callback in (None, lambda result: None):
        with pytest.raises(MeasurementError, match=r"at x = \[.*OSError: pump is off"):
            minimize(fun, UNIT[:d], budget=budget, rng=10, callback=callback)


def test_the_callback_is_called_after_every_round_and_can_stop() -> None:
    seen: list[OptimizeResult] = []
    result = minimize(Noisy(), UNIT, budget=40, rng=11, callback=seen.append)
    assert [so_far.rounds for so_far in seen] == list(range(1, result.rounds))
    assert all(field in so_far for so_far in seen for field in FIELDS)
    assert [so_far.nfev for so_far in seen] == sorted({so_far.nfev for so_far in seen})

    def stop_at_once(so_far: OptimizeResult) -> None:
        raise StopIteration

    stopped = minimize(Noisy(), UNIT, budget=40, rng=11, callback=stop_at_once)
    assert (stopped.stop_reason, stopped.success, stopped.rounds, stopped.nfev) == ("STOPPED", False, 1, seen[0].nfev)
    assert np.array_equal(stopped.x, seen[0].x)


@pytest.mark.parametrize("n_calls", [1, 3, 17])
def test_an_interrupt_inside_the_function_returns_what_is_known(n_calls: int) -> None:
    fun = Noisy()

    def interrupted(x: Vector) -> float:
        if len(fun.values) == n_calls:
            raise KeyboardInterrupt
        return fun(x)

    result = minimize(interrupted, UNIT, budget=60, rng=12)
    assert (result.stop_reason, result.success, result.nfev) == ("STOPPED", False, n_calls)
    assert np.all(np.abs(result.x) <= 1) and np.isfinite(result.fun)


def test_an_interrupt_before_the_first_value_is_passed_on() -> None:
    def interrupted(x: Vector) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize(interrupted, UNIT, budget=60, rng=12)


def noisy_by_call(x: Vector) -> float:
    """Return a value with noise of its own in every process and at every call."""
    return bowl(x) + 0.1 * float(np.random.default_rng().standard_normal())


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_measures_as_often_with_distinct_noise(pool: type[Executor]) -> None:
    with pool(2) as executor:  # type: ignore[call-arg]  # both take the number of workers
        result = minimize(noisy_by_call, UNIT, budget=40, rng=13, executor=executor)
    assert (result.nfev, result.nfail) == (40, 0)
    assert np.allclose(result.x, MINIMUM, atol=0.1)
    # Were repeats at one point equal, σ would be found far below 0.1.
    assert result.sigma == pytest.approx(0.1, rel=0.6)


def test_an_executor_gives_the_path_of_no_executor() -> None:
    plain = minimize(bowl, UNIT, budget=30, rng=13)
    with ThreadPoolExecutor(3) as executor:
        assert np.array_equal(minimize(bowl, UNIT, budget=30, rng=13, executor=executor).x, plain.x)
    together = minimize(lambda x: np.array([bowl(row) for row in x]), UNIT, budget=30, rng=13, vectorized=True)
    assert np.array_equal(together.x, plain.x) and together.nfev == 30


def keyed(x: Vector, rng: np.random.Generator) -> float:
    """Return a value with the noise that it is given, after a time that has nothing to do with the order of calls."""
    value = bowl(x) + 0.5 * float(rng.standard_normal())
    time.sleep(0.003 * float(rng.random()))
    return value


def keyed_rows(x: Vector, rng: np.random.Generator) -> Vector:
    """Return as many values as there are rows."""
    return np.array([bowl(row) for row in x]) + 0.5 * rng.standard_normal(len(x))


@pytest.mark.parametrize(("fun", "vectorized"), [(keyed, False), (keyed_rows, True)])
def test_the_answer_does_not_depend_on_the_number_of_workers_or_their_order(fun: Any, vectorized: bool) -> None:
    def answer(**where: Any) -> list[float]:
        result = minimize(fun, UNIT, budget=60, rng=21, vectorized=vectorized, **where)
        assert (result.nfev, result.nfail) == (60, 0)
        return [*result.x, result.fun, result.regret_bound, result.sigma]

    alone = answer()
    for n_workers in (1, 2, 8):
        with ThreadPoolExecutor(n_workers) as executor:
            assert answer(executor=executor) == alone
    assert answer(workers=2) == alone
    other = minimize(fun, UNIT, budget=60, rng=22, vectorized=vectorized)
    assert not np.any(other.x == alone[:2]), "another seed has other noise"


def dies_once_in_a_while(x: Vector, rng: np.random.Generator) -> float:
    if rng.random() < 0.05:
        os.kill(os.getpid(), signal.SIGKILL)
    return bowl(x) + 0.5 * float(rng.standard_normal())


def test_worker_processes_that_die_cost_attempts_and_no_measurements(caplog: pytest.LogCaptureFixture) -> None:
    result = minimize(dies_once_in_a_while, UNIT, budget=40, rng=23, workers=2)
    assert "died; the trial is submitted again" in caplog.text
    assert (result.nfev, result.nfail) == (40, 0)
    assert np.allclose(result.x, MINIMUM, atol=0.3)


def hangs_in_a_corner(x: Vector) -> float:
    if x[0] > 0.5 and x[1] > 0.5:
        time.sleep(60)
    return bowl(x)


def test_a_measurement_that_hangs_has_failed() -> None:
    result = minimize(hangs_in_a_corner, UNIT, budget=15, rng=24, workers=2, timeout=0.5)
    assert result.nfev == 15 and 1 <= result.nfail <= 5
    assert np.allclose(result.x, MINIMUM, atol=0.1)


def test_a_lost_executor_leaves_the_answer_so_far_in_its_error() -> None:
    executor = ThreadPoolExecutor(2)
    with pytest.raises(run.ExecutorLost, match="takes no more work") as caught:
        minimize(bowl, UNIT, budget=40, rng=25, executor=executor, callback=lambda so_far: executor.shutdown())
    assert caught.value.result.stop_reason == "STOPPED" and caught.value.result.nfev >= 5
    broken = ThreadPoolExecutor(1)
    broken.shutdown()
    with pytest.raises(run.ExecutorLost) as caught:
        minimize(bowl, UNIT, budget=40, rng=25, executor=broken)
    assert caught.value.result is None


def test_too_many_failures_leave_the_answer_so_far_in_their_error() -> None:
    calls = iter(range(1000))
    with pytest.raises(run.TooManyFailures, match="measurements failed, the last one") as caught:
        minimize(lambda x: bowl(x) if next(calls) < 6 else None, UNIT, budget=60, rng=26)
    assert caught.value.result.nfail > caught.value.result.nfev / 2 and np.isfinite(caught.value.result.fun)


def test_wrong_ways_to_measure_side_by_side_are_refused_before_the_function_is_called() -> None:
    fun = Noisy()
    with ThreadPoolExecutor(1) as executor:
        for arguments, message in (
            ({"workers": 2, "executor": executor}, "not both"),
            ({"timeout": 1.0}, "cannot be ended"),
            ({"executor": "many"}, "executor must have submit"),
            ({"workers": 0}, "at least 1 worker"),
            ({"workers": 1.5}, "workers must be a whole number"),
            ({"workers": 2}, "carries a random generator"),
        ):
            for optimise in (minimize, maximize):
                with pytest.raises(UsageError, match=message):
                    optimise(fun, UNIT, budget=10, **arguments)
        with pytest.raises(UsageError, match="cannot be sent to another process"):
            minimize(lambda x: fun(x), UNIT, budget=10, workers=2)
    assert fun.values == []


def test_a_vectorized_function_may_fail_in_parts_and_must_return_one_value_each() -> None:
    def half(x: Vector) -> Vector:
        return np.where(np.arange(len(x)) % 3 == 0, np.nan, [bowl(row) for row in x])

    result = minimize(half, UNIT, budget=30, rng=14, vectorized=True)
    assert result.nfev == 30 and 10 <= result.nfail < 20
    with pytest.raises(MeasurementError, match="one value per setting"):
        minimize(lambda x: np.zeros(3), UNIT, budget=30, rng=14, vectorized=True)


@pytest.mark.parametrize("width", [1.0, 2.0], ids=["inside", "partly outside"])
def test_old_data_are_used(width: float) -> None:
    rng = np.random.default_rng(15)
    x = rng.uniform(-width, width, (200, 2))
    y = np.array([bowl(row) for row in x]) + 0.5 * rng.standard_normal(200)
    without = minimize(Noisy(), UNIT, budget=6, rng=15)
    for data in ((x, y), (x, y, np.full(200, 0.5))):
        result = minimize(Noisy(), UNIT, budget=6, rng=15, data=data)
        assert result.nfev == 6
        assert np.allclose(result.x, MINIMUM, atol=0.08) and np.all(np.abs(result.x) <= 1)
        assert np.isfinite(result.regret_bound) and without.regret_bound == math.inf
    mirrored = maximize(lambda z: -bowl(z), UNIT, budget=6, rng=15, data=(x, -y))
    assert np.allclose(mirrored.x, MINIMUM, atol=0.08)


@pytest.mark.parametrize(
    "data",
    [
        ([[0.0, 0.0]],),
        ([[0.0, 0.0]], [1.0, 2.0]),
        ([[0.0, 0.0]], [math.nan]),
        ([[0.0, 0.0]], [1.0], [0.0]),
        ([[0.0, 0.0, 0.0]], [1.0]),
        ([[math.nan, 0.0]], [1.0]),
    ],
)
@pytest.mark.parametrize("domain", [UNIT, Ball([0.0, 0.0])], ids=["box", "ball"])
def test_wrong_old_data_are_refused(data: Any, domain: Domain) -> None:
    with pytest.raises(UsageError):
        minimize(bowl, domain, budget=10, data=data)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("budget", range(1, 8))
def test_the_smallest_budgets_give_an_answer_and_no_bound_too_early(budget: int, d: int) -> None:
    for domain in ([(-1.0, 1.0)] * d, Ball(np.zeros(d))):
        result = minimize(Noisy(lambda x: float(np.sum((x - 0.3) ** 2)), 0.1), domain, budget=budget, rng=16)
        assert result.nfev == budget and np.all(np.abs(result.x) <= 1)
        if budget < 1 + d + d * (d + 1) // 2:
            assert result.regret_bound == math.inf and result.caveats


@pytest.mark.parametrize("domain", [UNIT, Ball([0.0, 0.0])], ids=["box", "ball"])
def test_equal_values_and_zero_noise_are_no_trouble(domain: Domain) -> None:
    equal = minimize(lambda x: 4.0, domain, budget=30, rng=17)
    assert equal.fun == pytest.approx(4.0) and equal.regret_bound == math.inf and equal.caveats
    exact = minimize(bowl, domain, budget=30, rng=17)
    assert np.allclose(exact.x, MINIMUM, atol=1e-3) and 0 <= exact.regret < 1e-2 and exact.sigma < 0.1


@pytest.mark.parametrize(
    "domain", [Box([Knob("heat", -1, 1), Knob("flow", -1, 1)]), Ball([0, 0], names=["heat", "flow"])]
)
@pytest.mark.parametrize(
    ("surface", "knob"),
    [
        (lambda x: 10 * x[0] ** 2 - 10 * x[1] ** 2, "flow"),
        (lambda x: 10 * (x[0] - 0.2) ** 2, "flow"),
        (lambda x: -10 * (x[0] ** 2 + x[1] ** 2), "heat"),
        (lambda x: 0.0, ""),
    ],
    ids=["saddle", "valley", "dome", "pure noise"],
)
def test_no_bound_is_claimed_without_a_minimum_and_the_knob_is_named(
    surface: Callable[[Vector], float], knob: str, domain: Domain
) -> None:
    result = minimize(Noisy(surface, 0.3), domain, budget=100, rng=18)
    assert result.regret_bound == math.inf
    assert any("no curvature was seen along" in caveat and knob in caveat for caveat in result.caveats)
    assert knob in result.message


def test_a_minimum_beyond_the_edge_is_answered_at_the_edge_that_is_named() -> None:
    box = Box([Knob("heat", -1, 1), Knob("flow", -1, 1)])
    for surface in (lambda x: 10 * (x[0] - 2) ** 2 + 10 * x[1] ** 2, lambda x: -20 * x[0] + 10 * x[1] ** 2):
        result = minimize(Noisy(surface, 0.3), box, budget=100, rng=19)
        assert result.x[0] == 1.0 and abs(result.x[1]) < 0.1
        assert any("edge of heat" in caveat for caveat in result.caveats)


def test_eps_stops_early_and_says_so() -> None:
    result = minimize(Noisy(), UNIT, eps=0.1, budget=2000, rng=20)
    assert result.stop_reason == "ACCURACY_REACHED" and result.success
    assert result.regret_bound <= 0.1 and result.nfev < 2000
    saddle = minimize(Noisy(lambda x: x[0] ** 2 - x[1] ** 2, 0.05), UNIT, eps=0.05, budget=200, rng=20)
    assert saddle.stop_reason == "BUDGET_SPENT" or saddle.regret_bound <= 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "budget= .* or eps="),
        ({"budget": 10, "confidence": 1.5}, "confidence"),
        ({"eps": 0.0}, "eps"),
        ({"budget": 0}, "budget 0 is too small"),
        ({"budget": 2.5}, "whole number"),
    ],
)
def test_wrong_arguments_are_refused_before_the_function_is_called(arguments: dict[str, Any], message: str) -> None:
    fun = Noisy()
    for optimise in (minimize, maximize):
        with pytest.raises(UsageError, match=message):
            optimise(fun, UNIT, **arguments)
    with pytest.raises(UsageError, match="low < high"):
        minimize(fun, [(1.0, 1.0)], budget=5)
    with pytest.raises(UsageError, match="fun must be a function"):
        minimize(3.0, UNIT, budget=5)  # type: ignore[arg-type]  # that is the mistake
    with pytest.raises(UsageError, match="does not know colour"):
        maximize(fun, UNIT, budget=5, colour="red")
    assert fun.values == []
