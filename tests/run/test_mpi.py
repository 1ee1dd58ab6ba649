"""Measuring through MPI: real processes under ``mpiexec``, by the same interface as any other executor."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import paraboloid
from tests.run.mpi_script import BOX, measure, simulate

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the package mpich has no wheels for Windows")

MPIEXEC = Path(sys.executable).parent / "mpiexec"
SCRIPT = Path(__file__).with_name("mpi_script.py")


@pytest.fixture(scope="module")
def found() -> Any:
    """Return what one manager and two workers found."""
    done = subprocess.run(
        [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py.futures", SCRIPT],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_a_search_gives_the_same_answer_as_in_one_process(found: Any) -> None:
    assert found["search"] == paraboloid.minimize(measure, BOX, budget=60, rng=0).x.tolist()


def test_blocks_give_the_same_answer_as_on_threads(found: Any) -> None:
    with ThreadPoolExecutor(1) as thread:
        alone = paraboloid.minimize(simulate, BOX, budget=200_000, rng=0, vectorized=True, executor=thread)
    assert found["blocks"] == alone.x.tolist()


def test_six_replicates_are_six_measurements_on_both_workers(found: Any) -> None:
    replicates = found["replicates"]
    assert len(set(replicates["values"])) == 6
    assert len(replicates["workers"]) == 2 and replicates["is_elsewhere"]
    assert "ArithmeticError: too high" in replicates["failure"]


def test_a_function_that_cannot_travel_is_refused_before_anything_is_measured(found: Any) -> None:
    assert "cannot be sent to another process" in found["refusal"]
