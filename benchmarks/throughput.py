"""Speed and memory of the simulation driver, against numpy in the same run.

Simulating Algorithm 1 should cost little more than drawing the same number of standard normals with numpy and
averaging them; and memory must not grow with the number of samples. Run with ``make throughput``.
"""

import argparse
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from paraboloid import Result, algorithms, problems, run
from paraboloid.core import Procedure

BLOCK = 2**16


def draw_and_average(n: int, rng: np.random.Generator) -> float:
    """Return the mean of n standard normals, drawn by numpy in cache-sized blocks (its fastest way)."""
    sums = [float(rng.standard_normal(min(BLOCK, n - start)).sum()) for start in range(0, n, BLOCK)]
    return sum(sums) / n


def seconds(job: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def simulate(make: Callable[[], Procedure], problem: problems.NoisyQuadratic, rng: np.random.Generator) -> Result:
    """Run a fresh procedure once."""
    return run.simulate(make(), problem, rng=rng)


def main() -> None:
    """Print the ratio of times for several dimensions, then the peak memory of a long run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10**7, help="samples per timed run (default 10^7)")
    parser.add_argument("--long", type=int, default=10**8, help="samples of the run whose memory is read (10^8)")
    parser.add_argument("--pairs", type=int, default=9, help="timed pairs per row (default 9)")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    T = arguments.samples
    print(f"| simulated with {T:,} samples | time / numpy drawing as many normals (median, range) |\n|---|---|")
    for d in (2, 5, 20):
        A = np.diag(np.geomspace(1.0, 0.1, d))
        problem = problems.NoisyQuadratic(A, np.full(d, 0.3 / d**0.5))
        jobs: dict[str, Callable[[], object]] = {
            f"Algorithm 1, d = {d}": partial(simulate, partial(algorithms.hessian_dependent, A, T), problem, rng),
        }
        if d == 2:
            jobs["universal, d = 2"] = partial(simulate, partial(algorithms.universal, 2, T), problem, rng)
        for name, job in jobs.items():
            # Neighbouring pairs, so that a slow moment of the machine hits both.
            ratios = [seconds(job) / seconds(lambda: draw_and_average(T, rng)) for _ in range(arguments.pairs)]
            print(f"| {name} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
    A = np.diag([1.0, 0.25])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = run.simulate(
        algorithms.hessian_dependent(A, arguments.long), problems.NoisyQuadratic(A, [0.6, 0.8]), rng=rng
    )
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"\n{result.n_measurements:,} samples: peak memory of the process {after / 1024:.0f} MB "
        f"({(after - before) / 1024:.0f} MB more than before)"
    )


if __name__ == "__main__":
    main()
