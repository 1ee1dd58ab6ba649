"""Who may talk to the page: hosts, origins, forms, methods, sizes, paths, tokens; tried on a real server."""

import asyncio
import http.client
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from paraboloid import Study, UsageError
from paraboloid.web import Guard, application
from tests.cli.support import ENVIRONMENT, PATIENCE
from tests.web.support import FORM, Served, changes, form_key, get, make_study, post, request, served

TOKEN = "correct horse battery"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(make_study(tmp_path_factory.mktemp("local"))) as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A page that other machines can reach, with a token from a file."""
    folder = tmp_path_factory.mktemp("network")
    (folder / "token").write_text(f"{TOKEN}\n", encoding="utf-8")
    with served(make_study(folder), "--host", "0.0.0.0", "--token-file", str(folder / "token")) as running:
        yield running


def sign_in(page: Served) -> str:
    """Return the cookie of a browser that has signed in."""
    answer = post(page, "/login", {"token": TOKEN, "form-key": form_key_of_login(page)})
    assert answer.status == 303
    return answer.headers["set-cookie"].split(";")[0]


def form_key_of_login(page: Served) -> str:
    found = re.search(r'name="form-key" value="(\w+)"', get(page, "/login").text)
    assert found is not None
    return found[1]


# -- hosts, origins, forms ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST", "127.0.0.2", "[::1]:80"])
def test_the_page_answers_under_the_names_of_this_machine(page: Served, host: str) -> None:
    assert get(page, Host=host.format(port=page.port)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "192.168.0.1"),
        *("0.0.0.0", "", "localhost/", "user@localhost", "[evil]", "::1::", "localhost:99999999", "a" * 300),
    ],
)
def test_the_page_does_not_answer_under_any_other_name(page: Served, host: str) -> None:
    """A name server of an attacker can turn a name of theirs to 127.0.0.1, and browsers then take us for them."""
    answer = get(page, Host=host.format(port=page.port))
    assert answer.status == 400
    assert "oven" not in answer.text and "form-key" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://localhost.evil.example"},
        {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://127.0.0.1:{port}", "Sec-Fetch-Site": "same-site"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_a_form_of_another_site_is_refused_even_with_the_right_key(page: Served, headers: dict[str, str]) -> None:
    body = urlencode({"value-1": "80", "version-1": "0", "form-key": form_key(page)})
    named = {name: text.format(port=page.port) for name, text in headers.items()}
    assert request(page, "POST", "/save", body, {**FORM, **named}).status == 403
    assert changes(page.path) == []


@pytest.mark.parametrize("key", ["", "0" * 64, "é", None])
def test_a_form_without_our_key_is_refused_whoever_sends_it(page: Served, key: str | None) -> None:
    fields = {"value-1": "80", "version-1": "0", **({} if key is None else {"form-key": key})}
    for path in ("/save", "/ask", "/trial/1", "/trial/1/again", "/login", "/logout"):
        assert request(page, "POST", path, urlencode(fields), FORM).status == 403, path
    assert changes(page.path) == []


def test_a_program_of_ones_own_may_send_a_form_that_the_page_gave_out(tmp_path: Path) -> None:
    with served(make_study(tmp_path)) as page:
        body = urlencode({"value-1": "80", "version-1": "0", "form-key": form_key(page)})
        assert request(page, "POST", "/save", body, FORM).status == 303


def test_the_key_of_another_study_is_not_ours(page: Served, guarded: Served) -> None:
    assert form_key(page) != form_key_of_login(guarded)


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("text/plain", "value-1=80", 415),
        ("application/json", "{}", 415),
        ("multipart/form-data; boundary=x", "--x--", 415),
        ("", "value-1=80", 415),
        ("application/x-www-form-urlencoded", "x" * (256 * 1024 + 1), 413),
        ("application/x-www-form-urlencoded", "&".join(f"a{n}=1" for n in range(5001)), 400),
        ("application/x-www-form-urlencoded", "note-1=%ff%fe", 400),
        ("application/x-www-form-urlencoded", "value-1=\u20ac", 400),
    ],
)
def test_what_is_no_form_of_ours_is_refused(page: Served, kind: str, body: str, status: int) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert request(page, "POST", "/save", body.encode(), headers).status == status


def test_a_form_without_end_is_cut_off(page: Served) -> None:
    """A body in chunks says no length beforehand: it is refused while it comes."""
    with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as connection:
        head = f"POST /save HTTP/1.1\r\nHost: localhost\r\nContent-Type: {FORM['Content-Type']}\r\n"
        connection.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
        for _ in range(5):
            connection.sendall(chunk)
        assert connection.recv(100).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(page: Served, method: str) -> None:
    assert request(page, method, "/").status == 405
    assert request(page, method, "/save").status == 405


def test_looking_changes_nothing_and_forms_are_not_looked_at(page: Served) -> None:
    with Study.read(page.path) as study:
        before = study.status().events
    for path in ("/save?value-1=80&version-1=0", "/ask?count=1", "/trial/1/again", "/logout"):
        assert get(page, path).status == 405
    for path in (
        "/?saved=1.2.x&same=99999&asked=5",
        "/trial/1?value=80",
        "/trials",
        "/report",
        "/all.csv",
        "/sheet.csv",
    ):
        assert get(page, path).status == 200
    with Study.read(page.path) as study:
        assert study.status().events == before


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/../../../../etc/passwd",
            "/%2e%2e/%2e%2e/etc/passwd",
            "/..%2f..%2fetc%2fpasswd",
            "/oven.db",
            "/style.css/..",
        ),
        *("/static/../oven.db", "/sheet.csv/../../oven.db", "//etc/passwd", "/trial/../oven.db", "/trial/1%00.db"),
        *("/trial/-1", "/trial/1e3", "/trial/999999", "/trial/99999999999999999999", "/trial/x", "/report.html"),
        "/\\..\\..\\oven.db",
    ],
)
def test_no_path_leads_to_a_file(page: Served, path: str) -> None:
    answer = get(page, path)
    assert answer.status in (404, 400)
    assert b"root:" not in answer.body and b"SQLite" not in answer.body


def test_every_answer_forbids_scripts_frames_and_guessing(page: Served) -> None:
    for path in ("/", "/trial/1", "/trials", "/nope", "/report", "/style.css", "/sheet.csv"):
        headers = get(page, path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "private, no-cache"
        assert "server" not in headers and "access-control-allow-origin" not in headers


# -- tokens ------------------------------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_seen_and_nothing_is_taken(guarded: Served) -> None:
    for path in ("/", "/trials", "/trial/1", "/report", "/sheet.csv", "/all.csv", "/nope"):
        answer = get(guarded, path)
        assert (answer.status, answer.headers["location"]) == (303, "/login"), path
    login = get(guarded, "/login")
    assert login.status == 200 and "oven" not in login.text and "temperature" not in login.text
    for cookie in ("", "paraboloid=1", f"paraboloid_{'0' * 12}=1", f"token={TOKEN}"):
        fields = {"value-1": "80", "version-1": "0", "form-key": form_key_of_login(guarded)}
        refused = post(guarded, "/save", fields, Cookie=cookie)
        assert refused.status == 403 and "Nothing of this form was taken" in refused.text
    assert changes(guarded.path) == []


@pytest.mark.parametrize("wrong", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é" * 50])
def test_a_wrong_token_lets_nobody_in(guarded: Served, wrong: str) -> None:
    answer = post(guarded, "/login", {"token": wrong, "form-key": form_key_of_login(guarded)})
    assert answer.status == 403
    assert "set-cookie" not in answer.headers and "location" not in answer.headers


def test_the_token_lets_a_browser_in_once_and_for_all_until_it_signs_out(guarded: Served) -> None:
    answer = post(guarded, "/login", {"token": TOKEN, "form-key": form_key_of_login(guarded)})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Path=/" in cookie
    assert TOKEN not in cookie and TOKEN not in answer.headers["location"]
    inside = get(guarded, Cookie=cookie.split(";")[0])
    assert inside.status == 200 and TOKEN not in inside.text and 'name="value-1"' in inside.text
    out = post(guarded, "/logout", {"form-key": form_key(guarded, Cookie=sign_in(guarded))}, Cookie=sign_in(guarded))
    assert out.status == 303 and "Max-Age=0" in out.headers["set-cookie"]
    assert TOKEN not in guarded.command.errors + guarded.command.output, "a token of the user's is never shown"


@pytest.mark.parametrize(("host", "status"), [("192.168.7.9:8765", 200), ("evil.example", 400), ("localhost", 200)])
def test_in_the_network_addresses_in_numbers_and_known_names_are_answered(
    guarded: Served, host: str, status: int
) -> None:
    assert get(guarded, Host=host, Cookie=sign_in(guarded)).status == status


def test_other_names_can_be_given_and_a_token_is_made_and_shown_once(tmp_path: Path) -> None:
    with served(make_study(tmp_path), "--host", "0.0.0.0", "--name", "bench-3.lab.example") as page:
        assert page.command.output == f"http://bench-3.lab.example:{page.port}/\n"
        found = re.findall(r"each browser: (\S+)", page.command.errors)
        assert len(found) == 1 and len(found[0]) >= 20
        key = form_key_of_login(page)
        assert get(page, "/login", Host="bench-3.lab.example").status == 200
        entered = post(page, "/login", {"token": found[0], "form-key": key})
        assert entered.status == 303 and "set-cookie" in entered.headers
        get(page, "/nope", Cookie=entered.headers["set-cookie"].split(";")[0])
        assert page.stop() == 0
        assert page.command.errors.count(found[0]) == 1, "it is in no line of a log"


def test_a_token_in_the_environment_is_needed_on_loopback_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PARABOLOID_TOKEN", TOKEN)
    with served(make_study(tmp_path)) as page:
        assert get(page).headers["location"] == "/login"
        assert get(page, Cookie=sign_in(page)).status == 200
        with open(f"/proc/{page.command.process.pid}/cmdline", "rb") as command:
            assert TOKEN.encode() not in command.read()


def test_a_guard_for_the_network_without_a_token_cannot_be_made() -> None:
    with pytest.raises(UsageError, match="needs a token"):
        Guard("study", None, is_local=False)
    with pytest.raises(UsageError, match="needs 12 at least"):
        Guard("study", "short", is_local=True)
    assert "study" not in repr(Guard("study", TOKEN, is_local=True)) and TOKEN not in repr(Guard("s", TOKEN, True))


def test_requests_that_are_no_http_are_survived(page: Served) -> None:
    for bad in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", page.port), timeout=PATIENCE) as connection:
            connection.sendall(bad)
            try:
                assert b" 200 " not in connection.recv(1000)
            except ConnectionResetError:
                pass
    assert get(page).status == 200


def test_two_hosts_in_one_request_are_refused(page: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE)
    connection.putrequest("GET", "/", skip_host=True)
    connection.putheader("Host", "localhost")
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    assert connection.getresponse().status == 400
    connection.close()


def test_an_error_that_nobody_thought_of_is_answered_with_all_headers_and_without_details(tmp_path: Path) -> None:
    with Study.open(make_study(tmp_path)) as study:
        guard = Guard(study.settings["study"], None, is_local=True)
        app = application(study, guard)
        lock, study._lock = study._lock, None  # type: ignore[assignment]  # what should never happen
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"host", b"localhost")]
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/",
            "raw_path": b"/",
            "query_string": b"",
            "headers": headers,
        }
        asyncio.run(app({**scope, "http_version": "1.1", "scheme": "http", "root_path": ""}, receive, send))
        study._lock = lock
    names = {name.decode() for name, _ in sent[0]["headers"]}
    assert sent[0]["status"] == 500 and "content-security-policy" in names
    assert b"Something went wrong" in sent[1]["body"] and b"Traceback" not in sent[1]["body"]
