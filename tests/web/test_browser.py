"""The page in a real Chromium: a round entered and corrected, two people, a kill; on a phone, without scripts."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from paraboloid import Box, Knob, Study
from paraboloid.study import Answer
from tests.web.browsing import AXE, PATIENCE, barriers, chromium, measured, needs_axe, needs_browser, set_width
from tests.web.support import Served, changes, make_study, served, values

pytestmark = needs_browser


def found(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def type_value(browser: Chrome, trial: int, text: str) -> None:
    field = found(browser, f"[name=value-{trial}]")
    field.clear()
    field.send_keys(text)


def save(browser: Chrome) -> None:
    press(browser, ".save button")


def press(browser: Chrome, selector: str) -> None:
    """Press a button, and wait until another page is there."""
    before = found(browser, "html")
    found(browser, selector).click()
    wait(browser, lambda: found(browser, "html") != before)
    wait(browser, lambda: browser.execute_script("return document.readyState") == "complete")


def wait(browser: Chrome, is_true: Callable[[], bool]) -> None:
    """Wait for something on a page that may be going away at this moment.

    What the driver then says of the old page is any of its errors, an "unknown error" of the inspector among them;
    a browser that has ended is an error of the connection, which is not passed over.
    """
    WebDriverWait(browser, PATIENCE, 0.05, ignored_exceptions=[WebDriverException]).until(lambda _: is_true())


def wait_for_text(browser: Chrome, words: str) -> None:
    wait(browser, lambda: words in text(browser))


def text(browser: Chrome) -> str:
    return found(browser, "main").text


@pytest.fixture(scope="module", params=[True, False], ids=["scripts", "no-scripts"])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """A browser as it comes, and one that runs no scripts."""
    with chromium(tmp_path_factory.mktemp("either"), has_scripts=request.param) as browser:
        set_width(browser, 820, 1180)
        browser.get("data:text/html,<title>off</title><script>document.title = 'on'</script>")
        assert browser.title == ("on" if request.param else "off")
        yield browser


def test_a_round_is_asked_for_entered_and_corrected(either: Chrome, tmp_path: Path) -> None:
    with served(make_study(tmp_path, 0)) as page:
        either.get(page.address)
        assert "Nothing has been handed out yet" in text(either)
        found(either, "#count").send_keys("3")
        press(either, ".ask button")
        assert "3 points handed out." in text(either)
        type_value(either, 1, "80,5")
        found(either, "[name=note-1]").send_keys("first of the day")
        found(either, "[name=failed-2]").click()
        type_value(either, 3, "79.25 g")
        save(either)
        assert "Trial 1 is saved: 80.5." in text(either) and "is no number" in text(either)
        type_value(either, 3, "79.25" + Keys.ENTER)
        wait_for_text(either, "Trial 3 is saved: 79.25.")
        assert "Everything on the sheet is measured" in text(either)
        press(either, "#trial-1 .more a")
        assert found(either, "[name=value-1]").get_attribute("value") == "80.5"
        type_value(either, 1, "81,5")
        save(either)
        assert "Trial 1 is saved: 81.5." in text(either)
        either.refresh()
        assert changes(page.path) == [("told", 1, 80.5), ("told", 2, None), ("told", 3, 79.25), ("corrected", 1, 81.5)]


def test_a_double_click_and_the_back_button_count_once(browser: Chrome, page: Served) -> None:
    browser.get(page.address)
    type_value(browser, 1, "80,5")
    ActionChains(browser).double_click(found(browser, ".save button")).perform()
    wait(browser, lambda: "saved=1" in browser.current_url or "same=1" in browser.current_url)
    assert changes(page.path) == [("told", 1, 80.5)]
    browser.get(page.address)
    type_value(browser, 2, "70")
    save(browser)
    browser.back()
    type_value(browser, 2, "70")  # the browser shows the form as it was
    save(browser)
    assert "Trial 2 held that already" in text(browser)
    browser.back()
    type_value(browser, 2, "71")
    save(browser)
    assert "It was told 70 in the meantime, and you typed 71." in text(browser)
    browser.refresh()
    assert changes(page.path) == [("told", 1, 80.5), ("told", 2, 70.0)]
    type_value(browser, 3, "75")  # not saved, and yet not lost
    found(browser, "#count").send_keys("2")
    ActionChains(browser).double_click(found(browser, ".ask button")).perform()
    wait_for_text(browser, "handed out")
    with Study.read(page.path) as study:
        assert study.status().counts["RUNNING"] == 2
    assert changes(page.path)[2:] == [("told", 3, 75.0)]


def test_two_browsers_at_once(browser: Chrome, page: Served, tmp_path: Path) -> None:
    with chromium(tmp_path) as other:
        for b in (browser, other):
            b.get(page.address)
        type_value(browser, 1, "80.5")
        type_value(other, 1, "81,7")
        type_value(other, 2, "70")
        save(browser)
        save(other)
        assert "Trial 2 is saved: 70." in text(other)
        assert "It was told 80.5 in the meantime, and you typed 81,7." in text(other)
        press(other, ".message a")
        assert "The study holds 80.5. You typed 81,7." in text(other)
        assert values(page.path) == {1: 80.5, 2: 70.0}, "nothing was overwritten"
        save(other)  # they have talked to each other
        assert "Trial 1 is saved: 81.7." in text(other)
        browser.get(f"{page.address}/trial/1")
        assert "told 80.5" in text(browser) and "corrected to 81.7" in text(browser)
    assert changes(page.path) == [("told", 1, 80.5), ("told", 2, 70.0), ("corrected", 1, 81.7)]


def test_the_server_is_killed_during_a_post_and_the_page_recovers(browser: Chrome, tmp_path: Path) -> None:
    path = make_study(tmp_path)
    with served(path) as page:
        browser.get(page.address)
        type_value(browser, 1, "80,5")
        found(browser, "[name=note-1]").send_keys("just before")
        # The form is sent, and the server is stopped before it can answer: the browser waits for it.
        page.command.process.send_signal(signal.SIGSTOP)
        browser.set_page_load_timeout(1)
        try:
            found(browser, ".save button").click()
        except WebDriverException:
            pass
        page.kill()
    browser.set_page_load_timeout(PATIENCE)
    with served(path, port=page.port):
        browser.get(page.address)
        stored = changes(path)
        assert stored == [], "a server that stands still stores nothing"
        assert found(browser, "[name=value-1]").is_displayed(), "visibly not stored"
        type_value(browser, 1, "80,5")
        save(browser)
        assert "Trial 1 is saved: 80.5." in text(browser)
        browser.refresh()
        assert changes(path) == [("told", 1, 80.5)]


def test_a_form_that_was_open_while_the_server_was_killed_and_came_back_is_sent(
    browser: Chrome, tmp_path: Path
) -> None:
    path = make_study(tmp_path)
    with served(path) as page:
        browser.get(page.address)
        type_value(browser, 1, "80,5")
        page.kill()
        save(browser)  # there is nobody: the browser says so
    assert changes(path) == []
    with served(path, port=page.port):
        browser.refresh()  # sends the form again, as the button of the browser's own error page does
        wait_for_text(browser, "To measure")
        assert changes(path) == [("told", 1, 80.5)]


def test_the_network_is_asked_for_the_token_once(browser: Chrome, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("correct horse battery\n", encoding="utf-8")
    with served(make_study(tmp_path), "--host", "0.0.0.0", "--token-file", str(tmp_path / "token")) as page:
        browser.get(f"{page.address}/trials")
        assert browser.current_url == f"{page.address}/login"
        found(browser, "#token").send_keys("wrong horse battery")
        press(browser, ".save button")
        assert "That is not the token" in text(browser)
        found(browser, "#token").send_keys("correct horse battery" + Keys.ENTER)
        wait(browser, lambda: browser.current_url == f"{page.address}/")
        type_value(browser, 1, "80")
        save(browser)
        assert values(page.path) == {1: 80.0}
        assert browser.execute_script("return document.cookie") == "", "no script can read it"
        press(browser, ".plain")
        assert browser.current_url == f"{page.address}/login"


# -- how it looks ------------------------------------------------------------------------------------------------------

PLACES = ("/", "/?saved=1.2&same=3&asked=4", "/trial/1", "/trial/40", "/trial/1?value=81,7", "/trials", "/nope")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with an answer, a forecast, failures, notes and open trials."""
    path = make_study(tmp_path_factory.mktemp("full"), 40, 30)
    with Study.open(path) as study:
        study.tell(31, state="FAILED", note="the pump stood still, and nobody knows why; " * 4)
        study.tell(32, [79.5, 80.5], sem=0.3, note="n" * 300)
        study.tell(33, 0.1, state="CENSORED")
        study.tell(34, 80.0, x={"temperature": 176.123456, "time": 33.0})
    with served(path) as running:
        yield running


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page with many knobs, whose names and units are long."""
    path = tmp_path_factory.mktemp("crowded") / f"{'a-very-long-name-of-a-study-' * 5}.db"
    names = ("temperature of the second heating zone, upper side", "Rührerdrehzahl" * 3, "p", *map(str, range(9)))
    box = Box([Knob(name, 0, 1e5, "mmol/(L·min)" * (1 + k % 3)) for k, name in enumerate(names)])
    noise = np.random.default_rng(0)
    with Study.open(path, box, budget=200, rng=0) as study:
        trials = study.ask(110)
        study.tell_all([Answer(trial.id, 1e7 * noise.standard_normal()) for trial in trials[:100]])
    with served(path) as running:
        yield running


@pytest.mark.parametrize("kind", ["full", "crowded"])
def test_nothing_is_scrolled_sideways_cut_or_too_small_to_touch(
    browser: Chrome, request: pytest.FixtureRequest, kind: str
) -> None:
    site: Served = request.getfixturevalue(kind)
    for place in PLACES:
        browser.get(site.address + place)
        for width in (320, 360, 820, 1280):
            seen = measured(browser, width)
            assert seen["wide"] <= width, (place, width, seen)
            assert (seen["out"], seen["small"], seen["cut"], seen["tiny"]) == ([], 0, [], []), (place, width, seen)
        outside = [name for name in seen["requests"] if not name.startswith(site.address)]
        assert outside == [], "nothing is fetched from elsewhere"


@needs_axe
def test_axe_finds_no_barrier(browser: Chrome, full: Served) -> None:
    for place in (*PLACES, "/report"):
        browser.get(full.address + place)
        for width in (360, 1280):
            set_width(browser, width)
            assert barriers(browser) == [], (place, width)


@needs_axe
def test_axe_finds_no_barrier_in_forms_that_were_refused_or_at_the_door(browser: Chrome, page: Served) -> None:
    browser.get(page.address)
    type_value(browser, 1, "?")
    save(browser)
    assert found(browser, ".wrong").is_displayed()
    assert barriers(browser) == []
    assert measured(browser, 360)["wide"] <= 360


def test_the_measures_of_this_file_find_what_is_wrong(browser: Chrome) -> None:
    browser.get("data:text/html,<body><img src='x'><div style='width:900px'>wide</div><button>b</button>")
    seen = measured(browser, 360)
    assert seen["wide"] > 360 and len(seen["out"]) == 1 and len(seen["tiny"]) == 1
    if AXE.is_file():
        assert {"image-alt", "html-has-lang"} <= {name for name, *_ in barriers(browser)}


def test_no_page_writes_an_error_into_the_console(browser: Chrome, full: Served) -> None:
    """A policy that forbids too much, a style that is missing, a form that is not ours: the browser would say so."""
    browser.get("about:blank")
    browser.get_log("browser")  # type: ignore[no-untyped-call]  # of selenium
    for place in ("/", "/trial/1", "/trials", "/report"):
        browser.get(full.address + place)
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
