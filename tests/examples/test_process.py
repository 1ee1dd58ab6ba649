"""``make demo``, the real command: plain lines without a terminal, a bar with one, the answer, the report, in time."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.cli.support import ENVIRONMENT, PATIENCE, told, wait_until
from tests.report.reading import check

ROOT = Path(__file__).parents[2]
LIMIT = 60.0  # seconds: what issue 7 promises


def demo(folder: Path) -> list[str]:
    """Return the command ``make demo`` with this very Python in place of the one that it would install."""
    stamp = folder / "venv" / ".package"
    stamp.parent.mkdir(exist_ok=True)
    stamp.touch()
    where = {"VENV": stamp.parent, "BIN": Path(sys.executable).parent, "DEMO": folder / "build of mine"}
    return ["make", "--no-print-directory", "demo", *(f"{name}={value}" for name, value in where.items())]


def test_it_prints_plain_lines_the_answer_and_the_report_in_time(tmp_path: Path) -> None:
    (tmp_path / "build of mine" / "demo-1").mkdir(parents=True)
    mine = tmp_path / "build of mine" / "demo-1" / "study.toml"
    mine.write_text("mine", encoding="utf-8")
    began = time.monotonic()
    done = subprocess.run(
        demo(tmp_path), cwd=ROOT, env=ENVIRONMENT, capture_output=True, encoding="utf-8", timeout=4 * LIMIT, check=False
    )
    took = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert mine.read_text(encoding="utf-8") == "mine" and len(list(mine.parent.iterdir())) == 1
    assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stdout + done.stderr
    assert re.search(r"^\d+ of 150 measured, ", done.stderr, re.MULTILINE), "progress"
    assert all(unit in done.stdout for unit in ("°C", "min", "g/L", "L/min")) and "regret " in done.stdout
    report = tmp_path / "build of mine" / "demo-2" / "study.html"
    assert done.stdout.rstrip().endswith(f"The report, for a browser: {report}")
    assert "temperature" in check(report.read_text(encoding="utf-8")).text
    (lost,) = re.findall(r"yields (\S+) percentage points less", done.stdout)
    # The noise of one batch is 2, and a corner of the box loses more than 20; we have seen 0.02 and 0.03.
    assert 0 <= float(lost) < 0.5
    assert took < LIMIT, f"{took:.0f} s"


def test_on_a_terminal_it_shows_a_bar_and_ctrl_c_stops_it_in_good_order(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    shown, log = list[bytes](), tmp_path / "build of mine" / "demo-1" / "study.db"
    reader = threading.Thread(target=lambda: shown.extend(iter(lambda: _read(ours), b"")))
    process = subprocess.Popen(
        demo(tmp_path),
        cwd=ROOT,
        env={**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "200"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    reader.start()  # a terminal that nobody reads is full after some lines
    try:
        wait_until(lambda: len(told(log)) >= 20, "twenty batches")
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to make, the demo, the command and its workers
        code = process.wait(PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        reader.join()
        os.close(ours)
    text = b"".join(shown).decode(errors="replace")
    assert (
        "Stopped by Ctrl-C" in text and "\x1b[" in text and " of 150 measured, " in text and "To go on: cd " in text
    ), text
    assert code != 0 and "Traceback" not in text, text
    assert 20 <= len(told(log)) < 150


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says EIO when the last process has left the terminal
        return b""
