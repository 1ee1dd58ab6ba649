"""The page as an ASGI application: routes, forms in, pages out. What is decided stands in the desk and the guard."""

import csv
import io
import logging
import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from paraboloid.core import ParaboloidError, UsageError
from paraboloid.report import html_report, study_subject
from paraboloid.report.wording import counted
from paraboloid.store import StoreError
from paraboloid.study import Study, TrialState
from paraboloid.study.sheet_writing import export_rows, sheet_rows
from paraboloid.web.desk import Deed, Desk
from paraboloid.web.forms import Form, form_of
from paraboloid.web.guarding import FORM_KEY, Guard, Refusal
from paraboloid.web.pages import Pages, icon, style
from paraboloid.web.typed import Typed

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

__all__ = ["application", "check_installed"]

MOST_BYTES = 256 * 1024
"""Of a form."""
POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "same-origin"),  # not "no-referrer": browsers would send our own forms with Origin: null
    ("cache-control", "private, no-cache"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
)
OPEN_PATHS = ("/login", "/style.css", "/icon.svg")
"""What a browser may see that has not signed in."""
BROKEN = "Something went wrong in the program. The log where it was started says more."
TAKEN = "If you sent a form: open the sheet and look whether it is there. Sending it again does no harm."
SAVE_AGAIN = "This is not stored yet. Keep this page open, and save again: what is stored by then counts once."
NOT_STORED = "Nothing of this form was taken. Sign in, go back to the form, and save it again."

logger = logging.getLogger("paraboloid")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def check_installed() -> None:
    """Raise a `UsageError` if the extra "web" is not installed."""
    try:
        import jinja2  # noqa: F401 - only whether it is there
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f'the page needs the extra "web", but {error.name} is not installed. Run: pip install "paraboloid[web]"'
        ) from error


class _Refused(Exception):  # noqa: N818 - the name says what happened
    """Ends the handling of a request."""

    def __init__(self, refusal: Refusal) -> None:
        self.refusal = refusal


