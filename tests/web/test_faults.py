"""The server is killed, the disk is full, somebody else wants the study: a value is stored once, or visibly not."""

import resource
import signal
import socket
import sqlite3
import sys
import time
from pathlib import Path
from urllib.parse import urlencode

import pytest

from paraboloid import Study
from tests.cli.support import paraboloid, wait_until
from tests.web.support import FORM, Served, changes, form_key, get, make_study, post, served, values

KILLS = 4


def send_and_leave(page: Served, fields: dict[str, str], key: str) -> socket.socket:
    """Send a form, and do not wait for the answer."""
    body = urlencode({**fields, "form-key": key}).encode()
    head = f"POST /save HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nOrigin: {page.address}\r\n"
    head += f"Content-Type: {FORM['Content-Type']}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection = socket.create_connection(("127.0.0.1", page.port))
    connection.sendall(head.encode() + body)
    return connection


def test_killed_after_the_value_was_stored_and_before_it_was_said_so(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    form = {"value-1": "80,5", "version-1": "0"}
    with served(path) as page:
        key = form_key(page)
        with send_and_leave(page, form, key):
            wait_until(lambda: len(changes(path)) == 1, "the value on the disk")
            page.kill()
    with served(path, port=page.port) as again:
        assert form_key(again) == key, "a form that was open all the time can still be sent"
        answer = post(again, "/save", {**form, "form-key": key})
        assert (answer.status, answer.headers["location"]) == (303, "/?same=1#sheet")
        assert changes(path) == [("told", 1, 80.5)]


def test_killed_before_the_value_was_stored(tmp_path: Path) -> None:
    path = make_study(tmp_path, 0)
    form = {"value-1": "80,5", "version-1": "0"}
    with served(path) as page:
        key = form_key(page)
        assert post(page, "/ask", {"count": "3", "seen": "0"}).status == 303
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")  # nobody can write now
        with send_and_leave(page, form, key) as connection:
            connection.settimeout(0.5)
            with pytest.raises(TimeoutError):
                connection.recv(1)  # it is not said to be stored before it is
            page.kill()
        blocker.close()
    assert changes(path) == []
    with served(path, port=page.port) as again:
        shown = get(again).text
        assert all(f'name="value-{n}"' in shown for n in (1, 2, 3)), "the sheet is as it was, under the same numbers"
        assert post(again, "/save", {**form, "form-key": key}).status == 303
        assert changes(path) == [("told", 1, 80.5)]
        seen = {"count": "2", "seen": "3"}
        assert post(again, "/ask", seen).headers["location"] == "/?asked=2#sheet"
        with Study.read(path) as study:
            assert [trial.id for trial in study.trials("RUNNING")] == [2, 3, 4, 5], "new ones, and not the lost again"


def test_killed_at_any_time_a_form_that_is_sent_again_counts_once(tmp_path: Path) -> None:
    """Kills at instants all over the handling of a form; each is sent again to the next server."""
    path = make_study(tmp_path, KILLS)
    port, forms = None, {n: {f"value-{n}": f"{80 + n}.5", f"version-{n}": "0"} for n in range(1, KILLS + 1)}
    pending: dict[str, str] | None = None
    for n, form in forms.items():
        with served(path, port=port) as page:
            port, key = page.port, form_key(page)
            if pending is not None:
                assert post(page, "/save", {**pending, "form-key": key}).status == 303
            with send_and_leave(page, form, key):
                time.sleep(0.006 * (n - 1))
                page.kill()
        pending = form
    with served(path, port=port) as page:
        assert pending is not None and post(page, "/save", pending).status == 303
        assert page.stop() == 0
    assert values(path) == {n: 80.5 + n for n in range(1, KILLS + 1)}
    assert sorted(n for _, n, _ in changes(path) if n is not None) == list(range(1, KILLS + 1)), (
        "each value once in the log"
    )
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.skipif(sys.platform != "linux", reason="needs prlimit of Linux")
def test_a_full_disk_is_said_and_the_value_counts_once_when_there_is_space(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    with served(path) as page:
        form = {"value-1": "80,5", "version-1": "0", "note-1": "n" * 900}
        before = resource.prlimit(page.command.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(page.command.process.pid, resource.RLIMIT_FSIZE, (1, before[1]))
        full = post(page, "/save", form)
        assert full.status == 503
        assert "could not be written" in full.text and str(tmp_path) not in full.text
        assert 'value="80,5"' in full.text and "save again" in full.text
        assert changes(path) == []
        resource.prlimit(page.command.process.pid, resource.RLIMIT_FSIZE, before)
        assert post(page, "/save", form).status == 303
        assert changes(path) == [("told", 1, 80.5)]


def test_the_study_is_held_by_the_page_and_others_are_told_by_whom_until_ctrl_c(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    with served(path) as page:
        for command in (("serve", str(path), "--port", "0"), ("tell", str(path), "1", "80")):
            refused = paraboloid(*command, cwd=tmp_path, code=3)
            assert f"process {page.command.process.pid}" in refused.stderr
        assert post(page, "/save", {"value-1": "80", "version-1": "0"}).status == 303
        assert page.stop() == 0
        assert "Everything that was saved is in the study." in page.command.errors
    with Study.read(path) as study:
        assert study.status().holder is None
        assert not any(trial.is_lost for trial in study.status().running), "trials stay with the people at the bench"
    with Study.open(path) as study:
        study.tell(2, 81.0)
    assert values(path) == {1: 80.0, 2: 81.0}


def test_a_signal_ends_it_in_good_order_with_a_browser_still_connected(tmp_path: Path) -> None:
    path = make_study(tmp_path)
    with served(path) as page, socket.create_connection(("127.0.0.1", page.port)) as idle:
        idle.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")  # and never the rest
        post(page, "/save", {"value-1": "80", "version-1": "0"})
        page.command.send(signal.SIGTERM)
        assert page.command.end() == 0
    assert values(path) == {1: 80.0}
    with Study.read(path) as study:
        assert study.status().holder is None
