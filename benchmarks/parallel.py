"""Parallel measuring: blocks through a real Dask cluster against the simulator alone, and many workers against one.

(a) `blocks`: 10⁷ measurements of fast simulators on 2 Dask workers, one round and whole searches, against the same
simulator called in a bare loop on both workers at once, just before and just after.

(b) `workers`: a `Study` of 16 workers with heavy-tailed durations (log-normal, σ = 1.5) on a simulated clock: the share
of time that workers are idle, and the regret against one worker's.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import heapq
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client

from paraboloid import Study, minimize, problems, run
from paraboloid.core import Ball, Experiment, Vector

DASK = Path(sys.executable).parent / "dask"
CENTRE = np.array([0.3, -0.2])
ROWS = 2**14


def bowl(x: Vector, rng: np.random.Generator) -> Vector:
    """Return a bowl with one normal for noise at settings (n, 2): as fast as any simulator can be."""
    away = x - CENTRE
    return np.asarray(50 * away[:, 0] ** 2 + 5 * away[:, 1] ** 2 + rng.standard_normal(len(x)))


def queue(x: Vector, rng: np.random.Generator, n_customers: int = 24) -> Vector:
    """Return waiting times of the last of some customers, plus a bowl: a small simulation of events."""
    wait = np.zeros(len(x))
    for _ in range(n_customers):
        wait = np.maximum(0.0, wait + rng.standard_exponential(len(x)) - 1.2 * rng.standard_exponential(len(x)))
    away = x - CENTRE
    return np.asarray(wait + 50 * away[:, 0] ** 2 + 5 * away[:, 1] ** 2)


def long_queue(x: Vector, rng: np.random.Generator) -> Vector:
    """Return waiting times of the last of 96 customers, plus a bowl."""
    return queue(x, rng, 96)


def order(x: Vector, rng: np.random.Generator) -> float:
    """Return the cost of one day of a shop that orders up to a level: plain Python, one setting at a time."""
    level, price = 10 + 5 * x[0], 4 + 2 * x[1]
    demand = rng.poisson(10 - price)
    sold = min(demand, level)
    return float(level - price * sold + 2 * max(0.0, demand - level))


@dataclass(frozen=True, slots=True)
class Simulator:
    """A function to measure, and whether it takes many settings at once."""

    name: str
    measure: Callable[[Vector, np.random.Generator], Vector | float]
    vectorized: bool


SIMULATORS = (
    Simulator("a bowl and one normal, numpy", bowl, vectorized=True),
    Simulator("a queue of 24 customers, numpy", queue, vectorized=True),
    Simulator("a queue of 96 customers, numpy", long_queue, vectorized=True),
    Simulator("a shop's day, plain Python", order, vectorized=False),
)


def simulate_alone(simulator: Simulator, n: int, seed: int) -> float:
    """Return the seconds that n measurements take in a bare loop, at settings from all over the box."""
    rng = np.random.default_rng(seed)
    settings = rng.uniform(-1, 1, (ROWS, 2))  # what a simulator takes may depend on the setting
    measure = simulator.measure
    start = time.perf_counter()
    for _ in range(n // ROWS):
        if simulator.vectorized:
            measure(settings, rng)
        else:
            for x in settings:
                measure(x, rng)
    return time.perf_counter() - start


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Give a client of a scheduler and workers that run as processes of their own on this machine."""
    processes: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "log"
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}

        def start(*arguments: str) -> None:
            with open(log, "ab") as stream:
                command = [str(DASK), *arguments, "--no-dashboard"]
                processes.append(
                    subprocess.Popen(command, stdout=stream, stderr=stream, cwd=directory, env=environment)
                )

        try:
            start("scheduler", "--port", "0", "--host", "127.0.0.1")
            while not (found := re.findall(r"Scheduler at:\s+(tcp://\S+)", log.read_text())):
                time.sleep(0.1)
            for _ in range(n_workers):
                start("worker", found[0], "--no-nanny", "--nthreads", "1")
            with Client(found[0]) as client:  # type: ignore[no-untyped-call]  # of distributed
                client.wait_for_workers(n_workers, timeout=60)
                yield client
        finally:
            for process in reversed(processes):
                process.kill()
                process.wait()