class _Site:
    """What is done for each request; called in threads, so that a slow fit holds up nobody else."""

    def __init__(self, study: Study, guard: Guard) -> None:
        self.guard = guard
        self.desk = Desk(study)
        self.pages = Pages(self.desk, guard)
        self.study = study

    # -- looking -----------------------------------------------------------------------------------------------------

    def sheet(self, request: "Request") -> "Response":
        numbers = {name: _numbers(request.query_params.get(name, "")) for name in ("saved", "same", "asked")}
        notices = [self._told(number) for number in numbers["saved"] if self._is_known(number)]
        known = filter(self._is_known, numbers["same"])
        notices += [f"Trial {number} held that already; nothing was changed." for number in known]
        notices += [f"{counted(number, 'point')} handed out." for number in numbers["asked"]]
        if "nothing" in request.query_params:
            notices.append("Nothing was typed, and nothing was changed.")
        return _html(self.pages.sheet(notices=notices))

    def trial(self, request: "Request") -> "Response":
        number = self._number(request)
        return _html(self.pages.trial(number, typed=request.query_params.get("value", "")[:60]))

    def trials(self, request: "Request") -> "Response":
        return _html(self.pages.trials(next(iter(_numbers(request.query_params.get("page", "0"))), 0)))

    def sheet_file(self, request: "Request") -> "Response":
        is_comma = request.query_params.get("decimal") == "comma"
        trials = self.study.trials(TrialState.RUNNING)
        rows = sheet_rows(self.study, trials, decimal_comma=is_comma)
        return self._table("sheet", rows, separator=";" if is_comma else ",")

    def all_file(self, request: "Request") -> "Response":
        return self._table("all", export_rows(self.study))

    def report(self, request: "Request") -> "Response":
        made = _html(html_report(study_subject(self.study)))
        made.headers["content-security-policy"] = REPORT_POLICY
        if "download" in request.query_params:
            made.headers["content-disposition"] = _attachment(f"{self.study.path.stem}.html")
        return made

    def style(self, request: "Request") -> "Response":
        return _plain(style(), "text/css")

    def icon(self, request: "Request") -> "Response":
        return _plain(icon(), "image/svg+xml")

    def login(self, request: "Request") -> "Response":
        return _moved("/") if self.guard.token is None else _html(self.pages.login())

    # -- doing -------------------------------------------------------------------------------------------------------

    def save(self, request: "Request", form: Form) -> "Response":
        rows = form.rows(self.study.domain.names)
        if not rows and form.text("count").strip():
            return self.ask(request, form)  # Enter in that field presses the first button, and this one is meant
        deeds, problem = self._saved(rows, form)
        return problem or _moved(f"/?{_done(deeds)}#sheet" if rows else "/?nothing=yes#sheet")

    def ask(self, request: "Request", form: Form) -> "Response":
        # What is typed and not saved yet comes along, and must not be lost.
        deeds, problem = self._saved(form.rows(self.study.domain.names), form)
        if problem is not None:
            return problem
        notices = [self._told(deed.typed.trial) for deed in deeds]
        try:
            asked = self.desk.ask(form.whole("count"), form.whole("seen") or 0)
        except UsageError as error:
            page = self.pages.sheet(notices=notices, problems=[str(error)], count=form.text("count")[:4])
            return _html(page, 422)
        if asked.count:
            return _moved(f"/?{_done(deeds, asked=asked.count)}#sheet")
        return _html(self.pages.sheet(notices=notices, problems=[asked.message]), 409)

    def _saved(self, rows: Sequence[Typed], form: Form) -> "tuple[list[Deed], Response | None]":
        """Return what became of what was typed; and a page that says what is wrong, if anything is."""
        shown = {"count": form.text("count")[:4]}
        try:
            deeds = self.desk.save(rows) if rows else []
        except StoreError as error:
            undone = [Deed(row, "refused", "This is not stored yet.") for row in rows]
            return undone, _html(self.pages.sheet(problems=[str(error), SAVE_AGAIN], deeds=undone, **shown), 503)
        n_wrong = sum(not deed.is_done for deed in deeds)
        if n_wrong == 0:
            return deeds, None
        notices = [self._told(deed.typed.trial) for deed in deeds if deed.is_done]
        problems = [f"{counted(n_wrong, 'row')} below could not be taken; see there."]
        return deeds, _html(self.pages.sheet(notices=notices, problems=problems, deeds=deeds, **shown), 422)

    def save_one(self, request: "Request", form: Form) -> "Response":
        number = self._number(request)
        rows = [row for row in form.rows(self.study.domain.names) if row.trial == number]
        if not rows:
            return _moved(f"/trial/{number}")
        try:
            (deed,) = self.desk.save(rows)
        except StoreError as error:
            undone = Deed(rows[0], "refused", f"{error} {SAVE_AGAIN}")
            return _html(self.pages.trial(number, deed=undone), 503)
        if deed.is_done:
            return _moved(f"/?{_done([deed])}#sheet")
        return _html(self.pages.trial(number, deed=deed), 409 if deed.kind == "conflict" else 422)

    def again(self, request: "Request", form: Form) -> "Response":
        number = self._number(request)
        self.desk.again(number, form.whole("version") or 0)
        return _moved(f"/#trial-{number}")

    def enter(self, request: "Request", form: Form) -> "Response":
        if not self.guard.is_token(form.text("token")):
            return _html(self.pages.login("That is not the token. Nothing else was looked at."), 403)
        made = _moved("/")
        made.set_cookie(self.guard.cookie, self.guard.session, httponly=True, samesite="strict", path="/")
        return made

    def leave(self, request: "Request", form: Form) -> "Response":
        made = _moved("/login")
        made.delete_cookie(self.guard.cookie, httponly=True, samesite="strict", path="/")
        return made

    # -- inside ------------------------------------------------------------------------------------------------------

    def _number(self, request: "Request") -> int:
        number: int = request.path_params["number"]
        if not self._is_known(number):
            raise _Refused(Refusal(404, f"There is no trial {number} in this study."))
        return number

    def _is_known(self, number: int) -> bool:
        try:
            self.study.trial(number)
        except UsageError:
            return False
        return True

    def _told(self, number: int) -> str:
        trial = self.study.trial(number)
        value = "failed" if trial.value is None else f"{trial.value:.10g}"
        return f"Trial {number} is saved: {value if trial.state is not TrialState.ABANDONED else 'given up'}."

    def _table(self, name: str, rows: Any, separator: str = ",") -> "Response":
        text = io.StringIO()
        csv.writer(text, delimiter=separator, lineterminator="\r\n").writerows(rows)
        made = _plain("\ufeff" + text.getvalue(), "text/csv")
        made.headers["content-disposition"] = _attachment(f"{self.study.path.stem}-{name}.csv")
        return made


