"""Write docs/commands.md from the commands themselves: ``python docs/generate_commands.py``.

The page is made from what click knows (arguments, options, help) and not from click's own layout of it, which differs
between versions and terminals. ``tests/docs/test_commands.py`` fails while the committed page is not the generated one.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

PAGE = Path(__file__).with_name("commands.md")

HEAD = """\
# Commands

Every command, its arguments and its options. Results go to standard output, all else to standard error. `--help` after
any command prints the same.

<!-- Written by docs/generate_commands.py from the commands themselves; do not edit. -->
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """Yield (full name, command) for a command and all beneath it, in order of name."""
    yield name, command
    if isinstance(command, click.Group):
        for child in sorted(command.commands):
            yield from commands(command.commands[child], f"{name} {child}")


def page(group: click.Command, name: str = "paraboloid") -> str:
    """Return the text of the page."""
    return "\n".join([HEAD, *(_section(full, command) for full, command in commands(group, name))]).rstrip() + "\n"


def _section(name: str, command: click.Command) -> str:
    shown = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    arguments = [argument for argument in command.params if isinstance(argument, click.Argument)]
    usage = [name, *(["[OPTIONS]"] if shown else []), *(_argument(argument) for argument in arguments)]
    if isinstance(command, click.Group):
        usage.append("COMMAND ...")
    lines = [f"## {name}", "", "```text", " ".join(usage), "```", "", _paragraphs(command.help or ""), ""]
    if shown:
        lines += ["| option | meaning | default |", "|---|---|---|", *(_row(option) for option in shown), ""]
    if command.epilog:
        lines += [_paragraphs(command.epilog), ""]
    return "\n".join(lines)


def _argument(argument: click.Argument) -> str:
    name = (argument.metavar or argument.name or "").upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _paragraphs(help_text: str) -> str:
    r"""Return help as Markdown; a paragraph that click is told not to rewrap (\b) becomes a block."""
    text = inspect.cleandoc(help_text).split("\f")[0].strip()
    return re.sub(r"\x08\n(.*?)(?=\n\n|\Z)", r"```text\n\1\n```", text, flags=re.DOTALL)


def _row(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    value = "" if option.is_flag or option.count else f" {option.metavar or option.type.name.upper()}"
    if isinstance(option.type, click.Choice) and option.metavar is None:
        value = " " + " or ".join(f"`{choice}`" for choice in option.type.choices)
    return f"| {names}{value} | {_cell(option.help or '')} | {_default(option)} |"


def _default(option: click.Option) -> str:
    if option.required:
        return "required"
    if isinstance(option.show_default, str):
        return _cell(option.show_default)
    default = option.to_info_dict()["default"]
    if option.secondary_opts and isinstance(default, bool):
        return f"`{(option.opts if default else option.secondary_opts)[0]}`"
    if option.is_flag or default in (None, ()) or callable(default):
        return ""
    return f"`{default}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    from paraboloid.cli import main

    PAGE.write_text(page(main), encoding="utf-8")
