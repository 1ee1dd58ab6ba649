"""``paraboloid serve``: the page of a study for the laboratory, until Ctrl-C."""

import os
import webbrowser
from pathlib import Path

import click

from paraboloid.cli.exits import exits_with_its_code
from paraboloid.cli.printing import print_json
from paraboloid.cli.signals import heard
from paraboloid.cli.studies import writing
from paraboloid.core import UsageError
from paraboloid.web import address_of, listen, new_token, serve
from paraboloid.web.application import check_installed
from paraboloid.web.guarding import is_loopback

__all__ = ["serve_command"]

TOKEN_VARIABLE = "PARABOLOID_TOKEN"
PORT = 8765


@click.command("serve")
@click.argument("study", type=click.Path(path_type=Path), default=Path("study.db"), metavar="STUDY")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; any but loopback needs a token."
)
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port; 0 for a free one.")
@click.option("--name", "names", multiple=True, help="Another name of this machine in the network; may be given again.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"File whose first line is the token; else {TOKEN_VARIABLE} is looked at, else one is made and shown.",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser of this machine.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as JSON.")
@exits_with_its_code
def serve_command(
    study: Path, host: str, port: int, names: tuple[str, ...], token_file: Path | None, opens: bool, as_json: bool
) -> None:
    """Serve the page of STUDY (study.db or study.toml): type results in a browser, see the fit and the forecast.

    The study is held for as long as the page runs, and nobody else can write to it. Ctrl-C ends it in good order:
    everything that the page called saved is on the disk. Needs the extra "web".

    \b
    Examples:
      paraboloid serve study.toml --open
      paraboloid serve study.toml --host 0.0.0.0 --port 8765

    \b
    Exit codes:
      0  ended by Ctrl-C or a signal, in good order
      1  the file could not be read or written: locked, read-only, the disk is full
      2  called wrongly, the port is taken, or the extra "web" is not installed
      3  another process writes to the study
      5  the file is damaged, or of a newer version; see `paraboloid doctor`
    """  # noqa: D301 - \b is click's mark for lines that stay as they are
    check_installed()
    token = _token(token_file)
    with heard() as wishes, listen(host, port) as listener, writing(study) as opened:
        if token is None and not is_loopback(listener.getsockname()[0]):
            token = new_token()
            click.echo(f"Token, to be typed once into each browser: {token}", err=True)
        address = address_of(listener, next(iter(names), ""))

        def ready() -> None:
            if as_json:
                print_json({"address": address, "needs_token": token is not None, "study": str(opened.path)})
            else:
                click.echo(address)
            click.echo(f"The page of {opened.path} is at the address above. Ctrl-C ends it.", err=True)
            if opens:
                webbrowser.open(address)

        serve(opened, listener, token=token, names=names, ready=ready, should_stop=lambda: wishes.count > 0)
    click.echo("The page is closed. Everything that was saved is in the study.", err=True)


def _token(path: Path | None) -> str | None:
    """Return the token from a file or from the environment, never from the command line, where others can see it."""
    if path is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        token = path.read_text(encoding="utf-8").split("\n")[0].strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the token cannot be read from {path} ({error}).") from error
    if not token:
        raise UsageError(f"the first line of {path} is empty. Write the token there, such as 20 random letters.")
    return token
