"""Campaigns in SQLite files that were damaged, or made by somebody who means harm."""

import json
import sqlite3
import warnings
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from tunedprior import Optimizer

_PAGE = 4096
Damage = Callable[[bytes, np.random.Generator], bytes]


def make_campaign(path: Path) -> None:
    """A campaign with everything that one may hold: old data, notes, corrections, open and cancelled suggestions."""
    old = {"heat": [20.0, 35.0, 50.0, 65.0, 80.0], "yield": [0.1, 0.4, 0.6, 0.5, 0.3]}
    space = {"heat": (20.0, 90.0), "gas": ["air", "argon"], "count": (1, 9)}
    options: dict[str, Any] = {"direction": "maximize", "target": "yield", "seed": 0}
    options |= {"requirements": {"purity": ">= 0.9"}, "constraints": ["heat + 2*count <= 100"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opt = Optimizer(space, old, storage=f"sqlite:///{path}", **options)
        for number in range(8):
            setting = {"heat": 21.5 + 7 * number, "gas": ["air", "argon"][number % 2], "count": 1 + number % 5}
            opt.tell(setting, {"yield": 0.125 * number, "purity": 0.875 + 0.01 * number}, note=f"run {number}, by hand")
        opt.amend(3, {"yield": 0.4375, "purity": 0.95}, note="read again")
        opt.withdraw(5, note="spilt")
        asked = [opt.ask(), opt.ask()]
        opt.cancel(asked[0].trial)


def loaded_from(path: Path) -> str:
    """All that a campaign tells of itself when it is opened, as one text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opt = Optimizer.load(f"sqlite:///{path}")
        table = opt.history
        facts = [repr(opt.space), repr(opt.suggester.goals), repr(opt.trials), json.dumps(opt.summary, default=str)]
    return "\n".join([*facts, table.to_csv(index=False)])


def _changed(data: bytes, at: int, by: bytes) -> bytes:
    return data[:at] + by + data[at + len(by) :]


def flip_bit(data: bytes, rng: np.random.Generator) -> bytes:
    """One bit."""
    at = int(rng.integers(len(data)))
    return _changed(data, at, bytes([data[at] ^ (1 << int(rng.integers(8)))]))


def change_byte(data: bytes, rng: np.random.Generator) -> bytes:
    """One byte."""
    at = int(rng.integers(len(data)))
    return _changed(data, at, bytes([(data[at] + int(rng.integers(1, 256))) % 256]))


def change_used_byte(data: bytes, rng: np.random.Generator) -> bytes:
    """One byte that is not 0, which most of a small file's are."""
    at = int(rng.choice(np.flatnonzero(np.frombuffer(data, dtype=np.uint8))))
    return _changed(data, at, bytes([(data[at] + int(rng.integers(1, 256))) % 256]))


def change_digit(data: bytes, rng: np.random.Generator) -> bytes:
    """A digit into another one: what a person or a program changes without anything looking wrong."""
    values = np.frombuffer(data, dtype=np.uint8)
    at = int(rng.choice(np.flatnonzero((values >= ord("0")) & (values <= ord("9")))))
    return _changed(data, at, str((data[at] - ord("0") + int(rng.integers(1, 10))) % 10).encode())


def scatter_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Sixteen bytes at random."""
    for _ in range(16):
        data = change_byte(data, rng)
    return data


def clear_block(data: bytes, rng: np.random.Generator) -> bytes:
    """A sector of zeros, as a disk leaves it that was switched off."""
    at = 512 * int(rng.integers(len(data) // 512))
    return _changed(data, at, bytes(512))


def swap_pages(data: bytes, rng: np.random.Generator) -> bytes:
    """Two pages in each other's place."""
    one, other = (int(page) * _PAGE for page in rng.choice(len(data) // _PAGE, 2, replace=False))
    first, second = data[one : one + _PAGE], data[other : other + _PAGE]
    return _changed(_changed(data, one, second), other, first)


def cut_off(data: bytes, rng: np.random.Generator) -> bytes:
    """The end is missing."""
    return data[: int(rng.integers(1, len(data)))]


def insert_byte(data: bytes, rng: np.random.Generator) -> bytes:
    """A byte too many, as after a transfer as text."""
    at = int(rng.integers(len(data)))
    return data[:at] + b"\r" + data[at:]


def lose_page(data: bytes, rng: np.random.Generator) -> bytes:
    """A page is missing in the middle."""
    at = _PAGE * int(rng.integers(len(data) // _PAGE))
    return data[:at] + data[at + _PAGE :]


DAMAGES: tuple[Damage, ...] = (
    flip_bit,
    change_byte,
    change_used_byte,
    change_digit,
    scatter_bytes,
    clear_block,
    swap_pages,
    cut_off,
    insert_byte,
    lose_page,
)


def _with(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as file, file:
            for one in statements:
                file.execute(one)

    return change


def _with_other_journal(path: Path) -> None:
    """A journal beside the file that is not its own, which SQLite would play back into it."""
    path.with_name(path.name + "-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(range(256)) * 40)


def _with_other_log(path: Path) -> None:
    """A write-ahead log beside the file that is not its own."""
    path.with_name(path.name + "-wal").write_bytes(b"\x37\x7f\x06\x82" + bytes(range(256)) * 40)


def _edit_schema(path: Path) -> None:
    """A table's definition rewritten within the file, so that columns change places."""
    data = path.read_bytes().replace(b"trial_id INTEGER NOT NULL", b"trial_iX INTEGER NOT NULL", 1)
    path.write_bytes(data)


def _long_json(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE trial_system_attributes SET value_json = ?", ("[" * 100_000,))


def _other_text(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE study_user_attributes SET value_json = CAST(x'22ff22' AS TEXT)")
        file.execute("UPDATE trial_user_attributes SET value_json = CAST(x'22ff22' AS TEXT)")


#: What somebody who means harm does to a file.
CRAFTED: dict[str, Callable[[Path], None]] = {
    "a trigger on trials": _with(
        "CREATE TRIGGER t AFTER INSERT ON trials BEGIN UPDATE trial_values SET value = 99; END"
    ),
    "a view in place of a table": _with(
        "ALTER TABLE trial_values RENAME TO kept", "CREATE VIEW trial_values AS SELECT * FROM kept"
    ),
    "a view beside them": _with("CREATE VIEW extra AS SELECT load_extension('x') FROM trials"),
    "a view without an end": _with(
        "CREATE VIEW extra AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
    ),
    "an index on an expression": _with("CREATE INDEX one ON trials (abs(number))"),
    "an index of a part": _with("CREATE INDEX one ON trials (number) WHERE number > 0"),
    "a generated column": _with("ALTER TABLE trials ADD COLUMN b INT GENERATED ALWAYS AS (number * 2)"),
    "a costly check": _with("CREATE TABLE t (a INT CHECK (a < length(randomblob(1000000000))))"),
    "a virtual table": _with("CREATE VIRTUAL TABLE t USING rtree(id, low, high)"),
    "a state that is none": _with("UPDATE trials SET state = 'SLEEPING'"),
    "a direction that is none": _with("UPDATE study_directions SET direction = 'SIDEWAYS'"),
    "text for a value": _with("UPDATE trial_values SET value = 'high'"),
    "infinity for a value": _with("UPDATE trial_values SET value = 9e999"),
    "no value": _with("DELETE FROM trial_values"),
    "an objective too many": _with("UPDATE trial_values SET objective = 7 WHERE trial_id = 2"),
    "text for a number": _with("UPDATE trials SET number = 'one'"),
    "two trials of one number": _with("UPDATE trials SET number = 0"),
    "a huge number": _with("UPDATE trials SET number = 9223372036854775807 WHERE trial_id = 8"),
    "a negative number": _with("UPDATE trials SET number = -5 WHERE trial_id = 8"),
    "bytes for text": _with("UPDATE trial_system_attributes SET value_json = x'ff00'"),
    "text that is no Unicode": _other_text,
    "JSON without an end": _long_json,
    "other JSON": _with("UPDATE trial_system_attributes SET value_json = '[1, 2]'"),
    "no distribution": _with('UPDATE trial_params SET distribution_json = \'{"name": "os.system"}\''),
    "no date": _with("UPDATE trials SET datetime_complete = 'yesterday'"),
    "nobody's trials": _with("DELETE FROM studies"),
    "a lost table": _with("DROP TABLE trial_params"),
    "a journal of another file": _with_other_journal,
    "a log of another file": _with_other_log,
    "a definition that was rewritten": _edit_schema,
}


def quiet() -> None:
    """Have Optuna say nothing."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
