"""Open SQLite files that may be damaged, hostile or read-only.

An SQLite file can hold programs: views, triggers, and expressions in indices and columns run when it is read or
written. Those of Optuna and of this package have none, so that a file with any of them is refused before a statement
reaches it.
"""

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial, wraps
from pathlib import Path
from typing import Any, NoReturn

import sqlalchemy
from optuna.exceptions import OptunaError, StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage

from tunedprior.errors import FileFormatError, InputError, TunedPriorError

#: What every file of SQLite begins with.
BEGINNING = b"SQLite format 3\x00"
# The byte of SQLite's error codes that says of what kind they are, and those that say nothing of what is in the file.
_KIND = 0xFF
_PASSING = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_CONSTRAINT,
)
# Above so many bytes indices are not compared with their tables, which takes longer than reading the file once.
_LARGE = 2**28
# What a column may hold, by how its declared type begins; SQLite itself lets every column hold anything.
_HELD = {
    "INT": ("integer", "null"),
    "BIGINT": ("integer", "null"),
    "FLOAT": ("real", "integer", "null"),
    "DOUBLE": ("real", "integer", "null"),
    "VARCHAR": ("text", "null"),
    "TEXT": ("text", "null"),
    "DATETIME": ("text", "null"),
}
# Those that all studies have; the first is there if any is. Optuna would make the others anew, without what they held.
_TABLES = (
    "studies",
    "study_directions",
    "study_user_attributes",
    "study_system_attributes",
    "trials",
    "trial_params",
    "trial_values",
    "trial_intermediate_values",
    "trial_user_attributes",
    "trial_system_attributes",
)
# Optuna numbers the trials of each study from 0 on and deletes none.
_MISNUMBERED = """
    SELECT study_id FROM trials GROUP BY study_id
    HAVING MIN(number) != 0 OR MAX(number) != COUNT(*) - 1 OR COUNT(DISTINCT number) != COUNT(*)
"""
# Optuna has a table of one row, and some versions of SQLAlchemy list the values of an enumeration.
_PLAIN_CHECK = re.compile(
    r"CHECK\s*\(\s*\"?\w+\"?\s*(?:=\s*\d+|IN\s*\(\s*'\w+'(?:\s*,\s*'\w+')*\s*\))\s*\)", re.IGNORECASE
)
_EXPRESSION_IN_INDEX = -2  # in place of the number of a column


def make_damage_error(file: Path, reason: object) -> FileFormatError:
    """Make the error for a damaged file."""
    return FileFormatError(
        f"{str(file)!r} is damaged ({str(reason).splitlines()[0] if str(reason) else 'unreadable'}). Go on from a copy "
        "of it; or begin anew, and take over what `tunedprior export` wrote with `tunedprior import`."
    )


def refuse_unsound(file: Path, patience: float, may_write: bool = True) -> None:
    """Raise a `FileFormatError` for an SQLite file that is damaged, or that would run statements of its own.

    Looked at are its pages and indices, references from table to table, and the kind of each value. A file that is not
    there or empty is fine; of one that somebody else holds a lock on for longer than `patience`, nothing is known.

    Args:
        file: The file.
        patience: Seconds to wait for somebody who is writing.
        may_write: Whether SQLite may put right what a program left that was stopped while it wrote.
    """
    if not file.is_file() or file.stat().st_size == 0:
        return
    with file.open("rb") as opened:
        if opened.read(len(BEGINNING)) != BEGINNING:
            raise FileFormatError(f"{str(file)!r} is no campaign: campaigns are SQLite databases, such as campaign.db.")
    address = f"{file.absolute().as_uri()}?mode={'rw' if may_write else 'ro'}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=patience, factory=CarefulConnection)) as found:
            _refuse_programs(found, file)
            check = "quick_check" if file.stat().st_size > _LARGE else "integrity_check"
            wrong = found.execute(f"PRAGMA {check}(1)").fetchone()
            if wrong is None or wrong[0] != "ok":
                raise make_damage_error(file, wrong[0] if wrong else "unreadable")
            is_study = _refuse_other_values(found, file)
            if is_study and found.execute(_MISNUMBERED).fetchone() is not None:
                raise make_damage_error(file, "the numbers of its trials are not those from the first to the last")
            astray = found.execute("PRAGMA foreign_key_check").fetchone()
            if astray is not None:
                raise make_damage_error(file, f"a row of {astray[0]} belongs to none of {astray[2]}")
    except sqlite3.Error as error:
        refuse_damage(error, file)
    except (UnicodeError, ValueError) as error:  # names of tables that are no text
        if isinstance(error, TunedPriorError):
            raise
        raise make_damage_error(file, error) from error


