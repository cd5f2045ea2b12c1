"""The web server: build the application, listen, show its address, and stop.

Everybody on a computer can see the arguments of programs (`ps`), so the token is in none: neither ours nor the
browser's. The browser opens a file that only its user can read, and which redirects to the address.
"""

import errno
import hashlib
import hmac
import os
import socket
import stat
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from secrets import token_bytes, token_urlsafe
from threading import Timer
from urllib.parse import quote

import jinja2
import typer
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import HTTPException
from fastapi.responses import HTMLResponse, Response
from starlette.types import ASGIApp

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.errors import InputError, TunedPriorError
from tunedprior.web.background import ExplanationWorker, SuggestionWorker
from tunedprior.web.entries import BusyError, FormConflictError, format_short, get_http_status
from tunedprior.web.guard import (
    FIELD_FOR_TAB,
    FORM_KEY,
    NO_FIELD,
    AccessPolicy,
    Guard,
    is_loopback,
    list_own_hostnames,
)
from tunedprior.web.pages import build_router
from tunedprior.web.shared import SharedCampaign

_STATIC = {"style.css": "text/css", "page.js": "text/javascript"}
_TITLES = {200: "Welcome", 401: "Who is there?", 404: "There is no such page", 500: "Something unforeseen happened"}


class TemplateRenderer:
    """Renders the templates; all user text is escaped."""

    def __init__(self) -> None:
        loader = jinja2.PackageLoader("tunedprior.web")
        self._templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self._templates.globals["short"] = format_short

    def render_text(self, template: str, **content: object) -> str:
        """Render a template to text."""
        return self._templates.get_template(template).render(content)

    def render_reply(
        self, request: Request | None, template: str, status: int = 200, **content: object
    ) -> HTMLResponse:
        """Render a template as a response; its forms are bound to the browser of the request."""
        key = "" if request is None else request.scope.get(FORM_KEY, "")
        return HTMLResponse(self.render_text(template, key=key, **content), status)

    def render_refusal(self, status: int, message: str, field: str = NO_FIELD) -> str:
        """Render an error page, optionally with a field for the token."""
        title = _TITLES.get(status, "That was not possible")
        in_tab = field == FIELD_FOR_TAB
        return self.render_text(
            "refusal.html", title=title, message=message, with_token=field != NO_FIELD, in_tab=in_tab
        )


def build_application(open_campaign: Callable[[], Optimizer], policy: AccessPolicy, where: str) -> ASGIApp:
    """Build the web application of a campaign.

    Args:
        open_campaign: Opens the campaign; it is called twice, for the record and for what takes time.
        policy: Who may enter.
        where: The file or database, as it is shown on the pages.
    """
    campaign = SharedCampaign(open_campaign)
    drawing = TemplateRenderer()
    app = FastAPI(title="tunedprior", docs_url=None, redoc_url=None, openapi_url=None)
    suggester, explanation_worker = SuggestionWorker(open_campaign, campaign.study), ExplanationWorker(open_campaign)
    app.include_router(build_router(campaign, suggester, explanation_worker, drawing.render_reply, where))

    @app.get("/static/{name}")
    def send_static_file(name: str) -> Response:
        if name not in _STATIC:
            raise HTTPException(404)
        text = files("tunedprior.web").joinpath("static", name).read_text(encoding="utf-8")
        return Response(text, media_type=_STATIC[name], headers={"cache-control": "no-cache"})

    _add_refusals(app, drawing)
    _add_last_resorts(app, drawing)
    return Guard(app, policy, drawing.render_refusal)


