"""Every experiment at a tiny size: finite numbers, texts of what was expected and seen, figures that are drawn."""

import functools
import json
import math
from pathlib import Path

import numpy as np
import pytest

from paraboloid.numerics import median_of_means
from paraboloid.reproduction import EXPERIMENTS, Size
from paraboloid.reproduction.figures import save_figure
from paraboloid.reproduction.page import write_experiment, write_pages
from paraboloid.reproduction.reproduce import _entry, experiment_seed
from paraboloid.reproduction.truncation import medians_of_means
from paraboloid.reproduction.workbench import Findings, Workbench
from paraboloid.run import process_pool


@functools.cache
def findings_of(name: str) -> Findings:
    return EXPERIMENTS[name](Workbench(name, Size.TINY, experiment_seed(1, name)))


NAMES = pytest.mark.parametrize("name", list(EXPERIMENTS))


@NAMES
def test_all_numbers_are_finite_and_all_rows_have_equal_columns(name: str) -> None:
    rows = findings_of(name).rows
    assert rows
    for row in rows:
        assert list(row) == list(rows[0])
        assert all(math.isfinite(value) for value in row.values() if not isinstance(value, str))
    json.dumps(rows, allow_nan=False)


@NAMES
def test_the_texts_are_there_and_free_of_holes(name: str) -> None:
    findings = findings_of(name)
    for text in (findings.title, findings.headline, findings.expected, findings.seen):
        assert text.strip() and "nan" not in text.split() and "{" not in text.replace("_{k", "")
    assert findings.claims
    assert len(findings.headline) < 110
    assert any(character.isdigit() for character in findings.seen)


@NAMES
def test_the_figure_is_drawn_in_both_formats_and_small(name: str, tmp_path: Path) -> None:
    png, svg = save_figure(findings_of(name), tmp_path / name)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert png.stat().st_size < 150_000
    assert "<svg" in svg.read_text(encoding="utf-8")


def test_the_same_numbers_give_the_same_svg(tmp_path: Path) -> None:
    first, second = (save_figure(findings_of("energy"), tmp_path / name)[1] for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


def test_the_numbers_do_not_depend_on_workers() -> None:
    with process_pool(2) as pool:
        for name in ("theorem_2", "truncation"):
            bench = Workbench(name, Size.TINY, experiment_seed(1, name), pool)
            assert EXPERIMENTS[name](bench).rows == findings_of(name).rows


def test_experiments_have_streams_of_their_own() -> None:
    states = {tuple(experiment_seed(1, name).generate_state(2)) for name in EXPERIMENTS}
    assert len(states) == len(EXPERIMENTS)
    assert tuple(experiment_seed(2, "energy").generate_state(2)) not in states


def test_the_pages_say_expected_and_seen_and_need_no_other_file(tmp_path: Path) -> None:
    names = ["theorem_3", "energy"]
    for name in names:
        write_experiment(tmp_path, name, findings_of(name))
    results = {
        "command": "paraboloid reproduce <&>",
        "seconds": 60.0,
        "versions": {"paraboloid": "0", "numpy": "0"},
        "experiments": {name: _entry(findings_of(name)) for name in names},
    }
    write_pages(tmp_path, results)
    markdown = (tmp_path / "index.md").read_text(encoding="utf-8")
    html = (tmp_path / "index.html").read_text(encoding="utf-8")
    for word in ("Expected.", "Seen."):
        assert markdown.count(f"**{word}**") == html.count(f"<strong>{word}</strong>") == 2
    assert "130·(1 - ½·n'ᵀCn'/tr C)" in markdown and "89.34" in markdown  # the constant is derived in the caption
    assert "](energy.png)" in markdown
    assert html.count("data:image/svg+xml;base64,") == 2
    assert "http://" not in html.replace("http://www.w3.org", "") and "reproduce &lt;&amp;&gt;" in html


def test_medians_of_rows_are_the_library_s_median_of_means() -> None:
    values = np.random.default_rng(0).standard_t(2.1, (20, 400))
    np.testing.assert_allclose(medians_of_means(values), [median_of_means(row) for row in values], rtol=1e-12)


@pytest.mark.parametrize("name", list(Size))
def test_a_size_chooses_its_own_value(name: Size) -> None:
    assert name.choose("tiny", "quick", "full") == name.value
