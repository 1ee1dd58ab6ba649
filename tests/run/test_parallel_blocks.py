"""Blocks of measurements: their summary is that of all values at once, however they were cut and called."""

import functools
import math
import os
import signal
import time
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paraboloid.core import Counts, Experiment, MeasurementError, Measurements, Vector
from paraboloid.run import Crew, Job, Measurer, measure_block
from paraboloid.run.block import CHUNK, LONG, cut, pieces


class Script:
    """Gives the values of a list in order, whether called one by one or together."""

    def __init__(self, values: Any) -> None:
        self.values, self.n_used, self.calls = values, 0, 0

    def __call__(self, x: Vector) -> Any:
        self.calls += 1
        n = len(x) if x.ndim == 2 else 1
        answers = self.values[self.n_used : self.n_used + n]
        self.n_used += n
        return answers if x.ndim == 2 else answers[0]


repeats_of_points = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(repeats=repeats_of_points, size=st.integers(1, 12))
def test_pieces_hold_every_measurement_once_in_order(repeats: list[int], size: int) -> None:
    made = list(cut(np.array(repeats), size))
    rows = [first + k for first, counts in made for k, n in enumerate(counts.tolist()) for _ in range(n)]
    assert rows == np.repeat(np.arange(len(repeats)), repeats).tolist()
    assert all(counts.sum() == size for _, counts in made[:-1]) and 1 <= made[-1][1].sum() <= size


@given(
    repeats=st.lists(st.sampled_from([1, 7, LONG - 1, LONG, CHUNK, CHUNK + 1, 5 * CHUNK - 3]), min_size=1, max_size=9)
)
def test_a_point_of_many_repeats_has_calls_of_its_own(repeats: list[int]) -> None:
    calls = list(pieces(np.array(repeats)))
    rows = np.concatenate([first + np.repeat(np.arange(len(counts)), counts) for first, counts in calls])
    assert np.array_equal(rows, np.repeat(np.arange(len(repeats)), repeats))
    for first, counts in calls:
        assert 1 <= counts.sum() <= CHUNK
        assert len(counts) == 1 or max(repeats[first : first + len(counts)]) < LONG


@given(
    repeats=repeats_of_points,
    seed=st.integers(0, 2**32 - 1),
    offset=st.sampled_from([0.0, 1e9, -1e9]),
    vectorized=st.booleans(),
)
def test_a_block_is_the_summary_of_its_values(repeats: list[int], seed: int, offset: float, vectorized: bool) -> None:
    values = offset + np.random.default_rng(seed).standard_normal(sum(repeats))
    points = np.arange(len(repeats), dtype=np.float64)[:, None]
    block = measure_block(Script(values), points, repeats, vectorized=vectorized, keep_values=True)
    expected = Measurements.from_values(np.split(values, np.cumsum(repeats)[:-1]))
    got = block.measurements
    assert got.values is not None and expected.values is not None
    assert all(np.array_equal(a, b) for a, b in zip(got.values, expected.values, strict=True))
    assert np.array_equal(got.counts, repeats) and got.n_failures == 0 and block.reason == ""
    # Values of 1e9 are spaced 1.2e-7 apart; a mean is within one spacing, a scatter within 2·Σ|dev|·spacing.
    spacing = np.spacing(abs(offset) + 10)
    assert np.allclose(got.means, expected.means, rtol=0, atol=2 * spacing)
    assert np.allclose(got.scatter, expected.scatter, rtol=1e-12, atol=2 * 9 * 10 * spacing)


@pytest.mark.parametrize("offset", [0.0, 1e9])
@pytest.mark.parametrize("repeats", [[3 * CHUNK + 17], [5, 2 * CHUNK, 1, CHUNK - 3]])
def test_long_blocks_are_merged_stably(repeats: list[int], offset: float) -> None:
    values = offset + np.random.default_rng(0).standard_normal(sum(repeats))
    block = measure_block(Script(values), np.zeros((len(repeats), 2)), repeats, vectorized=True)
    assert block.measurements.values is None and np.array_equal(block.measurements.counts, repeats)
    for k, row in enumerate(np.split(values, np.cumsum(repeats)[:-1])):
        exact = math.fsum(row - offset) / len(row)  # the difference of neighbours is exact
        scatter = math.fsum((row - offset - exact) ** 2)
        # Means are rounded to the spacing of the values; the rounding of sums of n grows like log n at most 20 of it.
        tolerance = 20 * np.spacing(offset + 5)
        assert abs(block.measurements.means[k] - offset - exact) <= tolerance
        assert abs(block.measurements.scatter[k] - scatter) <= 1e-9 * scatter + len(row) * tolerance**2


def test_memory_does_not_grow_with_the_repeats() -> None:
    def simulate(x: Vector) -> Vector:
        return x[:, 0]

    peaks = []
    for n in (10 * CHUNK, 100 * CHUNK):
        tracemalloc.start()
        measure_block(simulate, [1.0], n, vectorized=True)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize("vectorized", [False, True])