def _add_refusals(app: FastAPI, drawing: TemplateRenderer) -> None:
    """Pages for what people may have done wrong, and for a campaign that cannot be read."""

    @lru_cache(maxsize=1)
    def render_busy_page(message: str) -> str:
        """Drawn once: it is for when there is much to do."""
        return drawing.render_text("complaint.html", message=message, number=None, title="One moment")

    @app.exception_handler(InputError)
    async def handle_input_error(request: Request, error: InputError) -> Response:
        number = error.trial.id if isinstance(error, FormConflictError) and error.trial is not None else None
        if isinstance(error, BusyError):
            return HTMLResponse(render_busy_page(str(error)), error.status, {"retry-after": str(error.retry_after)})
        return drawing.render_reply(
            request,
            "complaint.html",
            get_http_status(error),
            message=str(error),
            number=number,
            title="Nothing was changed",
        )

    @app.exception_handler(TunedPriorError)
    def handle_campaign_error(request: Request, error: TunedPriorError) -> Response:
        return drawing.render_reply(
            request, "complaint.html", 503, message=str(error), number=None, title="The campaign cannot be read"
        )


def _add_last_resorts(app: FastAPI, drawing: TemplateRenderer) -> None:
    """Pages for addresses that there are not, and for errors that nobody foresaw."""

    @app.exception_handler(404)
    def handle_not_found(_: Request, __: Exception) -> Response:
        return HTMLResponse(drawing.render_refusal(404, "Perhaps the address was mistyped."), 404)

    @app.exception_handler(HTTPException)
    def handle_http_error(_: Request, error: HTTPException) -> Response:
        return HTMLResponse(
            drawing.render_refusal(error.status_code, "That is not how this page is used."), error.status_code
        )

    @app.exception_handler(Exception)
    def handle_unexpected_error(request: Request, error: Exception) -> Response:
        said = f"{type(error).__name__}. The window that the server runs in has more. What was recorded is safe."
        if request.method == "POST":
            said += (
                " Whether this form was recorded is not known here: go back and send it again. It counts once, and "
                "then the page says what is recorded."
            )
        return HTMLResponse(drawing.render_refusal(500, said), 500)


#: Where a token of one's own may be given, besides in a file.
TOKEN_VARIABLE = "TUNEDPRIOR_TOKEN"
_SHORTEST_TOKEN, _LONGEST_TOKEN = 12, 1000
_SECRET_BYTES = 32
_LEADING_ON = """<!doctype html>
<meta charset="utf-8"><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={url}">
<title>tunedprior</title><p><a href="{url}">To the campaign</a></p>
"""
# Seconds after which a thread that computes lets another one have its turn; recording a result takes many turns.
_SWITCH = 0.0005
# Seconds that open requests are given when the server is told to end.
_PATIENCE = 3


@dataclass(frozen=True)
class Address:
    """The address of the page.

    Attributes:
        host: The address that is listened on.
        port: Its port.
        token: What people must show; None if everybody on this computer may enter.
    """

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """The URL for a browser, with the token if there is one."""
        named = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(self.host, self.host)
        host = f"[{named}]" if ":" in named else named
        return f"http://{host}:{self.port}/" + (f"?token={quote(self.token, safe='')}" if self.token else "")


