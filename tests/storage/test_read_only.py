"""A database that may be read and not written; as root may write everywhere, `os.access` is made to say so."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.storage.sqlite_files import find_locked_part, open_read_only

SPACE = {"x": (0.0, 1.0)}

# A program that ends in the middle of a change that is too large for SQLite to hold it back.
INTERRUPTED = """
import os, sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA cache_size = 1")
database.execute("BEGIN IMMEDIATE")
for row in range(3000):
    database.execute("INSERT INTO study_user_attributes (study_id, key, value_json) VALUES (1, ?, ?)", (row, "1" * 500))
os._exit(0)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "größe 7.db"
    Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{path}", seed=0).tell({"x": 0.5}, 1.0)
    return path


@pytest.fixture
def lock(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Says of a path that it may not be written."""
    access, locked = os.access, set[Path]()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in locked and access(path, mode))
    return locked.add


def test_what_is_locked(path: Path, lock: Callable[[Path], None]) -> None:
    assert find_locked_part(path) == ""
    lock(path.parent)
    assert find_locked_part(path) == "its folder"
    lock(path)
    assert find_locked_part(path) == "the file"
    assert find_locked_part(path.with_name("none.db")) == ""


@pytest.mark.parametrize("part", ["the file", "its folder"])
def test_it_is_read_and_nothing_is_written(path: Path, lock: Callable[[Path], None], part: str) -> None:
    lock(path if part == "the file" else path.parent)
    before = path.read_bytes()
    opt = Optimizer.load(f"sqlite:///{path}")
    assert opt.best.value == 1.0
    for write in (lambda: opt.tell({"x": 0.2}, 2.0), opt.ask, lambda: opt.amend(1, 2.0), opt.undo):
        with pytest.raises(InputError, match=f"may be looked at, and not written: {part} is read-only"):
            write()
    with pytest.raises(InputError, match="not written"):
        Optimizer(SPACE, direction="maximize", storage=f"sqlite:///{path}", name="another", seed=0)
    assert (opt.best.value, len(opt.trials), opt.pending) == (1.0, 1, [])
    assert path.read_bytes() == before


@pytest.mark.slow
def test_half_of_a_change_is_not_read(path: Path, lock: Callable[[Path], None]) -> None:
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(path)], check=True)
    lock(path)
    with pytest.raises(InputError, match=r"was stopped while it wrote.*Its owner puts it right"):
        Optimizer.load(f"sqlite:///{path}")


@pytest.mark.slow
def test_half_of_a_change_that_comes_later_is_not_read(path: Path, lock: Callable[[Path], None]) -> None:
    lock(path)
    opt = Optimizer.load(f"sqlite:///{path}")
    subprocess.run([sys.executable, "-c", INTERRUPTED, str(path)], check=True)
    with pytest.raises(InputError, match="was stopped while it wrote"):
        opt.trials  # noqa: B018  # a property


def test_who_reads_sees_no_half_of_what_others_write(path: Path) -> None:
    """Each change adds one to both counts, and whoever reads one after the other sees them equal."""
    storage = open_read_only(f"sqlite:///{path}", path, patience=60)
    with closing(sqlite3.connect(path, timeout=0.01)) as writer:
        writer.execute("CREATE TABLE counts AS SELECT 0 AS one, 0 AS other")
        writer.commit()

        def add() -> None:
            writer.execute("UPDATE counts SET one = one + 1")
            writer.execute("UPDATE counts SET other = other + 1")

        with storage.engine.begin() as reader:
            assert reader.exec_driver_sql("SELECT one FROM counts").scalar() == 0
            add()
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                writer.commit()  # it waits until the other one has read all
            assert reader.exec_driver_sql("SELECT other FROM counts").scalar() == 0
        writer.commit()
        writer.execute("UPDATE counts SET one = one + 1")
        with storage.engine.begin() as reader:
            assert reader.exec_driver_sql("SELECT one, other FROM counts").one() == (1, 1)


def test_who_reads_follows_what_others_tell(path: Path, lock: Callable[[Path], None]) -> None:
    writer = Optimizer.load(f"sqlite:///{path}")
    lock(path)
    reader = Optimizer.load(f"sqlite:///{path}")
    for value in (2.0, 3.0):
        writer.tell({"x": value / 10}, value)
        assert reader.best.value == value
