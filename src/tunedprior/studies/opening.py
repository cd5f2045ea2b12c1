"""Databases opened so that several people and programs can use one at a time, and studies in them."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import optuna
import sqlalchemy
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.checks import shown
from tunedprior.errors import InputError, MissingExtraError
from tunedprior.studies.read_only import locked_part, read_only_database

# Seconds that SQLite waits for others to finish writing.
_PATIENCE = 60.0


def opened(storage: str | BaseStorage) -> BaseStorage:
    """The database at a URL, such as `sqlite:///campaign.db`, made if there is none; a storage of Optuna is itself."""
    if isinstance(storage, BaseStorage):
        return storage
    if not isinstance(storage, str) or "://" not in storage:
        raise InputError(
            "storage must be the URL of a database, such as 'sqlite:///campaign.db' or "
            f"'postgresql://user:password@host/database', or an Optuna storage; got {shown(storage)}."
        )
    return database(storage)


def database(url: str, patience: float = _PATIENCE, **options: Any) -> RDBStorage:
    """Optuna's storage at a URL, for several programs at once.

    - Every connection is tried before it is used, so that one which a restart of the server cut is replaced.
    - In SQLite every transaction takes the lock for writing when it begins. Optuna reads a trial's state and then
      changes it, which PostgreSQL guards by locking the row; in SQLite two workers could read before either writes, and
      both would take the same queued trial, or a trial that was just failed would be completed too.
    - An SQLite file that may not be written is opened for reading alone.

    Args:
        url: As SQLAlchemy writes it.
        patience: Seconds to wait for somebody else's lock on an SQLite file.
        **options: As for `RDBStorage`.
    """
    try:
        address = sqlalchemy.make_url(_with_driver(url))
        on_file = address.get_backend_name() == "sqlite"
        if on_file and address.database and locked_part(Path(address.database)):
            return read_only_database(url, Path(address.database), patience)
        engine: dict[str, Any] = {"connect_args": {"timeout": patience}} if on_file else {"pool_pre_ping": True}
        storage = RDBStorage(_with_driver(url), engine, **options)
    except ImportError as error:
        raise MissingExtraError(
            f"{url.split(':')[0]!r} needs a driver that is not installed. For PostgreSQL: pip install "
            '"tunedprior[postgres]"'
        ) from error
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The database {without_password(url)!r} cannot be opened: {reason}") from error
    if on_file:
        sqlalchemy.event.listen(storage.engine, "begin", _begin_to_write)
    return storage


def _begin_to_write(connection: sqlalchemy.Connection) -> None:
    """Python's sqlite3 would begin with the first change, after what was read for it."""
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def found(storage: BaseStorage, name: str) -> Study | None:
    """The study of this name; None if there is none."""
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        return None


def found_or_made(storage: BaseStorage, name: str, directions: Sequence[str]) -> Study:
    """The study of this name, made if there is none; two programs that make it at once get the same."""
    wanted: list[Any] = list(directions)
    return optuna.create_study(storage=storage, study_name=name, directions=wanted, load_if_exists=True)


def _with_driver(url: str) -> str:
    """With the driver that comes with the extra, where people write the name of the database alone."""
    return re.sub(r"^postgres(ql)?://", "postgresql+psycopg2://", url)


def without_password(url: str) -> str:
    """The URL as it may be shown.

    >>> without_password("postgresql://lab:secret@server/campaigns")
    'postgresql://lab:…@server/campaigns'
    """
    return re.sub(r":[^:/@]*@", ":…@", url)