def seconds_alone(simulator: Simulator, n: int, n_workers: int, client: Any) -> float:
    """Return the seconds that n measurements take in bare loops on all workers at once."""
    tasks = [client.submit(simulate_alone, simulator, n // n_workers, w, pure=False) for w in range(n_workers)]
    return float(max(client.gather(tasks)))


def seconds_of_round(simulator: Simulator, n: int, seed: int, client: Any) -> float:
    """Return the seconds that one experiment of n measurements at six points takes, summary included."""
    points = np.random.default_rng(seed).uniform(-1, 1, (6, 2))
    experiment = Experiment(points, np.diff(np.linspace(0, n, 7).astype(np.int64)))
    with run.Measurer(simulator.measure, client, vectorized=simulator.vectorized, seed=seed) as measurer:
        measurer.measure(Experiment(points, 1000))  # as the round before it: what a measurement takes is known
        start = time.perf_counter()
        measurements = measurer.measure(experiment)
        assert measurements.n_measurements == n
        return time.perf_counter() - start


def seconds_of_search(simulator: Simulator, n: int, seed: int, client: Any) -> float:
    """Return the seconds of a whole search: rounds, fits and designs."""
    start = time.perf_counter()
    box = [(-1.0, 1.0), (-1.0, 1.0)]
    result = minimize(simulator.measure, box, budget=n, rng=seed, vectorized=simulator.vectorized, executor=client)
    assert result.nfev == n and result.nfail == 0
    return time.perf_counter() - start


def blocks(n: int, pairs: int, n_workers: int = 2) -> None:
    """Print the speed through Dask over that of the simulator alone on the same workers, in neighbouring pairs."""
    print(f"{n:,} measurements on {n_workers} Dask workers; speed over that of the simulator alone: median (range)\n")
    print("| simulator | alone, ns each | one round, in blocks | a whole search |\n|---|---|---|---|")
    with cluster(n_workers) as client:
        for simulator in SIMULATORS:
            seconds_of_search(simulator, 100_000, 0, client)  # everything is loaded
            own = [seconds_alone(simulator, n, n_workers, client)]
            rounds: list[float] = []
            searches: list[float] = []
            for pair in range(pairs):
                for way, ratios in ((seconds_of_round, rounds), (seconds_of_search, searches)):
                    taken = way(simulator, n, pair, client)
                    own.append(seconds_alone(simulator, n, n_workers, client))
                    ratios.append((own[-2] + own[-1]) / 2 / taken)  # others' work on the machine comes and goes
            each = 1e9 * n_workers * statistics.median(own) / n
            print(f"| {simulator.name} | {each:.0f} | {spread(rounds)} | {spread(searches)} |", flush=True)


def spread(ratios: list[float]) -> str:
    """Return median and range."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


@dataclass(frozen=True, slots=True)
class Clocked:
    """What a study on a simulated clock gave: regret, and idle shares of the workers' time."""

    regret: float
    expected: float  # regret that the points measured give to first order, in which the noise has no part
    idle: float  # until the last trial was handed out: for want of a proposal
    idle_to_the_end: float  # until the last answer came: stragglers of the end included
    ask: float  # real seconds of one ask, which no simulated clock shows


def expected_regret(x: Vector, hessian: Vector, minimiser: Vector) -> float:
    """Return ½ tr(A⁻¹ G (ΦᵀΦ)⁻¹ Gᵀ): mean regret of least squares on points (n, 2), unit noise, to first order."""
    features = np.column_stack([np.ones(len(x)), x[:, 0], x[:, 1], x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1] ** 2])
    a, b = minimiser
    slopes = np.array([[0, 1, 0, 2 * a, b, 0], [0, 0, 1, 0, a, 2 * b]])
    return float(0.5 * np.trace(np.linalg.solve(hessian, slopes @ np.linalg.solve(features.T @ features, slopes.T))))


def study_on_a_clock(n_workers: int, budget: int, seed: int, directory: Path) -> Clocked:
    """Return how a study goes whose workers take log-normal times; event by event."""
    durations, measured = np.random.default_rng([seed, 1]), []
    hessian = np.diag([100.0, 10.0])
    problem = problems.NoisyQuadratic(hessian, CENTRE)
    clock, busy, idle, asking, n_asks = 0.0, 0.0, 0.0, 0.0, 0
    handed_out, last = 0, 0.0
    at_work: list[tuple[float, int, list[float]]] = []  # (end, trial, setting), a heap
    with Study.open(directory / f"{n_workers}-{seed}.db", Ball([0.0, 0.0]), budget=budget, rng=seed) as study:
        while handed_out < budget or at_work:
            if handed_out < budget and len(at_work) < n_workers:
                start = time.perf_counter()
                trials = study.ask(min(n_workers - len(at_work), budget - handed_out))
                asking, n_asks = asking + time.perf_counter() - start, n_asks + 1
                for trial in trials:
                    duration = float(durations.lognormal(sigma=1.5))
                    busy, handed_out, last = busy + duration, handed_out + 1, clock
                    heapq.heappush(at_work, (clock + duration, trial.id, list(trial.x.values())))
            before = clock
            clock, number, x = heapq.heappop(at_work)
            measured.append(x)
            if handed_out < budget:
                idle += (clock - before) * (n_workers - len(at_work) - 1)
            # Noise by trial: the two studies that are compared meet the same, which makes their ratio precise.
            study.tell(number, float(problem.measure(np.array([x]), 1, np.random.default_rng([seed, 2, number]))[0, 0]))
        regret = problem.regret(study.recommend().x)
    expected = expected_regret(np.array(measured), hessian, CENTRE)
    return Clocked(regret, expected, idle / (n_workers * last), 1.0 - busy / (n_workers * clock), asking / n_asks)


def workers(budget: int, n_seeds: int) -> None:
    """Print idle time and regret of studies with 16 workers, and the regret over that with one worker."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as directory:
        pairs = []
        for seed in range(n_seeds):
            pairs.append([study_on_a_clock(n, budget, seed, Path(directory)) for n in (16, 1)])
            for path in Path(directory).glob("*.db*"):
                path.unlink()
    idle, to_the_end, ask = (
        float(np.mean([getattr(pair[0], name) for pair in pairs])) for name in ("idle", "idle_to_the_end", "ask")
    )
    print(f"T = {budget}, {n_seeds} seeds, 16 workers, log-normal durations (sigma 1.5)")
    print(
        f"idle while there is work: {100 * idle:.2f} %; with the last stragglers {100 * to_the_end:.1f} % of the time"
    )
    print(f"one ask takes {1000 * ask:.1f} ms")
    for name in ("regret", "expected"):
        many, one = (np.array([getattr(pair[k], name) for pair in pairs]) for k in (0, 1))
        ratio = many.mean() / one.mean()
        # Of a ratio of means of pairs: the spread of many - ratio * one, over the mean of one.
        error = float(np.std(many - ratio * one, ddof=1)) / n_seeds**0.5 / one.mean()
        print(
            f"mean {name} x T: {budget * many.mean():.4g} with 16 workers, {budget * one.mean():.4g} with one;", end=" "
        )
        print(f"ratio {ratio:.3f} ± {error:.3f} (standard error)")


def main() -> None:
    """Run the chosen part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=["blocks", "workers"])
    parser.add_argument("--measurements", type=int, help="10^7 for blocks, 300 for workers")
    parser.add_argument("--pairs", type=int, help="timed pairs of blocks (9), or seeds of workers (200)")
    arguments = parser.parse_args()
    if arguments.part == "blocks":
        blocks(arguments.measurements or 10**7, arguments.pairs or 9)
    else:
        workers(arguments.measurements or 300, arguments.pairs or 200)


if __name__ == "__main__":
    main()
