"""Who may talk to the page: the right host, the right origin, a form that we gave out, a browser that has signed in.

A page on a loopback address can be reached by every web site that its user visits, through the browser. So a request
must name this host (a name that an attacker's name server turned to 127.0.0.1 is another), and a form must come from
this page (its ``Origin``) and carry what only this page can have put into it.
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from paraboloid.core import UsageError

__all__ = ["FORM_KEY", "Guard", "Refusal", "is_loopback", "new_token"]

FORM_KEY = "form-key"
"""Name of the hidden field that every form of the page carries."""
SHORTEST_TOKEN = 12
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::\d{1,5})?")
_OUR_FETCHES = ("", "same-origin", "none")


def new_token() -> str:
    """Return a token that nobody can guess.

    >>> len(new_token()) >= SHORTEST_TOKEN
    True
    """
    return secrets.token_urlsafe(16)


def is_loopback(host: str) -> bool:
    """Tell whether an address, or the name localhost, means this machine alone.

    >>> is_loopback("127.0.0.1"), is_loopback("[::1]"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    address = _address(host)
    return host.lower() == "localhost" if address is None else address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not answered: the status of HTTP, and a sentence."""

    status: int
    sentence: str


@dataclass(frozen=True, slots=True)
class Guard:
    """Judges requests.

    Parameters
    ----------
    study
        Identity of the study: a long random text that is never shown, from which the keys of forms are made. They are
        the same after a restart, so that a form that was open meanwhile can still be sent.
    token
        What a browser must show once; None if all may enter who reach the page.
    is_local
        Whether the page listens on a loopback address alone.
    names
        Names of this host, beside localhost.

    Examples
    --------
    >>> guard = Guard("4bb5", None, True)
    >>> guard.host_refusal("localhost:8765") is None, guard.host_refusal("evil.example").status
    (True, 400)
    """

    study: str = field(repr=False)
    token: str | None = field(repr=False)
    is_local: bool
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not self.is_local:
            raise UsageError("a page that other machines can reach needs a token.")
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise UsageError(
                f"the token has {len(self.token)} characters, and needs {SHORTEST_TOKEN} at least. Make a longer one, "
                f"or give none: then one is made and shown."
            )

    @property
    def cookie(self) -> str:
        """Name of the cookie: of this study, for a browser gives it to every port of the host."""
        return f"paraboloid_{hashlib.sha256(self.study.encode()).hexdigest()[:12]}"

    @property
    def session(self) -> str:
        """What the cookie of a browser that has signed in holds: made from the token, which it does not tell."""
        return _sealed(self.token or "", f"session of {self.study}")

    @property
    def form_key(self) -> str:
        """What every form of ours carries."""
        return _sealed(f"{self.study}{self.token or ''}", "form")

    def host_refusal(self, host: str) -> Refusal | None:
        """Return why a request for this host is refused, or None."""
        found = _HOST.fullmatch(host)
        if found is not None and self._is_ours(found[1].lower().rstrip(".")):
            return None
        return Refusal(
            400, "This page does not answer under that host name. Use the address that `paraboloid serve` printed."
        )

    def _is_ours(self, name: str) -> bool:
        if is_loopback(name) or name in {known.lower() for known in self.names}:
            return True
        # No name server is asked for an address written in numbers, so that none can have been turned to us.
        return not self.is_local and _address(name) is not None

    def origin_refusal(self, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a form from that origin is refused, or None; where none is named, the form key decides."""
        origin = headers.get("origin")
        is_foreign = headers.get("sec-fetch-site", "") not in _OUR_FETCHES
        if is_foreign or (origin is not None and urlsplit(origin).netloc != headers.get("host", "")):
            return Refusal(403, "This form was sent by another web site, and nothing was taken from it.")
        return None

    def form_refusal(self, form_key: str) -> Refusal | None:
        """Return why a form with this key is refused, or None."""
        if hmac.compare_digest(form_key.encode(), self.form_key.encode()):
            return None
        return Refusal(
            403, "This form is not one of this page, or of another study. Nothing was taken. Open the page anew."
        )

    def is_signed_in(self, cookie: str) -> bool:
        """Tell whether a cookie is that of a browser that has signed in."""
        return self.token is None or hmac.compare_digest(cookie.encode(), self.session.encode())

    def is_token(self, given: str) -> bool:
        """Tell whether this is the token."""
        return self.token is not None and hmac.compare_digest(given.strip().encode(), self.token.encode())


def _sealed(key: str, text: str) -> str:
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()
