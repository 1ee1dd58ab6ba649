"""Put a browser, its driver and axe-core in place for the tests, where that can be done; say aloud what is missing.

``make test`` runs this. It never fails: tests that need what is missing are skipped, with the reason in pytest's
summary.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

AXE_FOLDER = Path(__file__).parents[2] / ".venv" / "browser"
"""Beside the packages that the tests need: thrown away and made anew with them."""
AXE = AXE_FOLDER / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 900.0
"""Seconds for each command: without a network they should not wait for ever."""
PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver", "npm": "npm"}
"""Debian's package for each program."""


def run(command: list[str], environment: dict[str, str]) -> None:
    """Run a command; whether it helped is seen by what is there afterwards."""
    try:
        subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{command[0]}: {error}", file=sys.stderr)


def install_programs(names: list[str]) -> None:
    """Install Debian's packages for programs that are missing, if this is Debian and we may."""
    if not names or shutil.which("apt-get") is None or getattr(os, "geteuid", lambda: 1)() != 0:
        return
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    packages = [PROGRAMS[name] for name in names]
    for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", *packages]):
        run(["apt-get", *command], environment)


def install_axe() -> None:
    """Install axe-core by npm, once."""
    npm = shutil.which("npm")
    if AXE.is_file() or npm is None:
        return
    AXE_FOLDER.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--no-save", "--no-audit", "--no-fund", "--silent", "--prefix", str(AXE_FOLDER)]
    run([*command, "axe-core@4"], dict(os.environ))


def missing() -> list[str]:
    """Return what is still missing, each with what it is needed for."""
    found = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    lines = [f"{name} (the tests of pages in a real browser)" for name in found]
    return lines if AXE.is_file() else [*lines, "axe-core (the tests of accessibility)"]


def main() -> None:
    """Install what is missing, and say what still is."""
    wanted = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    if not AXE.is_file() and shutil.which("npm") is None:
        wanted.append("npm")
    install_programs(wanted)
    install_axe()
    for what in missing():
        print(f"*** NOT INSTALLED, ITS TESTS WILL BE SKIPPED: {what} ***", file=sys.stderr)


if __name__ == "__main__":
    main()
