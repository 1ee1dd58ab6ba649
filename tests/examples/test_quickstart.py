"""docs/quickstart.md, typed in an empty folder: its files, its commands in order with a real Ctrl-C, and its output.

Numbers differ in their last digits between machines, and the moment of Ctrl-C is nobody's choice. So the text is
compared with every number taken out, and the settings that are recommended are compared as numbers. ``...`` stands for
anything.
"""

import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.support import ENVIRONMENT, PATIENCE, told, wait_until
from tests.report.reading import check

PAGE = (Path(__file__).parents[2] / "docs" / "quickstart.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?")
IF_BUSY = re.compile(r"^Ctrl-C: nothing more is begun.*\n", re.MULTILINE)  # only if something was at work just then


@dataclass(frozen=True, slots=True)
class Typed:
    """A command of the page, whether Ctrl-C follows, and what the page shows."""

    line: str
    is_stopped: bool
    shown: str


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def session() -> list[Typed]:
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, rest = part.partition("\n")
            found.append(Typed(line, "^C\n" in rest, rest.replace("^C\n", "")))
    return found


def write_files(folder: Path) -> None:
    for name, text in zip(re.findall(r"`(\w+\.py)`", PAGE), blocks("python"), strict=True):
        (folder / name).write_text(text, encoding="utf-8")


def type_in(typed: Typed, folder: Path) -> tuple[int, str]:
    """Run a command of the page, and return its exit code and all that it prints, in order."""
    first, *words = shlex.split(typed.line)
    python = {"python": [sys.executable], "paraboloid": [sys.executable, "-m", "paraboloid"]}[first]
    printed = folder.parent / "printed.txt"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [*python, *words],
            cwd=folder,
            env={**ENVIRONMENT, "PYTHONUTF8": "1", "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if typed.is_stopped:
                wait_until(lambda: len(told(folder / "study.db")) >= 20, "twenty measurements")
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and to its workers
            code = process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return code, printed.read_text(encoding="utf-8")


def without_numbers(text: str) -> str:
    plain = NUMBER.sub("#", IF_BUSY.sub("", text))
    return re.sub(r"[━─]+", "─", re.sub(r" +", " ", plain)).strip()


def matches(shown: str, printed: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in without_numbers(shown).split("..."))
    return re.fullmatch(pattern, without_numbers(printed), re.DOTALL) is not None


def settings(text: str) -> list[tuple[float, float, float]]:
    """Return setting and interval of each knob, from the short version or from the table."""
    short = re.findall(r"^(?:temperature|minutes) +(\S+) \S+ +\((\S+) to (\S+)\)", text, re.MULTILINE)
    table = re.findall(r"^│ (?:temperature|minutes) +│ (\S+) +│ (\S+) +│ (\S+) ", text, re.MULTILINE)
    return [(float(x), float(low), float(high)) for x, low, high in short or table]


def test_the_page_typed_in_an_empty_folder_is_what_happens(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    write_files(folder)
    verbs = []
    before: list[int] = []
    for typed in session():
        code, printed = type_in(typed, folder)
        assert code == (130 if typed.is_stopped else 0), printed
        assert matches(typed.shown, printed), f"$ {typed.line}\n{printed}\nbut the page shows\n{typed.shown}"
        if typed.is_stopped:
            before = told(folder / "study.db")
            assert 20 <= len(before) < 60
        elif shown := settings(typed.shown):
            for (x, low, high), (found, _, _) in zip(shown, settings(printed), strict=True):
                # An interval at 95 % is four standard errors wide. Should a machine round so differently that it
                # measures elsewhere, two estimates differ by eight (5.7 of their difference) less than once in 10⁷.
                assert abs(found - x) < 2 * (high - low), printed
        verbs.append(" ".join(typed.line.split()[:2]) + "^C" * typed.is_stopped)
    assert verbs == [
        *("python tune.py", "paraboloid init", "paraboloid run^C", "paraboloid run"),
        *("paraboloid recommend", "paraboloid report"),
    ]
    after = told(folder / "study.db")
    assert after[: len(before)] == before and sorted(after) == list(range(1, 61)), "each once, none again"
    assert "temperature" in check((folder / "study.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize("change", [("knob", "button"), ("│ minutes", "│ hours"), ("at most #", "at most none")])
def test_another_text_than_the_page_shows_is_noticed(change: tuple[str, str]) -> None:
    (shown,) = [typed.shown for typed in session() if typed.line == "paraboloid recommend"]
    assert matches(shown, shown)
    assert not matches(shown, without_numbers(shown).replace(*change))
