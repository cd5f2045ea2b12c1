"""Open databases that several programs share, and reach the parts of Optuna's studies that have no public name."""

import logging
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import get_ident
from typing import Any
from urllib.parse import unquote, urlsplit

import optuna
import sqlalchemy
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.checks import format_list, format_value, hide_password
from tunedprior.errors import InputError, MissingExtraError
from tunedprior.storage.sqlite_files import (
    CarefulConnection,
    FileStorage,
    find_locked_part,
    open_read_only,
    refuse_unsound,
)


def get_storage(study: Study) -> BaseStorage:
    """Return the storage of a study."""
    return study._storage


def get_engine(study: Study) -> Engine | None:
    """Return the SQLAlchemy engine of a study's database; None for other storages."""
    storage = get_storage(study)
    database = getattr(storage, "_backend", storage)  # Optuna puts a cache before databases
    return database.engine if isinstance(database, RDBStorage) else None


def get_storage_id(one: Study | Trial | FrozenTrial) -> int:
    """Return the storage's identifier of a study or a trial."""
    return one._study_id if isinstance(one, Study) else one._trial_id


def find_trial_id(study: Study, number: int) -> int:
    """Return the storage's identifier of the trial with this number."""
    return int(get_storage(study).get_trial_id_from_study_id_trial_number(get_storage_id(study), number))


def set_trial_attribute(study: Study, trial: Trial | FrozenTrial, name: str, value: object) -> None:
    """Store a system attribute with a running trial."""
    get_storage(study).set_trial_system_attr(get_storage_id(trial), name, value)  # type: ignore[arg-type]  # any JSON


def requeue_trial(study: Study, trial: Trial | FrozenTrial) -> None:
    """Put a started trial back into the queue; the next worker that asks gets it."""
    get_storage(study).set_trial_state_values(get_storage_id(trial), TrialState.WAITING)


def get_study_attributes(study: Study) -> dict[str, object]:
    """Return the system attributes of a study."""
    return dict(get_storage(study).get_study_system_attrs(get_storage_id(study)))


def set_study_attribute(study: Study, name: str, value: object) -> None:
    """Store a system attribute with a study."""
    get_storage(study).set_study_system_attr(get_storage_id(study), name, value)  # type: ignore[arg-type]  # any JSON


# Seconds that SQLite waits for others to finish writing.
_PATIENCE = 60.0
# What Python's sqlite3 takes from a URL.
_PARAMETERS = ("timeout", "isolation_level", "detect_types", "check_same_thread", "cached_statements", "uri")


def open_storage(storage: str | BaseStorage) -> BaseStorage:
    """Open or create the database at a URL, such as `sqlite:///campaign.db`; a storage is returned unchanged."""
    if isinstance(storage, BaseStorage):
        return storage
    if not isinstance(storage, str) or "://" not in storage:
        raise InputError(
            "storage must be the URL of a database, such as 'sqlite:///campaign.db' or "
            "'postgresql://user:password@host/database', or an Optuna storage; got "
            f"{format_value(hide_password(storage) if isinstance(storage, str) else storage)}."
        )
    return open_database(storage)