class CarefulConnection(sqlite3.Connection):
    """A connection that runs no function from a file's own definitions and checks the sizes of cells."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.execute("PRAGMA trusted_schema = OFF")
        self.execute("PRAGMA cell_size_check = ON")


def refuse_damage(error: BaseException | None, file: Path) -> None:
    """Raise a `FileFormatError` if an error of SQLite means that the file is damaged."""
    while error is not None and not isinstance(error, sqlite3.Error):
        error = getattr(error, "orig", None) or error.__cause__
    if error is None:
        return
    code = getattr(error, "sqlite_errorcode", None)  # none where text is no Unicode
    if code is None or code & _KIND not in _PASSING:
        raise make_damage_error(file, error) from error


def _refuse_programs(found: sqlite3.Connection, file: Path) -> None:
    """Refuse what would run when the file is used."""
    for kind, name, sql in found.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if kind not in ("table", "index"):
            _refuse_program(file, f"the {kind} {name!r}")
        written = _PLAIN_CHECK.sub("", sql or "").upper()
        if re.match(r"\s*CREATE\s+VIRTUAL", written):
            _refuse_program(file, f"the virtual table {name!r}")
        if re.search(r"\bCHECK\b|\bGENERATED\b|\bAS\s*\(|\bCOLLATE\b", written):
            _refuse_program(file, f"an expression in {name!r}")
        if kind == "index":
            columns = found.execute("SELECT cid FROM pragma_index_xinfo(?)", (name,)).fetchall()
            if re.search(r"\bWHERE\b", written) or (_EXPRESSION_IN_INDEX,) in columns:
                _refuse_program(file, f"an expression in {name!r}")


def _refuse_program(file: Path, what: str) -> NoReturn:
    raise FileFormatError(
        f"{str(file)!r} has {what}, which no campaign has: it could change what is read or recorded. It was not used. "
        "If you trust where it comes from, export its trials with the program that made it."
    )


def _refuse_other_values(found: sqlite3.Connection, file: Path) -> bool:
    """Refuse a file that lost a table, and one with text among its numbers or the like; whether it holds studies."""
    tables = [name for (name,) in found.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    lost = [name for name in _TABLES if name not in tables]
    if _TABLES[0] in tables and lost:
        raise make_damage_error(file, f"the table {lost[0]} is missing")
    for table in tables:
        columns = found.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall()
        for column, declared in columns:
            held = next((held for begins, held in _HELD.items() if declared.upper().startswith(begins)), None)
            if held is None:
                continue
            fitting = ", ".join(f"'{one}'" for one in held)
            query = (
                f"SELECT rowid FROM {_quote_name(table)} WHERE typeof({_quote_name(column)}) NOT IN ({fitting}) LIMIT 1"
            )
            if found.execute(query).fetchone() is not None:
                raise make_damage_error(file, f"{table}.{column} must hold {held[0]} values, and holds others")
    return _TABLES[0] in tables


def _quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class FileStorage(RDBStorage):
    """Optuna's storage of an SQLite file, which raises a `FileFormatError` if the content is invalid.

    Args:
        file: The file.
        url: As for `RDBStorage`, as are all other arguments.
        begin: What a transaction begins with.
    """

    def __init__(self, file: Path, url: str, *arguments: Any, begin: str, **options: Any) -> None:
        self.file, self._begin = file, begin
        with convert_read_errors(file):
            super().__init__(url, *arguments, **options)
        self._listen()

    def __setstate__(self, state: dict[Any, Any]) -> None:
        super().__setstate__(state)
        self._listen()

    def _listen(self) -> None:
        sqlalchemy.event.listen(self.engine, "begin", lambda one: one.exec_driver_sql(self._begin))
        sqlalchemy.event.listen(
            self.engine, "handle_error", lambda context: refuse_damage(context.original_exception, self.file)
        )


def _wrap_reader(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def read(storage: FileStorage, *arguments: Any, **options: Any) -> Any:
        with convert_read_errors(storage.file):
            return method(storage, *arguments, **options)

    return read


# Whatever reads: directly, or for the cache that Optuna puts before a database.
for _name in [one for one in vars(RDBStorage) if one.startswith(("get_", "_get_"))]:
    if _name != "_get_prepared_new_trial":
        setattr(FileStorage, _name, _wrap_reader(getattr(RDBStorage, _name)))


@contextmanager
def convert_read_errors(file: Path) -> Iterator[None]:
    """In here whatever Optuna raises over the content of a file is a `FileFormatError`."""
    try:
        yield
    except (TunedPriorError, ImportError, UpdateFinishedTrialError, MemoryError):
        raise
    except StorageInternalError as error:
        refuse_damage(error.__cause__, file)
        raise
    except (sqlalchemy.exc.SQLAlchemyError, sqlite3.Error) as error:
        refuse_damage(error, file)
        raise
    except KeyError as error:
        if error.args and isinstance(error.args[0], str) and "exist" in error.args[0]:
            raise  # no such study or trial, as Optuna says it
        raise make_damage_error(file, f"{error} is missing") from error
    except OptunaError:
        raise
    except json.JSONDecodeError as error:
        raise make_damage_error(file, f"an attribute is no JSON: {error}") from error
    except OSError:
        raise
    except Exception as error:  # types, states and numbers that nobody wrote
        raise make_damage_error(file, f"{type(error).__name__}: {error}") from error


# The byte of SQLite's error codes that says of what kind they are.
_PRIMARY_CODE = 0xFF


def find_locked_part(file: Path) -> str:
    """Return what prevents writing a database: "the file", "its folder", or "" if nothing does.

    SQLite writes into the folder too: while something is changed, what was there before is in a file beside it.
    """
    if not file.exists():
        return ""
    if not os.access(file, os.W_OK):
        return "the file"
    return "" if os.access(file.absolute().parent, os.W_OK) else "its folder"


def make_refusal(file: Path) -> InputError:
    """Make the error for an attempt to write a file that is read-only."""
    part = find_locked_part(file) or "the file"
    return InputError(
        f"{str(file)!r} may be looked at, and not written: {part} is read-only for you. Ask its owner to let you write "
        "it, or copy it into a folder of your own and go on there; what is recorded in one is not in the other."
    )


def open_read_only(url: str, file: Path, patience: float) -> RDBStorage:
    """Open Optuna's storage of a file for reading only; an attempt to write is an `InputError`.

    Whoever writes may go on meanwhile. SQLite's locks hold for readers too, so that all that is read in one transaction
    is of one moment, and of none in the middle of a change.

    Args:
        url: Of the file, as SQLAlchemy writes it.
        file: The file.
        patience: Seconds to wait for somebody who is writing.
    """
    address = f"{file.absolute().as_uri()}?mode=ro"
    # Not as a part of the URL: SQLAlchemy would take `?` and `%` in the names of folders for its own.
    connect = partial(
        sqlite3.connect, address, uri=True, timeout=patience, check_same_thread=False, factory=CarefulConnection
    )
    try:
        # Python's sqlite3 would begin no transaction, and each query would see another moment.
        storage = FileStorage(file, url, {"creator": connect}, skip_table_creation=True, begin="BEGIN")
    except Exception as error:
        _refuse_unreadable(error, file)
        raise
    sqlalchemy.event.listen(storage.engine, "handle_error", partial(_refuse_to_write, file=file))
    return storage


def _refuse_to_write(context: Any, file: Path) -> None:
    error = context.original_exception
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY:
        raise make_refusal(file) from error
    _refuse_unreadable(error, file)


def _refuse_unreadable(error: BaseException | None, file: Path) -> None:
    """An `InputError` if SQLite has to write before it can read: half of a change is there, or a write-ahead log."""
    while error is not None and not hasattr(error, "sqlite_errorcode"):
        error = getattr(error, "orig", None) or error.__cause__
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    part = find_locked_part(file) or "the file"
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        raise InputError(
            f"{str(file)!r} cannot be read: a program was stopped while it wrote, and to put that right is to write, "
            f"but {part} is read-only for you. Its owner puts it right by looking at it, with: tunedprior status"
        ) from error
    if code & _PRIMARY_CODE in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        raise InputError(
            f"{str(file)!r} cannot be read: SQLite has to write for that, as it does where there is a write-ahead log, "
            f"and {part} is read-only for you. Copy it into a folder of your own, with the files beside it whose names "
            "begin like its own, and look there."
        ) from error
