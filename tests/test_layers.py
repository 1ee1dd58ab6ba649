"""Who imports whom: the table of rooms in STYLE.md, read from the imports of every file."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import paraboloid

PACKAGE = Path(paraboloid.__file__).parent

ROOMS = {
    "core": set[str](),
    "theory": {"core"},
    "numerics": {"core"},
    "design": {"core", "theory", "numerics"},
    "algorithms": {"core", "design", "numerics", "theory"},
    "run": {"core"},
    "store": {"core"},
    "problems": {"core"},
    "report": {"core", "theory", "numerics", "design"},
    "reproduction": {"core", "theory", "numerics", "algorithms", "run", "problems"},
    "web": {"core", "store", "report", "study"},
    "integrations": {"core", "algorithms", "run", "minimise", "answer"},
}
DOORS = {"answer", "minimise", "minimize", "planning", "study"}
"""Modules at the top that a user enters by: they may import every room but those that stand before them."""
OPEN = {"__init__", "__main__", "cli"}
"""Files at the top that may import everything."""

STEPS_ARE_DRIVEN_IN = "run"
MAY_IMPORT_LATE = {"report", "reproduction", "integrations", "web"}
OPTIONAL_PACKAGES = {"jinja2", "matplotlib", "optuna", "starlette", "uvicorn"}
CORE_PACKAGES = {"numpy"}
STANDARD_ONLY_ELSEWHERE = {"numpy", "scipy", "click", "rich"} | OPTIONAL_PACKAGES


def allowed_rooms(room: str) -> set[str]:
    if room in OPEN:
        return set(ROOMS) | DOORS | OPEN
    if room in DOORS:
        return (set(ROOMS) | DOORS) - {"web", "integrations"}
    return ROOMS[room] | {room}


def imported_modules(tree: ast.Module, module: str) -> Iterator[tuple[int, str]]:
    """Yield (line, absolute dotted name) of everything that is imported; relative imports are resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parent = module.split(".")[: -node.level] if node.level else []
            base = ".".join([*parent, *([node.module] if node.module else [])])
            # ``from paraboloid import run`` imports a room, so the names count where the base is the package.
            yield from ((node.lineno, f"{base}.{alias.name}" if base == "paraboloid" else base) for alias in node.names)


def late_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield (line, top-level package) of every import inside a function."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield node.lineno, (node.module or ".").split(".")[0]


def complaints(source: str, module: str) -> list[str]:
    """Return every breach of the rules of rooms in the text of one module, as sentences."""
    tree = ast.parse(source)
    room = module.split(".")[1] if module.count(".") else "__init__"
    if room not in OPEN | DOORS | set(ROOMS):
        return [f"{module}: there is no room {room!r} in the table"]
    found = []
    for line, name in imported_modules(tree, module):
        package, _, rest = name.partition(".")
        target = rest.split(".")[0] or "__init__"
        if package == "paraboloid" and target in set(ROOMS) | DOORS | OPEN and target not in allowed_rooms(room):
            found.append(f"{module}:{line}: {room} may not import {target}")
        if room == "core" and package in STANDARD_ONLY_ELSEWHERE - CORE_PACKAGES:
            found.append(f"{module}:{line}: core imports numpy alone, not {package}")
    for line, package in late_imports(tree):
        if room not in MAY_IMPORT_LATE or package not in OPTIONAL_PACKAGES:
            found.append(f"{module}:{line}: {package} is imported inside a function")
    if room != STEPS_ARE_DRIVEN_IN:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "send":
                found.append(f"{module}:{node.lineno}: only {STEPS_ARE_DRIVEN_IN} sends to steps")
    return found


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts)


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=module_name)
def test_every_file_imports_only_what_its_room_may(path: Path) -> None:
    assert complaints(path.read_text(encoding="utf-8"), module_name(path)) == []


def test_there_is_no_room_for_odds_and_ends() -> None:
    assert not [path for path in PACKAGE.rglob("*") if path.stem in {"utils", "util", "helpers", "common", "misc"}]


@pytest.mark.parametrize(
    ("module", "source", "complaint"),
    [
        ("paraboloid.run.bad", "from paraboloid.algorithms import universal", "run may not import algorithms"),
        ("paraboloid.run.bad", "from paraboloid import algorithms", "run may not import algorithms"),
        ("paraboloid.run.bad", "import paraboloid.algorithms.universal as u", "run may not import algorithms"),
        ("paraboloid.run.bad", "from ..algorithms import universal", "run may not import algorithms"),
        ("paraboloid.run.bad", "from .. import algorithms", "run may not import algorithms"),
        ("paraboloid.algorithms.bad", "from paraboloid.run import simulate", "algorithms may not import run"),
        ("paraboloid.theory.bad", "from paraboloid.numerics import quantise", "theory may not import numerics"),
        ("paraboloid.core.bad", "import paraboloid", "core may not import __init__"),
        ("paraboloid.core.bad", "import scipy.linalg", "core imports numpy alone, not scipy"),
        ("paraboloid.study", "from paraboloid.web import page", "study may not import web"),
        ("paraboloid.study", "from paraboloid import cli", "study may not import cli"),
        ("paraboloid.utils.bad", "x = 1", "there is no room 'utils'"),
        ("paraboloid.run.bad", "def f():\n    import math", "math is imported inside a function"),
        ("paraboloid.report.bad", "def f():\n    from paraboloid import core", "paraboloid is imported inside"),
        ("paraboloid.theory.bad", "def f():\n    import matplotlib", "matplotlib is imported inside"),
        ("paraboloid.algorithms.bad", "def f(steps):\n    steps.send(None)", "only run sends to steps"),
        ("paraboloid.theory.bad", "if True:\n    from paraboloid.run import simulate", "theory may not import run"),
    ],
)
def test_the_checker_catches_a_breach(module: str, source: str, complaint: str) -> None:
    found = complaints(source, module)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("paraboloid.run.good", "import math\nfrom paraboloid.core import Experiment\nfrom .simulate import simulate"),
        ("paraboloid.run.good", "def f(steps, m):\n    return steps.send(m)"),
        ("paraboloid.report.good", "def f():\n    import matplotlib.pyplot as plt"),
        ("paraboloid.algorithms.good", "from paraboloid.algorithms.sampling import BLOCK\nimport numpy as np"),
        ("paraboloid.cli", "from paraboloid import reproduction, run"),
        ("paraboloid", "from paraboloid import algorithms, core"),
    ],
)
def test_the_checker_lets_good_imports_pass(module: str, source: str) -> None:
    assert complaints(source, module) == []