def open_database(url: str, patience: float = _PATIENCE, **options: Any) -> RDBStorage:
    """Open Optuna's storage at a URL, safely for several programs at once.

    - Every connection is tried before it is used, so that one which a restart of the server cut is replaced.
    - In SQLite every transaction takes the lock for writing when it begins. Optuna reads a trial's state and then
      changes it, which PostgreSQL guards by locking the row; in SQLite two workers could read before either writes, and
      both would take the same queued trial, or a trial that was just failed would be completed too.
    - An SQLite file is looked through first, and refused if it is damaged or holds statements of its own
      (`storage.sqlite_files`). One that may not be written is opened for reading alone.

    Args:
        url: As SQLAlchemy writes it.
        patience: Seconds to wait for somebody else's lock on an SQLite file.
        **options: As for `RDBStorage`.
    """
    address = parse_address(url)
    if address.get_backend_name() == "sqlite":
        return _open_file(url, address, patience, options)
    try:
        return RDBStorage(_fill_driver(url), {"pool_pre_ping": True}, **options)
    except ImportError as error:
        raise MissingExtraError(
            f"{url.split(':')[0]!r} needs a driver that is not installed. For PostgreSQL: pip install "
            '"tunedprior[postgres]"'
        ) from error
    except (SQLAlchemyError, OSError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The database {hide_password(url)!r} cannot be opened: {reason}") from error


def parse_address(url: str) -> sqlalchemy.URL:
    """Parse a URL; the `InputError` for a wrong one never shows the password."""
    try:
        address = sqlalchemy.make_url(_fill_driver(url))
        address.get_dialect()
    except ImportError:
        pass  # the driver, of which more is said later
    except (SQLAlchemyError, ValueError):
        address = None
    if address is None or (address.password is not None and "@" in f"{address.host}{address.database}"):
        raise InputError(
            f"{hide_password(url)!r} is no URL of a database. Write it as sqlite:///campaign.db or "
            "postgresql://user:password@host/database, with %40 for an @ in the password."
        ) from None
    return address


def _open_file(url: str, address: sqlalchemy.URL, patience: float, options: Mapping[str, Any]) -> RDBStorage:
    """The storage of an SQLite file, which is looked through first."""
    named = address.database or ":memory:"
    file = Path(unquote(urlsplit(named).path)) if named.startswith("file:") else Path(named)
    unknown = [name for name in address.query if name not in _PARAMETERS]
    if unknown and "uri" not in address.query:
        raise InputError(f"The URL of an SQLite file has no parameter {format_list(unknown)}. Leave it out.")
    if not address.query and not named.startswith((":", "file:")):
        with suppress(OSError, SQLAlchemyError):  # somebody else was faster, or there are no links: it is made in place
            _make_file(file)
    is_locked = bool(find_locked_part(file))
    refuse_unsound(file, patience, not is_locked)
    if is_locked:
        return open_read_only(url, file, patience)
    engine = {"connect_args": {"timeout": patience, "factory": CarefulConnection}}
    try:
        # Python's sqlite3 would begin with the first change, after what was read for it.
        return FileStorage(file, url, engine, begin="BEGIN IMMEDIATE", **options)
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The database {hide_password(url)!r} cannot be opened: {reason}") from error


def _make_file(file: Path) -> None:
    """Make a database where there is no file: whole or not at all, also by two programs at once."""
    if file.exists() or not os.access(file.absolute().parent, os.W_OK):
        return
    beside = TemporaryDirectory(prefix=f".{file.name}.", dir=file.absolute().parent, ignore_cleanup_errors=True)
    with beside as folder:
        new = Path(folder) / "new.db"
        RDBStorage(sqlalchemy.URL.create("sqlite", database=str(new)).render_as_string()).engine.dispose()
        os.link(new, file)


def find_study(storage: BaseStorage, name: str) -> Study | None:
    """Return the study of this name; None if there is none."""
    try:
        return optuna.load_study(study_name=name, storage=storage)
    except KeyError:
        return None


def find_or_make_study(storage: BaseStorage, name: str, directions: Sequence[str]) -> Study:
    """Return the study of this name, created if missing; programs that create it at once get the same one."""
    wanted: list[Any] = list(directions)
    with _silence_storages():
        return optuna.create_study(storage=storage, study_name=name, directions=wanted, load_if_exists=True)


@contextmanager
def _silence_storages() -> Iterator[None]:
    """Leave out what Optuna's storages say meanwhile, in this thread: users did not ask for a study."""
    thread = get_ident()

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != thread or record.levelno > logging.INFO

    names = [name for name in list(logging.root.manager.loggerDict) if name.startswith("optuna.storages.")]
    for name in names:
        logging.getLogger(name).addFilter(is_of_others)
    try:
        yield
    finally:
        for name in names:
            logging.getLogger(name).removeFilter(is_of_others)


def _fill_driver(url: str) -> str:
    """Add the installed driver to a URL that names the database alone."""
    return re.sub(r"^postgres(ql)?://", "postgresql+psycopg2://", url)
