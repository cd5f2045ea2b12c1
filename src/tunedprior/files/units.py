"""Units of measurement, recognised: a row of them under the header is no data."""

import re
from collections.abc import Sequence
from typing import Any

from tunedprior.files.cells import is_unmeasured

_PREFIXES = ("", "f", "p", "n", "µ", "μ", "u", "m", "c", "d", "k", "M", "G", "T", "h")
_SYMBOLS = frozenset(
    [
        "m",
        "g",
        "s",
        "A",
        "K",
        "mol",
        "cd",
        "Hz",
        "N",
        "Pa",
        "J",
        "W",
        "C",
        "V",
        "F",
        "Ω",
        "ohm",
        "S",
        "T",
        "H",
        "L",
        "l",
        "bar",
        "min",
        "h",
        "d",
        "t",
        "M",
        "Da",
        "eV",
        "cal",
        "rad",
        "Wh",
        "Ah",
        "°C",
        "°F",
        "°",
        "degC",
        "degF",
        "deg",
        "%",
        "‰",
        "ppm",
        "ppb",
        "rpm",
        "psi",
        "atm",
        "Torr",
        "mmHg",
        "wt%",
        "vol%",
        "mol%",
        "at%",
        "wt.%",
        "vol.%",
        "a.u.",
        "au",
        "sec",
        "hr",
        "day",
        "days",
    ]
)
# Words for a unit, and spellings of one.
_WORDS = frozenset(["fraction"])
_SAME = {
    **dict.fromkeys(("percent", "per cent", "pct", "prozent"), "%"),
    **dict.fromkeys(("fraction", "frac", "frac.", "anteil"), "fraction"),
    **dict.fromkeys(("°c", "degc", "deg c", "celsius"), "°C"),
    **dict.fromkeys(("°f", "degf", "deg f", "fahrenheit"), "°F"),
    **dict.fromkeys(("s", "sec", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hour", "hours"), "h"),
}
_LITRES = re.compile(r"(?<![^\W\d_])([µumcd]?)l(?![^\W\d_])")
_JOINTS = re.compile(r"[\s/*·×^]+|(?<=[^\W\d_])[-⁻]?[0-9¹²³⁴]+|\*\*")
_NUMBER = re.compile(r"\s*[+\-−]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*")

_NUMBER_AND_REST = re.compile(r"\s*([+\-−]?(?:\d+[.,]?\d*|[.,]\d+))\s*([^\d\s.,(\[].*?)\s*")


def is_unit(cell: object) -> bool:
    """Whether the cell is a unit such as "°C", "ml/min" or "[any text in brackets]"."""
    if not isinstance(cell, str):
        return False
    text = cell.strip()
    if len(text) > 2 and (text[0], text[-1]) in (("[", "]"), ("(", ")")):
        return True
    parts = [part for part in _JOINTS.split(text) if part]
    return bool(parts) and all(map(_is_symbol, parts))


def split_number_and_unit(cell: object) -> tuple[str, str] | None:
    """The number in a cell and the unit after it; None if it is anything else, or a number alone.

    >>> (
    ...     split_number_and_unit("65,3 °C"),
    ...     split_number_and_unit("20mg"),
    ...     split_number_and_unit("20"),
    ...     split_number_and_unit("2 runs"),
    ... )
    (('65,3', '°C'), ('20', 'mg'), None, None)
    """
    found = _NUMBER_AND_REST.fullmatch(cell) if isinstance(cell, str) else None
    return (found[1], found[2]) if found and is_unit(found[2]) else None


def are_different_units(one: str, other: str) -> bool:
    """Whether these are two units; text in brackets that is none, such as a method, contradicts nothing.

    >>> are_different_units("%", "fraction"), are_different_units("°C", "degC"), are_different_units("ml/min",
    ...     "mL/min"), are_different_units("%", "GC")
    (True, False, False, False)
    """
    one, other = _normalise_unit(one), _normalise_unit(other)
    return one != other and all(map(_is_surely_a_unit, (one, other)))


def _is_surely_a_unit(text: str) -> bool:
    """Not GC, which may be a method as well as gigacoulombs."""
    short_name = len(text) > 1 and text.isalpha() and text.isupper()
    return text in _WORDS or (is_unit(text) and not short_name)


def _normalise_unit(text: str) -> str:
    text = text.strip().strip("[]()").strip()
    return _SAME.get(text.casefold(), _LITRES.sub(r"\1L", text.replace("μ", "µ")))


def is_line_of_units(row: Sequence[Any], after: Sequence[Any]) -> bool:
    """Whether `row` holds units for the numbers in the row after it, and nothing else."""
    above_numbers = [cell for cell, below in zip(row, after, strict=False) if is_number(below)]
    # A blank alone is a missing number; beside units it is a number without one.
    return any(map(is_unit, above_numbers)) and all(is_unit(cell) or is_unmeasured(cell) for cell in row)


def _is_symbol(part: str) -> bool:
    if part in _SYMBOLS:
        return True
    return any(prefix and part.startswith(prefix) and part[len(prefix) :] in _SYMBOLS for prefix in _PREFIXES)


def is_number(cell: object) -> bool:
    """Whether the cell is a number, or the text of one."""
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None
    return isinstance(cell, int | float) and not isinstance(cell, bool)
