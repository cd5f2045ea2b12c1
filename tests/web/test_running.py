"""Where the page is, and what is said when it cannot be there."""

import socket
import stat
import threading
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit
from urllib.request import url2pathname

import pytest

from tunedprior.errors import InputError
from tunedprior.web.server import Address, make_access_policy, open_socket, read_token, run_server, write_redirect_file


@pytest.fixture
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where this user's programs keep what is theirs."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_port_in_use_is_said_with_what_to_do() -> None:
    with open_socket("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=rf"Port {port} is in use.*--port {port + 1}"):
            open_socket("127.0.0.1", port)
    with open_socket("127.0.0.1", port):  # free again at once
        pass


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7"])
def test_an_address_of_somebody_else(host: str) -> None:
    with pytest.raises(InputError, match=r"no address|Nothing can listen"):
        open_socket(host, 0)


@pytest.mark.usefixtures("own_folder")
def test_every_page_takes_a_token_unless_it_is_said_to_take_none() -> None:
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        made = make_access_policy(host)
        assert len(made.token) >= 24
        assert made.token != make_access_policy(host).token
    assert socket.gethostname().lower() in make_access_policy("0.0.0.0").names
    assert make_access_policy("127.0.0.1", "twelve-letters").token == "twelve-letters"
    with pytest.raises(InputError, match="12 characters"):
        make_access_policy("0.0.0.0", "short")
    assert make_access_policy("127.0.0.1", needs_token=False).token is None
    with pytest.raises(InputError, match=r"Everybody who can reach 0\.0\.0\.0 could write"):
        make_access_policy("0.0.0.0", needs_token=False)
    with pytest.raises(InputError, match="--no-token says that there is none"):
        make_access_policy("127.0.0.1", "twelve-letters", needs_token=False)


def test_who_has_entered_stays_in_when_the_page_is_started_anew(own_folder) -> None:
    cookie = make_access_policy("127.0.0.1", about="a.db").pass_cookie
    assert make_access_policy("127.0.0.1", about="a.db").pass_cookie == cookie
    assert make_access_policy("127.0.0.1", about="b.db").pass_cookie != cookie  # that was another campaign
    secret = own_folder / "tunedprior" / "cookie_secret"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    secret.chmod(0o644)  # others may have read it
    assert make_access_policy("127.0.0.1", about="a.db").pass_cookie != cookie
    secret.unlink()
    assert make_access_policy("127.0.0.1", about="a.db").pass_cookie != cookie
    given = [
        make_access_policy("127.0.0.1", token).pass_cookie
        for token in ("twelve-letters", "twelve-letters", "another-token")
    ]
    assert given[0] == given[1] != given[2]  # with another token everybody has to show it again


def test_a_page_is_served_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))  # no folder can be made there
    assert make_access_policy("127.0.0.1").pass_cookie != make_access_policy("127.0.0.1").pass_cookie
    with write_redirect_file(Address("127.0.0.1", 8000, "abc")) as opened:
        assert opened.startswith("file://")


def test_a_token_of_ones_own_is_in_a_file_or_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TUNEDPRIOR_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("TUNEDPRIOR_TOKEN", "from-the-environment")
    assert read_token(None) == "from-the-environment"
    file = tmp_path / "token"
    with pytest.raises(InputError, match="No token can be read from"):
        read_token(file)
    file.write_text("one-of-my-own\n")
    file.chmod(0o644)
    with pytest.raises(InputError, match=r"Others may use .*chmod 600"):
        read_token(file)
    file.chmod(0o600)
    assert read_token(file) == "one-of-my-own"
    for wrong in (b"", b"one\ntwo", b"\xff\xfe\x00"):
        file.write_bytes(wrong)
        with pytest.raises(InputError, match="in one line"):
            read_token(file)


def test_what_to_open() -> None:
    assert Address("127.0.0.1", 8000, None).url == "http://127.0.0.1:8000/"
    assert Address("::1", 80, None).url == "http://[::1]:80/"
    assert Address("0.0.0.0", 8000, "abc").url == f"http://{socket.gethostname()}:8000/?token=abc"
    odd = "a b&c=d#e%f+g/ü?'\"<>"
    assert dict(parse_qsl(urlsplit(Address("127.0.0.1", 8000, odd).url).query)) == {"token": odd}


@pytest.mark.usefixtures("own_folder")
def test_a_browser_is_given_a_file_of_this_users_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, str, int]] = []
    opened = threading.Event()

    def browse(url: str) -> None:
        file = Path(url2pathname(urlsplit(url).path))
        seen.append((url, file.read_text(encoding="utf-8"), stat.S_IMODE(file.stat().st_mode)))
        opened.set()

    monkeypatch.setattr("tunedprior.web.server.webbrowser.open", browse)
    monkeypatch.setattr("tunedprior.web.server._has_screen", lambda: True)
    monkeypatch.setattr("tunedprior.web.server.uvicorn.Server.run", lambda *_, **__: opened.wait(60))
    address = Address("127.0.0.1", 8000, "not<for>everybody")
    with open_socket("127.0.0.1", 0) as at:
        run_server(lambda *_: None, at, address, lambda: None)
    ((url, text, mode),) = seen
    assert url.startswith("file://")
    assert "everybody" not in url  # a browser's arguments are seen by all
    assert f"url={address.url}" in text
    assert mode == 0o600
    assert not Path(url2pathname(urlsplit(url).path)).exists()  # nothing is left
    with write_redirect_file(Address("127.0.0.1", 8000, None)) as plain:
        assert plain == "http://127.0.0.1:8000/"
