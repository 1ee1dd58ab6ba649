"""The server: a socket on a loopback address unless told otherwise, uvicorn in a thread, an end in good order."""

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from paraboloid.core import UsageError
from paraboloid.study import Study
from paraboloid.web.application import application, check_installed
from paraboloid.web.guarding import Guard, is_loopback

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

__all__ = ["address_of", "listen", "serve"]

LOOK = 0.1
"""Seconds between looks at whether it is to end."""
GRACE = 10
"""Seconds that requests which are being answered are given at the end."""

logger = logging.getLogger("paraboloid")


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """Return a socket that listens there, or raise a `UsageError`; port 0 is a free one.

    Examples
    --------
    >>> with listen() as listener:
    ...     listener.getsockname()[0]
    '127.0.0.1'
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{host!r} is no address of this machine ({error}). Leave --host out for this machine alone."
        ) from error
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # restarts need not wait
        listener.bind(address)
        listener.listen(64)
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(
            f"the page cannot listen on {host} port {port} ({error}). Give another --port, or --port 0 for a free one."
        ) from error
    return listener


def address_of(listener: socket.socket, name: str = "") -> str:
    """Return the address to type into a browser.

    >>> with listen() as listener:
    ...     address_of(listener).startswith("http://127.0.0.1:")
    True
    """
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = name or socket.gethostname()
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def serve(
    study: Study,
    listener: socket.socket,
    *,
    token: str | None = None,
    names: Sequence[str] = (),
    ready: Callable[[], None] = lambda: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> None:
    """Serve the page of a study until it is to stop; the study stays open.

    Parameters
    ----------
    study
        Open for writing: nobody else writes to it meanwhile.
    listener
        From `listen`. One that other machines can reach needs a token.
    token
        What every browser must show once.
    names
        Names of this host, beside localhost and its own name.
    ready
        Called once requests are answered.
    should_stop
        Asked ten times a second.

    Examples
    --------
    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "oven.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study, listen() as listener:
    ...     serve(study, listener, ready=lambda: print("ready"), should_stop=lambda: True)
    ready
    """
    check_installed()
    is_local = is_loopback(listener.getsockname()[0])
    own = () if is_local else (socket.gethostname(), socket.getfqdn())
    guard = Guard(study.settings["study"], token, is_local, (*own, *names))
    with _running(_server(application(study, guard)), listener) as thread:
        ready()
        while thread.is_alive() and not should_stop():
            thread.join(LOOK)


def _server(app: "Starlette") -> "uvicorn.Server":
    import uvicorn

    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        access_log=False,  # what people look at is nobody's business
        server_header=False,
        proxy_headers=False,
        limit_concurrency=200,
        timeout_graceful_shutdown=GRACE,
    )
    return uvicorn.Server(config)


@contextlib.contextmanager
def _running(server: "uvicorn.Server", listener: socket.socket) -> Iterator[threading.Thread]:
    """Run a server in a thread of its own: signals stay with the main thread, never in the middle of a write."""
    thread = threading.Thread(target=server.run, args=([listener],), name="paraboloid page", daemon=True)
    thread.start()
    try:
        while thread.is_alive() and not server.started:
            thread.join(LOOK / 10)
        if not server.started:
            raise UsageError("the server of the page did not start; its messages are above.")
        yield thread
    finally:
        server.should_exit = True
        thread.join(GRACE + 5)
        if thread.is_alive():
            logger.warning("a request was still being answered when the page was closed")
