"""docs/command-line.md runs: its commands, in order, with its function; and the completion of shells."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from paraboloid.cli import main
from tests.cli.support import ENVIRONMENT, paraboloid

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_the_commands_of_the_page_run_in_order(tmp_path: Path) -> None:
    (tmp_path / "process.py").write_text(blocks("python")[0], encoding="utf-8")
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("paraboloid ")]
    assert {line.split()[1] for line in lines} == {"init", "plan", "run", "status", "recommend", "doctor"}
    outputs = {line: paraboloid(*shlex.split(line)[1:], cwd=tmp_path).stdout for line in lines}
    assert all(outputs.values()), "every one of them has something to say"
    answer = json.loads(outputs["paraboloid recommend study.db --json"])
    # Noise 0.3 over 40 measurements, curvatures 0.02 and 0.04: errors below 1 °C and 1 min.
    assert abs(answer["x"]["temperature"] - 180) < 5 and abs(answer["x"]["time"] - 35) < 5
    assert (tmp_path / "salvaged.csv").read_text(encoding="utf-8").count("\n") == 41


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_to_be_had_as_the_page_says(shell: str) -> None:
    (line,) = [line for line in PAGE.splitlines() if f"_PARABOLOID_COMPLETE={shell}_source" in line]
    assert "_PARABOLOID_COMPLETE" in line
    done = subprocess.run(
        [sys.executable, "-c", "from paraboloid.cli import main; main(prog_name='paraboloid')"],
        env={**ENVIRONMENT, "_PARABOLOID_COMPLETE": f"{shell}_source"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    # Click asks bash itself for its version; where there is no bash, or an old one, it says so and does without.
    assert "_PARABOLOID_COMPLETE" in done.stdout, done.stderr


def test_completion_knows_the_commands() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from paraboloid.cli import main; main(prog_name='paraboloid')"],
        env={**ENVIRONMENT, "_PARABOLOID_COMPLETE": "bash_complete", "COMP_WORDS": "paraboloid re", "COMP_CWORD": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = {line.partition(",")[2] for line in done.stdout.splitlines()}
    assert found == {name for name in main.commands if name.startswith("re")}


def test_the_table_of_exit_codes_is_that_of_the_commands() -> None:
    section = PAGE.split("Exit codes:")[1].split("## ")[0]
    documented = {
        int(code) for row in re.findall(r"^\| ([\d, ]+) \|", section, re.MULTILINE) for code in row.split(",")
    }
    said = set()
    for command in main.commands.values():
        text = (command.help or "").split("Exit codes:")[1]
        for row in re.findall(r"^ +((?:\d+, )*\d+)  ", text, re.MULTILINE):
            said |= {int(code) for code in row.split(",")}
    assert said <= documented and said >= {0, 1, 2, 3, 4, 5, 130}
