"""The example of a Dask cluster: the two commands of its page, real processes, and a study that is measured there."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.cli.support import ENVIRONMENT, events, paraboloid, started, told, wait_until

EXAMPLE = Path(__file__).parents[2] / "examples" / "dask_cluster"
DASK = str(Path(sys.executable).parent / "dask")


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


@contextmanager
def cluster(folder: Path, port: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start what the page says, at a free port; end it by process groups of its own."""
    # The nanny of a worker writes to its folder; neither may know where the example lies: its code has to travel.
    folder.mkdir()
    processes = []
    try:
        for line in commands()[:2]:
            words = shlex.split(line.replace("8786", port))
            with (folder / f"{words[1]}.txt").open("wb") as log:
                processes.append(
                    subprocess.Popen(
                        [DASK, *words[1:], "--no-dashboard"],
                        cwd=folder,
                        env=ENVIRONMENT,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
            if words[1] == "scheduler":
                wait_until(lambda: "Scheduler at:" in (folder / "scheduler.txt").read_text(), "the scheduler")
        yield processes
    finally:
        for process in reversed(processes):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)


def test_the_study_is_measured_on_the_cluster_killed_and_resumed(tmp_path: Path) -> None:
    folder, port = Path(shutil.copytree(EXAMPLE, tmp_path / "example")), free_port()
    words = shlex.split(commands()[2].replace("8786", port))[1:]
    with cluster(tmp_path / "cluster", port):
        with started(*words, cwd=folder) as run:
            wait_until(lambda: len(told(folder / "study.db")) >= 20, "twenty answers")
            run.process.kill()
            run.end()
        before = told(folder / "study.db")
        answer = json.loads(paraboloid(*words, "--json", cwd=folder).stdout)
    assert answer["status"]["n_measurements"] == 100 and answer["status"]["n_failures"] == 0
    after = told(folder / "study.db")
    assert after[: len(before)] == before and sorted(after) == list(range(1, 101)), "each once, none again"
    values = [event.payload["value"] for event in events(folder / "study.db") if event.kind == "told"]
    assert len(set(values)) == 100, "every measurement has noise of its own"
    x = np.array(list(answer["recommendation"]["x"].values()))
    # Noise 1 over 100 measurements, curvatures 0.02 and 0.04: errors of some 0.5 °C and 0.5 min.
    assert np.all(np.abs(x - [180, 35]) < 5)


def test_no_scheduler_is_said_in_words(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    answer = paraboloid("run", "study.toml", "--dask", f"tcp://127.0.0.1:{free_port()}", cwd=folder, code=2)
    assert "there is no Dask scheduler at" in answer.stderr and "dask worker" in answer.stderr
    assert told(folder / "study.db") == []
