"""A crew on a real Dask cluster: scheduler and workers are processes of their own, started by the two commands."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from paraboloid import minimize
from paraboloid.core import UsageError, Vector
from paraboloid.run import Crew, ExecutorLost, Job
from tests.run.test_parallel import Hangs, Lines, Noisy, Unpicklable, kill_first, outcomes, seeded, wait_until

ROOT = Path(__file__).parents[2]
DASK = Path(sys.executable).parent / "dask"
# Dask's own worker thread, event loop and sockets are closed by its garbage, in its own time.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


class Cluster:
    """A scheduler and workers on this machine, ended by their process ids."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._environment = {**os.environ, "PYTHONPATH": str(ROOT), "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "30 s"}
        self.processes: list[subprocess.Popen[bytes]] = []
        self.scheduler = self._start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        self.address = self._wait_for(r"Scheduler at:\s+(tcp://\S+)", "scheduler-0")

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._directory / f"{arguments[0]}-{len(self.processes)}"
        with open(log, "wb") as stream:
            process = subprocess.Popen(
                [str(DASK), *arguments],
                stdout=stream,
                stderr=subprocess.STDOUT,
                cwd=self._directory,
                env=self._environment,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _wait_for(self, pattern: str, log: str) -> str:
        found: list[str] = []

        def is_there() -> bool:
            found[:] = re.findall(pattern, (self._directory / log).read_text())
            return bool(found)

        wait_until(is_there, 60)
        return found[0]

    def start_worker(self) -> subprocess.Popen[bytes]:
        """Start a worker that is one process with one thread: without a nanny, kill -9 ends it for good."""
        return self._start("worker", self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard")

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(30)


@contextmanager
def cluster_of(n_workers: int, directory: Path) -> Iterator[tuple[Cluster, Any]]:
    cluster = Cluster(directory)
    try:
        for _ in range(n_workers):
            cluster.start_worker()
        with Client(cluster.address) as client:  # type: ignore[no-untyped-call]  # of distributed
            client.wait_for_workers(n_workers, timeout=60)
            yield cluster, client
    finally:
        cluster.close()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Any]]:
    """Two workers that the tests leave alive; one that is killed is replaced by the test that does it."""
    with cluster_of(2, tmp_path_factory.mktemp("cluster")) as both:
        yield both


@pytest.mark.parametrize("kind", ["client", "executor"])
def test_six_replicates_at_one_point_are_six_measurements(kind: str, cluster: Any, tmp_path: Path) -> None:
    """Dask takes a function for pure: called so six times at one point, it would be measured once."""
    client, lines = cluster[1], Lines(tmp_path / "calls")
    executor = client if kind == "client" else client.get_executor()
    for _ in range(2):  # nor does a second crew get the answers of the first
        with Crew(Noisy(lines), executor) as crew:
            assert crew.capacity == 2
            found = outcomes(crew, [Job(trial, [0.5]) for trial in range(6)])
        assert len({outcome.value for outcome in found.values()}) == 6
        assert {outcome.n_runs for outcome in found.values()} == {1}
    assert len(lines.read()) == 12


def test_noise_is_that_of_every_other_executor(cluster: Any) -> None:
    jobs = [Job(trial, [0.0]) for trial in range(4)]
    with Crew(seeded, cluster[1], seed=2) as crew, Crew(seeded, seed=2) as here:
        there, expected = outcomes(crew, jobs), outcomes(here, jobs)
    assert [there[trial].value for trial in range(4)] == [expected[trial].value for trial in range(4)]


def test_a_function_that_cannot_travel_is_refused_and_a_lambda_can(cluster: Any, tmp_path: Path) -> None:
    with Crew(lambda x: float(x[0]) + 1, cluster[1]) as crew:
        assert outcomes(crew, [Job(0, [1.0])])[0].value == 2.0
    with open(tmp_path / "open file", "w") as stream, pytest.raises(UsageError, match="cannot be sent"):
        Crew(lambda x: stream.fileno(), cluster[1])
    with Crew(Unpicklable(Lines(tmp_path / "calls")), cluster[1]) as crew:  # cloudpickle can
        assert not outcomes(crew, [Job(0, [1.0])])[0].has_failed


