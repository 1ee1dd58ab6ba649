"""The how-to pages: their commands run, their pictures are there and small, and they are linked from the first page."""

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from paraboloid import plan
from tests.cli.support import paraboloid
from tests.report.reading import check

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = ("which-tool", "simulator", "planning", "not-quadratic", "certificate", "gallery")
LARGEST = 150_000  # bytes of a picture


def commands(page: str) -> list[list[str]]:
    """Return the commands of a page, without their comments."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [shlex.split(line, comments=True)[1:] for block in blocks for line in block.splitlines()]


def test_plans_are_printed(tmp_path: Path) -> None:
    for_accuracy, for_budget = (paraboloid(*line, cwd=tmp_path).stdout for line in commands("planning"))
    planned = plan([(150, 210), (20, 60)], eps=0.01, rise=[9, 8], sigma=1.0)
    assert re.search(rf"^│ {planned.measurements_certain} +│ 0\.00\d+ ", for_accuracy, re.MULTILINE), (
        "the page's own numbers"
    )
    assert re.search(r"^│ 40 +│ 0\.00\d+ ", for_budget, re.MULTILINE)


def test_a_simulator_that_is_a_program_is_tuned(tmp_path: Path) -> None:
    example = ROOT / "examples" / "subprocess_simulator"
    folder = Path(shutil.copytree(example, tmp_path / "example"))
    settings = (folder / "study.toml").read_text(encoding="utf-8")
    (shown,) = re.findall(r"```toml\n(.*?)```", (DOCS / "simulator.md").read_text(encoding="utf-8"), re.DOTALL)
    for line in shown.splitlines():
        assert line in settings, "the page shows what is in the example"
    fewer = settings.replace("budget = 80", "budget = 12").replace('"python3"', f'"{sys.executable}"')
    (folder / "study.toml").write_text(fewer, encoding="utf-8")
    lines = commands("simulator")
    assert [line[0] for line in lines] == ["run", "recommend", "report"]
    for line in lines:
        assert paraboloid(*line, cwd=folder).stdout
    assert "reorder point" in check((folder / "study.html").read_text(encoding="utf-8")).text


@pytest.mark.parametrize("page", PAGES)
def test_pictures_are_there_and_small(page: str) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    for name in re.findall(r"```\{image\} (\S+)", text):
        assert 0 < (DOCS / name).stat().st_size < LARGEST
        assert re.search(rf"{re.escape(name)}\n:alt: \S.{{30,}}", text), f"{name} is described in words"


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_linked_from_the_first_one(page: str) -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    assert f"({page}.md)" in index and re.search(rf"^{page}$", index, re.MULTILINE)


def test_the_gallery_names_every_example() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "examples").iterdir() if not path.name.startswith(("_", "."))}
    assert there == set(re.findall(r"^\| `examples/([\w.]+)`", text, re.MULTILINE))
