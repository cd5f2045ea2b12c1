"""SQLite files that are damaged, or made to do harm; the net is `python -m benchmarks hostile`."""

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tunedprior import Optimizer
from tunedprior.errors import FileFormatError
from tunedprior.storage.databases import open_database
from tunedprior.storage.sqlite_files import refuse_unsound


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("original") / "campaign.db"
    opt = Optimizer(
        {"x": (0.0, 1.0), "gas": ["air", "argon"]}, direction="maximize", storage=f"sqlite:///{path}", seed=0
    )
    opt.tell({"x": 0.5, "gas": "air"}, 1.0, note="first")
    opt.tell({"x": 0.25, "gas": "argon"}, 2.0)
    return path.read_bytes()


@pytest.fixture
def path(original: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "campaign 7.db"
    path.write_bytes(original)
    return path


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for one in statements:
            file.execute(one)


def load(path: Path) -> list[object]:
    return list(Optimizer.load(f"sqlite:///{path}").trials.told)


PROGRAMS = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON trials BEGIN UPDATE trial_values SET value = 99; END",
    "view": "CREATE VIEW extra AS SELECT * FROM trials",
    "index": "CREATE INDEX one ON trials (abs(number))",
    "part of an index": "CREATE INDEX one ON trials (number) WHERE number > 0",
    "generated": "CREATE TABLE t (a INT, b INT GENERATED ALWAYS AS (a * 2))",
    "check": "CREATE TABLE t (a INT CHECK (a < length(randomblob(100000000))))",
    "virtual": "CREATE VIRTUAL TABLE t USING rtree(id, low, high)",
}


@pytest.mark.parametrize("statement", PROGRAMS.values(), ids=PROGRAMS)
def test_a_file_that_would_run_something_is_not_used(path: Path, statement: str) -> None:
    change(path, statement)
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=r"campaign 7\.db.* which no campaign has"):
        load(path)
    assert path.read_bytes() == before


VALUES = {
    "a state that is none": "UPDATE trials SET state = 'SLEEPING'",
    "a direction that is none": "UPDATE study_directions SET direction = 'SIDEWAYS'",
    "text for a number": "UPDATE trial_values SET value = 'high'",
    "text for a trial's number": "UPDATE trials SET number = 'one'",
    "bytes for text": "UPDATE trial_system_attributes SET value_json = x'ff00'",
    "no JSON": "UPDATE trial_system_attributes SET value_json = '{'",
    "deep JSON": f"UPDATE trial_user_attributes SET value_json = '{'[' * 20000}'",
    "no distribution": "UPDATE trial_params SET distribution_json = '{}'",
    "no date": "UPDATE trials SET datetime_complete = 'yesterday'",
    "nobody's trial": "DELETE FROM studies",
    "a lost table": "DROP TABLE trial_params",
    "a lost column": "ALTER TABLE trials RENAME COLUMN state TO mood",
}


@pytest.mark.parametrize("statement", VALUES.values(), ids=VALUES)
def test_what_nobody_wrote_is_refused_with_the_name_of_the_file(path: Path, statement: str) -> None:
    change(path, statement)
    with pytest.raises(FileFormatError, match=r"campaign 7\.db"):
        load(path)


@pytest.mark.parametrize("to", ["'[1, 2]'", "replace(value_json, 'first', 'third')"], ids=["something else", "a word"])
def test_an_entry_that_was_changed(path: Path, to: str) -> None:
    change(path, f"UPDATE study_system_attributes SET value_json = {to} WHERE key LIKE 'tunedprior:entry:%'")
    with pytest.raises(FileFormatError, match="is damaged"):
        load(path)


def test_a_page_that_was_overwritten(path: Path, original: bytes) -> None:
    path.write_bytes(original[:8192] + b"\x07" * 4096 + original[12288:])
    with pytest.raises(FileFormatError, match=r"campaign 7\.db' is damaged"):
        load(path)


def test_one_that_is_sound(path: Path) -> None:
    refuse_unsound(path, 1.0)
    assert len(load(path)) == 2


def test_a_storage_that_was_pickled_is_as_careful(path: Path) -> None:
    storage = pickle.loads(pickle.dumps(open_database(f"sqlite:///{path}")))
    with storage.engine.connect() as found:
        assert found.exec_driver_sql("PRAGMA trusted_schema").scalar() == 0
    change(path, "UPDATE trials SET state = 'SLEEPING'")
    with pytest.raises(FileFormatError, match="SLEEPING"):
        storage.get_all_trials(1)


def test_a_file_that_somebody_holds_is_not_called_damaged(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        refuse_unsound(path, 0.01)
