"""A crew on real threads, processes and loky: faults B1 to B11 of the fault list. Dask has its own file."""

import functools
import logging
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from loky import ProcessPoolExecutor as LokyExecutor

from paraboloid.core import MeasurementError, UsageError, Vector
from paraboloid.run import Crew, ExecutorLost, Job, Outcome, TooManyFailures

SPAWN = multiprocessing.get_context("spawn")


class Lines:
    """A file to which every call, in whatever process, adds one line."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def add(self, line: object) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{line}\n".encode())
        os.close(handle)

    def read(self) -> list[str]:
        return Path(self.path).read_text().split() if os.path.exists(self.path) else []


class Noisy:
    """Fresh noise at every call, which it counts."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __call__(self, x: Vector) -> float:
        self.lines.add(os.getpid())
        return float(x[0] + np.random.default_rng().standard_normal())


def seeded(x: Vector, rng: np.random.Generator) -> float:
    return float(x[0] + rng.standard_normal())


class Legacy:
    """Draws from the global generators, after two processes have come together."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __call__(self, x: Vector) -> float:
        self.lines.add(os.getpid())
        wait_until(lambda: len(set(self.lines.read())) == 2)
        return float(np.random.standard_normal() + random.random())


@contextmanager
def forked_pool() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, multiprocessing.get_context("fork")) as pool:
        yield pool


@functools.cache
def shared_pool() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, SPAWN)


@functools.cache
def shared_loky() -> Any:
    return LokyExecutor(2)


@pytest.fixture(scope="module", autouse=True)
def end_of_shared_pools() -> Iterator[None]:
    """Starting a process takes a second, so tests that break no pool share one."""
    yield
    for make in (shared_pool, shared_loky):
        if make.cache_info().currsize:
            make().shutdown(wait=True)
            make.cache_clear()


@contextmanager
def just(executor: object) -> Iterator[Any]:
    yield executor


EXECUTORS: dict[str, Callable[[], Any]] = {
    "here": lambda: just(None),
    "own processes": lambda: just(2),
    "threads": lambda: ThreadPoolExecutor(2),
    "process pool": lambda: just(shared_pool()),
    "loky": lambda: just(shared_loky()),
}
every_executor = pytest.mark.parametrize("make", EXECUTORS.values(), ids=EXECUTORS)


def outcomes(crew: Crew, jobs: list[Job]) -> dict[int, Outcome]:
    for job in jobs:
        crew.submit(job)
    found = list(crew.completed())
    assert len(found) == len(jobs) == len({outcome.job.trial for outcome in found})
    assert crew.unfinished == []
    return {outcome.job.trial: outcome for outcome in found}


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # the latter where it ends between opening and reading
        return False


def wait_until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


@every_executor
def test_six_replicates_at_one_point_are_six_measurements(make: Callable[[], Any], tmp_path: Path) -> None:
    lines = Lines(tmp_path / "calls")
    with make() as executor, Crew(Noisy(lines), executor) as crew:
        found = outcomes(crew, [Job(trial, [0.5]) for trial in range(6)])
    assert len({outcome.value for outcome in found.values()}) == 6 == len(lines.read())
    assert {outcome.n_runs for outcome in found.values()} == {1}
    assert all(outcome.worker and outcome.seconds >= 0 for outcome in found.values())


@every_executor
def test_noise_depends_on_seed_trial_and_attempt_alone(make: Callable[[], Any]) -> None:
    jobs = [Job(0, [0.0]), Job(1, [0.0]), Job(2, [0.0], attempt=3)]
    with make() as executor, Crew(seeded, executor, seed=9) as crew:
        found = outcomes(crew, jobs)
    for job in jobs:
        expected = np.random.default_rng([9, *job.key]).standard_normal()
        assert found[job.trial].value == expected


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")  # the very thing that is tried here
@pytest.mark.parametrize(
    "make",
    [forked_pool, EXECUTORS["process pool"], EXECUTORS["own processes"]],
    ids=["forked", "process pool", "own processes"],
)
def test_workers_do_not_share_the_state_of_the_global_generators(make: Callable[[], Any], tmp_path: Path) -> None:
    """With one state inherited by both, the first draws of the two workers would be equal."""
    values = []
    for turn in range(2):
        np.random.seed(0)
        random.seed(0)
        with make() as executor, Crew(Legacy(Lines(tmp_path / str(turn))), executor, seed=3) as crew:
            found = outcomes(crew, [Job(trial, [0.0]) for trial in range(8)])
        assert len({outcome.worker for outcome in found.values()}) == 2
        values.append([found[trial].value for trial in range(8)])
    assert len(set(values[0])) == 8
    assert values[0] == values[1]  # by trial, not by worker


@pytest.mark.parametrize("make", [EXECUTORS["here"], EXECUTORS["threads"]])
def test_the_global_generators_of_the_callers_own_process_are_left_alone(make: Callable[[], Any]) -> None:
    np.random.seed(5)
    expected = [float(np.random.standard_normal()) for _ in range(4)]
    np.random.seed(5)
    with make() as executor, Crew(lambda x: float(np.random.standard_normal()), executor) as crew:
        found = outcomes(crew, [Job(trial, [0.0]) for trial in range(4)])
    assert sorted(float(outcome.value or 0) for outcome in found.values()) == sorted(expected)


class SlowlyOnce:
    """Waits for a signal file in its first call at x = 1, else answers at once."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __call__(self, x: Vector) -> float:
        if x[0] == 1.0:
            self.lines.add(os.getpid())
            if len(self.lines.read()) == 1:
                time.sleep(60)
        return float(x[0])


