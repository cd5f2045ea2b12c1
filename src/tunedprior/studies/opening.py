"""Databases opened so that several people and programs can use one at a time, and studies in them."""

import re
from collections.abc import Sequence
from typing import Any

import optuna
from optuna.storages import BaseStorage, RDBStorage
from optuna.study import Study
from sqlalchemy.exc import SQLAlchemyError

from tunedprior.checks import shown
from tunedprior.errors import InputError, MissingExtraError

# Seconds that SQLite waits for others to finish writing.
_PATIENCE = 60.0


def opened(storage: str | BaseStorage) -> BaseStorage:
    """The database at a URL, such as `sqlite:///campaign.db`; made if there is none. A storage of Optuna stays itself.

    SQLite waits for whoever else is writing. Connections to a server are looked at before they are used, so that a
    server may have been restarted in between.
    """
    if isinstance(storage, BaseStorage):
        return storage
    if not isinstance(storage, str) or "://" not in storage:
        raise InputError(
            "storage must be the URL of a database, such as 'sqlite:///campaign.db' or "
            f"'postgresql://user:password@host/database', or an Optuna storage; got {shown(storage)}."
        )
    options = {"connect_args": {"timeout": _PATIENCE}} if storage.startswith("sqlite") else {"pool_pre_ping": True}
    try:
        return RDBStorage(_with_driver(storage), engine_kwargs=options)
    except ImportError as error:
        raise MissingExtraError(
            f"{storage.split(':')[0]!r} needs a driver that is not installed. For PostgreSQL: pip install "
            "'tunedprior[postgres]'"
        ) from error
    except (SQLAlchemyError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"The database {_without_password(storage)} cannot be opened: {reason}") from error


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


def _without_password(url: str) -> str:
    return repr(re.sub(r":[^:/@]*@", ":…@", url))