def read_token(file: Path | None) -> str | None:
    """Read the token from a private file or from the environment; None if there is neither."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        _refuse_public(file)
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"No token can be read from {str(file)!r}: {reason}. Write one there, in one line.") from error
    if len(text.splitlines()) != 1:
        raise InputError(f"{str(file)!r} must hold a token in one line; it has {len(text.splitlines())}.")
    return text


def _refuse_public(file: Path) -> None:
    others = stat.S_IRWXG | stat.S_IRWXO
    if os.name == "posix" and file.stat().st_mode & others:
        raise InputError(f"Others may use {str(file)!r}, so it keeps no token. Make it yours alone: chmod 600 {file}")


def make_access_policy(host: str, token: str | None = None, about: str = "", needs_token: bool = True) -> AccessPolicy:
    """Make the access policy, with a new token if none is given.

    Args:
        host: The address that is listened on.
        token: The token; None to have one made.
        about: The campaign; who has entered one may not therefore enter another.
        needs_token: Whether there is one at all; an address that others can reach always takes one.
    """
    names = frozenset() if is_loopback(host) else list_own_hostnames()
    if not needs_token:
        if not is_loopback(host):
            raise InputError(
                f"Everybody who can reach {host} could write into the campaign. Leave out --no-token, or --host."
            )
        if token is not None:
            raise InputError("A token is given, and --no-token says that there is none. Leave one of them out.")
        return AccessPolicy(host, None, names)
    if token is None:
        secret = hmac.new(_load_cookie_secret(), about.encode("utf-8", "surrogatepass"), hashlib.sha256).digest()
        return AccessPolicy(host, token_urlsafe(24), names, secret)
    if not _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN:
        raise InputError(
            f"A token must have {_SHORTEST_TOKEN} characters or more, so that nobody guesses it, and at most "
            f"{_LONGEST_TOKEN}; got {len(token)}. Leave it out, and one is made."
        )
    return AccessPolicy(host, token, names)


def _make_app_folder() -> Path:
    """Return this user's folder for application data, created if missing."""
    folder = Path(typer.get_app_dir("tunedprior"))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _load_cookie_secret() -> bytes:
    """Return the secret for cookies, stored so that it stays the same for this user.

    Whoever has entered stays in when the page is started anew, and what they are typing can be sent.
    """
    try:
        file = _make_app_folder() / "cookie_secret"
        with suppress(FileExistsError):
            place = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(place, "wb") as made:
                made.write(token_bytes(_SECRET_BYTES))
        _refuse_public(file)
        found = file.read_bytes()
    except (OSError, InputError):
        return token_bytes(_SECRET_BYTES)
    return found if len(found) >= _SECRET_BYTES else token_bytes(_SECRET_BYTES)


@contextmanager
def write_redirect_file(address: Address) -> Iterator[str]:
    """Write a private file that redirects a browser to the page; it is deleted when the page ends."""
    if address.token is None:
        yield address.url
        return
    try:
        place, name = tempfile.mkstemp(".html", "serving-", _make_app_folder())  # for its owner alone
    except OSError:
        place, name = tempfile.mkstemp(".html", "tunedprior-")
    file = Path(name)
    try:
        with os.fdopen(place, "w", encoding="utf-8") as made:
            made.write(_LEADING_ON.format(url=escape(address.url)))
        yield file.as_uri()
    finally:
        file.unlink(missing_ok=True)


def open_socket(host: str, port: int) -> socket.socket:
    """Open a listening socket (port 0: any free one); an `InputError` says what to do if that fails."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, OverflowError) as error:
        raise InputError(f"There is no address {host!r} on this computer ({error}). Leave --host out.") from error
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    if os.name == "posix":  # elsewhere it would let two programs listen at once
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(address)
        made.listen(128)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"Port {port} is in use, perhaps by the same page in another window. Choose another one, such as "
                f"--port {port + 1}, or --port 0 for any that is free."
            ) from error
        raise InputError(f"Nothing can listen on {host}, port {port}: {error.strerror}. Choose another.") from error
    return made


def run_server(
    application: ASGIApp, at: socket.socket, address_to_open: Address | None, ready: Callable[[], None]
) -> None:
    """Serve until Ctrl-C or a signal to end.

    Args:
        application: What answers.
        at: The socket that it listens on.
        address_to_open: The address to open in a browser once the server answers; None to open nothing.
        ready: Called when it is about to answer.
    """
    config = uvicorn.Config(
        application,
        log_level="warning",
        access_log=False,  # addresses may hold the token
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        timeout_graceful_shutdown=_PATIENCE,
    )
    server = uvicorn.Server(config)
    sys.setswitchinterval(_SWITCH)
    ready()
    with ExitStack() as stack:
        stack.callback(at.close)
        if address_to_open is not None and _has_screen():
            timer = Timer(0.5, webbrowser.open, [stack.enter_context(write_redirect_file(address_to_open))])
            timer.daemon = True
            timer.start()
        with suppress(KeyboardInterrupt):  # uvicorn passes it on when it is done
            server.run(sockets=[at])


def _has_screen() -> bool:
    """Return whether a browser would open in a window instead of this terminal."""
    on_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.platform in ("win32", "darwin") or on_screen