def application(study: Study, guard: Guard) -> "Starlette":
    """Return the page of a study as an ASGI application.

    Parameters
    ----------
    study
        Open for writing.
    guard
        Who may talk to it.

    Examples
    --------
    >>> import paraboloid, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "oven.db"
    >>> with paraboloid.Study.open(path, [(0, 1)], budget=9, rng=0) as study:
    ...     app = application(study, Guard(study.settings["study"], token=None, is_local=True))
    >>> sorted({route.path for route in app.routes})[:4]
    ['/', '/all.csv', '/ask', '/icon.svg']
    """
    check_installed()
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware

    if not study.is_writer:
        raise UsageError("the page needs a study that is open for writing; open it with Study.open.")
    site = _Site(study, guard)
    handlers: Any = {kind: _apologising(site.pages) for kind in (HTTPException, ParaboloidError, _Refused)}
    return Starlette(routes=_routes(site), exception_handlers=handlers, middleware=[Middleware(_Guarded, site=site)])


def _routes(site: _Site) -> "list[Route]":
    """Return what is answered under which path: looks by GET, deeds by POST."""
    from starlette.routing import Route

    looks = {
        "/": site.sheet,
        "/trials": site.trials,
        "/trial/{number:int}": site.trial,
        "/sheet.csv": site.sheet_file,
        "/all.csv": site.all_file,
        "/report": site.report,
        "/style.css": site.style,
        "/icon.svg": site.icon,
        "/login": site.login,
    }
    deeds = {
        "/save": site.save,
        "/ask": site.ask,
        "/trial/{number:int}": site.save_one,
        "/trial/{number:int}/again": site.again,
        "/login": site.enter,
        "/logout": site.leave,
    }
    routes = [Route(path, _looking(look), methods=["GET"]) for path, look in looks.items() if path not in deeds]
    return routes + [
        Route(path, _doing(deed, site.guard, looks.get(path)), methods=["GET", "POST"] if path in looks else ["POST"])
        for path, deed in deeds.items()
    ]


Look = Callable[["Request"], "Response"]
Doing = Callable[["Request", Form], "Response"]


def _looking(look: Look) -> Callable[["Request"], Awaitable["Response"]]:
    from starlette.concurrency import run_in_threadpool

    async def handle(request: "Request") -> "Response":
        return await run_in_threadpool(look, request)

    return handle


def _doing(deed: Doing, guard: Guard, look: Look | None) -> Callable[["Request"], Awaitable["Response"]]:
    from starlette.concurrency import run_in_threadpool

    async def handle(request: "Request") -> "Response":
        if look is not None and request.method != "POST":
            return await run_in_threadpool(look, request)
        form = await _form(request)
        refusal = guard.form_refusal(form.text(FORM_KEY))
        if refusal is not None:
            raise _Refused(refusal)
        return await run_in_threadpool(deed, request, form)

    return handle


