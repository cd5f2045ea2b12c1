"""Decide which requests may use the web page: those with the token, and none that another site sends."""

import asyncio
import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_urlsafe
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tunedprior.web.entries import parse_count

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

    def __init__(self, application: ASGIApp, policy: AccessPolicy, refusal: Callable[[int, str, str], str]) -> None:
        self._application, self._policy, self._refusal = application, policy, refusal
        self._guessed = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return await self._application(scope, receive, send)
        request = Request(scope)
        key = request.cookies.get(FORM_COOKIE, "")
        scope[KEY_CAME_BACK] = len(key) >= 16
        scope[FORM_KEY] = key if scope[KEY_CAME_BACK] else token_urlsafe(24)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                if not scope[KEY_CAME_BACK]:
                    headers.append("set-cookie", _format_cookie(FORM_COOKIE, scope[FORM_KEY], "Lax"))
            await send(message)

        reply = await self._refuse(request) or self._application
        return await reply(scope, receive, send_with_headers)

    async def _refuse(self, request: Request) -> HTMLResponse | None:
        """The reply to a request that the application is not to answer."""
        wrong = self._find_refusal(request)
        if wrong is not None:
            return self._draw_page(*wrong)
        path = str(request.scope["path"])
        if self._policy.token is None or path.startswith(_FOR_ALL):
            return None
        query = dict(parse_qsl(request.scope["query_string"].decode("latin-1")))
        port = request.scope["server"][1] if request.scope.get("server") else 0
        pass_name, pass_value = f"tunedprior-pass-{port}", self._policy.pass_cookie
        if "token" not in query:
            may_enter = hmac.compare_digest(request.cookies.get(pass_name, "").encode(), pass_value.encode())
            return None if may_enter else self._draw_token_page(request.method == "POST")
        wrong_token = await self._check_token(query.pop("token"))
        if wrong_token is not None:
            return wrong_token
        # Lead on to the same page without the token: addresses are kept, and shown to others. A cookie for this site
        # alone is not sent along when another site's link led here, nor by a redirection then.
        page = self._draw_page(200, "Thank you. The page opens in a moment.")
        address = "/" + quote(path.lstrip("/\\")) + (f"?{urlencode(query)}" if query else "")
        page.headers["refresh"] = f"0; url={address}"
        page.headers["set-cookie"] = _format_cookie(pass_name, pass_value, "Strict")
        return page

    def _draw_page(self, status: int, message: str, field: str = NO_FIELD) -> HTMLResponse:
        return HTMLResponse(self._refusal(status, message, field), status)

    def _draw_token_page(self, has_form: bool) -> HTMLResponse:
        """The page for a browser that has shown no token; what is in a form is not lost by that."""
        said = "This page takes a token: the one that was printed when it was started."
        if not has_form:
            return self._draw_page(401, said, FIELD)
        said += (
            " Nothing was recorded yet. Enter the token, which opens another tab. Then come back to this one and "
            "reload it: the form is sent again as it was typed."
        )
        return self._draw_page(401, said, FIELD_FOR_TAB)

    async def _check_token(self, given: str) -> HTMLResponse | None:
        """The reply to a wrong token, after a pause; None for the right one."""
        if self._guessed >= _GUESSES:  # before it is compared: a right guess must not be faster than a wrong one
            page = self._draw_page(429, "Too many wrong tokens. Try again in a moment.", FIELD)
            page.headers["retry-after"] = f"{max(1, round(_PAUSE))}"
            return page
        if hmac.compare_digest(given.encode(), (self._policy.token or "").encode()):
            return None
        self._guessed += 1
        try:
            await asyncio.sleep(_PAUSE)
        finally:
            self._guessed -= 1
        return self._draw_page(401, "That is not the token of this page.", FIELD)

    def _find_refusal(self, request: Request) -> tuple[int, str] | None:
        """Why a request is not for us, whoever sends it."""
        headers = request.headers
        host = headers.get("host", "")
        if not self._policy.is_host_allowed(host):
            return 421, "This page is not known by that name. Open it by the address that was printed."
        if len(request.scope["path"]) > _LONGEST_ADDRESS:
            return 414, "No page of ours has an address as long as that. Open it by the links on the page."
        if request.method in ("GET", "HEAD"):
            return None if _is_visit(headers) else (403, "Another page asked for this, and it is for people to open.")
        if request.method != "POST":
            return 405, "This page is for reading, and for sending its own forms."
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "same-origin")
        if site not in ("same-origin", "none") or (origin is not None and _parse_origin_host(origin) != host.lower()):
            return 403, "Another page sent this form, and only this page's own forms are taken. Nothing was changed."
        length = headers.get("content-length", "")
        if parse_count(length, _LONGEST_FORM) is None:
            return 413, f"A form has {_LONGEST_FORM:,} bytes at most. Shorten the note. Nothing was recorded."
        return None


def _is_visit(headers: Headers) -> bool:
    """Return whether a request opens the page or comes from it; other sites may neither embed nor fetch it."""
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return True
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest", "document") == "document"


def _format_cookie(name: str, value: str, site: str) -> str:
    return f"{name}={value}; Path=/; HttpOnly; SameSite={site}; Max-Age={_YEAR}"


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
