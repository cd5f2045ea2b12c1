"""The server: where it listens, how its address is made known, and how it ends."""

import errno
import os
import socket
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_urlsafe
from threading import Timer

import uvicorn

from tunedprior.errors import InputError
from tunedprior.web.guard import Application, Door, is_loopback, own_names

_SHORTEST_TOKEN = 12
# Seconds that open requests are given when the server is told to end.
_PATIENCE = 3


@dataclass(frozen=True)
class Address:
    """Where the page is.

    Attributes:
        host: The address that is listened on.
        port: Its port.
        token: What people must show; None for nobody but this computer.
    """

    host: str
    port: int
    token: str | None

    @property
    def url(self) -> str:
        """What to open in a browser; with the token, where there is one."""
        named = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(self.host, self.host)
        host = f"[{named}]" if ":" in named else named
        return f"http://{host}:{self.port}/" + (f"?token={self.token}" if self.token else "")


def door_of(host: str, token: str | None) -> Door:
    """Who may enter; an address that others can reach always takes a token, which is made if there is none."""
    if token is not None and len(token) < _SHORTEST_TOKEN:
        raise InputError(
            f"A token must have {_SHORTEST_TOKEN} characters or more, so that nobody guesses it; got {len(token)}. "
            "Leave it out, and one is made."
        )
    if token is None and not is_loopback(host):
        token = token_urlsafe(24)
    return Door(host, token, frozenset() if is_loopback(host) else own_names())


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there, or an `InputError` that says what to do; port 0 stands for any that is free."""
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


def run(application: Application, at: socket.socket, opened: str | None, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C, or until the program is told to end.

    Args:
        application: What answers.
        at: The socket that it listens on.
        opened: What to open in a browser, once it answers; None for nothing.
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
    ready()
    if opened is not None and _has_screen():
        timer = Timer(0.5, webbrowser.open, [opened])
        timer.daemon = True
        timer.start()
    try:
        server.run(sockets=[at])
    except KeyboardInterrupt:  # uvicorn passes it on when it is done
        pass
    finally:
        at.close()


def _has_screen() -> bool:
    """Whether a browser would show itself in a window, rather than in this terminal."""
    on_screen = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.platform in ("win32", "darwin") or on_screen
