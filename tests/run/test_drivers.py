"""Drivers: sessions, records, simulation in blocks, many runs."""

import functools
import tracemalloc

import numpy as np
import pytest

from paraboloid.algorithms import hessian_dependent, universal
from paraboloid.core import Experiment, Matrix, Measurements, Procedure, Steps, UsageError, measure
from paraboloid.problems import NoisyQuadratic
from paraboloid.run import Record, Session, process_pool, progress_bar, replay, simulate, simulate_many
from paraboloid.run.simulate import BLOCK

A = np.diag([1.0, 0.25])
PROBLEM = NoisyQuadratic(A, [0.3, -0.4])


def ask_once(experiment: Experiment) -> Steps[Measurements]:
    return (yield from measure(experiment))


def test_a_session_asks_the_same_until_it_is_told() -> None:
    session = Session(hessian_dependent([[1.0]], 6))
    assert session.ask() is session.ask()
    assert not session.is_done
    with pytest.raises(UsageError, match="has not returned yet: ask, measure and tell"):
        _ = session.result
    session.tell(Measurements.from_values(np.zeros((2, 2))))
    assert session.is_done
    with pytest.raises(UsageError, match=r"asks for nothing more; read session.result"):
        session.ask()
    with pytest.raises(UsageError, match="asks for nothing more"):
        session.tell(Measurements.from_values(np.zeros((2, 2))))


def test_the_log_has_each_request_before_its_measurements() -> None:
    events: list[str] = []

    class Listener:
        def requested(self, experiment: Experiment) -> None:
            events.append("requested")

        def measured(self, experiment: Experiment, measurements: Measurements) -> None:
            events.append("measured")

    simulate(hessian_dependent(A, 50), PROBLEM, rng=0, log=Listener())
    assert events == ["requested", "measured"] * 2


def test_a_record_may_leave_the_measurements_out() -> None:
    record = Record(keep_measurements=False)
    simulate(hessian_dependent(A, 50), PROBLEM, rng=0, log=record)
    assert (len(record.experiments), record.entries) == (2, [])


def test_an_empty_log_replays_to_the_beginning() -> None:
    assert replay(hessian_dependent(A, 50), []).n_rounds == 0


@pytest.mark.parametrize("repeats", [[3, 3], [3, 5], [BLOCK, BLOCK], [2 * BLOCK + 7, 5]])
@pytest.mark.parametrize("needs_values", [False, True])
def test_summaries_in_blocks_are_those_of_all_values(repeats: list[int], needs_values: bool) -> None:
    """Mean and scatter against one pass over the same stream: the noise is drawn point by point either way.

    Rounding: n values of size 10 give a mean exact to 10 eps·ln n and a scatter to n·100 eps·few.
    """
    problem = NoisyQuadratic(A, [0.3, -0.4], offset=10.0)
    experiment = Experiment([[1.0, 0.0], [0.0, 1.0]], repeats, needs_values=needs_values)
    told = simulate(ask_once(experiment), problem, rng=5)
    rng = np.random.default_rng(5)
    rows = [problem.measure(point[None, :], n, rng)[0] for point, n in zip(experiment.points, repeats, strict=True)]
    whole = Measurements.from_values(rows)
    assert told.counts.tolist() == repeats
    assert told.means == pytest.approx(whole.means, abs=1e-11)
    assert told.scatter == pytest.approx(whole.scatter, rel=1e-11)
    assert (told.values is not None) or not needs_values


def test_only_what_is_asked_for_is_measured() -> None:
    class Problem:
        drawn = 0

        def measure(self, points: Matrix, repeats: int, rng: np.random.Generator) -> Matrix:
            Problem.drawn += len(points) * repeats
            return np.zeros((len(points), repeats))

    for make in (functools.partial(hessian_dependent, A, 500_000), functools.partial(universal, 2, 500_000)):
        Problem.drawn = 0
        assert simulate(make(), Problem(), rng=0).n_measurements == Problem.drawn <= 499_999


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    runs = [simulate(hessian_dependent(A, 500), PROBLEM, rng=seed).x for seed in (1, 1, 2)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    stream = simulate(hessian_dependent(A, 500), PROBLEM, rng=np.random.default_rng(1)).x
    assert np.array_equal(stream, runs[0])


make = functools.partial(hessian_dependent, A, 300)


def test_many_runs_are_the_same_numbers_whatever_the_executor() -> None:
    finished: list[int] = []
    here = simulate_many(make, PROBLEM, n_runs=150, rng=3, advance=finished.append)
    assert sum(finished) == 150
    finished.clear()
    with process_pool(2) as pool:
        there = simulate_many(make, PROBLEM, n_runs=150, rng=3, executor=pool, advance=finished.append)
    assert sum(finished) == 150
    for one, other in [(here.x, there.x), (here.regrets, there.regrets), (here.n_measurements, there.n_measurements)]:
        assert np.array_equal(one, other)


def test_run_number_i_does_not_depend_on_how_many_there_are() -> None:
    few = simulate_many(make, PROBLEM, n_runs=5, rng=3)
    many = simulate_many(make, PROBLEM, n_runs=100, rng=np.random.SeedSequence(3))
    assert np.array_equal(few.x, many.x[:5])
    assert len(np.unique(many.x[:, 0])) == 100
    child = np.random.SeedSequence(3).spawn(5)[4]
    assert np.array_equal(simulate(make(), PROBLEM, rng=child).x, few.x[4])


def test_the_mean_regret_comes_with_its_standard_error() -> None:
    runs = simulate_many(make, PROBLEM, n_runs=7, rng=3)
    mean, error = runs.mean_regret()
    assert mean == pytest.approx(sum(PROBLEM.regret(x) for x in runs.x) / 7, rel=1e-12)
    assert error == pytest.approx((sum((r - mean) ** 2 for r in runs.regrets) / 6 / 7) ** 0.5, rel=1e-12)
    assert simulate_many(make, PROBLEM, n_runs=1, rng=3).mean_regret()[1] == float("inf")
    assert set(runs.n_measurements) == {simulate(make(), PROBLEM, rng=0).n_measurements}


def test_no_runs_at_all_are_refused() -> None:
    with pytest.raises(UsageError, match="0 is too small for simulating many runs"):
        simulate_many(make, PROBLEM, n_runs=0, rng=3)


def test_a_failing_run_is_not_swallowed() -> None:
    def broken() -> Procedure:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        simulate_many(broken, PROBLEM, n_runs=3, rng=0)


def test_the_progress_bar_shows_nothing_without_a_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with progress_bar("working", total=3) as advance:
        advance(3)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "procedure",
    [functools.partial(hessian_dependent, A, 10**7), functools.partial(universal, 2, 10**7)],
    ids=["hessian_dependent", "universal"],
)
def test_ten_million_samples_need_little_memory(procedure: functools.partial[Procedure]) -> None:
    # Blocks of 2¹⁶ values of 8 bytes, a handful of copies: some 3 MB. All values at once would be 80 MB.
    tracemalloc.start()
    try:
        result = simulate(procedure(), PROBLEM, rng=0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.n_measurements > 9_000_000
    assert peak < 20e6
