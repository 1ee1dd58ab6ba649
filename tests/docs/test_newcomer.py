"""The newcomer's path, gone by a program: an empty folder, a fresh virtual environment, the page and nothing else.

The ``sh`` block of docs/quickstart.md is run by a shell as it stands there, every file that the page shows is written,
every command after a ``$`` is typed in the activated environment, ``^C`` is a real SIGINT to the whole process group as
a terminal sends it, and what is printed is compared with what the page shows:

- A line that gives results (`RESULTS` says how it begins) may differ in its numbers, since last digits differ between
  machines and the moment of Ctrl-C is nobody's choice; then also in the number of spaces and of rules, which make room
  for them. The recommended settings among these numbers are compared as numbers.
- ``...`` stands for anything, as the page says, and a line of `IF_BUSY` is printed only if something was at work.
- Everything else is as the page has it, to the letter.

The one thing that is replaced is ``path/to/the/clone``.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cli.support import PATIENCE, told, wait_until
from tests.report.reading import check

CLONE = Path(__file__).parents[2]
README = (CLONE / "README.md").read_text(encoding="utf-8")
PAGE = (CLONE / "docs" / "quickstart.md").read_text(encoding="utf-8")
INSTALLING = 300.0  # seconds: the registry may be slow; from pip's cache it takes some twenty

RESULTS = re.compile(
    r"(temperature|minutes|time|value|value there|loss|regret|shape|measurements) {2,}\S"  # a result, in words
    r"|│ (temperature|minutes|time) |[┏┡└]|┃ knob "  # in a table, which is as wide as its numbers
    r"|Found .*study\.db: "
)
RULE = re.compile(r"[━─]+")
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w%])")  # and not 95%, which is no result
IF_BUSY = re.compile(
    r"^Ctrl-C: nothing more is begun\. \d+ measurements? ha(?:s|ve) 10 s to end; .*at once\.\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Typed:
    """A command of a page, whether Ctrl-C follows, and what the page shows."""

    line: str
    is_stopped: bool
    shown: str


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.DOTALL | re.MULTILINE)


def session() -> list[Typed]:
    found = []
    for block in blocks(PAGE, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, rest = part.partition("\n")
            found.append(Typed(line, "^C\n" in rest, rest.replace("^C\n", "")))
    return found


def environment() -> dict[str, str]:
    """Return what a newcomer has: the interpreter, the system's programs and settings of pip, nothing of this clone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    python = Path(getattr(sys, "_base_executable", sys.executable)).parent
    others = [part for part in kept.get("PATH", os.defpath).split(os.pathsep) if not part.startswith(str(CLONE))]
    return {
        **kept,
        "PATH": os.pathsep.join([str(python), *others]),
        "OPENBLAS_NUM_THREADS": "1",  # the machine is shared with other tests
        "PIP_NO_COMPILE": "1",  # most of what is installed is never loaded here
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",  # what is printed is to be seen at once, as on a terminal
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, and the package installed in it as the page says."""
    folder = tmp_path_factory.mktemp("newcomer")
    (install,) = blocks(PAGE, "sh")
    assert install.count("path/to/the/clone") == 1
    script = install.replace("path/to/the/clone", str(CLONE))
    ran = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=INSTALLING,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    assert re.search(r"^Successfully installed .*\bparaboloid-", ran.stdout, re.MULTILINE), ran.stdout[-3000:]
    return folder


def type_in(line: str, folder: Path, *, stop_after: int = 0) -> tuple[int, str]:
    """Run a line in the activated environment, with Ctrl-C after so many measurements; return exit code and print."""
    printed = folder / f"printed-{time.monotonic_ns()}.txt"
    with printed.open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", f". .venv/bin/activate\nexec {line}"],
            cwd=folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            if stop_after:
                wait_until(lambda: len(told(folder / "study.db")) >= stop_after, f"{stop_after} measurements")
                os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and to its workers
            code = process.wait(PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    text = printed.read_text(encoding="utf-8")
    printed.unlink()
    return code, text


def comparable(text: str) -> str:
    """Return a text with the numbers of its results taken out."""
    lines = [line.rstrip() for line in IF_BUSY.sub("", text).strip().splitlines()]
    return "\n".join(_without_numbers(line) if RESULTS.match(line) else line for line in lines)


def _without_numbers(line: str) -> str:
    return re.sub(r" +", " ", RULE.sub("─", NUMBER.sub("#", line)))


def matches(shown: str, printed: str) -> bool:
    pattern = ".*?".join(re.escape(part) for part in comparable(shown).split("..."))
    return re.fullmatch(pattern, comparable(printed), re.DOTALL) is not None


def settings(text: str) -> list[tuple[float, float, float]]:
    """Return setting and interval of each knob, from the short version or from the table."""
    short = re.findall(r"^(?:temperature|minutes) +(\S+) \S+ +\((\S+) to (\S+)\)", text, re.MULTILINE)
    table = re.findall(r"^│ (?:temperature|minutes) +│ (\S+) +│ (\S+) +│ (\S+) ", text, re.MULTILINE)
    return [(float(x), float(low), float(high)) for x, low, high in short or table]


def test_the_page_typed_by_a_newcomer_is_what_happens(folder: Path) -> None:
    for name, text in zip(re.findall(r"`(\w+\.py)`", PAGE), blocks(PAGE, "python"), strict=True):
        (folder / name).write_text(text, encoding="utf-8")
    verbs, before = [], list[int]()
    for typed in session():
        code, printed = type_in(typed.line, folder, stop_after=20 if typed.is_stopped else 0)
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


def test_the_commands_of_the_readme_work_with_a_program_of_ones_own(folder: Path) -> None:
    assert "(docs/quickstart.md)" in README and 'pip install ".[report]"' in README  # how a newcomer gets there
    own = folder / "own"
    own.mkdir()
    (own / ".venv").symlink_to(folder / ".venv")
    program = own / "simulate"
    program.write_text(
        "#!/bin/sh\nsleep 0.2\n"  # long enough to be interrupted
        'exec awk -v a="$1" -v b="$2" \'BEGIN { print 20 - 0.01 * (a - 180) ^ 2 - 0.02 * (b - 35) ^ 2 }\'\n'
    )
    program.chmod(0o755)
    (commands,) = [block for block in blocks(README, "sh") if "paraboloid init" in block]
    init, run, *others = [line.split("   #")[0] for line in commands.splitlines()]
    assert [line.split()[1] for line in (init, run, *others)] == ["init", "run", "recommend", "report"]
    assert type_in(init, own)[0] == 0
    code, printed = type_in(run, own, stop_after=5)
    assert code == 130 and "run the same command to go on" in printed
    before = told(own / "study.db")
    for line in (run, *others):
        code, printed = type_in(line, own)
        assert code == 0, printed
    after = told(own / "study.db")
    assert 5 <= len(before) < 40 and after[: len(before)] == before and sorted(after) == list(range(1, 41))
    assert "temperature" in check((own / "study.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize(
    "change",
    [
        ("knob", "button"),
        ("│ minutes", "│ hours"),
        ("at most", "below"),
        ("95%", "90%"),
        ("The budget of 60 measurements", "The budget of 61 measurements"),
        ("value there", "value here"),
    ],
)
def test_another_text_than_the_page_shows_is_noticed(change: tuple[str, str]) -> None:
    (shown,) = [typed.shown for typed in session() if typed.line == "paraboloid recommend"]
    assert change[0] in shown and matches(shown, shown)
    assert matches(shown, re.sub(r"179\.\d+", "178.99999", shown))
    assert not matches(shown, shown.replace(*change))


def test_a_shell_and_a_virtual_environment_can_be_had() -> None:
    """What the tests above stand on; where it is missing, they fail and are not skipped."""
    assert shutil.which("sh") and shutil.which("awk")
    assert subprocess.run([sys.executable, "-c", "import venv, ensurepip"], check=False, timeout=60).returncode == 0
