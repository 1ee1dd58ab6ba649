"""Run the ``python`` blocks of every page of the documentation and of README.md: one test for each page.

A block that begins with ``>>>`` is a doctest; any other is run as it stands. Blocks of one page share their names, in
order, as a reader would type them. A page is one test, and not one for each block, so that pytest-xdist cannot give the
blocks of one page to different workers.
"""

import doctest
from collections.abc import Iterator
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.example import SybilFailure
from sybil.parsers.myst import PythonCodeBlockParser, SkipParser

BLOCKS = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE),
        SkipParser(),
    ],
    patterns=["*.md"],
)


class Page(pytest.File):
    """A Markdown page; it holds one test if it has any block to run."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the page's test."""
        examples = list(BLOCKS.parse(self.path).examples())
        if examples:
            item: Blocks = Blocks.from_parent(self, name="blocks")
            item.examples = examples
            yield item


class Blocks(pytest.Item):
    """All blocks of one page, in order."""

    examples: list  # type: ignore[type-arg]  # sybil has no types

    def runtest(self) -> None:
        """Run them; the first that fails ends the page."""
        for example in self.examples:
            try:
                example.evaluate()
            except SybilFailure:
                raise
            except Exception as error:
                error.add_note(f"in the block at {self.path}:{example.line}")
                raise

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: None = None) -> str:  # type: ignore[override]
        """Say what was expected and got, and where."""
        if isinstance(excinfo.value, SybilFailure):
            return str(excinfo.value)
        return str(super().repr_failure(excinfo, style))

    def reportinfo(self) -> tuple[Path, int, str]:
        """Name the page."""
        return self.path, 0, f"python blocks of {self.path.name}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    """Take every Markdown file for a page."""
    return Page.from_parent(parent, path=file_path) if file_path.suffix == ".md" else None
