"""Do the chosen experiments, and write their figures, tables, pages and numbers into one directory."""

import datetime
import json
import multiprocessing
import os
import platform
import signal
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from paraboloid.core import UsageError
from paraboloid.reproduction.directory import MADE_BY, RESULTS, check_replaceable, replaced_directory
from paraboloid.reproduction.experiments import EXPERIMENTS
from paraboloid.reproduction.figures import check_report_extra
from paraboloid.reproduction.page import write_experiment, write_pages
from paraboloid.reproduction.workbench import Findings, Size, Workbench
from paraboloid.run import process_pool

__all__ = ["reproduce"]

DISTRIBUTIONS = ("paraboloid", "numpy", "scipy", "matplotlib", "jinja2")


def reproduce(
    output: Path, size: Size, *, names: Sequence[str] = (), rng: int = 0, workers: int | None = None
) -> dict[str, Any]:
    """Reproduce the paper into the directory ``output`` and return what ``results.json`` holds.

    Parameters
    ----------
    output
        Replaced as a whole when all is done; refused if it holds anything that is not a reproduction.
    names
        Experiments to do, all if empty.
    rng
        Seed. Each experiment has its own stream, so its numbers do not depend on which others are done.
    workers
        Number of processes, by default one for each core; with 1 all is done in this one.

    Examples
    --------
    >>> import tempfile
    >>> from paraboloid.reproduction import Size, reproduce
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     results = reproduce(Path(scratch) / "out", Size.TINY, names=["energy"], workers=1)
    >>> results["files"]
    ['energy.csv', 'energy.png', 'energy.svg', 'index.html', 'index.md', 'results.json']
    """
    check_report_extra()
    chosen = _chosen(names)
    if rng < 0:
        raise UsageError(f"rng must be a whole number of at least 0, got {rng}.")
    check_replaceable(output)
    begin = time.perf_counter()
    results: dict[str, Any] = {
        "made_by": MADE_BY,
        "command": " ".join([MADE_BY, f"--{size.value}", *(f"--only {name}" for name in names), f"--rng {rng}"]),
        "size": size.value,
        "rng": rng,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in DISTRIBUTIONS}},
        "platform": platform.platform(),
        "experiments": {},
    }
    files = [RESULTS]
    with replaced_directory(output) as directory:
        with _workers(workers) as executor:
            for name in chosen:
                entry, written = _one_experiment(Workbench(name, size, experiment_seed(rng, name), executor), directory)
                results["experiments"][name] = entry
                files += written
        results["seconds"] = round(time.perf_counter() - begin, 1)
        files += write_pages(directory, results)
        results["files"] = sorted(files)
        text = json.dumps(results, indent=1, allow_nan=False, ensure_ascii=False)
        (directory / RESULTS).write_text(text + "\n", encoding="utf-8")
    return results


def experiment_seed(rng: int, name: str) -> np.random.SeedSequence:
    """Return the seed of an experiment: of the user's seed and its name, not of its place in a list."""
    return np.random.SeedSequence(rng, spawn_key=(zlib.crc32(name.encode()),))


def _chosen(names: Sequence[str]) -> list[str]:
    unknown = [name for name in names if name not in EXPERIMENTS]
    if unknown:
        raise UsageError(f"unknown experiment {unknown[0]!r}. Known are {', '.join(EXPERIMENTS)}.")
    return [name for name in EXPERIMENTS if name in names or not names]


def _one_experiment(bench: Workbench, directory: Path) -> tuple[dict[str, Any], list[str]]:
    begin = time.perf_counter()
    findings = EXPERIMENTS[bench.name](bench)
    seconds = round(time.perf_counter() - begin, 1)
    return _entry(findings) | {"seconds": seconds}, write_experiment(directory, bench.name, findings)


def _entry(findings: Findings) -> dict[str, Any]:
    return {
        "title": findings.title,
        "headline": findings.headline,
        "expected": findings.expected,
        "seen": findings.seen,
        "claims": [asdict(claim) for claim in findings.claims],
        "rows": list(findings.rows),
    }


@contextmanager
def _workers(number: int | None) -> Iterator[Executor | None]:
    """Give a pool of processes, or none for one worker; on Ctrl-C the pool is stopped and not waited for."""
    if number == 1:
        yield None
        return
    before = set(multiprocessing.active_children())
    with process_pool(number) as pool:
        _start_deaf_to_interrupts(pool, number or os.cpu_count() or 1)
        try:
            yield pool
        except BaseException:
            # Leaving the pool waits for what it has begun, which may be a minute of simulation. Its own thread must
            # first have dropped what has not begun, or it complains of cancelled futures when a worker ends.
            pool.shutdown(wait=False, cancel_futures=True)
            time.sleep(0.2)
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()
            raise


def _start_deaf_to_interrupts(pool: Executor, number: int) -> None:
    """Start the workers so that Ctrl-C, which a terminal sends to all, reaches this process alone.

    What is blocked when a process is started stays blocked in it; else each worker prints a traceback of its own. Here
    it only waits: a Ctrl-C in this moment is served as soon as the workers are started.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows, where no worker is sent the signal
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for _ in range(number):  # each call starts one more, while all are busy starting
            pool.submit(int)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
