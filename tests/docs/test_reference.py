"""The reference and the public names agree, in both directions; the pages name nothing that does not exist."""

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import paraboloid

DOCS = Path(__file__).parents[2] / "docs"
DIRECTIVE = re.compile(r"^\.\. (?:auto\w+|py:data):: (paraboloid(?:\.\w+)+)$", re.MULTILINE)

ROOMS = sorted(
    module.name
    for module in pkgutil.iter_modules(paraboloid.__path__)
    if module.ispkg
    and module.name != "cli"
    and hasattr(importlib.import_module(f"paraboloid.{module.name}"), "__all__")
)
"""The command line has its own generated page, commands.md."""


def documented(room: str) -> list[str]:
    page = DOCS / "reference" / f"{room}.md"
    assert page.exists(), f"the room {room} has public names but no page {page.relative_to(DOCS.parent)}"
    return [name.rpartition(".")[2] for name in DIRECTIVE.findall(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("room", ROOMS)
def test_every_public_name_is_in_the_reference_once(room: str) -> None:
    names = documented(room)
    public = importlib.import_module(f"paraboloid.{room}").__all__
    page = f"docs/reference/{room}.md"
    assert sorted(set(public) - set(names)) == [], f"add to {page}"
    assert sorted(set(names) - set(public)) == [], f"remove from {page}"
    assert len(names) == len(set(names))


@pytest.mark.parametrize("room", ROOMS)
def test_every_room_is_listed_on_the_first_page_of_the_reference(room: str) -> None:
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert f"[`paraboloid.{room}`]({room}.md)" in index
    assert re.search(rf"^{room}$", index, re.MULTILINE), f"{room} is missing in the toctree"


def test_every_name_at_the_top_is_in_the_reference() -> None:
    """A name that a room has too is listed on the first page; one of its own has its entry in minimize.md."""
    index = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    own = documented("minimize")
    names = [name for name in paraboloid.__all__ if not isinstance(getattr(paraboloid, name), ModuleType)]
    missing = [name for name in names if f"`{name}`" not in index and name not in own]
    assert missing == []
    assert [name for name in own if name not in paraboloid.__all__] == []


QUALIFIED = re.compile(rf"`((?:{'|'.join(ROOMS)})\.(?!toml|db)[A-Za-z_]\w*)`")  # study.toml and study.db are files


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_every_qualified_name_in_the_text_exists(page: Path) -> None:
    for name in QUALIFIED.findall(page.read_text(encoding="utf-8")):
        room, _, attribute = name.partition(".")
        assert hasattr(importlib.import_module(f"paraboloid.{room}"), attribute), f"{page.name} names {name}"
