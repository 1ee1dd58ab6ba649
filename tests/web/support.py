"""A page that is really served, by a process of its own, and browsers and plain requests that talk to it."""

import http.client
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np

from paraboloid import Box, Knob, Study
from paraboloid.store import EventLog
from paraboloid.study import Answer
from tests.cli.support import PATIENCE, Started, started, wait_until

OVEN = Box([Knob("temperature", 150, 210, "°C"), Knob("time", 20, 60, "min")])
CHANGES = ("told", "corrected")
ADDRESS = re.compile(r"^http://\S+:(\d+)/$", re.MULTILINE)


def make_study(folder: Path, n_asked: int = 3, n_told: int = 0, **options: Any) -> Path:
    """Return a study with some trials handed out, and the first ones told."""
    path = folder / "oven.db"
    with Study.open(path, OVEN, maximize=True, rng=0, **{"budget": 40, **options}) as study:
        trials = study.ask(n_asked) if n_asked else []
        noise = np.random.default_rng(1)
        answers = []
        for trial in trials[:n_told]:
            z = OVEN.to_unit(list(trial.x.values()))
            value = 80 - 9 * z[0] ** 2 - 8 * (z[1] + 0.25) ** 2 + 0.3 * noise.standard_normal()
            answers.append(Answer(trial.id, round(float(value), 3)))
        study.tell_all(answers)
    return path


class Served:
    """A page at work."""

    def __init__(self, command: Started, port: int, path: Path) -> None:
        self.command, self.port, self.path = command, port, path

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        self.command.process.kill()
        self.command.process.wait(PATIENCE)

    def stop(self) -> int:
        self.command.send(signal.SIGINT)
        return self.command.end()


@contextmanager
def served(path: Path, *options: str, port: int | None = None) -> Iterator[Served]:
    """Serve a study; where a port is given, again there, as after a crash."""
    with started("serve", str(path), "--port", str(port or 0), *options, cwd=path.parent) as command:
        wait_until(lambda: ADDRESS.search(command.output) is not None or command.process.poll() is not None, "the page")
        address = ADDRESS.search(command.output)
        assert address is not None, command.errors
        yield Served(command, int(address[1]), path)


class Reply:
    """An answer to a request."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): text for name, text in response.getheaders()}
        self.body = response.read()

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


def request(
    page: Served, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
) -> Reply:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, dict(headers or {}))
        return Reply(connection.getresponse())
    finally:
        connection.close()


def get(page: Served, path: str = "/", **headers: str) -> Reply:
    return request(page, "GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def post(page: Served, path: str, fields: Mapping[str, Any] | Sequence[tuple[str, Any]], **headers: str) -> Reply:
    """Send a form with the key of the page, as a browser would."""
    pairs = list(fields.items()) if isinstance(fields, Mapping) else list(fields)
    if not any(name == "form-key" for name, _ in pairs):
        pairs.append(("form-key", form_key(page)))
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return request(page, "POST", path, urlencode(pairs), {**FORM, "Origin": page.address, **named})


def form_key(page: Served, **headers: str) -> str:
    found = re.search(r'name="form-key" value="(\w+)"', get(page, **headers).text)
    assert found is not None
    return found[1]


def version(page: Served, trial: int) -> str:
    """Return what a form for this trial is made from."""
    found = re.search(rf'name="version-{trial}" value="(\d+)"', get(page, f"/trial/{trial}").text)
    assert found is not None
    return found[1]


def changes(path: Path, *trials: int) -> list[tuple[str, int | None, Any]]:
    """Return all that was ever told (of these trials): (kind, trial, value), in order."""
    with EventLog.read(path) as log:
        found = [(e.kind, e.trial, e.payload.get("value")) for e in log.events() if e.kind in CHANGES]
    return [change for change in found if not trials or change[1] in trials]


def values(path: Path) -> dict[int, float | None]:
    """Return the value of every trial that was answered."""
    with Study.read(path) as study:
        return {trial.id: trial.value for trial in study.trials() if trial.state.name not in ("WAITING", "RUNNING")}
