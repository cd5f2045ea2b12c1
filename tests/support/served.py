"""A campaign's web page without a server, and a browser that knows forms but no scripts."""

import re
import shutil
import time
import warnings
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from support.optimizers import make_optimizer
from tunedprior import Optimizer
from tunedprior.web.guard import AccessPolicy
from tunedprior.web.server import build_application

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it would rather have another package than the one that all others use
    from starlette.testclient import TestClient

ADDRESS = "http://127.0.0.1:8000"
SECONDS = 120  # the longest that anything is waited for, on a busy machine


@dataclass
class Form:
    """A form on a page, with what stands in its fields."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)


class Page(HTMLParser):
    """The forms and the words of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.tags: list[str] = []
        self._words: list[str] = []
        self._select = ""
        self.feed(text)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "form":
            self.forms.append(Form(own["action"]))
        elif tag == "input" and self.forms:
            self.forms[-1].fields[own["name"]] = own.get("value", "")
        elif tag == "select":
            self._select = own["name"]
            self.forms[-1].fields[self._select] = ""
        elif tag == "option" and "selected" in own:
            self.forms[-1].fields[self._select] = own["value"]
        elif tag == "button":
            self.forms[-1].buttons.append((own.get("name", ""), own.get("value", ""), own.get("formaction", "")))

    def handle_data(self, data: str) -> None:
        self._words.append(data)


class Visitor:
    """A person at a browser.

    Args:
        application: The page.
        address: How it is called.
    """

    def __init__(self, application: Any, address: str = ADDRESS) -> None:
        self.client = TestClient(application, base_url=address, follow_redirects=True, raise_server_exceptions=True)
        self.status = 0
        self.url = ""
        self.page = Page("")
        self.text = ""

    def open(self, path: str = "/") -> "Visitor":
        return self._came(self.client.get(path))

    def form(self, action: str) -> dict[str, str]:
        """What stands in the form that is sent there, as a browser would send it."""
        return dict(next(one for one in self.page.forms if one.action == action).fields)

    def send(self, action: str, form: dict[str, str] | None = None, /, to: str = "", **typed: str) -> "Visitor":
        """Fill in a form of the present page, and send it (or to another address, as some buttons do)."""
        fields = self.form(action) if form is None else form
        headers = {"origin": str(self.client.base_url), "sec-fetch-site": "same-origin"}
        return self._came(self.client.post(to or action, data={**fields, **typed}, headers=headers))

    def ask(self, count: int = 1) -> list[int]:
        """Ask for suggestions, and wait for them; the numbers of all that are open then."""
        self.open("/").send("/suggestions", count=str(count))
        deadline = time.monotonic() + SECONDS
        while self.url.startswith("/suggestions"):
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)
            self.open(self.url)
        self.open("/")
        return [int(number) for number in re.findall(r'id="trial-(\d+)"', self.text)]

    def _came(self, reply: Any) -> "Visitor":
        self.status, self.text, self.page = reply.status_code, reply.text, Page(reply.text)
        self.url = str(reply.url.path)
        return self


def campaign_at(path: Path, **arguments: Any) -> Optimizer:
    """A campaign in a file."""
    return make_optimizer(storage=f"sqlite:///{path}", **arguments)


def page_of(path: Path, policy: AccessPolicy | None = None) -> Any:
    """The web page of the campaign in a file."""
    return build_application(lambda: Optimizer.load(f"sqlite:///{path}"), policy or AccessPolicy(), path.name)


def copied(template: Path, to: Path) -> Path:
    """A campaign of its own: making a database anew takes longer than all that is done with it."""
    return Path(shutil.copy(template, to / "campaign.db"))
