"""The search's own processor time (everything but measuring) and its memory, beside CMA-ES on the same problem.

Both are driven by ask and tell on one core in neighbouring pairs of one run; measuring is timed apart and not counted.
The ratio is that of the seconds per measurement. The last column is of the front door, `paraboloid.minimize` with a
plain Python function, as a user calls it: what as many bare calls of that function take is subtracted. Run with
``make own-time``, or ``python benchmarks/own_time.py`` where `cma` is installed (benchmarks/requirements.txt). With
``--smooth 5``, in the environment of ``make bench``, the table is of five runs each on functions that are no
paraboloids: to follow one costs more, and nothing stands beside it.
"""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one core; set before numpy is loaded

import argparse
import statistics
import time
import tracemalloc
import warnings

import numpy as np
from contest.problems import kind_of
from contest.runner import Task, solve_once
from regret import Cell, Instance, search

from paraboloid import minimize, run
from paraboloid.core import Ball, Measurements
from paraboloid.numerics import n_terms

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # cma warns that it cannot plot
    import cma

PAIRS = [(2, 1000), (5, 1000), (5, 10_000), (10, 3000), (20, 10_000)]
FOLLOWED = [("quart_d5", 1000), ("cosh_d5", 1000), ("rosen_d5", 1000), ("logis_d5", 1000), ("simopt_san1", 1000)]
FIRST_SEED = 500  # no scored one
ALONE = [(2, 10**6), (5, 10**6), (10, 10**6), (20, 10**5), (50, 3 * n_terms(50))]


def ours(d: int, T: int, seed: int) -> float:
    """Return the seconds of the adaptive search on the ball, measuring excluded."""
    cell = Cell("ball", d, 100.0, 0.5, T)
    instance, rng = Instance(cell, seed), np.random.default_rng(seed)
    seconds, started = 0.0, time.process_time()
    session = run.Session(search(cell, seed))
    while not session.is_done:
        experiment = session.ask()
        seconds += time.process_time() - started
        if experiment.n_measurements <= 2**16:
            rows = [
                instance.measure(point[None, :], int(n), rng)[0]
                for point, n in zip(experiment.points, experiment.repeats, strict=True)
            ]
            answer = Measurements.from_values(rows)
        else:
            answer = _summary(instance, experiment.points, experiment.repeats, rng)
        started = time.process_time()
        session.tell(answer)
    return seconds + time.process_time() - started


def by_the_door(d: int, T: int, seed: int) -> float:
    """Return the seconds of `minimize` with a plain Python function on the same problem, the function's excluded."""
    instance, noise = Instance(Cell("ball", d, 100.0, 0.5, T), seed), np.random.default_rng(seed).standard_normal

    def measure(x: np.ndarray) -> float:
        away = x - instance.minimiser
        return float(away @ instance.hessian @ away) / 2 + noise()

    settings = list(np.random.default_rng(seed).uniform(-1, 1, (T, d)) / d**0.5)
    started = time.process_time()
    minimize(measure, Ball(np.zeros(d)), budget=T, rng=seed)
    between = time.process_time()
    for x in settings:
        measure(x)
    return between - started - (time.process_time() - between)


def _summary(instance: Instance, points: np.ndarray, repeats: np.ndarray, rng: np.random.Generator) -> Measurements:
    """Return what a block of repeats would send: counts, means and scatter, drawn from their exact laws."""
    away = points - instance.minimiser
    means = np.sum((away @ instance.hessian) * away, axis=1) / 2 + rng.standard_normal(len(points)) / np.sqrt(repeats)
    return Measurements(repeats, means, np.where(repeats > 1, rng.chisquare(np.maximum(repeats - 1, 1)), 0.0))


def theirs(d: int, T: int, seed: int) -> float:
    """Return the seconds of CMA-ES at its default settings, measuring excluded."""
    instance, rng = Instance(Cell("ball", d, 100.0, 0.5, T), seed), np.random.default_rng(seed)
    seconds, started = 0.0, time.process_time()
    quiet = {"verbose": -9, "seed": seed + 1, "tolfun": 0, "tolx": 0, "tolfunhist": 0, "tolflatfitness": 10**9}
    strategy = cma.CMAEvolutionStrategy(np.zeros(d), 0.3, {**quiet, "tolstagnation": 10**9, "bounds": [-1, 1]})
    taken = 0
    while taken < T:
        points = strategy.ask()
        seconds += time.process_time() - started
        values = instance.measure(np.array(points), 1, rng)[:, 0].tolist()
        started = time.process_time()
        strategy.tell(points, values)
        taken += len(points)
    return (seconds + time.process_time() - started) * T / taken


def peak_memory(d: int, T: int) -> float:
    """Return the peak of Python's memory during a search, in MB."""
    tracemalloc.start()
    ours(d, T, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def followed(problem: str, T: int, n_runs: int) -> list[float]:
    """Return the seconds of whole searches by the front door, measuring excluded, where a shape is followed."""
    rows = [solve_once(Task(problem, T, "paraboloid", FIRST_SEED + k)) for k in range(n_runs)]
    return [row["own_seconds"] for row in rows]


def print_followed(n_runs: int) -> None:
    """Print the table of functions that are no paraboloids."""
    followed("quart_d5", 100, 1)  # imports and caches are not what is timed
    print("| function | d | T | ours, s | ms per measurement | most of any run |\n|---|---|---|---|---|---|")
    for problem, T in FOLLOWED:
        seconds = followed(problem, T, n_runs)
        mean, most = (1000 * value / T for value in (statistics.mean(seconds), max(seconds)))
        print(
            f"| {problem} | {kind_of(problem)[0]} | {T:,} | {mean * T / 1000:.2f} | {mean:.2f} | {most:.2f} |",
            flush=True,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="timed pairs per row (default 5)")
    parser.add_argument("--quick", action="store_true", help="leave out d = 50, which takes minutes")
    parser.add_argument(
        "--smooth", type=int, metavar="RUNS", help="only functions that are no paraboloids, so many runs"
    )
    arguments = parser.parse_args()
    if arguments.smooth is not None:
        print_followed(arguments.smooth)
        return
    ours(2, 100, 0)  # imports and caches are not what is timed
    theirs(2, 100, 0)
    by_the_door(2, 100, 0)
    print("| d | T | ours, s | cma, s | ours/cma per measurement | by `minimize`, s | minimize/cma |")
    print("|---|---|---|---|---|---|---|")
    for d, T in PAIRS:
        rows = [[each(d, T, seed) for each in (ours, theirs, by_the_door)] for seed in range(arguments.pairs)]
        a, b, c = (statistics.median(column) for column in zip(*rows, strict=True))
        ratio, door = (statistics.median(row[k] / row[1] for row in rows) for k in (0, 2))
        print(f"| {d} | {T:,} | {a:.3f} | {b:.3f} | {ratio:.2f} | {c:.3f} | {door:.2f} |", flush=True)
    print("\n| d | T | T/p | ours, s |\n|---|---|---|---|")
    for d, T in ALONE[: -1 if arguments.quick else None]:
        print(f"| {d} | {T:,} | {T / n_terms(d):.3g} | {ours(d, T, 1):.2f} |", flush=True)
    print("\n| d | T | peak memory, MB |\n|---|---|---|")
    for T in (10**4, 10**5, 10**6, 10**7):
        print(f"| 5 | {T:,} | {peak_memory(5, T):.1f} |", flush=True)


if __name__ == "__main__":
    main()
