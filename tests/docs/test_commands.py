"""The page of commands is what the commands say, and no command or option goes without help."""

import importlib.util
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

from paraboloid.cli import main

DOCS = Path(__file__).parents[2] / "docs"


def generator() -> ModuleType:
    specification = importlib.util.spec_from_file_location("generate_commands", DOCS / "generate_commands.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


GENERATE = generator()
COMMANDS: list[tuple[str, click.Command]] = list(GENERATE.commands(main, "paraboloid"))


def test_the_committed_page_is_the_generated_one() -> None:
    committed = (DOCS / "commands.md").read_text(encoding="utf-8")
    assert committed == GENERATE.page(main), "run: python docs/generate_commands.py"


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_every_command_has_help_and_so_has_every_option(name: str, command: click.Command) -> None:
    assert command.help, f"{name} has no help"
    bare = [option.name for option in command.params if isinstance(option, click.Option) and not option.help]
    assert bare == [], f"{name} has options without help"


@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[name for name, _ in COMMANDS])
def test_help_prints_what_the_page_documents(name: str, command: click.Command) -> None:
    answer = CliRunner().invoke(main, [*name.split()[1:], "--help"])
    assert answer.exit_code == 0
    assert "\\b" not in answer.output, "a raw docstring: click needs the character, not a backslash and a letter"
    section = GENERATE.page(main).split(f"## {name}\n")[1].split("\n## ")[0]
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert option.opts[0] in answer.output
            assert f"`{option.opts[0]}`" in section


def test_a_page_from_a_small_group_says_it_all() -> None:
    @click.group(help="Does things.")
    def group() -> None: ...

    @group.command(help="Does one thing.\n\n\b\nleft\n  as it is")
    @click.argument("path")
    @click.option("--quick/--full", default=True, help="How long.")
    @click.option("--size", type=click.Choice(["small", "large"]), required=True, help="How | large.")
    @click.option("--number", type=int, default=3, help="How many.")
    def one(path: str, quick: bool, size: str, number: int) -> None: ...

    page = GENERATE.page(group, "thing")
    assert "## thing\n" in page and "thing COMMAND ..." in page
    assert "## thing one\n" in page and "thing one [OPTIONS] PATH" in page
    assert "```text\nleft\n  as it is\n```" in page
    assert "| `--quick`, `--full` | How long. | `--quick` |" in page
    assert "| `--size` `small` or `large` | How \\| large. | required |" in page
    assert "| `--number` INTEGER | How many. | `3` |" in page
