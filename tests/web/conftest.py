from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.storages._rdb.storage import _VersionManager

from support.postgres import postgres
from support.served import Visitor, campaign_at, copied, page_of
from tunedprior import Optimizer
from tunedprior.web.background import ExplanationWorker, ModelSummary, SuggestionWorker
from tunedprior.web.shared import compute_version

__all__ = ["postgres"]
optuna.logging.set_verbosity(optuna.logging.WARNING)

KINDS: dict[str, dict[str, Any]] = {
    "plain": {"space": {"heat": (20, 90, 5), "acid": (0.0, 1.0)}, "target": "yield"},
    "several": {
        "space": {"heat": (20.0, 90.0), "gas": ["air", "argon", None]},
        "objectives": {"yield": "maximize", "cost": "minimize"},
        "requirements": {"purity": ">= 0.9", "works": "pass"},
    },
    "hostile": {
        "space": {"<script>alert(1)</script>": (0.0, 1.0), "who": ['"><b>', "ä&ö"]},
        "target": "<img src=x onerror=alert(2)>",
        "direction": "minimize",
    },
}


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("campaigns")
    for name, arguments in KINDS.items():
        campaign_at(folder / f"{name}.db", **arguments)
    return {name: folder / f"{name}.db" for name in KINDS}


class Lab:
    """A campaign, people at its page, and what is recorded."""

    def __init__(self, path: Path) -> None:
        self.path, self.page = path, page_of(path)

    @property
    def ada(self) -> Visitor:
        return Visitor(self.page)

    def opened(self) -> Optimizer:
        """As somebody else opens it."""
        return Optimizer.load(f"sqlite:///{self.path}")

    @cached_property
    def record(self) -> Optimizer:
        """As somebody else reads it; from the file, each time."""
        return self.opened()


@pytest.fixture(scope="session", autouse=True)
def schema_read_once() -> Iterator[None]:
    """Optuna reads its own history of schemas whenever it opens a database, which is most of the time that takes."""
    read, known = _VersionManager.get_head_version, []

    def head_version(self: _VersionManager) -> str:
        known[:] = known or [read(self)]
        return known[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_VersionManager, "get_head_version", head_version)
        yield


@pytest.fixture(scope="module")
def looked_at(templates: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A plain one, for tests that change nothing."""
    return Lab(copied(templates["plain"], tmp_path_factory.mktemp("looked_at")))


@pytest.fixture
def lab(templates: dict[str, Path], tmp_path: Path, request: pytest.FixtureRequest) -> Lab:
    """Of the kind that `parametrize` names; a plain one otherwise."""
    return Lab(copied(templates[getattr(request, "param", "plain")], tmp_path))


@pytest.fixture(autouse=True)
def thoughts_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page began to think about does not go on beside the next test."""
    made: list[SuggestionWorker | ExplanationWorker] = []

    def kept(
        kind: Callable[..., SuggestionWorker | ExplanationWorker],
    ) -> Callable[..., SuggestionWorker | ExplanationWorker]:
        def make(*arguments: Any) -> SuggestionWorker | ExplanationWorker:
            made.append(kind(*arguments))
            return made[-1]

        return make

    monkeypatch.setattr("tunedprior.web.server.SuggestionWorker", kept(SuggestionWorker))
    monkeypatch.setattr("tunedprior.web.server.ExplanationWorker", kept(ExplanationWorker))
    yield
    assert all(one.wait(60) for one in made)


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models are not asked what they think of every page that is opened."""
    monkeypatch.setattr(
        "tunedprior.web.background._summarise_campaign",
        lambda optimizer: ({}, ModelSummary(compute_version(optimizer.trials))),
    )
