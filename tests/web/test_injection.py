"""Whatever people write into names, units, notes and values stays text, on every page and in every download."""

import csv
import io
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from paraboloid import Box, Knob, Study
from tests.report.test_injection import ATTACKS
from tests.web.support import Served, get, post, served

TAGS = set(
    "html head meta title link body header main footer section nav h1 h2 h3 p ul ol li a b small span div dl dt dd "
    "form input button label fieldset legend details summary table caption thead tbody tr th td figure figcaption "
    "svg path rect text g clippath circle time".split()
)
LEADS = ("href", "action", "formaction")
ACTS = ("=", "+", "-", "@", "\t", "\r")


class Checker(HTMLParser):
    """Fails on every element and attribute that we do not write ourselves."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.fields: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, f"<{tag}> is none of ours"
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("style", "src", "srcdoc"), (tag, name)
            if name in LEADS:
                assert str(value).startswith(("/", "#")) and not str(value).startswith("//"), (tag, value)
            if name == "value":
                self.fields.append(str(value))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def checked(text: str) -> Checker:
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert "\x00" not in text and "\x1b" not in text and "\u202e" not in text
    return checker


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page of a study in which every name and unit is an attack, in a file whose name is one."""
    knobs = [Knob(f"{attack} {k}", 0, 1, attack) for k, attack in enumerate(ATTACKS)]
    path: Path = tmp_path_factory.mktemp("attacked") / "<img src=x onerror=alert(1)>'\".db"
    with Study.open(path, Box(knobs), budget=300, rng=0) as study:
        study.ask(40)
    with served(path) as running:
        yield running


def test_names_and_units_stay_text_on_every_page(page: Served) -> None:
    for path in ("/", "/trials", "/trial/1", "/report", "/nope"):
        answer = get(page, path)
        if path == "/report":
            assert "<script" not in answer.text and "onerror=alert(1)>" not in answer.text.replace("&gt;", "")
            continue
        shown = " ".join(" ".join(checked(answer.text).texts).split())
        if path in ("/", "/trial/1"):
            assert "<script>alert(1)</script> 0" in shown, "escaped once, and not twice"
            assert "{{ 7 * 7 }}" in shown


@pytest.mark.parametrize("number", range(len(ATTACKS)))
def test_notes_and_values_stay_text_when_they_are_taken_and_when_they_are_not(page: Served, number: int) -> None:
    attack, trial = ATTACKS[number], number + 1
    refused = post(page, "/save", {f"value-{trial}": attack, f"version-{trial}": "0", f"note-{trial}": attack})
    assert refused.status == 422
    typed = checked(refused.text).fields
    if attack.isprintable() and len(attack) < 100:
        assert attack.strip() in typed, "what was typed is kept"
    compared = get(page, f"/trial/{trial}?value=" + "".join(f"%{b:02x}" for b in attack.encode()[:50]))
    checked(compared.text)
    assert (
        post(page, "/save", {f"value-{trial}": "1.5", f"version-{trial}": "0", f"note-{trial}": attack[:900]}).status
        == 303
    )
    for path in ("/", f"/?saved={trial}", f"/trial/{trial}", "/trials"):
        answer = get(page, path)
        assert answer.status == 200
        checked(answer.text)


def test_formulas_in_downloads_cannot_act(page: Served) -> None:
    for path in ("/sheet.csv", "/all.csv"):
        answer = get(page, path)
        assert "<" not in answer.headers["content-disposition"] and '"' in answer.headers["content-disposition"]
        rows = list(csv.reader(io.StringIO(answer.body.decode("utf-8-sig"), newline="")))
        for cells in rows:
            for cell in cells:
                is_number = cell.lstrip("+-").replace(".", "").replace("e-", "").isdigit()
                assert not cell.startswith(ACTS) or is_number, cell
        assert any("'=HYPERLINK(1)" in cell for cell in rows[0]), "the header of a knob is neutralised"


def test_what_a_request_asks_for_is_never_written_back_unescaped(page: Served) -> None:
    for path in ("/%3Cscript%3Ealert(1)%3C/script%3E", "/?saved=%3Cscript%3E&same=%22%3E", "/trials?page=%3Cb%3E"):
        answer = get(page, path)
        checked(answer.text)
        assert "<script" not in answer.text
