"""Decide which requests may use the web page: those with the token, and none that another site sends."""

import asyncio
import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import cookies
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tunedprior.web.complaints import parse_count

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The cookie that a form's hidden field must agree with.
FORM_COOKIE = "tunedprior-form"
#: Where the guard leaves the content of that cookie for whoever draws the form.
FORM_KEY = "tunedprior.form_key"
#: And whether the browser had it already.
KEY_CAME_BACK = "tunedprior.key_came_back"
#: Fields for the token: none, one that leads on to the campaign, and one that does so in another tab.
NO_FIELD, FIELD, FIELD_FOR_TAB = "", "here", "in another tab"
_LONGEST_FORM = 100_000  # bytes
_LONGEST_ADDRESS = 1_000  # characters; the longest of ours has less than a hundred
# Seconds that a wrong token keeps its place, and how many places there are: so many can be tried in that time.
_PAUSE, _GUESSES = 1.0, 5
_YEAR = 365 * 24 * 3600
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
#: For a page that brings its own scripts: they run, but apart from ours, and can ask for nothing.
REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'none'"
)
# What a page looks like, which tells nobody anything.
_FOR_ALL = "/static/"
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class AccessPolicy:
    """The address of the page, and who may open it.

    Attributes:
        host: The address that it listens on.
        token: What people must show; None if everybody on this computer may enter.
        names: Names of this computer by which it may be called, besides its addresses.
        secret: What cookies are made with, in place of the token: who has entered stays in when the page is started
            anew with another token.
    """

    host: str = "127.0.0.1"
    token: str | None = None
    names: frozenset[str] = field(default_factory=frozenset)
    secret: bytes = b""

    def is_host_allowed(self, host_header: str) -> bool:
        """Return whether the Host header names this computer; other names indicate DNS rebinding."""
        name = _parse_host(host_header)
        address = _parse_address(name)
        if address is not None:
            return address.is_loopback or not is_loopback(self.host)
        return name == "localhost" or (not is_loopback(self.host) and name in {self.host.lower(), *self.names})

    @property
    def pass_cookie(self) -> str:
        """The value of the cookie for browsers that have shown the token."""
        made_with = self.secret or (self.token or "").encode()
        return hmac.new(made_with, b"tunedprior cookie", hashlib.sha256).hexdigest()


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach an address."""
    address = _parse_address(host.strip("[]").lower())
    return host.lower() == "localhost" if address is None else address.is_loopback


def list_own_hostnames() -> frozenset[str]:
    """List the names of this computer."""
    name = socket.gethostname().lower()
    return frozenset({name, f"{name}.local", socket.getfqdn().lower()}) - {""}


class Guard:
    """Middleware that rejects requests without access, and sets security headers.

    Args:
        application: What answers the others.
        policy: Who may enter.
        refusal: Draws the page for a status and a message, and with which field for the token.
    """

    def __init__(self, application: Application, policy: AccessPolicy, refusal: Callable[[int, str, str], str]) -> None:
        self._application, self._policy, self._refusal = application, policy, refusal
        self._guessed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        kept = _parse_cookies(headers)
        pass_name = f"tunedprior-pass-{scope['server'][1] if scope.get('server') else 0}"
        key = kept.get(FORM_COOKIE, "")
        new_key = len(key) < 16
        key = token_urlsafe(24) if new_key else key
        scope[FORM_KEY], scope[KEY_CAME_BACK] = key, not new_key
        fresh = {FORM_COOKIE: (key, "Lax")} if new_key else {}
        sending = _ReplySender(send, fresh)
        wrong = self._find_refusal(scope, headers)
        if wrong is not None:
            return await sending.send_page(wrong[0], self._refusal(*wrong, NO_FIELD))
        if self._policy.token is not None and not scope["path"].startswith(_FOR_ALL):
            query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
            if "token" in query:
                return await self._check_token(scope, query, pass_name, sending)
            if not hmac.compare_digest(kept.get(pass_name, "").encode(), self._policy.pass_cookie.encode()):
                return await sending.send_page(401, self._render_token_page(scope["method"] == "POST"))
        return await self._application(scope, receive, sending)

    def _render_token_page(self, has_form: bool) -> str:
        """The page for a browser that has shown no token; what is in a form is not lost by that."""
        said = "This page takes a token: the one that was printed when it was started."
        if not has_form:
            return self._refusal(401, said, FIELD)
        said += (
            " Nothing was recorded yet. Enter the token, which opens another tab. Then come back to this one and "
            "reload it: the form is sent again as it was typed."
        )
        return self._refusal(401, said, FIELD_FOR_TAB)

    def _find_refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Why a request is not for us, whoever sends it."""
        host = headers.get("host", "")
        if not self._policy.is_host_allowed(host):
            return 421, "This page is not known by that name. Open it by the address that was printed."
        if len(scope["path"]) > _LONGEST_ADDRESS:
            return 414, "No page of ours has an address as long as that. Open it by the links on the page."
        if scope["method"] in ("GET", "HEAD"):
            return None if _is_visit(headers) else (403, "Another page asked for this, and it is for people to open.")
        if scope["method"] != "POST":
            return 405, "This page is for reading, and for sending its own forms."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or (origin is not None and _parse_origin_host(origin) != host.lower()):
            return 403, "Another page sent this form, and only this page's own forms are taken. Nothing was changed."
        length = headers.get("content-length", "")
        if parse_count(length, _LONGEST_FORM) is None:
            return 413, f"A form has {_LONGEST_FORM:,} bytes at most. Shorten the note. Nothing was recorded."
        return None

    async def _check_token(self, scope: Scope, query: dict[str, str], pass_name: str, sending: "_ReplySender") -> None:
        """Take the token, and lead on to the same page without it: addresses are kept, and shown to others."""
        given = query.pop("token")
        if self._guessed >= _GUESSES:  # before it is compared: a right guess must not be faster than a wrong one
            sending.more["retry-after"] = f"{max(1, round(_PAUSE))}"
            return await sending.send_page(
                429, self._refusal(429, "Too many wrong tokens. Try again in a moment.", FIELD)
            )
        if not hmac.compare_digest(given.encode(), (self._policy.token or "").encode()):
            self._guessed += 1
            try:
                await asyncio.sleep(_PAUSE)
            finally:
                self._guessed -= 1
            return await sending.send_page(401, self._refusal(401, "That is not the token of this page.", FIELD))
        # A cookie for this site alone is not sent along when another site's link led here, nor by a redirection then.
        sending.fresh[pass_name] = (self._policy.pass_cookie, "Strict")
        path = "/" + str(scope["path"]).lstrip("/\\") + (f"?{urlencode(query)}" if query else "")
        sending.more["refresh"] = f"0; url={path}"
        return await sending.send_page(200, self._refusal(200, "Thank you. The page opens in a moment.", NO_FIELD))


