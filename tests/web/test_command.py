"""The command ``paraboloid serve``: what it prints, and what it says when something is missing or taken."""

import json
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from paraboloid.cli import main
from tests.cli.support import ENVIRONMENT, started, wait_until
from tests.web.support import make_study


def refused(*arguments: str) -> str:
    answer = CliRunner().invoke(main, ["serve", *arguments])
    assert answer.exit_code == 2, answer.output
    return answer.stderr


def test_a_free_port_is_found_and_the_address_printed_as_json(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    with started("serve", str(path), "--port", "0", "--json", cwd=tmp_path) as command:
        wait_until(lambda: command.output.endswith("}\n"), "the address")
        printed = json.loads(command.output)
    assert printed["address"].startswith("http://127.0.0.1:") and printed["needs_token"] is False
    assert printed["study"] == str(path)


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "jinja2"])
def test_without_the_extra_it_says_what_to_install_and_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    path = make_study(tmp_path)
    before = path.read_bytes()
    monkeypatch.setitem(sys.modules, package, None)  # an import of it fails now, as where it is not installed
    said = refused(str(path), "--port", "0")
    assert f'{package} is not installed. Run: pip install "paraboloid[web]"' in said
    assert path.read_bytes() == before


def test_a_port_that_is_taken_is_named_and_the_study_is_left_alone(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    before = path.read_bytes()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert f"cannot listen on 127.0.0.1 port {port}" in refused(str(path), "--port", str(port))
    assert path.read_bytes() == before


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    (tmp_path / "short").write_text("short\n", encoding="utf-8")
    (tmp_path / "empty").write_text("\nsecond line\n", encoding="utf-8")
    assert "is no address of this machine" in refused(str(path), "--host", "no such host")
    assert "cannot listen" in refused(str(path), "--host", "192.0.2.1")
    assert "is empty" in refused(str(path), "--token-file", str(tmp_path / "empty"))
    assert "cannot be read" in refused(str(path), "--token-file", str(tmp_path / "none"))
    assert "has 5 characters" in refused(str(path), "--port", "0", "--token-file", str(tmp_path / "short"))
    assert "none.db" in refused(str(tmp_path / "none.db"), "--port", "0")
    assert not (tmp_path / "none.db").exists()


def test_the_browser_is_opened_if_that_is_wished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """BROWSER names a program of the user's; here one that writes down which address it was given."""
    path, seen = make_study(tmp_path), tmp_path / "seen"
    script = tmp_path / "browser.sh"
    script.write_text(f'#!/bin/sh\necho "$1" > {seen}.part && mv {seen}.part {seen}\n', encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setitem(ENVIRONMENT, "BROWSER", str(script))
    with started("serve", str(path), "--port", "0", "--open", cwd=tmp_path) as command:
        wait_until(seen.exists, "the browser")
        assert seen.read_text(encoding="utf-8") == command.output
