"""A real browser, a real server, and a folder for pictures of both."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from tunedprior import Optimizer

optuna.logging.set_verbosity(optuna.logging.WARNING)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The system's Chromium, without a window; tests are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("there is no Chromium (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pictures of the pages go."""
    kept = os.environ.get("TUNEDPRIOR_SCREENSHOTS")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Server:
    """`tunedprior serve`, as a person starts it."""

    def __init__(self, campaign: Path, *options: str) -> None:
        self.campaign, self.options = campaign, options
        self.link, self.url, self.port = "", "", "0"
        self.start()

    def start(self) -> None:
        """Start it, at the port that it had."""
        command = [sys.executable, "-c", "from tunedprior.cli.program import main; main()", "serve", str(self.campaign)]
        more = ["--port", self.port, "--no-open", "--json", *self.options]
        own = {**os.environ, "XDG_CONFIG_HOME": str(self.campaign.parent)}
        self.process = subprocess.Popen([*command, *more], stdout=subprocess.PIPE, text=True, env=own)
        said = ""
        while not said.rstrip().endswith("}"):
            line = self.process.stdout.readline()
            assert line, f"it ended: {said}"
            said += line
        self.link, self.port = json.loads(said)["url"], str(json.loads(said)["port"])
        self.url = self.link.split("?")[0]

    def kill(self) -> None:
        """End it as a power cut does."""
        self.process.kill()
        self._gone()

    def end(self) -> int:
        """End it as Ctrl-C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self._gone()

    def _gone(self) -> int:
        code = self.process.wait(60)
        self.process.stdout.close()
        return code


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chemist's campaign, with old data."""
    import numpy as np
    import pandas as pd

    path = tmp_path_factory.mktemp("lab") / "dye.db"
    rng = np.random.default_rng(0)
    old = pd.DataFrame({"temperature": rng.uniform(20, 90, 30), "acid": rng.uniform(0, 1, 30)})
    old["catalyst"] = rng.choice(["Pd/C", "Ni <Raney>"], 30)
    old["yield"] = 60 + 20 * np.sin(old["temperature"] / 20) - 30 * (old["acid"] - 0.4) ** 2
    space = {"temperature": (20, 90, 5), "acid": (0.0, 1.0), "catalyst": ["Pd/C", "Ni <Raney>"]}
    Optimizer(space, old, direction="maximize", target="yield", storage=f"sqlite:///{path}", name="dye 7", seed=1)
    return path


@pytest.fixture(scope="module")
def server(campaign: Path) -> Iterator[Server]:
    """It serves the campaign on a free port."""
    running = Server(campaign)
    yield running
    if running.process.poll() is None:
        running.kill()


class Person:
    """Somebody at a browser, whose every request and complaint is kept."""

    def __init__(self, browser: Any, server: Server, pictures: Path, **options: Any) -> None:
        self._server, self._pictures = server, pictures
        self.context = browser.new_context(base_url=server.url, locale="de-DE", **options)
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.requested: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requested.append(request.url))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(server.link)
        self.page.wait_for_url(server.url)  # without the token

    def _heard(self, said: Any) -> None:
        """Keep what the browser complains of, but for the status of pages that say what is wrong."""
        if said.type == "error" and not re.search(r"status of (422|409)", said.text):
            self.complaints.append(said.text)

    def picture(self, name: str) -> None:
        """Keep how the page looks."""
        self.page.screenshot(path=self._pictures / f"{name}.png", full_page=True)

    def leave(self) -> None:
        """Go; nothing was fetched from elsewhere, and the browser had nothing to complain of."""
        self.context.close()
        elsewhere = [url for url in self.requested if not url.startswith((self._server.url, "data:"))]
        assert elsewhere == []
        assert self.complaints == []


@pytest.fixture
def person(chromium: Any, server: Server, pictures: Path) -> Iterator[Any]:
    """Lets people in, and sees them off."""
    people: list[Person] = []

    def enter(**options: Any) -> Person:
        people.append(Person(chromium, server, pictures, **options))
        return people[-1]

    yield enter
    for one in people:
        one.leave()