def kill_first(lines: Lines) -> None:
    wait_until(lambda: len(lines.read()) == 1)
    os.kill(int(lines.read()[0]), signal.SIGKILL)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_killed_worker_process_costs_one_attempt_of_its_own_trial_only(n_workers: int, tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with Crew(SlowlyOnce(lines), n_workers) as crew:
        before = crew.process_ids
        for trial in range(8):
            crew.submit(Job(trial, [float(trial == 0)]))
        kill_first(lines)
        found = {outcome.job.trial: outcome for outcome in crew.completed()}
        after = crew.process_ids
        assert len(set(before) & set(after)) == n_workers - 1
    assert sorted(found) == list(range(8)) and not any(outcome.has_failed for outcome in found.values())
    assert [found[trial].n_runs for trial in range(8)] == [2] + [1] * 7
    assert found[0].job.key == (0, 2) and len(lines.read()) == 2
    assert not any(is_alive(pid) for pid in [*before, *after])


@pytest.mark.parametrize("pool", [lambda: ProcessPoolExecutor(2, SPAWN), lambda: LokyExecutor(2)])
def test_a_broken_executor_is_made_anew_by_its_factory(pool: Callable[[], Any], tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with Crew(SlowlyOnce(lines), pool) as crew:
        for trial in range(8):
            crew.submit(Job(trial, [float(trial == 0)]))
        kill_first(lines)
        found = {outcome.job.trial: outcome for outcome in crew.completed()}
    assert sorted(found) == list(range(8)) and not any(outcome.has_failed for outcome in found.values())
    assert found[0].n_runs == 2 == found[0].job.attempt


def poison(x: Vector) -> float:
    if x[0] == 1.0:
        os._exit(3)
    return float(x[0])


@pytest.mark.parametrize("executor", [2, lambda: ProcessPoolExecutor(2, SPAWN)], ids=["own", "factory"])
def test_a_setting_that_always_kills_its_worker_fails_and_no_other_does(executor: Any) -> None:
    with Crew(poison, executor, retries=2) as crew:
        found = outcomes(crew, [Job(trial, [float(trial == 3)]) for trial in range(8)])
    assert [trial for trial in found if found[trial].has_failed] == [3]
    assert found[3].n_runs == 3 and "its worker died, 3 times in all" in found[3].reason


def test_a_broken_executor_of_somebody_else_is_a_named_error_and_values_are_kept(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with ProcessPoolExecutor(1, SPAWN) as pool, Crew(SlowlyOnce(lines), pool) as crew:
        for trial in range(6):
            crew.submit(Job(trial, [float(trial == 2)]))
        kill_first(lines)
        kept: list[int] = []
        with pytest.raises(ExecutorLost, match=r"BrokenProcessPool.*Give a function that makes an executor"):
            kept.extend(outcome.job.trial for outcome in crew.completed())
        unfinished = crew.unfinished
    assert sorted([*kept, *(job.trial for job in unfinished)]) == list(range(6))
    assert 2 in [job.trial for job in unfinished]
    with Crew(SlowlyOnce(lines), 1) as crew:
        assert len(outcomes(crew, [job.again() for job in unfinished])) == len(unfinished)


def test_an_executor_that_was_shut_down_is_a_named_error() -> None:
    pool = ThreadPoolExecutor(1)
    with Crew(seeded, pool) as crew:
        crew.submit(Job(0, [0.0]))
        assert [outcome.job.trial for outcome in crew.completed()] == [0]
        pool.shutdown()
        with pytest.raises(ExecutorLost, match="takes no more work"):
            crew.submit(Job(1, [0.0]))


def broken_inside(x: Vector) -> float:
    if x[0] > 0:
        raise OSError("pump is off")
    return 0.0


@every_executor
def test_an_exception_fails_its_trial_with_the_traceback_and_the_rest_goes_on(make: Callable[[], Any]) -> None:
    with make() as executor, Crew(broken_inside, executor) as crew:
        found = outcomes(crew, [Job(trial, [float(trial % 3 == 0)]) for trial in range(9)])
    assert [found[trial].has_failed for trial in range(9)] == [trial % 3 == 0 for trial in range(9)]
    assert found[0].reason == "at x = [1.]: OSError: pump is off" and found[0].value is None
    assert "in broken_inside" in found[0].traceback and found[1].traceback == ""
    assert (crew.n_measurements, crew.n_failures) == (6, 3)


def test_too_large_a_share_of_failures_stops_after_its_outcome_was_given() -> None:
    given: list[Outcome] = []
    with Crew(broken_inside, most_failed=0.5, failed_after=5) as crew:
        for trial in range(20):
            crew.submit(Job(trial, [float(trial >= 2)]))
        with pytest.raises(TooManyFailures, match=r"3 of 5 measurements failed, the last one at x = \[1.\]: OSError"):
            given.extend(crew.completed())
        assert [outcome.job.trial for outcome in given] == list(range(5))
        assert [job.trial for job in crew.unfinished] == list(range(5, 20))
    assert issubclass(TooManyFailures, MeasurementError)


class Hangs:
    """Hangs at x = 1, with a process of its own; notes both process ids."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __call__(self, x: Vector) -> float:
        if x[0] == 1.0:
            with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as child:
                self.lines.add(os.getpid())
                self.lines.add(child.pid)
        return float(x[0])


def test_a_measurement_that_hangs_fails_and_its_process_is_ended_with_all_it_started(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with Crew(Hangs(lines), 2, timeout=1.5) as crew:
        found = outcomes(crew, [Job(trial, [float(trial == 1)]) for trial in range(6)])
        assert [trial for trial in found if found[trial].has_failed] == [1]
        assert "took longer than 1.5 s; its worker process was ended" in found[1].reason
        assert 1.5 <= found[1].seconds < 10
        pids = [int(line) for line in lines.read()]
        assert len(pids) == 2
        wait_until(lambda: not any(is_alive(pid) for pid in pids))
        again = outcomes(crew, [Job(trial, [0.0]) for trial in range(6, 10)])  # the crew works on
        assert not any(outcome.has_failed for outcome in again.values())


def test_a_thread_that_hangs_is_left_behind_and_its_late_answer_ignored(caplog: pytest.LogCaptureFixture) -> None:
    def slow(x: Vector) -> float:
        time.sleep(x[0])
        return 1.0

    caplog.set_level(logging.INFO, "paraboloid")
    with ThreadPoolExecutor(2) as threads, Crew(slow, threads, timeout=0.4) as crew:
        jobs = [Job(0, [1.0]), *(Job(trial, [0.3]) for trial in range(1, 5))]
        found = outcomes(crew, jobs)  # four of 0.3 s behind one another on the thread that is left
        assert [found[trial].has_failed for trial in range(5)] == [True] + [False] * 4
        assert "cannot be ended from here" in found[0].reason
        assert (crew.n_measurements, crew.n_failures) == (4, 1)
    assert "trial 0, attempt 1 has ended already" in caplog.text


def test_when_every_thread_hangs_the_crew_says_so() -> None:
    with ThreadPoolExecutor(1) as threads, Crew(lambda x: time.sleep(1.0), threads, timeout=0.1) as crew:
        crew.submit(Job(0, [0.0]))
        crew.submit(Job(1, [0.0]))
        with pytest.raises(ExecutorLost, match="every one of its workers hangs"):
            list(crew.completed())


class Unpicklable:
    def __init__(self, lines: Lines) -> None:
        self.noise: Callable[[], None] = lambda: lines.add("called")

    def __call__(self, x: Vector) -> float:
        self.noise()
        return 0.0


class WithGenerator:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __call__(self, x: Vector) -> float:
        return float(self.rng.standard_normal())


@pytest.mark.parametrize("name", ["own processes", "process pool"])
def test_a_function_that_cannot_travel_is_refused_before_anything_is_measured(name: str, tmp_path: Path) -> None:
    lines = Lines(tmp_path / "calls")
    with EXECUTORS[name]() as executor:
        with pytest.raises(UsageError, match="cannot be sent to another process"):
            Crew(Unpicklable(lines), executor)
        with pytest.raises(UsageError, match=r"carries a random generator \(Generator\)"):
            Crew(WithGenerator(), executor)
    assert lines.read() == []


def test_loky_takes_a_lambda_but_no_generator_in_it() -> None:
    rng = np.random.default_rng(0)
    with Crew(lambda x: float(x[0]) + 1, shared_loky()) as crew:
        assert outcomes(crew, [Job(0, [1.0])])[0].value == 2.0
    with pytest.raises(UsageError, match="carries a random generator"):
        Crew(lambda x: float(rng.standard_normal()), shared_loky())


def test_a_function_that_workers_cannot_load_is_refused_before_anything_is_measured() -> None:
    module = ModuleType("only_in_this_process")
    exec("def fun(x: object) -> float: return 0.0", module.__dict__)
    fun: Callable[..., Any] = module.__dict__["fun"]
    sys.modules[module.__name__] = module
    try:
        assert pickle.dumps(fun)
        with pytest.raises(UsageError, match=r"cannot load the function \(ModuleNotFoundError"):
            Crew(fun, 1)
    finally:
        del sys.modules[module.__name__]


class Backwards(Executor):
    """Answers when it has six jobs, the last one first."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.jobs.append((future, lambda: fn(*args, **kwargs)))
        if len(self.jobs) == 6:
            for waiting, work in reversed(self.jobs):
                waiting.set_result(work())
        return future


def test_answers_in_any_order_find_their_trial() -> None:
    with Crew(lambda x: float(x[0]), Backwards()) as crew:
        for trial in range(6):
            crew.submit(Job(trial, [float(trial)]))
        found = list(crew.completed())
    # The sixth is answered inside submit, before we can listen; then the others, from the last.
    assert {outcome.job.trial: outcome.value for outcome in found} == {trial: float(trial) for trial in range(6)}
    assert [outcome.job.trial for outcome in found][:5] == [4, 3, 2, 1, 0]
    assert crew.capacity is None


def test_what_comes_after_the_end_is_ignored() -> None:
    pool = Backwards()
    crew = Crew(lambda x: float(x[0]), pool)
    for trial in range(5):
        crew.submit(Job(trial, [0.0]))
    crew.close()
    assert all(future.cancelled() for future, _ in pool.jobs) and crew.unfinished == []
    assert (list(crew.completed()), crew.n_measurements) == ([], 0)
    with pytest.raises(UsageError, match="was closed"):
        crew.submit(Job(9, [0.0]))


def test_jobs_may_be_submitted_while_outcomes_come() -> None:
    with ThreadPoolExecutor(2) as threads, Crew(seeded, threads) as crew:
        crew.submit(Job(0, [0.0]))
        seen = []
        for outcome in crew.completed():
            seen.append(outcome.job.trial)
            if len(seen) < 10:
                crew.submit(Job(len(seen), [0.0]))
    assert seen == list(range(10)) and crew.capacity == 2


def test_no_call_is_made_twice() -> None:
    with Crew(seeded) as crew:
        crew.submit(Job(0, [0.0], attempt=2))
        for attempt in (1, 2):
            with pytest.raises(UsageError, match="was submitted before"):
                crew.submit(Job(0, [0.0], attempt=attempt))
        with pytest.raises(UsageError, match="still being measured"):
            crew.submit(Job(0, [0.0], attempt=3))
        assert len(list(crew.completed())) == 1
        crew.submit(Job(0, [0.0], attempt=3))
        assert next(crew.completed()).job.key == (0, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fun": 3}, "fun must be a function"),
        ({"executor": 0}, "at least 1 worker"),
        ({"executor": "threads"}, r"executor must have submit"),
        ({"executor": lambda: "threads"}, r"executor must have submit"),
        ({"executor": 1, "timeout": 0.0}, "timeout must be"),
        ({"timeout": 1.0}, "cannot be ended"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Crew(**{"fun": seeded, **arguments})


@pytest.mark.parametrize("arguments", [{"repeats": 0}, {"repeats": 1.5}, {"attempt": 0}, {"trial": -1}])
def test_wrong_jobs_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Job(**{"trial": 0, "points": [0.0], **arguments})


def test_a_job_and_its_outcome_travel() -> None:
    job = pickle.loads(pickle.dumps(Job(3, [[0.0], [1.0]], repeats=[1, 2], attempt=2)))
    assert (job.key, job.points.tolist(), job.repeats.tolist()) == ((3, 2), [[0.0], [1.0]], [1, 2])
    assert job.again().key == (3, 3)
