"""The kinds of files that hold a table, each known by its first bytes. A new kind is a file that registers it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tunedprior.errors import InputError
from tunedprior.tables.content import ReadTable


@dataclass(frozen=True)
class TableFormat:
    """A kind of file that holds a table.

    Attributes:
        name: Its name in messages, such as "Excel".
        endings: The endings of such files' names, the usual one first.
        beginnings: The first bytes of such files, any of them.
        read: Makes the table from the bytes, the columns that are hoped for (the response last), what the table is
            ("Old data") and the file's name.
    """

    name: str
    endings: tuple[str, ...]
    beginnings: tuple[bytes, ...]
    read: Callable[[bytes, Sequence[str], str, str], ReadTable]


_FORMATS: dict[str, TableFormat] = {}


def register_format(one: TableFormat) -> None:
    """Let files of this kind be read wherever a table is."""
    for other in _FORMATS.values():
        if other.name == one.name or set(other.endings) & set(one.endings):
            raise InputError(f"There is a format {other.name!r} already, with the endings {', '.join(other.endings)}.")
    _FORMATS[one.name] = one


def forget_format(name: str) -> None:
    """Remove a format from the registry."""
    _FORMATS.pop(name, None)


def list_formats() -> tuple[TableFormat, ...]:
    """All registered formats, in the order of registration."""
    return tuple(_FORMATS.values())


def get_format(name: str) -> TableFormat | None:
    """The registered format of this name; None for text and compressed text."""
    return _FORMATS.get(name)
