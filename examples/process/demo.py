"""The shop window, by ``make demo``: tune a simulated reactor with ``paraboloid run``, and write the report.

``python demo.py FOLDER`` works in a new folder ``demo-1``, ``demo-2``, ... of the folder (``build`` of the clone if it
is not given), and touches no other file. The commands are those that anybody would type, and are printed before they
run.
"""

import importlib
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the study, write the report, and compare the answer with the truth."""
    started = time.perf_counter()
    folder = new_folder(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parents[1] / "build")
    reactor = importlib.import_module("reactor")  # beside this file; only to know the truth in the end
    say(f"A simulated stirred reactor: 4 knobs, 150 batches, each yield ± {reactor.NOISE:g} % of noise.")
    say("Its mean yield is an exact paraboloid, the best case (docs/smooth.md is about the others).")
    say(f"In {folder}:\n")
    paraboloid("run study.toml --progress-every 3", folder)  # without a terminal a line every 3 s, with one a bar
    paraboloid("report study.toml", folder)
    answer = json.loads(output_of("recommend study.toml --json", folder))
    lost = reactor.BEST_YIELD - reactor.true_yield(**answer["x"])
    best = ", ".join(f"{name} {value:g}" for name, value in reactor.BEST.items())
    say(f"The truth, known here because the reactor is simulated: best at {best}.")
    say(f"The recommended setting yields {lost:.3f} percentage points less than the best one, on average.")
    say(f"Done in {time.perf_counter() - started:.0f} s. The report, for a browser: {folder / 'study.html'}")


def new_folder(where: Path) -> Path:
    """Return a new folder with the example in it; what is there already stays as it is."""
    where.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        folder = where.resolve() / f"demo-{number}"
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
            continue
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        for name in ("reactor.py", "study.toml"):
            shutil.copy(HERE / name, folder)
        return folder


def paraboloid(arguments: str, folder: Path) -> None:
    """Print a command and run it; leave with its exit code if it is not 0."""
    say(f"$ paraboloid {arguments}")
    # Ctrl-C reaches the command too, which stops in good order; we wait for it. A handler, and not SIG_IGN: a command
    # would inherit that one.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        code = subprocess.Popen(command(arguments), cwd=folder).wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        say(f"To go on: cd {shlex.quote(str(folder))} and the same command again.")
        sys.exit(code)
    say("")


def output_of(arguments: str, folder: Path) -> str:
    """Return what a command prints."""
    return subprocess.run(command(arguments), cwd=folder, check=True, capture_output=True, encoding="utf-8").stdout


def command(arguments: str) -> list[str]:
    """Return a command of this very installation."""
    return [sys.executable, "-m", "paraboloid", *shlex.split(arguments)]


def say(text: str) -> None:
    """Print at once, so that lines of ours and of the commands stay in order."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