def test_failed_values_are_counted_where_they_fell(vectorized: bool) -> None:
    values = np.array([1.0, np.nan, 3.0, np.inf, 5.0, 6.0])
    block = measure_block(Script(values), [[0.0], [1.0], [2.0]], [2, 2, 2], vectorized=vectorized, keep_values=True)
    m = block.measurements
    assert m.failures is not None and m.values is not None
    assert (m.counts.tolist(), m.failures.tolist()) == ([1, 1, 2], [1, 1, 0])
    assert m.means.tolist() == [1.0, 3.0, 5.5] and [row.tolist() for row in m.values] == [[1.0], [3.0], [5.0, 6.0]]
    assert block.reason == "at x = [1.]: value must be finite, got inf".replace("inf", repr(np.float64("inf")))


@pytest.mark.parametrize("vectorized", [False, True])
def test_values_are_weighted_by_their_standard_errors_where_all_have_one(vectorized: bool) -> None:
    pairs = np.array([[1.0, 1.0], [4.0, 0.5], [7.0, 2.0]])
    script = Script(pairs if vectorized else [tuple(row) for row in pairs])
    m = measure_block(script, [[0.0], [1.0]], [2, 1], vectorized=vectorized).measurements
    assert m.precision is not None
    assert m.precision.tolist() == [5.0, 0.25] and m.means.tolist() == [(1 + 4 * 4) / 5, 7.0]
    bad = np.array([[1.0, 1.0], [4.0, 0.0], [7.0, np.nan]])
    script = Script(bad if vectorized else [tuple(row) for row in bad])
    m = measure_block(script, [[0.0], [1.0]], [2, 1], vectorized=vectorized).measurements
    assert m.failures is not None and m.failures.tolist() == [1, 1] and m.counts.tolist() == [1, 0]
    mixed = measure_block(Script([(1.0, 1.0), 5.0]), [0.0], 2).measurements
    assert mixed.precision is None and mixed.means.tolist() == [3.0]


@pytest.mark.parametrize(
    "answer",
    [["text", None], [1j, True], np.array([True, False]), np.array(["1", "2"]), [[1.0, None], ["a", 1.0]]],
    ids=repr,
)
def test_what_is_no_number_fails_in_vectorized_answers_too(answer: Any) -> None:
    block = measure_block(
        lambda x: np.array(answer, dtype=None if isinstance(answer, np.ndarray) else object),
        [[0.0]],
        2,
        vectorized=True,
    )
    assert block.measurements.n_failures == 2 and "must be a number" in block.reason


def test_whole_numbers_and_objects_that_are_numbers_are_taken() -> None:
    for answer in (np.array([1, 2]), np.array([1, 2], dtype=object), [1, 2], np.array([1, 2], dtype=np.float32)):
        assert measure_block(lambda x, a=answer: a, [0.0], 2, vectorized=True).measurements.means.tolist() == [1.5]


def test_the_answer_of_a_vectorized_function_is_not_changed() -> None:
    kept = np.arange(2000.0)
    measure_block(lambda x: kept, [0.0], 2000, vectorized=True)
    assert np.array_equal(kept, np.arange(2000.0))


@pytest.mark.parametrize("executor", [None, 1], ids=["here", "own process"])
def test_a_wrong_number_of_values_is_an_error_and_no_failure(executor: int | None) -> None:
    with Crew(np.linalg.norm, executor, vectorized=True) as crew:
        with pytest.raises(MeasurementError, match="one value per setting"):
            crew.submit(Job(0, [0.0, 1.0], repeats=4))
            list(crew.completed())


def noisy(x: Vector, rng: np.random.Generator) -> float:
    return float(x[0] + rng.standard_normal())


def noisy_rows(x: Vector, rng: np.random.Generator) -> Vector:
    return np.asarray(x[:, 0] + rng.standard_normal(len(x)))


@pytest.mark.parametrize(("fun", "vectorized"), [(noisy, False), (noisy_rows, True)])
@pytest.mark.parametrize("repeats", [[1, 1, 1], [3, 1, 40], [500, 1, 4000]])
def test_a_measurer_gives_the_same_on_any_number_of_workers(fun: Any, vectorized: bool, repeats: list[int]) -> None:
    experiment = Experiment([[0.0], [1.0], [2.0]], repeats)
    found = []
    for n in (0, 2) if sum(repeats) > 1000 and not vectorized else (0, 1, 2, 8):
        with ThreadPoolExecutor(max(n, 1)) as threads:
            with Measurer(fun, threads if n else None, seed=3, vectorized=vectorized) as measurer:
                found.append([measurer.measure(experiment), measurer.measure(experiment)])
            assert (measurer.n_calls, measurer.n_failures) == (2 * sum(repeats), 0)
    for one, other in found:
        assert np.array_equal(one.means, found[0][0].means) and np.array_equal(other.means, found[0][1].means)
        assert np.array_equal(one.scatter, found[0][0].scatter)
        assert not np.any(one.means == other.means), "the second experiment has noise of its own"
        assert one.values is not None and [len(row) for row in one.values] == repeats
        assert np.allclose([row.mean() for row in one.values], one.means, rtol=1e-12)


