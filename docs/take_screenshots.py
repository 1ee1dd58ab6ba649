"""Take the pictures of the report and of the page that the documentation shows: ``make screenshots``.

A real page is served, and a real Chromium looks at it, at the width of a phone and of a desk.
"""

import io
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from paraboloid import Study, Trial
from paraboloid.report import html_report, study_subject, write_report

DOCS = Path(__file__).parent
sys.path[:0] = [str(DOCS.parent), str(DOCS / "pictures")]

from make_pictures import BEST, BOX, CURVATURE, make_study  # noqa: E402 - found only now
from tests.web.browsing import BROWSER, DRIVER, chromium, set_width  # noqa: E402
from tests.web.support import Served, served  # noqa: E402

TARGET = DOCS / "screenshots"
LARGEST = 150_000  # bytes
COLOURS = 64
PHONE, DESK = 360, 1280


def measure(trial: Trial, noise: np.random.Generator) -> float:
    """Return what the simulated reactor of the other pictures answers."""
    away = BOX.to_unit(np.array(list(trial.x.values()))) - BEST
    return round(float(92 - away @ CURVATURE @ away / 2 + noise.standard_normal()), 1)


def make_round(path: Path) -> Path:
    """Return a study in its third week: 60 values, and a sheet of 6 of which two are measured."""
    noise = np.random.default_rng(7)
    with Study.open(path, BOX, maximize=True, budget=120, rng=1, batch=6) as study:
        while study.status().n_measurements < 60:
            for trial in study.ask(6):
                study.tell(trial.id, measure(trial, noise))
        first, second, *_ = study.ask(6)
        study.tell(first.id, measure(first, noise))
        study.tell(second.id, None, state="FAILED", note="stirrer stopped")
    return path


def keep(browser: Chrome, name: str) -> None:
    """Write a picture of what is seen, in few colours."""
    target = TARGET / f"{name}.png"
    seen = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
    seen.quantize(COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)
    size = target.stat().st_size
    print(f"{target.relative_to(DOCS.parent)}: {seen.width} x {seen.height}, {size // 1000} kB")
    if size > LARGEST:
        sys.exit(f"{target} has more than {LARGEST // 1000} kB.")


def take_report(browser: Chrome, folder: Path) -> None:
    """Take the report of a finished study."""
    with Study.read(make_study(folder / "reactor.db")) as study:
        browser.get(write_report(folder / "reactor.html", html_report(study_subject(study))).as_uri())
    for name, width, height in (("report-desk", DESK, 1420), ("report-phone", PHONE, 1320)):
        set_width(browser, width, height)
        keep(browser, name)


def typed(value: float) -> str:
    """Return a value as somebody types it."""
    return f"{value}".replace(".", ",")


def take_page(browser: Chrome, page: Served) -> None:
    """Take the sheet while somebody types, the answer, and two people who typed something else."""
    noise = np.random.default_rng(8)
    with Study.read(page.path) as study:
        values = {trial.id: measure(trial, noise) for trial in study.trials("RUNNING")[:2]}
    browser.get(page.address)
    for trial, value in values.items():
        browser.find_element(By.NAME, f"value-{trial}").send_keys(typed(value))
    for name, width, height in (("page-desk", DESK, 1180), ("page-phone", PHONE, 1020)):
        set_width(browser, width, height)
        browser.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
        keep(browser, name)
    browser.find_element(By.CSS_SELECTOR, ".save button").click()
    browser.get(page.address)
    browser.execute_script("document.getElementById('fit').scrollIntoView()")
    keep(browser, "page-answer-phone")
    trial, value = next(iter(values.items()))
    browser.get(f"{page.address}/trial/{trial}?value={typed(round(value - 9, 1))}")
    set_width(browser, PHONE, 900)
    keep(browser, "page-conflict-phone")


def main() -> None:
    """Take all pictures."""
    if BROWSER is None or DRIVER is None:
        sys.exit("There is no Chromium with its driver here; run: python tests/web/install_browser.py")
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, chromium(Path(name)) as browser:
        take_report(browser, Path(name))
        with served(make_round(Path(name) / "oven 3.db")) as page:
            take_page(browser, page)


if __name__ == "__main__":
    main()
