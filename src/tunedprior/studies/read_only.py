"""SQLite files that somebody may read and not write: opened for reading, and what those are told who would write."""

import os
import sqlite3
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy
from optuna.storages import RDBStorage

from tunedprior.errors import InputError
from tunedprior.studies.sqlite_files import CarefulConnection, FileStorage

# The byte of SQLite's error codes that says of what kind they are.
_KIND = 0xFF


def find_locked_part(file: Path) -> str:
    """What keeps a database from being written: "the file", or "its folder"; empty if nothing does, or it is not there.

    SQLite writes into the folder too: while something is changed, what was there before is in a file beside it.
    """
    if not file.exists():
        return ""
    if not os.access(file, os.W_OK):
        return "the file"
    return "" if os.access(file.absolute().parent, os.W_OK) else "its folder"


def make_refusal(file: Path) -> InputError:
    """What those are told who would write."""
    part = find_locked_part(file) or "the file"
    return InputError(
        f"{str(file)!r} may be looked at, and not written: {part} is read-only for you. Ask its owner to let you write "
        "it, or copy it into a folder of your own and go on there; what is recorded in one is not in the other."
    )


def open_read_only(url: str, file: Path, patience: float) -> RDBStorage:
    """Optuna's storage of a file that is read and never written; an `InputError` for whoever tries.

    Whoever writes may go on meanwhile. SQLite's locks hold for readers too, so that all that is read in one transaction
    is of one moment, and of none in the middle of a change.

    Args:
        url: Of the file, as SQLAlchemy writes it.
        file: It.
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
    if code & _KIND in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
        raise InputError(
            f"{str(file)!r} cannot be read: SQLite has to write for that, as it does where there is a write-ahead log, "
            f"and {part} is read-only for you. Copy it into a folder of your own, with the files beside it whose names "
            "begin like its own, and look there."
        ) from error
