"""What is public: every room's ``__all__`` is sorted, complete, documented and shown by example."""

import ast
import enum
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest

import paraboloid

ROOMS = [
    importlib.import_module(f"paraboloid.{found.name}")
    for found in pkgutil.iter_modules(paraboloid.__path__)
    if found.ispkg
]

NO_EXAMPLE = {
    # Built by the library and read by the user: the examples are those of the functions that return them.
    "paraboloid.core.Certificate",
    "paraboloid.core.Estimate",
    "paraboloid.core.Result",
    "paraboloid.design.Design",
    "paraboloid.design.Quality",
    "paraboloid.numerics.QuadraticFit",
    "paraboloid.run.Runs",
    # A line of a generator; outside one there is nothing to show. docs/ has it in the skeleton of an algorithm.
    "paraboloid.core.measure",
    # Inner vocabulary that user code does not call: each is a check whose message is tested in tests/core.
    "paraboloid.core.check_answer",
    "paraboloid.core.check_dimension",
    "paraboloid.core.check_point_in_ball",
    "paraboloid.core.check_positive",
    "paraboloid.core.check_symmetric",
    "paraboloid.core.eigenvalues_above_rounding",
}


def room_name(room: ModuleType) -> str:
    return room.__name__


def source_tree(room: ModuleType) -> ast.Module:
    assert room.__file__ is not None
    return ast.parse(Path(room.__file__).read_text(encoding="utf-8"))


def sorting_key(name: str) -> tuple[int, str]:
    """Order as ruff does (RUF022): constants, classes, the rest."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2), name


def public_objects() -> list[tuple[str, object]]:
    return [(f"{room.__name__}.{name}", getattr(room, name)) for room in ROOMS for name in getattr(room, "__all__", [])]


def needs_example(full_name: str, thing: object) -> bool:
    """Tell whether a public thing must be shown by example: functions, and classes that a user builds."""
    if full_name in NO_EXAMPLE:
        return False
    if inspect.isclass(thing) and not issubclass(thing, Exception | enum.Enum):
        is_protocol = bool(getattr(thing, "_is_protocol", False))
        return not is_protocol and bool(inspect.signature(thing).parameters)
    return inspect.isfunction(thing)


@pytest.mark.parametrize("room", ROOMS, ids=room_name)
def test_all_is_sorted_and_has_no_double(room: ModuleType) -> None:
    assert room.__all__ == sorted(set(room.__all__), key=sorting_key)


@pytest.mark.parametrize("room", ROOMS, ids=room_name)
def test_all_is_just_what_the_room_imports_from_its_own_files(room: ModuleType) -> None:
    imported = {
        alias.asname or alias.name
        for node in source_tree(room).body
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith(room.__name__ + "."))
        for alias in node.names
    }
    defined = {
        node.name
        for node in source_tree(room).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    }
    assert set(room.__all__) == imported | defined


@pytest.mark.parametrize("room", ROOMS, ids=room_name)
def test_every_name_in_all_exists_and_the_room_says_what_it_is(room: ModuleType) -> None:
    assert [name for name in room.__all__ if not hasattr(room, name)] == []
    assert room.__doc__


def test_the_package_names_every_room_it_imports_and_every_name_exists() -> None:
    assert paraboloid.__all__ == sorted(set(paraboloid.__all__), key=sorting_key)
    assert [name for name in paraboloid.__all__ if not hasattr(paraboloid, name)] == []


def documentation_fault(full_name: str, thing: object) -> str | None:
    if not (inspect.isclass(thing) or inspect.isfunction(thing)):
        return None
    first = (inspect.getdoc(thing) or "").split("\n\n")[0].strip()
    # A dataclass without a docstring is given its signature as one.
    if not first or first.startswith(f"{full_name.rsplit('.', 1)[1]}("):
        return f"{full_name} has no docstring"
    return None if first[-1] in ".:)" else f"{full_name} does not begin with a sentence: {first!r}"


def test_every_public_function_and_class_is_documented_by_a_sentence() -> None:
    faults = [documentation_fault(name, thing) for name, thing in public_objects()]
    assert [fault for fault in faults if fault] == []


def test_every_public_function_and_class_that_a_user_builds_has_an_example() -> None:
    asked = [(name, str(thing.__doc__)) for name, thing in public_objects() if needs_example(name, thing)]
    assert [name for name, text in asked if ">>>" not in text] == []


def test_nothing_is_exempt_from_examples_that_has_one_or_does_not_exist() -> None:
    public = dict(public_objects())
    assert sorted(NO_EXAMPLE - set(public)) == []
    assert sorted(name for name in NO_EXAMPLE if ">>>" in str(public[name].__doc__)) == []
