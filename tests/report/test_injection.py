"""Whatever people write into names, units, notes and paths stays text."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from paraboloid import Box, Knob, Study
from paraboloid.report import html_report, short_html, study_subject
from tests.report.reading import check, read

ATTACKS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</title></svg><iframe srcdoc=x>",
    "</style><style>@import 'evil'</style>",
    "{{ 7 * 7 }}{% for x in y %}",
    "]]> <![CDATA[<b>",
    "<!-- ",
    "&lt;b&gt; &amp;",
    "=HYPERLINK(1)",
    "javascript:alert(1)",
    "\u202etxt.exe\u2066",
    "a\x00b\x1b[31m\r\nc",
    "n" * 5000,
    "нагрев 加热 🔥",
]


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
def test_every_text_of_a_study_stays_text(tmp_path: Path, attack: str) -> None:
    box = Box([Knob(f"{attack} one", 0, 1, attack), Knob(f"{attack} two", 0, 1, attack)])
    noise = np.random.default_rng(0)
    with Study.open(tmp_path / "study.db", box, budget=30, rng=0) as study:
        while trials := study.ask(5):
            for trial in trials:
                x = np.array(list(trial.x.values()))
                failed = trial.id % 7 == 0
                value = f"{attack} is no number" if failed else float(x @ x + 0.1 * noise.standard_normal())
                study.tell(trial.id, value + 9.0 if trial.id == 12 else value, note=attack)  # type: ignore[operator]
        subject = study_subject(study)
    page = html_report(replace(subject, title=attack, path=attack))
    tree = check(page)  # only elements and attributes that we write, and nothing from outside
    assert "\x00" not in page and "\x1b" not in page and "\u202e" not in page
    shown = tree.all("h1")[0].text
    if attack.isprintable() and len(attack) < 100:
        assert shown == " ".join(attack.split()), "escaped once, and not twice"
    assert "49" not in shown
    assert len(page) < 500_000
    for element in read(short_html(subject)).everything():
        assert element.tag in ("", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "b", "p")
        assert set(element.attributes) <= {"scope"}


def test_a_study_in_a_strange_folder_is_named_by_harmless_text(tmp_path: Path) -> None:
    folder = tmp_path / "<b>&\"' onload=x"
    folder.mkdir()
    path = folder / "<img src=x>.db"
    Study.open(path, [(0, 1)], budget=5, rng=0).close()
    with Study.read(path) as study:
        tree = check(html_report(study_subject(study)))
    assert tree.all("h1")[0].text == "<img src=x>"
