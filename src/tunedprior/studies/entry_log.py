"""An append-only log of texts kept with an Optuna study: whoever appends, nothing that another one appended is lost.

Entries are attributes of the study, so that they are copied and deleted with it, on every storage that Optuna has.
"""

import json
from collections.abc import Sequence
from secrets import token_hex
from threading import Lock
from typing import Protocol, runtime_checkable

import sqlalchemy
from optuna.study import Study
from sqlalchemy.exc import IntegrityError

from tunedprior.studies.access import engine_of, id_of, set_study_attribute, study_attributes

#: What the key of an entry begins with; its sequence number follows.
PREFIX = "tunedprior:entry:"
_DIGITS = 10
_ATTRIBUTES = sqlalchemy.table(
    "study_system_attributes",
    sqlalchemy.column("study_id", sqlalchemy.Integer),
    sqlalchemy.column("key", sqlalchemy.String),
    sqlalchemy.column("value_json", sqlalchemy.Text),
)


class ConflictError(Exception):
    """Somebody else appended first, so what was to be appended was decided on what is no longer the end of the log."""


class ReorderedError(Exception):
    """What was read before is no longer the beginning of the log: two programs appended at the same moment."""


@runtime_checkable
class EntryLog(Protocol):
    """A log of texts, numbered from 1."""

    def read(self, after: int) -> list[tuple[int, str]]:
        """Entries with a sequence number above `after`, in order; all that is missing there was never appended."""
        ...

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry with the number `last`, all or none; an `ConflictError` if it is not the last.

        Any other error leaves open whether they were appended.
        """
        ...


def log_of(study: Study) -> EntryLog:
    """The log of a study: in a database one of two who append at the same moment is refused by the database itself."""
    engine = engine_of(study)
    return AttributeLog(study) if engine is None else DatabaseLog(engine, id_of(study))


class DatabaseLog:
    """A log in a database: (study, key) is unique there, so that a sequence number is given once.

    Args:
        engine: The database.
        study_id: By which it knows the study.
    """

    def __init__(self, engine: sqlalchemy.Engine, study_id: int) -> None:
        self._engine, self._study_id = engine, study_id

    def read(self, after: int) -> list[tuple[int, str]]:
        """Entries with a sequence number above `after`, in order."""
        chosen = (
            sqlalchemy.select(_ATTRIBUTES.c.key, _ATTRIBUTES.c.value_json)
            .where(_ATTRIBUTES.c.study_id == self._study_id, _ATTRIBUTES.c.key.like(f"{PREFIX}%"))
            .where(_ATTRIBUTES.c.key > _key(after))
        )
        with self._engine.connect() as connection:
            rows = connection.execute(chosen).all()
        return sorted((_sequence(key), str(json.loads(text))) for key, text in rows)

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry with the number `last`, in one transaction."""
        newest = sqlalchemy.select(sqlalchemy.func.max(_ATTRIBUTES.c.key)).where(
            _ATTRIBUTES.c.study_id == self._study_id, _ATTRIBUTES.c.key.like(f"{PREFIX}%")
        )
        rows = [
            {"study_id": self._study_id, "key": _key(last + position), "value_json": json.dumps(text)}
            for position, text in enumerate(texts, 1)
        ]
        try:
            with self._engine.begin() as connection:
                found = connection.execute(newest).scalar()
                if (0 if found is None else _sequence(found)) != last:
                    raise ConflictError
                connection.execute(_ATTRIBUTES.insert(), rows)
        except IntegrityError as error:
            raise ConflictError from error


class AttributeLog:
    """A log in a storage that is no database of Optuna's, and so cannot refuse one of two who append at once.

    Within a program a lock does. Several programs write under keys of their own, so that no entry is written over; all
    of them put entries that were appended at the same moment into the same order.

    Args:
        study: The study.
    """

    _lock = Lock()

    def __init__(self, study: Study) -> None:
        self._study = study
        self._read: list[str] = []

    def read(self, after: int) -> list[tuple[int, str]]:
        """Entries with a sequence number above `after`, in order; a `ReorderedError` if those up to it changed."""
        found = self._entries()
        keys, known = [key for key, _ in found], self._read[:after]
        self._read = keys
        if keys[:after] != known:
            raise ReorderedError
        return [(number, text) for number, (_, text) in enumerate(found, 1) if number > after]

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry with the number `last`."""
        with self._lock:
            if len(self._entries()) != last:
                raise ConflictError
            for position, text in enumerate(texts, 1):
                set_study_attribute(self._study, f"{_key(last + position)}:{token_hex(4)}", text)

    def _entries(self) -> list[tuple[str, str]]:
        attributes = study_attributes(self._study)
        return sorted((key, str(text)) for key, text in attributes.items() if key.startswith(PREFIX))


def _key(sequence: int) -> str:
    return f"{PREFIX}{sequence:0{_DIGITS}d}"


def _sequence(key: str) -> int:
    return int(key.removeprefix(PREFIX)[:_DIGITS])
