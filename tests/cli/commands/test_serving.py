"""`tunedprior serve`, from a shell."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tunedprior.cli.output import ExitCode
from tunedprior.web.server import open_socket


@pytest.mark.parametrize("options", [(), ("--no-token",)])
def test_it_says_where_it_is_and_ends_with_ctrl_c(campaign, options: tuple[str, ...]) -> None:
    command = "from tunedprior.cli.program import main; main()"
    words = [sys.executable, "-c", command, "serve", "a.db", "--port", "0", "--json", *options]
    running = subprocess.Popen(
        words,
        cwd=campaign.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CONFIG_HOME": str(campaign.folder)},
    )
    try:
        said = ""
        while not said.rstrip().endswith("}"):
            line = running.stdout.readline()
            assert line, running.stderr.read()
            said += line
        found = json.loads(said)
        plain = f"http://127.0.0.1:{found['port']}/"
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        if options:
            assert (found["url"], found["token"]) == (plain, None)
        else:
            assert found["url"] == f"{plain}?token={found['token']}"
            with pytest.raises(urllib.error.HTTPError, match="401"):
                browser.open(plain)
            with browser.open(found["url"]) as reply:
                assert reply.headers["refresh"] == "0; url=/"
        with browser.open(plain) as reply:
            assert b"maximize yield" in reply.read()
        running.send_signal(signal.SIGINT)
        rest, wrong = running.communicate(timeout=60)
        assert (running.returncode, rest, wrong) == (0, "", "")
    finally:
        running.kill()
        running.communicate()


def test_nothing_to_serve(shell) -> None:
    assert "There is no campaign" in shell("serve", "no.db", "--port", "0", "--no-open", code=ExitCode.REFUSED)


def test_a_port_in_use(campaign) -> None:
    with open_socket("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        assert f"Port {port} is in use" in campaign("serve", "a.db", "--port", port, code=ExitCode.REFUSED)


def test_a_token_that_is_guessed(campaign) -> None:
    (campaign.folder / "token").touch(0o600)
    (campaign.folder / "token").write_text("abc")
    assert "12 characters" in campaign("serve", "a.db", "--token-file", "token", code=ExitCode.REFUSED)


def test_no_token_where_others_can_reach_it(campaign) -> None:
    said = campaign("serve", "a.db", "--host", "0.0.0.0", "--no-token", code=ExitCode.REFUSED)
    assert "Leave out --no-token, or --host" in said


@pytest.mark.parametrize("port", ["-1", "65536", "http"])
def test_no_such_port(campaign, port: str) -> None:
    campaign("serve", "a.db", "--port", port, code=2)
