"""The laboratory example: every command of docs/laboratory.md, in order, and the published answers."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from paraboloid import Study
from paraboloid.cli import main

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = Path(shutil.copytree(ROOT / "examples" / "laboratory", tmp_path / "laboratory"))
    monkeypatch.chdir(copy)
    return copy


def run(line: str) -> str:
    """Run a line of the page in the current folder; our own commands in this process, to spare its start."""
    program, *arguments = shlex.split(line)
    if program == "paraboloid":
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        return result.stdout
    assert program == "python"
    return subprocess.run(
        [sys.executable, *arguments], check=True, stdout=subprocess.PIPE, text=True, timeout=60
    ).stdout


def recommended(name: str) -> Any:
    return json.loads(run(f"paraboloid recommend {name} --json"))


def test_every_command_of_the_page_runs_in_order(folder: Path) -> None:
    page = (ROOT / "docs" / "laboratory.md").read_text(encoding="utf-8")
    lines = [line for block in BLOCK.findall(page) for line in block.splitlines()]
    assert len(lines) >= 12
    for line in lines:
        run(line)
    with Study.read(folder / "study.db") as study:
        status = study.status()
        assert (status.n_old, status.n_measurements, status.n_failures, status.left) == (13, 13 + 5, 1, 12 - 6)
        moved = study.trial(14)
        assert moved.executed is not None and moved.note.startswith("thermostat late; measured at temperature")
        assert moved.executed["temperature"] == pytest.approx(moved.x["temperature"] + 0.5, abs=1e-3)
        assert study.trials("FAILED")[0].note == "spilled; sheet: n/a"
    header, *rows = (folder / "everything.csv").read_text(encoding="utf-8-sig").splitlines()
    assert header.startswith("id,time [min],temperature [°F],value,sem,note,state") and len(rows) >= 19


IMPORT = (
    "paraboloid import study.toml data/response_surface.csv --where set=montgomery_11_1 --column time=x1 "
    "--column temperature=x2 --column value=y"
)


def test_the_fitted_optimum_is_montgomery_s(folder: Path) -> None:
    """Maximum 80.21 at about 87 min and 176.5 °F: ours is the same to the printed digits."""
    assert run(IMPORT) == "13 rows: 13 told as old data.\n"
    assert run(IMPORT) == "13 rows: 13 told before, unchanged.\n"
    answer = recommended("study.toml")
    assert abs(answer["x"]["time"] - 87) <= 0.5
    assert abs(answer["x"]["temperature"] - 176.5) <= 0.05
    assert abs(answer["fun"] - 80.21) <= 0.005
    for name, published in (("time", 87), ("temperature", 176.5)):
        low, high = answer["x_ci"][name]
        assert low <= published <= high
    assert answer["regret_bound"] < 0.5 and answer["caveats"] == []  # 0.40, as few values as these leave shapes open


def test_the_fitted_optimum_of_chemreact_is_the_published_stationary_point(folder: Path) -> None:
    """(0.37, 0.33) in coded units, to the printed digits, once the blocks' means are taken out; not with them."""
    run("python remove_blocks.py data/response_surface.csv chemreact.csv")
    run("paraboloid import chemreact.toml chemreact.csv")
    x = recommended("chemreact.toml")["x"]
    assert abs((x["time"] - 85) / 5 - 0.37) <= 0.005
    assert abs((x["temperature"] - 175) / 5 - 0.33) <= 0.005
    run(IMPORT.replace("montgomery_11_1", "chemreact"))
    with_blocks = recommended("study.toml")
    assert abs((with_blocks["x"]["temperature"] - 175) / 5 - 0.33) > 0.005 and with_blocks["regret_bound"] is None
