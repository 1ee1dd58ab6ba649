"""Reports in a real Chromium: nothing is scrolled sideways on a phone, no request leaves, axe-core has no complaint."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from paraboloid.report import write_report
from tests.report.scenarios import page_of
from tests.web.browsing import barriers, chromium, measured, needs_axe, needs_browser, set_width

SEEN = ("oven", "thirty", "saddle", "failed", "empty", "running", "growing")

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.mark.parametrize("name", SEEN)
def test_nothing_is_scrolled_sideways_or_cut_at_any_width(
    studies: Path, tmp_path: Path, browser: Chrome, name: str
) -> None:
    browser.get(write_report(tmp_path / f"{name}.html", page_of(studies, name)).as_uri())
    for width in (360, 720, 1130, 1200):
        found = measured(browser, width)
        assert found["wide"] <= width, (width, found)
        assert (found["out"], found["small"], found["cut"], found["requests"]) == ([], 0, [], []), (width, found)


@needs_axe
@pytest.mark.parametrize("name", SEEN)
def test_axe_finds_no_violation(studies: Path, tmp_path: Path, browser: Chrome, name: str) -> None:
    browser.get(write_report(tmp_path / f"{name}.html", page_of(studies, name)).as_uri())
    for width in (360, 1200):
        set_width(browser, width)
        assert barriers(browser) == [], width
