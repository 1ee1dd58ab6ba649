"""What runs under ``mpiexec -n 3 python -m mpi4py.futures``: prints as JSON what the test looks at."""

import json
import os
import time
from typing import Any

import numpy as np
from mpi4py.futures import MPIPoolExecutor

import paraboloid
from paraboloid import run
from paraboloid.core import Vector

BOX = [(-1.0, 1.0), (-1.0, 1.0)]


def measure(x: Vector, rng: np.random.Generator) -> float:
    return float((x[0] - 0.3) ** 2 + 2 * (x[1] + 0.5) ** 2 + 0.1 * rng.standard_normal())


def simulate(x: Vector, rng: np.random.Generator) -> Vector:
    return np.asarray((x[:, 0] - 0.3) ** 2 + 2 * (x[:, 1] + 0.5) ** 2 + rng.standard_normal(len(x)))


def with_global_noise(x: Vector) -> float:
    time.sleep(0.05)  # long enough that both workers take part
    if x[0] > 0.5:
        raise ArithmeticError("too high")
    return float(np.random.standard_normal())


def replicates(pool: Any) -> dict[str, Any]:
    """Measure one point six times, and a point that fails once."""
    with run.Crew(with_global_noise, pool, seed=1, most_failed=None) as crew:
        crew.submit(*(run.Job(trial, [0.0, 0.0]) for trial in range(6)), run.Job(6, [1.0, 0.0]))
        outcomes = sorted(crew.completed(), key=lambda outcome: outcome.job.trial)
    workers = {outcome.worker.split(":")[1] for outcome in outcomes}
    return {
        "values": [outcome.value for outcome in outcomes[:6]],
        "failure": outcomes[6].reason,
        "workers": sorted(workers),
        "is_elsewhere": str(os.getpid()) not in workers,
    }


def refusal(pool: Any) -> str:
    try:
        paraboloid.minimize(lambda x: 0.0, BOX, budget=10, executor=pool)
    except paraboloid.UsageError as error:
        return str(error)
    return "not refused"


def main() -> None:
    """Print what MPI gives and what this process alone gives."""
    with MPIPoolExecutor() as pool:
        found = {
            "search": paraboloid.minimize(measure, BOX, budget=60, rng=0, executor=pool).x.tolist(),
            "blocks": paraboloid.minimize(
                simulate, BOX, budget=200_000, rng=0, vectorized=True, executor=pool
            ).x.tolist(),
            "replicates": replicates(pool),
            "refusal": refusal(pool),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
