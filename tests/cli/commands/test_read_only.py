"""A campaign that may be looked at and not written."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from tunedprior.cli.output import ExitCode

OLD = "heat,flow,gas,yield\n" + "".join(f"{20 + 5 * i},0.{i}5,{'air' if i % 2 else 'argon'},{i}.5\n" for i in range(10))
LOOKING = [
    ["status", "a.db"],
    ["best", "a.db"],
    ["trust", "a.db"],
    ["front", "a.db"],
    ["explain", "a.db"],
    ["explain", "a.db", "--old-data"],
    ["suggest", "a.db", "--open"],
    ["report", "a.db", "-o", "out/report.html", "--shadow", "0"],
    ["export", "a.db", "-o", "out/all.csv", "--force"],
]
WRITING = [
    ["suggest", "a.db"],
    ["record", "a.db", "--trial", "2", "yield=3"],
    ["undo", "a.db"],
    ["amend", "a.db", "1", "yield=3"],
    ["cancel", "a.db", "2"],
    ["new", "a.db", "--space", "space.yaml", "--name", "another"],
    ["import", "a.db", "all.csv"],
    ["run", "a.db", "math:sqrt", "--trials", "3"],
    ["serve", "a.db", "--no-open", "--port", "0"],
]
# All commands run before, so that everything is imported, and Optuna's list of its versions of databases, Plotly's
# script and the report's page are read: Python itself and this package may be where nobody else may read.
AS_NOBODY = """
import functools, json, os, sys
from pathlib import Path
import plotly.offline
from alembic.script import ScriptDirectory
from typer.testing import CliRunner
from tunedprior.cli.app import app

plotly.offline.get_plotlyjs = functools.cache(plotly.offline.get_plotlyjs)
read_text, read_page = Path.read_text, functools.cache(Path.read_text)
Path.read_text = lambda path, *how, **more: (read_page if path.name == "page.html" else read_text)(path, *how, **more)
read_scripts, read = ScriptDirectory.from_config, []
ScriptDirectory.from_config = lambda config: read[0] if read else read.append(read_scripts(config)) or read[0]

def ran(words):
    done = CliRunner().invoke(app, words, env={"COLUMNS": "400"})
    return done.exit_code, " ".join(done.output.split())

looking, *others = json.loads(sys.argv[1])
for words in looking:
    ran(words)
for one in Path("out").iterdir():
    one.unlink()
for one in ("a.db", "log.db"):
    os.chmod(one, 0o444)
os.chmod(".", 0o555)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print(json.dumps([[ran(words) for words in some] for some in (looking, *others)]))
"""


@pytest.fixture
def begun(shell):
    """A campaign with old data, a result and an open suggestion, and a folder for what is written of it."""
    (shell.folder / "old.csv").write_text(OLD)
    (shell.folder / "out").mkdir()
    shell("new", "a.db", "--space", "space.yaml", "--old", "old.csv")
    shell("suggest", "a.db", "-n", "2")
    shell("record", "a.db", "--trial", "1", "yield=1.5")
    return shell


@pytest.mark.parametrize("locked", ["a.db", ""], ids=["the file", "its folder"])
def test_it_is_looked_at_and_not_written(begun, monkeypatch: pytest.MonkeyPatch, locked: str) -> None:
    access, path, file = os.access, begun.folder / locked, begun.folder / "a.db"
    before = file.read_bytes()
    monkeypatch.setattr(os, "access", lambda one, mode: Path(one).absolute() != path and access(one, mode))
    for words in LOOKING:
        begun(*words)
    for words in WRITING:
        said = " ".join(begun(*words, code=ExitCode.REFUSED).split())
        assert (
            f"'a.db' may be looked at, and not written: {'the file' if locked else 'its folder'} is read-only" in said
        )
        assert "Ask its owner to let you write it, or copy it" in said
    assert file.read_bytes() == before


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has other rights")
def test_the_same_for_somebody_who_really_may_not_write(begun) -> None:
    with tempfile.TemporaryDirectory() as folder:  # everybody may see it, unlike that of pytest
        Path(folder, "a.db").write_bytes((begun.folder / "a.db").read_bytes())
        with closing(sqlite3.connect(shutil.copy(Path(folder, "a.db"), Path(folder, "log.db")))) as database:
            database.execute("PRAGMA journal_mode = WAL")
        Path(folder, "out").mkdir()
        Path(folder, "out").chmod(0o777)
        Path(folder).chmod(0o755)
        said = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, json.dumps([LOOKING, WRITING[:5], [["status", "log.db"]]])],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        Path(folder).chmod(0o755)  # so that it can be removed
        assert said.returncode == 0, said.stderr
        looked, written, logged = json.loads(said.stdout)
        assert [ran for ran in looked if ran[0] != ExitCode.FINE] == []
        assert [ran for ran in written if ran[0] != ExitCode.REFUSED or "the file is read-only" not in ran[1]] == []
        assert "SQLite has to write for that, as it does where there is a write-ahead log" in logged[0][1]
        assert {path.name for path in Path(folder, "out").iterdir()} == {"report.html", "all.csv"}