class SlowlyOnce:
    """As the one of test_parallel, but ends soon enough when it is alive."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines

    def __call__(self, x: Vector, rng: np.random.Generator) -> float:
        if x[0] == 1.0:
            self.lines.add(os.getpid())
            time.sleep(60 if len(self.lines.read()) == 1 else 0)
        return float(x[0] + rng.standard_normal())


def test_a_killed_worker_gives_one_value_and_two_attempts_are_seen(cluster: Any, tmp_path: Path) -> None:
    whole, client = cluster
    lines = Lines(tmp_path / "pids")
    with Crew(SlowlyOnce(lines), client, seed=4) as crew:
        for trial in range(8):
            crew.submit(Job(trial, [float(trial == 0)]))
        wait_until(lambda: len(lines.read()) == 1)
        time.sleep(1.5)  # a worker sends its messages some milliseconds later; what dies before is not known to begin
        kill_first(lines)
        found = list(crew.completed())
        wait_until(lambda: crew.capacity == 1)
    assert len(lines.read()) == 2, "Dask ran it again"
    assert sorted(outcome.job.trial for outcome in found) == list(range(8))
    first = next(outcome for outcome in found if outcome.job.trial == 0)
    assert (first.n_runs, first.job.attempt, crew.n_measurements) == (2, 1, 8)
    assert first.value == 1.0 + np.random.default_rng([4, 0, 1]).standard_normal()
    assert lines.read()[1] in first.worker
    whole.start_worker()
    client.wait_for_workers(2, timeout=60)


def test_without_any_worker_the_crew_waits_for_new_ones(cluster: Any, tmp_path: Path) -> None:
    """The time that is allowed runs from the begin of a measurement, not while there is nobody to measure."""
    whole, client = cluster
    for pid in client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not client.nthreads())
    with Crew(seeded, client, timeout=2.0) as crew:
        for trial in range(3):
            crew.submit(Job(trial, [0.0]))
        time.sleep(2.5)
        whole.start_worker()
        whole.start_worker()
        found = {outcome.job.trial: outcome for outcome in crew.completed()}
    assert sorted(found) == [0, 1, 2] and not any(outcome.has_failed for outcome in found.values())
    client.wait_for_workers(2, timeout=60)


def test_a_measurement_that_hangs_fails_and_no_other_waits_behind_it(cluster: Any, tmp_path: Path) -> None:
    """To Dask, a worker whose task was cancelled is idle, though its thread hangs; nothing may be sent there."""
    lines = Lines(tmp_path / "pids")
    start = time.monotonic()
    with Crew(Hangs(lines), cluster[1], timeout=1.0) as crew:
        found = outcomes(crew, [Job(trial, [float(trial == 0)]) for trial in range(40)])
        assert [found[trial].has_failed for trial in range(40)] == [True] + [False] * 39
        assert "took longer than 1 s; it was cancelled" in found[0].reason
        crew.submit(Job(40, [1.0]))  # now the second one hangs, too
        crew.submit(Job(41, [0.0]))
        with pytest.raises(ExecutorLost, match="every one of its workers hangs"):
            list(crew.completed())
    assert time.monotonic() - start < 45, "it hangs for 60 s"
    for child in lines.read()[1::2]:
        os.kill(int(child), signal.SIGKILL)  # the processes they wait for: the workers are free again


def bowl(x: Vector, rng: np.random.Generator) -> float:
    return float((x[0] - 0.3) ** 2 + x[1] ** 2 + 0.1 * rng.standard_normal())


def test_minimize_gives_the_answer_of_one_process(cluster: Any) -> None:
    box = [(-1.0, 1.0), (-1.0, 1.0)]
    there = minimize(bowl, box, budget=60, rng=1, executor=cluster[1])
    here = minimize(bowl, box, budget=60, rng=1)
    assert np.array_equal(there.x, here.x) and (there.nfev, there.nfail) == (60, 0)


def test_a_lost_scheduler_is_a_named_error_and_values_are_kept(tmp_path: Path) -> None:
    lines = Lines(tmp_path / "pids")
    with cluster_of(1, tmp_path) as (whole, client), Crew(SlowlyOnce(lines), client) as crew:
        for trial in range(4):
            crew.submit(Job(trial, [float(trial == 3)]))
        kept = []
        with pytest.raises(ExecutorLost, match="the executor was lost"):
            for outcome in crew.completed():
                kept.append(outcome.job.trial)
                if len(kept) == 3:
                    whole.close()
        assert sorted(kept) == [0, 1, 2] and [job.trial for job in crew.unfinished] == [3]
