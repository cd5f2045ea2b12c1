"""An append-only log of texts in an Optuna study; concurrent writers lose nothing of each other's.

Entries are attributes of the study, so that they are copied and deleted with it, on every storage that Optuna has. The
end of the log (the number of entries, and a digest of the last) is written together with the entries, in a database in
the same transaction, so that a removal of the last entries is noticed.
"""

import hashlib
import json
from collections.abc import Sequence
from secrets import token_hex
from threading import Lock
from typing import Protocol, runtime_checkable

import sqlalchemy
from optuna.storages import InMemoryStorage, JournalStorage
from optuna.study import Study
from sqlalchemy.exc import IntegrityError

from tunedprior.storage.databases import (
    get_engine,
    get_storage,
    get_storage_id,
    get_study_attributes,
    set_study_attribute,
)

#: What the key of an entry begins with; its sequence number follows.
PREFIX = "tunedprior:entry:"
#: The key of the log's end.
END = "tunedprior:journal"
_DIGITS = 10
_NO_END = object()  # of a log that was written before its end was kept
_ATTRIBUTES = sqlalchemy.table(
    "study_system_attributes",
    sqlalchemy.column("study_id", sqlalchemy.Integer),
    sqlalchemy.column("key", sqlalchemy.String),
    sqlalchemy.column("value_json", sqlalchemy.Text),
)


class ConflictError(Exception):
    """Another writer appended first, so the entries to be appended were based on an outdated log."""


class ReorderedError(Exception):
    """Entries that were read before moved: two programs appended at the same moment."""


class TruncatedError(Exception):
    """Entries that were appended are missing from the end of the log.

    Attributes:
        first: The number of the first of them.
        last: The number of the last.
    """

    def __init__(self, first: int, last: int) -> None:
        super().__init__(first, last)
        self.first, self.last = first, last


class DamagedError(Exception):
    """The log holds something that was never written to it; the argument says what."""


class ReplacedError(Exception):
    """The last entry differs from the one that was appended; its number is the argument."""


