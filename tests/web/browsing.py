"""A real Chromium for tests and pictures, driven by selenium; axe-core, which looks for barriers in a page.

``python tests/web/install_browser.py`` (part of ``make test``) puts both in place where it can. Where one cannot be
had, the tests that need it are skipped with the reason in pytest's summary.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

ROOT = Path(__file__).parents[2]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
AXE = Path(os.environ.get("PARABOLOID_AXE") or ROOT / ".venv/browser/node_modules/axe-core/axe.min.js")
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
PATIENCE = 60.0

needs_browser = pytest.mark.skipif(
    BROWSER is None or DRIVER is None,
    reason="NO BROWSER TESTS: Chromium or chromedriver is missing; run `python tests/web/install_browser.py`",
)
needs_axe = pytest.mark.skipif(
    not AXE.is_file(), reason=f"NO ACCESSIBILITY TESTS: no {AXE}; run `python tests/web/install_browser.py`"
)


@contextmanager
def chromium(folder: Path, *, has_scripts: bool = True) -> Iterator[Chrome]:
    """Start a browser with a profile of its own in a folder; end it in the end."""
    assert BROWSER is not None and DRIVER is not None
    options = ChromeOptions()
    options.binary_location = BROWSER
    for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    if not has_scripts:
        options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
    browser = Chrome(options=options, service=Service(DRIVER))
    try:
        browser.set_page_load_timeout(PATIENCE)
        yield browser
    finally:
        browser.quit()


def set_width(browser: Chrome, width: int, height: int = 800) -> None:
    """Give the window a width; a window of Chromium itself is never as narrow as a phone."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


MEASURE = """
const root = document.documentElement, width = arguments[0];
const out = [...root.querySelectorAll("body *")].filter(
  e => !e.closest("thead") && !e.closest("svg") && e.getBoundingClientRect().right > width + 0.5);
const small = [...root.querySelectorAll("svg text")].filter(e => e.getBoundingClientRect().height < 9);
const cut = [...root.querySelectorAll("svg")].flatMap(s => [...s.querySelectorAll("text")].filter(t => {
  const a = s.getBoundingClientRect(), b = t.getBoundingClientRect();
  return b.left < a.left - 2 || b.right > a.right + 2;}));
const touched = [...root.querySelectorAll("button, .button, input:not([type=hidden]), nav a, .more a, summary")];
const label = e => (e.type === "checkbox" && e.closest("label")) || e;
const tiny = touched.filter(e => e.checkVisibility() && label(e).getBoundingClientRect().height < 44);
return {wide: root.scrollWidth, out: out.map(e => e.outerHTML.slice(0, 120)), small: small.length,
  cut: cut.map(t => t.textContent), tiny: tiny.map(e => e.outerHTML.slice(0, 120)),
  requests: performance.getEntriesByType("resource").map(e => e.name)};
"""


def measured(browser: Chrome, width: int) -> dict[str, Any]:
    """Return what of a page is too wide, cut, or too small to be read or touched, at a width."""
    set_width(browser, width)
    found: dict[str, Any] = browser.execute_script(MEASURE, width)
    return found


def barriers(browser: Chrome) -> list[Any]:
    """Return what axe-core finds wrong with the page that is open: name, impact, count, first place."""
    browser.set_script_timeout(PATIENCE)
    # The browser runs this for us whatever the page's own policy says about scripts.
    browser.execute_script(AXE.read_text(encoding="utf-8"))
    found: list[Any] = browser.execute_async_script(
        "const done = arguments[0], said = v => [v.id, v.impact, v.nodes.length, v.nodes[0].html.slice(0, 200)];"
        "axe.run().then(found => done(found.violations.map(said)), error => done([String(error)]));"
    )
    return found
