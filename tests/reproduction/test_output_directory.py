"""The output is replaced as a whole or not at all, and never if it is somebody else's."""

import json
import os
from pathlib import Path

import pytest

from paraboloid import UsageError
from paraboloid.reproduction.directory import MADE_BY, RESULTS, check_replaceable, replaced_directory


def write_ours(directory: Path, text: str = "old") -> None:
    (directory / "figure.png").write_text(text, encoding="utf-8")
    (directory / RESULTS).write_text(
        json.dumps({"made_by": MADE_BY, "files": ["figure.png", RESULTS]}), encoding="utf-8"
    )


@pytest.fixture
def out(tmp_path: Path) -> Path:
    directory = tmp_path / "out"
    directory.mkdir()
    write_ours(directory)
    return directory


def test_a_new_or_empty_or_own_directory_is_fine(out: Path, tmp_path: Path) -> None:
    check_replaceable(out)
    check_replaceable(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_replaceable(tmp_path / "empty")


@pytest.mark.parametrize("stranger", ["notes.md", "sub/notes.md"])
def test_one_strange_file_among_ours_is_enough_to_refuse(out: Path, stranger: str) -> None:
    path = out / stranger
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=f"not a reproduction: {stranger}"):
        check_replaceable(out)


@pytest.mark.parametrize("results", ["{}", "[]", "not json", '{"made_by": "me", "files": ["figure.png"]}'])
def test_results_that_are_not_ours_do_not_make_it_ours(out: Path, results: str) -> None:
    (out / RESULTS).write_text(results, encoding="utf-8")
    with pytest.raises(UsageError, match="not a reproduction"):
        check_replaceable(out)


def test_a_file_or_a_link_in_its_place_is_refused(out: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "link").symlink_to(out)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("file", "link", "dangling"):
        with pytest.raises(UsageError, match="is no directory"):
            check_replaceable(tmp_path / name)


def test_success_replaces_and_leaves_nothing_beside(out: Path) -> None:
    with replaced_directory(out) as partial:
        assert partial.parent == out.parent
        write_ours(partial, "new")
        assert (out / "figure.png").read_text(encoding="utf-8") == "old"
    assert (out / "figure.png").read_text(encoding="utf-8") == "new"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, SystemExit])
def test_failure_leaves_what_was_there_and_nothing_else(out: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), replaced_directory(out) as partial:
        write_ours(partial, "new")
        raise failure
    assert (out / "figure.png").read_text(encoding="utf-8") == "old"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_a_stranger_who_comes_meanwhile_is_not_overwritten(out: Path) -> None:
    with pytest.raises(UsageError, match=r"late\.txt"), replaced_directory(out) as partial:
        write_ours(partial, "new")
        (out / "late.txt").write_text("mine", encoding="utf-8")
    assert (out / "late.txt").read_text(encoding="utf-8") == "mine"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


@pytest.mark.parametrize("fails_at", [1, 2])
def test_an_interrupt_between_the_two_renames_puts_the_old_one_back(
    out: Path, fails_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    rename = os.rename

    def interrupted(source: Path, target: Path) -> None:
        nonlocal calls
        calls += 1
        if calls == fails_at:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt), replaced_directory(out) as partial:
        write_ours(partial, "new")
    assert (out / "figure.png").read_text(encoding="utf-8") == "old"
    assert [path.name for path in out.parent.iterdir()] == ["out"]


def test_parents_are_made(tmp_path: Path) -> None:
    with replaced_directory(tmp_path / "a" / "b" / "out") as partial:
        write_ours(partial)
    check_replaceable(tmp_path / "a" / "b" / "out")
    assert (tmp_path / "a" / "b" / "out" / "figure.png").exists()
