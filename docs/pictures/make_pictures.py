"""Make the pictures of parts of the report in docs/report.md: ``python docs/pictures/make_pictures.py``.

Needs Chromium (Debian's package ``chromium``); it is run headless and without any network.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from paraboloid import Box, Knob, Study
from paraboloid.report import html_report, study_subject, write_report

HERE = Path(__file__).parent
BOX = Box(
    [
        Knob("temperature", 150, 210, unit="°C"),
        Knob("time", 20, 60, unit="min"),
        Knob("pressure", 1, 5, unit="bar"),
        Knob("catalyst", 0.01, 1.0, unit="g/L", log=True),
    ]
)
BEST = np.array([0.35, -0.2, 0.5, -0.3])
CURVATURE = np.array([[30.0, 14, 0, 3], [14, 12, 2, 0], [0, 2, 6, -1], [3, 0, -1, 5]])
PICTURES = (
    ("report-surface.png", 1200, 1520, "surface"),
    ("report-matters.png", 1200, 1170, "matters"),
)
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def make_study(path: Path) -> Path:
    """Measure a simulated reactor that fails above 208 °C, and return its file."""
    noise = np.random.default_rng(7)
    with Study.open(path, BOX, maximize=True, budget=200, rng=1) as study:
        while trials := study.ask(10):
            for trial in trials:
                x = np.array(list(trial.x.values()))
                away = BOX.to_unit(x) - BEST
                value = 92 - away @ CURVATURE @ away / 2 + noise.standard_normal()
                is_lost = x[0] > 208 and noise.random() < 0.3
                study.tell(trial.id, None if is_lost else float(value), note="temperature alarm" if is_lost else None)
    return path


def alone(text: str, section: str) -> str:
    """Return a report in which only one section is seen."""
    others = f"header, nav, footer, main > section:not([aria-labelledby={section}]) {{ display: none }}"
    return text.replace("</style>", f"{others}\n</style>")


def photograph(page: Path, target: Path, width: int, height: int, browser: str) -> None:
    """Take a picture of the beginning of a page at a width."""
    with tempfile.TemporaryDirectory() as profile:
        size = (f"--window-size={width},{height}", f"--user-data-dir={profile}", f"--screenshot={target}")
        subprocess.run([browser, *FLAGS, *size, page.as_uri()], check=True, timeout=120, stderr=subprocess.DEVNULL)


def main() -> None:
    """Make the study, its report, and the pictures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("There is no Chromium here; install Debian's package chromium.")
    with tempfile.TemporaryDirectory() as folder:
        with Study.read(make_study(Path(folder) / "reactor.db")) as study:
            text = html_report(study_subject(study))
        for name, width, height, section in PICTURES:
            page = write_report(Path(folder) / "reactor.html", alone(text, section))
            photograph(page, HERE / name, width, height, browser)
            print(HERE / name)


if __name__ == "__main__":
    main()
