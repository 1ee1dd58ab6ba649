"""``paraboloid report`` as a process: where it writes, what it refuses, and that it disturbs nobody."""

import json
from pathlib import Path

import numpy as np
import pytest

from paraboloid import Study
from tests.cli.support import paraboloid
from tests.report.reading import check, section
from tests.study.support import BOX, make, measure


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "oven.db"
    with make(path) as made:
        while trials := made.ask(10):
            measure(made, trials)
    return path


def test_it_writes_beside_the_study_and_prints_where(study: Path) -> None:
    done = paraboloid("report", "oven.db", cwd=study.parent)
    assert done.stdout.strip() == str(study.with_suffix(".html")) and done.stderr == ""
    tree = check(study.with_suffix(".html").read_text(encoding="utf-8"))
    assert tree.all("h1")[0].text == "oven" and "°C" in tree.text
    with Study.read(study) as view:
        best = view.recommend().x
    shown = [float(row.all("td")[0].text.split()[0]) for row in tree.all("table")[0].all("tbody")[0].all("tr")]
    np.testing.assert_allclose(shown, best, atol=0.05)
    paraboloid("report", "oven.toml", cwd=study.parent)  # again, by the name of its settings: the report is replaced


def test_output_json_and_worsening(study: Path) -> None:
    done = paraboloid("report", "oven.db", "-o", "r.html", "--json", "--worsening", "0.5", cwd=study.parent)
    said = json.loads(done.stdout)
    path = Path(said["path"])
    assert path == study.parent / "r.html" and said["bytes"] == path.stat().st_size
    matters = section(check(path.read_text(encoding="utf-8")), "matters")
    assert matters is not None and "a worsening of 0.5." in matters.text


def test_a_dash_is_standard_output(study: Path) -> None:
    done = paraboloid("report", "oven.db", "--output", "-", cwd=study.parent)
    check(done.stdout)
    assert not list(study.parent.glob("*.html"))
    assert "--json would stand" in paraboloid("report", "oven.db", "-o", "-", "--json", cwd=study.parent, code=2).stderr


def test_what_is_no_report_is_replaced_only_by_force(study: Path) -> None:
    other = study.parent / "notes.html"
    other.write_text("mine", encoding="utf-8")
    done = paraboloid("report", "oven.db", "-o", "notes.html", cwd=study.parent, code=2)
    assert "no report of ours" in done.stderr and other.read_text(encoding="utf-8") == "mine"
    paraboloid("report", "oven.db", "-o", "notes.html", "--force", cwd=study.parent)
    check(other.read_text(encoding="utf-8"))
    before = study.read_bytes()
    done = paraboloid("report", "oven.db", "-o", "oven.db", "--force", cwd=study.parent, code=2)
    assert "never written over" in done.stderr and study.read_bytes() == before


def test_no_study_a_bad_amount_and_a_damaged_file_have_their_codes(study: Path) -> None:
    assert "no study" in paraboloid("report", "none.db", cwd=study.parent, code=2).stderr
    assert "worsening" in paraboloid("report", "oven.db", "--worsening", "-1", cwd=study.parent, code=2).stderr
    (study.parent / "broken.db").write_bytes(b"not a database, but long enough to be looked at " * 100)
    paraboloid("report", "broken.db", cwd=study.parent, code=5)
    assert not list(study.parent.glob("*.html")) and not list(study.parent.glob(".*"))


def test_an_empty_study_at_work_has_a_report_and_is_not_disturbed(tmp_path: Path) -> None:
    with Study.open(tmp_path / "study.db", BOX, budget=20, rng=0) as study:
        trials = study.ask(3)
        paraboloid("report", cwd=tmp_path)  # while this process holds it
        check((tmp_path / "study.html").read_text(encoding="utf-8"))
        measure(study, trials)
        assert study.status().n_measurements == 3
