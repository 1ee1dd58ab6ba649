"""The example of a simulator in a program of its own runs as its page says, and finds a setting that is good."""

import importlib
import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from paraboloid.core import Vector
from tests.cli.support import paraboloid

EXAMPLE = Path(__file__).parents[2] / "examples" / "subprocess_simulator"


def costs(point: float, quantity: float, n: int, monkeypatch: pytest.MonkeyPatch) -> Vector:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    simulate = importlib.import_module("simulate")
    return np.array([simulate.mean_cost(point, quantity, 10_000 + seed) for seed in range(n)])


def test_the_commands_of_the_page_run_and_the_answer_is_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(shutil.copytree(EXAMPLE, tmp_path / "example"))
    settings = (folder / "study.toml").read_text(encoding="utf-8")
    (folder / "study.toml").write_text(settings.replace('"python3"', json.dumps(sys.executable)), encoding="utf-8")
    (block,) = re.findall(r"```sh\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.split("#")[0].strip() for line in block.splitlines()]
    assert lines[0] == "cd examples/subprocess_simulator"
    outputs = [paraboloid(*shlex.split(line)[1:], cwd=folder).stdout for line in lines[1:]]
    answer = json.loads(outputs[-1])
    assert answer["nfev"] == 80 and answer["stop_reason"] == "BUDGET_SPENT"
    # The simulator again, with seeds of its own. Its cost is not quite quadratic (missing is dearer than holding), so
    # that the bound of the model does not cover all: half the noise of one run (0.6) is allowed.
    point, quantity = answer["x"].values()
    best = costs(point, quantity, 400, monkeypatch)
    grid = [(s, q) for s in np.linspace(84, 112, 8) for q in np.linspace(80, 140, 7)]
    lowest = min((costs(s, q, 40, monkeypatch) for s, q in grid), key=lambda found: float(found.mean()))
    assert best.mean() - lowest.mean() < best.std() / 2
    assert best.mean() < costs(112, 140, 400, monkeypatch).mean() - 4 * best.std(), "far better than a corner"