@runtime_checkable
class EntryLog(Protocol):
    """A log of texts, numbered from 1."""

    def read(self, after: int) -> list[tuple[int, str]]:
        """Entries with a sequence number above `after`, in order.

        A `TruncatedError`, a `ReplacedError` or a `DamagedError` says that it is not what was appended.
        """
        ...

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry numbered `last`, all or none; a `ConflictError` if others appended since.

        Any other error leaves open whether they were appended.
        """
        ...


def make_entry_log(study: Study) -> EntryLog:
    """Return the log of a study, of the kind that its storage allows."""
    return AttributeLog(study) if get_engine(study) is None else DatabaseLog(study)


class DatabaseLog:
    """A log in a database, whose unique key (study, key) gives each sequence number once.

    Args:
        study: The study.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._study_id = study, get_storage_id(study)

    @property
    def _engine(self) -> sqlalchemy.Engine:
        """The study's, which makes a new one in another process."""
        engine = get_engine(self._study)
        assert engine is not None
        return engine

    def read(self, after: int) -> list[tuple[int, str]]:
        """Entries with a sequence number above `after`, in order."""
        chosen = (
            sqlalchemy.select(_ATTRIBUTES.c.key, _ATTRIBUTES.c.value_json)
            .where(_ATTRIBUTES.c.study_id == self._study_id)
            .where(
                (_ATTRIBUTES.c.key.like(f"{PREFIX}%") & (_ATTRIBUTES.c.key > _format_key(after)))
                | (_ATTRIBUTES.c.key == END)
            )
        )
        with self._engine.connect() as connection:
            rows = connection.execute(chosen).all()
        try:
            found = {key: json.loads(text) for key, text in rows}
            end = found.pop(END, _NO_END)
            entries = sorted((_parse_sequence(key), str(text)) for key, text in found.items())
        except (ValueError, TypeError) as error:
            raise DamagedError(str(error)) from error
        _check_end(end, entries, after)
        return entries

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry with the number `last`, in one transaction."""
        newest = sqlalchemy.select(sqlalchemy.func.max(_ATTRIBUTES.c.key)).where(
            _ATTRIBUTES.c.study_id == self._study_id, _ATTRIBUTES.c.key.like(f"{PREFIX}%")
        )
        rows = [
            {"study_id": self._study_id, "key": _format_key(last + position), "value_json": json.dumps(text)}
            for position, text in enumerate(texts, 1)
        ]
        try:
            with self._engine.begin() as connection:
                found = connection.execute(newest).scalar()
                there = 0 if found is None else _parse_sequence(found)
                if there < last:
                    raise TruncatedError(there + 1, last)
                if there != last:
                    raise ConflictError
                connection.execute(_ATTRIBUTES.insert(), rows)
                end = {"study_id": self._study_id, "key": END, "value_json": json.dumps(_make_end(last, texts))}
                of_end = (_ATTRIBUTES.c.study_id == self._study_id) & (_ATTRIBUTES.c.key == END)
                known = connection.execute(_ATTRIBUTES.update().where(of_end).values(value_json=end["value_json"]))
                if not known.rowcount:
                    connection.execute(_ATTRIBUTES.insert(), [end])
        except IntegrityError as error:
            raise ConflictError from error


class AttributeLog:
    """A log in a storage that is no SQL database and cannot reject one of two concurrent writers.

    Within a program a lock does. Several programs write under keys of their own, so that no entry is written over; all
    of them put entries that were appended at the same moment into the same order. Of storages that keep the order in
    which attributes were set, that is the order.

    Args:
        study: The study.
    """

    _lock = Lock()

    def __init__(self, study: Study) -> None:
        self._study = study
        self._read: list[str] = []

    def read(self, after: int) -> list[tuple[int, str]]:
        """Return entries numbered above `after`, in order; a `ReorderedError` if earlier ones changed."""
        found, end = self._read_entries()
        keys, known = [key for key, _ in found], self._read[:after]
        self._read = keys
        if keys[:after] != known:
            raise ReorderedError
        entries = [(number, text) for number, (_, text) in enumerate(found, 1)]
        _check_end(end, entries, 0)
        return entries[after:]

    def append(self, last: int, texts: Sequence[str]) -> None:
        """Append texts after the entry numbered `last`."""
        with self._lock:
            there = len(self._read_entries()[0])
            if there < last:
                raise TruncatedError(there + 1, last)
            if there != last:
                raise ConflictError
            for position, text in enumerate(texts, 1):
                set_study_attribute(self._study, f"{_format_key(last + position)}:{token_hex(4)}", text)
            set_study_attribute(self._study, END, _make_end(last, texts))

    def _read_entries(self) -> tuple[list[tuple[str, str]], object]:
        """The entries in order, by their keys, and the end."""
        attributes = get_study_attributes(self._study)
        found = [(key, str(text)) for key, text in attributes.items() if key.startswith(PREFIX)]
        keeps_order = isinstance(get_storage(self._study), InMemoryStorage | JournalStorage)
        return found if keeps_order else sorted(found), attributes.get(END, _NO_END)


def _make_end(last: int, texts: Sequence[str]) -> dict[str, object]:
    """The end of a log to which these texts were appended after the entry with the number `last`."""
    return {"entries": last + len(texts), "digest": _hash_text(texts[-1])}


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _check_end(end: object, entries: Sequence[tuple[int, str]], after: int) -> None:
    """A `TruncatedError` or `ReplacedError` if entries above `after` do not reach to the end that was written.

    There may be more of them: a program that knows of no end, or that was killed before it wrote it, appended them.
    """
    if end is _NO_END:
        return  # of before there was one
    length = end.get("entries") if isinstance(end, dict) else None
    if not isinstance(end, dict) or not isinstance(length, int) or not isinstance(end.get("digest"), str):
        raise DamagedError("what is kept of its end makes no sense")
    there = entries[-1][0] if entries else after
    if there < length:
        raise TruncatedError(there + 1, length)
    # Where two programs may append at once, the text that came last need not be that with its number.
    last = [text for number, text in entries if number >= length]
    if length > after and end["digest"] not in map(_hash_text, last):
        raise ReplacedError(length)


def _format_key(sequence: int) -> str:
    return f"{PREFIX}{sequence:0{_DIGITS}d}"


def _parse_sequence(key: str) -> int:
    try:
        return int(key.removeprefix(PREFIX)[:_DIGITS])
    except ValueError:
        raise DamagedError(f"{key!r} is the key of no entry") from None