class _ReplySender:
    """Adds what every reply has, and the cookies that are new."""

    def __init__(self, send: Send, fresh: dict[str, tuple[str, str]]) -> None:
        self._send, self.fresh = send, fresh
        self.more: dict[str, str] = {}

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.decode("latin-1") for name, _ in message.get("headers", [])}
            added = {name: value for name, value in {**_HEADERS, **self.more}.items() if name not in own}
            lines = [(name.encode(), value.encode("latin-1", "replace")) for name, value in added.items()]
            for name, (value, site) in self.fresh.items():
                lines.append((b"set-cookie", _format_cookie(name, value, site)))
            message["headers"] = [*message.get("headers", []), *lines]
        await self._send(message)

    async def send_page(self, status: int, text: str) -> None:
        """Send a whole page."""
        body = text.encode()
        headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
        await self({"type": "http.response.start", "status": status, "headers": headers})
        await self({"type": "http.response.body", "body": body})


def _is_visit(headers: Mapping[str, str]) -> bool:
    """Return whether a request opens the page or comes from it; other sites may neither embed nor fetch it."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"


def _format_cookie(name: str, value: str, site: str) -> bytes:
    return f"{name}={value}; Path=/; HttpOnly; SameSite={site}; Max-Age={_YEAR}".encode()


def _parse_cookies(headers: Mapping[str, str]) -> dict[str, str]:
    jar: cookies.SimpleCookie = cookies.SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except cookies.CookieError:
        return {}
    return {name: one.value for name, one in jar.items()}


def _parse_origin_host(origin: str) -> str:
    """The name and port of an origin; "null", which is that of a page without one, has none."""
    try:
        return urlsplit(origin).netloc.lower() if origin.startswith(("http://", "https://")) else ""
    except ValueError:  # brackets that are not closed
        return ""


def _parse_host(header: str) -> str:
    """The name in a Host header, without the port."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _parse_address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
