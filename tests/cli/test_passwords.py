"""A password in the URL of a database is shown nowhere, however it is written."""

import traceback
from pathlib import Path

import pytest

from tunedprior import Optimizer
from tunedprior.checks import hide_password
from tunedprior.errors import TunedPriorError
from tunedprior.integrations.optuna.source_studies import find_old_data
from tunedprior.storage.databases import open_storage
from tunedprior.tables import read_table
from tunedprior.workspace.shell_words import format_campaign_arguments

# Nobody listens on this port of this computer.
URLS = [
    "postgresql://lab:geheim@127.0.0.1:1/campaigns",
    "postgresql://lab:ge:heim@127.0.0.1:1/campaigns",
    "postgresql://lab:ge/heim@127.0.0.1:1/campaigns",
    "postgresql://lab:ge?heim@127.0.0.1:1/campaigns",
    "postgresql://lab:ge#heim@127.0.0.1:1/campaigns",
    "postgresql://lab:ge@heim@127.0.0.1:1/campaigns",
    "postgresql://lab:x@ge/he@im@127.0.0.1:1/campaigns",
    "postgresql://lab:%67eheim@127.0.0.1:1/campaigns",
    "postgresql://lab:geheim@127.0.0.1:port/campaigns",
    "postgresql://lab:geheim",
    "postgresql://lab@127.0.0.1:1/campaigns?password=geheim",
    "postgresql://lab@127.0.0.1:1/campaigns?sslpassword=ge%68eim&passfile=geheim",
    "postgresql://lab@127.0.0.1:port/campaigns?user=a&password=geheim",
    "postgresql+psycopg://lab:geheim@127.0.0.1:1/campaigns",
    "nosuchdatabase://lab:geheim@127.0.0.1:1/campaigns",
    "sqlite:///campaign.db?password=geheim",
]
PIECES = ("geheim", "heim", "%67eheim", "ge%68", "he@im", "ge/he")


def shows_one(text: str) -> bool:
    return any(piece in text for piece in PIECES)


@pytest.mark.parametrize("url", URLS)
def test_no_password_is_shown(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert not shows_one(hide_password(url))
    assert not shows_one(format_campaign_arguments(url, "second"))
    with pytest.raises(TunedPriorError) as refused:
        open_storage(url)
    assert not shows_one(str(refused.value))
    with pytest.raises(TunedPriorError) as refused:
        Optimizer({"x": (0.0, 1.0)}, direction="maximize", storage=url, seed=0)
    told = traceback.format_exception_only(refused.value)
    assert not shows_one("".join(told))
    for use in (lambda: find_old_data(url, None), lambda: read_table(url, ["x"], "Old data")):
        with pytest.raises(TunedPriorError) as refused:
            use()
        assert not shows_one(str(refused.value))


@pytest.mark.parametrize("url", ["sqlite:////home/a@b:c/x.db", "sqlite:///C:\\a\\b@c.db", "postgresql://lab@server/d"])
def test_a_url_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert hide_password(url) == url


@pytest.mark.parametrize("url", URLS)
def test_the_command_line_shows_none(url: str, shell) -> None:
    for words in (["new", url, "--space", "space.yaml"], ["status", url], ["status", url, "--json"]):
        assert not shows_one(shell(*words, code=2))


def test_what_was_begun_is_shown_without(shell, monkeypatch: pytest.MonkeyPatch) -> None:
    url = "postgresql://lab:geheim@127.0.0.1:1/campaigns"
    file = f"sqlite:///{shell.folder / 'a.db'}"
    monkeypatch.setattr(
        "tunedprior.workspace.places.resolve_database_url", lambda where: file if where == url else where
    )
    assert not shows_one(shell("new", url, "--space", "space.yaml"))
    assert not shows_one(shell("new", url, "--space", "space.yaml", code=2))
    assert shell.json("new", url, "--space", "space.yaml", "--name", "b")["campaign"] == hide_password(url)
    for words in (["suggest", url], ["suggest", url, "-o", "a.csv"], ["status", url], ["best", url]):
        said = shell(*words, "--name", "b", code=2 if words[0] == "best" else 0)
        assert not shows_one(said)
