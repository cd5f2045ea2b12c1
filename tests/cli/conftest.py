import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tunedprior.cli.app import app

SPACE = """\
parameters:
  heat: 20 to 90 step 5
  flow: 0 to 1
  gas: [air, argon]
goals:
  yield: maximize
"""


class Shell:
    """Runs commands in a folder of its own, as a shell would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, code: int = 0) -> str:
        """What the command says, to stdout and stderr; it must end with this code."""
        done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200", "TERM": "dumb"})
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == code, done.output
        return done.output

    def json(self, *words: str, code: int = 0) -> Any:
        """What the command says to a program, on stdout."""
        done = CliRunner().invoke(app, [*words, "--json"], env={"COLUMNS": "200"})
        assert done.exit_code == code, done.output
        return json.loads(done.stdout)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "space.yaml").write_text(SPACE)
    return Shell(tmp_path)


@pytest.fixture
def campaign(shell: Shell) -> Callable[..., Shell]:
    """A shell in a folder where a campaign was begun, with these results."""
    shell("new", "a.db", "--space", "space.yaml", "--seed", "0")
    return shell