async def _form(request: "Request") -> Form:
    """Return the fields of a form; never more of it is held than a form may have."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise _Refused(Refusal(415, "This page takes its own forms alone."))
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise _Refused(Refusal(413, f"A form has {MOST_BYTES // 1024} KiB at most. Nothing was taken."))
    form = form_of(bytes(body))
    if form is None:
        raise _Refused(Refusal(400, "This form cannot be read. Nothing was taken."))
    return form


class _Guarded:
    """Stands before everything: hosts, origins, signing in; and puts the headers on whatever is answered."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], site: _Site) -> None:
        self._app, self._site = app, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request

        if scope["type"] != "http":
            return

        is_begun = False

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                held = {name.lower() for name, _ in message["headers"]}
                added = (*HEADERS, ("content-security-policy", POLICY))
                new = [(name.encode(), text.encode()) for name, text in added if name.encode() not in held]
                message["headers"] = [*message["headers"], *new]
            await send(message)

        answer = self._refusal(Request(scope))
        try:
            await (self._app if answer is None else answer)(scope, receive, send_with_headers)
        except Exception:  # before the framework sees it, which would answer without our headers
            logger.exception("a request to the page could not be answered")
            if not is_begun:
                page = self._site.pages.message("That did not work", [BROKEN, TAKEN], is_inside=False)
                await _html(page, 500)(scope, receive, send_with_headers)

    def _refusal(self, request: "Request") -> "Response | None":
        """Return what is answered in place of the page, or None if it is to answer."""
        guard, pages = self._site.guard, self._site.pages
        refusal = guard.host_refusal(request.headers.get("host", ""))
        is_post = request.method not in ("GET", "HEAD")
        if refusal is None and is_post:
            refusal = guard.origin_refusal(request.headers)
        if refusal is not None:
            return _html(pages.message("Refused", [refusal.sentence], is_inside=False), refusal.status)
        if request.scope["path"] in OPEN_PATHS or guard.is_signed_in(request.cookies.get(guard.cookie, "")):
            return None
        if is_post:
            return _html(pages.message("Not signed in", [NOT_STORED], is_inside=False), 403)
        return _moved("/login")


def _apologising(pages: Pages) -> Callable[["Request", Exception], Awaitable["Response"]]:
    """Return what turns an error into a page that says what happened, and what became of the form."""

    async def apologise(request: "Request", error: Exception) -> "Response":
        if isinstance(error, _Refused):
            return _html(pages.message("Refused", [error.refusal.sentence]), error.refusal.status)
        if isinstance(error, ParaboloidError):
            status = 503 if isinstance(error, StoreError) else 422
            return _html(pages.message("That did not work", [str(error), TAKEN]), status)
        status = getattr(error, "status_code", 400)
        words = {404: "There is no such page.", 405: "This page cannot be used in that way."}
        return _html(pages.message("That did not work", [words.get(status, "This request cannot be read.")]), status)

    return apologise


def _html(text: str, status: int = 200) -> "Response":
    return _plain(text, "text/html", status)


def _plain(text: str, kind: str, status: int = 200) -> "Response":
    from starlette.responses import Response

    return Response(text, status, media_type=f"{kind}; charset=utf-8")


def _moved(where: str) -> "Response":
    """Return the answer to a form that was taken: the browser goes to a page, and a reload sends nothing again."""
    from starlette.responses import RedirectResponse

    return RedirectResponse(where, 303)


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(".")[:500] if part.isascii() and part.isdigit() and len(part) < 10]


def _done(deeds: Sequence[Deed], *, asked: int = 0) -> str:
    """Return what a page is told about what was done: numbers, and nothing that was typed."""
    kinds: dict[str, list[str]] = {}
    for deed in deeds:
        kinds.setdefault("same" if deed.kind == "same" else "saved", []).append(str(deed.typed.trial))
    numbers = {kind: ".".join(trials) for kind, trials in kinds.items()}
    return urlencode(numbers | ({"asked": str(asked)} if asked else {}))


def _attachment(name: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).lstrip(".") or "study"
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
