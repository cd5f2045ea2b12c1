"""Where the page is, and what is said when it cannot be there."""

import socket

import pytest

from tunedprior.errors import InputError
from tunedprior.web.running import Address, door_of, listening


def test_a_port_in_use_is_said_with_what_to_do() -> None:
    with listening("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=rf"Port {port} is in use.*--port {port + 1}"):
            listening("127.0.0.1", port)
    with listening("127.0.0.1", port):  # free again at once
        pass


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_an_address_of_somebody_else(host: str) -> None:
    with pytest.raises(InputError, match=r"no address|Nothing can listen"):
        listening(host, 0)


def test_only_this_computer_needs_no_token() -> None:
    assert door_of("127.0.0.1", None).token is None
    assert door_of("localhost", None).token is None
    made = door_of("0.0.0.0", None)
    assert len(made.token) >= 24
    assert made.token != door_of("0.0.0.0", None).token
    assert socket.gethostname().lower() in made.names
    assert door_of("127.0.0.1", "twelve-letters").token == "twelve-letters"
    with pytest.raises(InputError, match="12 characters"):
        door_of("0.0.0.0", "short")


def test_what_to_open() -> None:
    assert Address("127.0.0.1", 8000, None).url == "http://127.0.0.1:8000/"
    assert Address("::1", 80, None).url == "http://[::1]:80/"
    assert Address("0.0.0.0", 8000, "abc").url == f"http://{socket.gethostname()}:8000/?token=abc"
