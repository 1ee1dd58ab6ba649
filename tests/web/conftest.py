"""One browser for all tests of a worker that need just one."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.web.browsing import chromium, set_width
from tests.web.support import Served, make_study, served


@pytest.fixture(scope="session")
def one_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    with chromium(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture
def browser(one_browser: Chrome) -> Chrome:
    one_browser.delete_all_cookies()
    set_width(one_browser, 820, 1180)  # a tablet
    return one_browser


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Served]:
    """A page whose sheet has the trials 1 to 3."""
    with served(make_study(tmp_path)) as running:
        yield running
