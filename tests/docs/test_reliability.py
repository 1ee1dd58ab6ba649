"""docs/reliability.md: every fault has its row, every row a test that exists or a reason in writing."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
FAULTS = {"A": 18, "B": 11, "C": 11, "D": 5, "E": 6, "F": 11, "G": 7}
"""Rows of each section of the list of faults and bad inputs that the project keeps."""

ROW = re.compile(r"^\| ([A-G]\d+) \|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
PROMISES = 7


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the tests of a file: functions, and state machines bound to a name."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    bound = {
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    return frozenset(name for name in functions | bound if name.lower().startswith("test"))


def test_every_fault_has_just_one_row_in_order() -> None:
    expected = [f"{section}{number}" for section, last in FAULTS.items() for number in range(1, last + 1)]
    assert [row[0] for row in ROW.findall(PAGE)] == expected


@pytest.mark.parametrize("row", ROW.findall(PAGE), ids=lambda row: row[0])
def test_every_row_names_a_test_or_says_why_there_is_none(row: tuple[str, ...]) -> None:
    _, fault, happens, shown = row
    assert fault.strip() and happens.strip()
    assert TEST.search(shown) or "not yet: " in happens or "refused: " in happens
    assert re.sub(r"[\s,]", "", TEST.sub("", shown)) == "", "the last column holds tests alone"


@pytest.mark.parametrize(("path", "name"), sorted(set(TEST.findall(PAGE))), ids=lambda part: part)
def test_every_named_test_exists(path: str, name: str) -> None:
    assert (ROOT / path).is_file(), f"{path} is named in docs/reliability.md and does not exist"
    assert name in names_in(path), f"{path} has no {name}; mend docs/reliability.md"


def test_the_promises_are_all_there() -> None:
    numbers = re.findall(r"^(\d)\. ", PAGE, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, PROMISES + 1)]