class Counting(ThreadPoolExecutor):
    """Threads, and how many tasks they were given."""

    n_tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.n_tasks += 1
        return super().submit(fn, *args, **kwargs)


def slow(x: Vector, rng: np.random.Generator) -> float:
    time.sleep(0.26)
    return noisy(x, rng)


def test_cheap_jobs_travel_together_and_dear_ones_alone() -> None:
    experiment = Experiment([[0.0]], 400)
    with Counting(2) as threads, Measurer(noisy, threads, seed=1) as measurer:
        together = measurer.measure(experiment)
    # Four go ahead before anything is known; some 400 calls of microseconds are then a few bundles.
    assert 4 < threads.n_tasks < 40
    assert np.array_equal(together.means, Measurer(noisy, seed=1).measure(experiment).means)
    with Counting(2) as threads, Measurer(slow, threads, seed=1) as measurer:
        measurer.measure(Experiment([[0.0]], 8))
    assert threads.n_tasks == 8
    with Counting(2) as threads, Crew(noisy, threads) as crew:
        crew.submit(*(Job(trial, [0.0]) for trial in range(50)))
        assert len(list(crew.completed())) == 50
    assert threads.n_tasks == 50, "nothing travels together unless it is asked for"


def dies_at_one(x: Vector) -> float:
    if x[0] == 1.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x[0])


def test_of_a_bundle_that_was_lost_each_job_is_tried_alone() -> None:
    with Crew(dies_at_one, 1, bundles=True) as crew:
        crew.submit(*(Job(trial, [float(trial == 20)]) for trial in range(40)))
        found = {outcome.job.trial: outcome for outcome in crew.completed()}
    assert [trial for trial in found if found[trial].has_failed] == [20] and len(found) == 40
    assert found[20].n_runs == 3 and {found[trial].n_runs for trial in found} == {1, 2, 3}
    assert found[0].n_runs == 1 and found[21].n_runs == 2


@pytest.mark.parametrize("vectorized", [False, True])
def test_single_values_are_kept_where_they_are_few_or_needed(vectorized: bool) -> None:
    few, many = Experiment([[0.0], [1.0]], [2, 3]), Experiment([[0.0]], 2**16 + 1)
    needed = Experiment([[0.0]], 2**16 + 1, needs_values=True)

    def fun(x: Vector) -> Any:
        return x[..., 0]

    def n_values(experiment: Experiment) -> Counts | None:
        kept = Measurer(fun, vectorized=vectorized, sign=-1.0).measure(experiment).values
        return None if kept is None else np.array([row.size for row in kept])

    assert np.array_equal(n_values(few), [2, 3])  # type: ignore[arg-type]  # None is unequal, too
    assert n_values(many) is None
    assert np.array_equal(n_values(needed), [2**16 + 1])  # type: ignore[arg-type]  # as above


def test_a_maximum_is_measured_upside_down() -> None:
    experiment = Experiment([[1.0], [2.0]], [2, 1])
    for executor in (None, ThreadPoolExecutor(2)):
        m = Measurer(lambda x: float(x[0]), executor, sign=-1.0).measure(experiment)
        assert m.values is not None
        assert m.means.tolist() == [-1.0, -2.0] and [row.tolist() for row in m.values] == [[-1.0, -1.0], [-2.0]]
        if executor is not None:
            executor.shutdown()


def _second(x: Vector, rng: np.random.Generator) -> float:
    return float(x[0] + rng.random())


@functools.wraps(_second)
def _wrapped(x: Vector, **keywords: np.random.Generator) -> float:
    return _second(x, **keywords)


def _third(x: Vector, scale: float = 1.0, rng: np.random.Generator | None = None) -> float:
    assert rng is not None and scale == 1.0
    return _second(x, rng)


def _named(x: Vector, *, rng: np.random.Generator) -> float:
    return _second(x, rng)


@pytest.mark.parametrize("fun", [_wrapped, _third, _named, functools.partial(_third, scale=1.0)])
def test_a_function_gets_its_generator_however_it_names_it(fun: Callable[..., float]) -> None:
    """Plain functions are called by position, which is faster; all others by keyword, with the same values."""
    expected, found = (
        measure_block(each, [0.5], 50, rng=np.random.default_rng(3), keep_values=True).measurements
        for each in (_second, fun)
    )
    assert found.failures is not None and found.failures.sum() == 0
    np.testing.assert_array_equal(found.means, expected.means)
