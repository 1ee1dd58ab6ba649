"""Every algorithm by every driver: the same measurements give the identical result."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from paraboloid import algorithms
from paraboloid.core import Experiment, MeasurementError, Measurements, Procedure, ReplayMismatch, Result
from paraboloid.problems import NoisyQuadratic, StudentT
from paraboloid.run import Record, Session, replay, simulate
from tests.algorithms.catalogue import ALGORITHMS, HESSIAN, Entry

PROBLEM = NoisyQuadratic(HESSIAN, [0.5, -0.6], offset=1.5, noise=StudentT(2.5))
BUDGET = 700
Entries = list[tuple[Experiment, Measurements]]
over_algorithms = pytest.mark.parametrize("entry", ALGORITHMS, ids=lambda entry: entry.name)


def recorded(entry: Entry) -> tuple[Result, Record]:
    record = Record()
    result = simulate(entry.build(HESSIAN, BUDGET), PROBLEM, rng=11, log=record)
    return result, record


def by_session(steps: Procedure, entries: Entries) -> Result:
    session = Session(steps)
    for _, measurements in entries:
        session.tell(measurements)
    return session.result


def by_generator(steps: Procedure, entries: Entries) -> Result:
    """Drive by ``next`` and ``send`` alone; the counts are a driver's work, so they are filled in here."""
    next(steps)
    for _, measurements in entries[:-1]:
        steps.send(measurements)
    with pytest.raises(StopIteration) as stop:
        steps.send(entries[-1][1])
    returned: Result = stop.value.value
    counts = [measurements.n_measurements for _, measurements in entries]
    points = sum(experiment.n_points for experiment, _ in entries)
    return replace(returned, n_measurements=sum(counts), n_points=points, n_rounds=len(counts))


def by_replay(steps: Procedure, entries: Entries) -> Result:
    return replay(steps, entries).result


def by_replay_of_half(steps: Procedure, entries: Entries) -> Result:
    session = replay(steps, entries[: len(entries) // 2])
    for _, measurements in entries[len(entries) // 2 :]:
        session.tell(measurements)
    return session.result


def by_values_told_anew(steps: Procedure, entries: Entries) -> Result:
    """Tell lists of plain numbers, as a user would type them."""
    session = Session(steps)
    for _, measurements in entries:
        assert measurements.values is not None
        session.tell(Measurements.from_values([row.tolist() for row in measurements.values]))
    return session.result


DRIVERS: list[Callable[[Procedure, Entries], Result]] = [
    by_session,
    by_generator,
    by_replay,
    by_replay_of_half,
    by_values_told_anew,
]


def assert_identical(one: Result, other: Result) -> None:
    assert np.array_equal(one.x, other.x)
    assert one.status is other.status
    assert (one.n_measurements, one.n_points, one.n_rounds) == (other.n_measurements, other.n_points, other.n_rounds)
    for first, second in [(one.estimate.covariance, other.estimate.covariance), (one.hessian, other.hessian)]:
        assert (first is None) == (second is None)
        assert first is None or second is None or np.array_equal(first, second)


@over_algorithms
@pytest.mark.parametrize("driver", DRIVERS, ids=lambda driver: driver.__name__)
def test_every_driver_gives_the_result_of_the_simulation(
    entry: Entry, driver: Callable[[Procedure, Entries], Result]
) -> None:
    result, record = recorded(entry)
    assert_identical(driver(entry.build(HESSIAN, BUDGET), record.entries), result)


@over_algorithms
def test_every_prefix_of_a_log_continues_the_same(entry: Entry) -> None:
    result, record = recorded(entry)
    for length in range(len(record.entries) + 1):
        session = replay(entry.build(HESSIAN, BUDGET), record.entries[:length])
        assert session.n_rounds == length
        for experiment, measurements in record.entries[length:]:
            assert np.array_equal(session.ask().points, experiment.points)
            assert np.array_equal(session.ask().repeats, experiment.repeats)
            session.tell(measurements)
        assert_identical(session.result, result)


@over_algorithms
def test_a_log_of_another_run_is_refused_at_the_first_difference(entry: Entry) -> None:
    _, record = recorded(entry)
    with pytest.raises(ReplayMismatch, match=r"entry 1 of the log measured .*Replay it with the arguments"):
        replay(entry.build(HESSIAN, BUDGET + 100), record.entries)
    with pytest.raises(ReplayMismatch, match=rf"{len(record.entries) + 1} entries, but the procedure returned after"):
        replay(entry.build(HESSIAN, BUDGET), [*record.entries, record.entries[-1]])


@over_algorithms
def test_the_counts_are_those_of_the_log(entry: Entry) -> None:
    result, record = recorded(entry)
    assert result.n_measurements == sum(experiment.n_measurements for experiment in record.experiments) <= BUDGET - 1
    assert result.n_points == sum(experiment.n_points for experiment in record.experiments)
    assert result.n_rounds == len(record.experiments) == len(record.entries)


@over_algorithms
def test_bad_measurements_change_nothing_and_the_session_goes_on(entry: Entry) -> None:
    result, record = recorded(entry)
    session = Session(entry.build(HESSIAN, BUDGET))
    for experiment, measurements in record.entries:
        assert measurements.values is not None
        with pytest.raises(MeasurementError, match=r"asks for .* got .* Tell exactly what was asked"):
            session.tell(
                Measurements.from_values([row[:-1] if len(row) > 1 else [*row, 0.0] for row in measurements.values])
            )
        with pytest.raises(MeasurementError, match="not a finite number"):
            session.tell(Measurements.from_values([[*row[:-1], np.nan] for row in measurements.values]))
        assert session.ask().same_as(experiment, tolerance=0.0)
        session.tell(measurements)
    assert_identical(session.result, result)


@over_algorithms
def test_nothing_that_was_passed_in_is_changed_and_what_comes_out_is_read_only(entry: Entry) -> None:
    given = HESSIAN.copy()
    session = Session(entry.build(given, BUDGET))
    while not session.is_done:
        asked = session.ask()
        for array in (asked.points, asked.repeats):
            assert not array.flags.writeable
        session.tell(Measurements.from_values(np.zeros((asked.n_points, int(asked.repeats[0])))))
    assert np.array_equal(given, HESSIAN)
    assert not session.result.x.flags.writeable


def test_the_papers_procedures_are_all_in_the_catalogue() -> None:
    covered = {entry.name.split(",")[0] for entry in ALGORITHMS}
    assert {"hessian_dependent", "quadratic_search", "universal"} <= covered <= set(algorithms.__all__)
