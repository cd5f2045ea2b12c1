"""Match the columns of a table to expected names, whatever their capitals, spaces and units, and recognise units."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.tables.cells import is_unmeasured

_IN_BRACKETS = re.compile(r"(.*?)\s*(?:\[([^\[\]]*)\]|\(([^()]*)\))", re.DOTALL)
_AFTER_A_SPACE = re.compile(r"(.*[^\s/\[(])\s+(%|‰|°[CF])", re.DOTALL)  # units that are no letters of a name
_AFTER_A_SLASH = re.compile(r"(.*?)\s+/\s*(\S+)", re.DOTALL)


def match_columns(columns: Sequence[object], names: Sequence[str]) -> dict[int, str]:
    """Return, by column position, the expected name of each column that has one.

    A unit that only a space sets apart is heeded where nothing else will do: "yield %" is "yield" unless there is a
    "yield [g]".
    """
    texts = [str(column).strip() for column in columns]
    found = {texts.index(name): name for name in names if name in texts}
    for spaced, name in product((False, True), names):
        if name in found.values():
            continue
        alike = [k for k, text in enumerate(texts) if k not in found and text and is_same_name(text, name, spaced)]
        left = [other for other in names if other not in found.values()]
        rivals = [other for other in left if alike and is_same_name(texts[alike[0]], other, spaced)]
        if len(alike) == 1 and rivals == [name]:
            found[alike[0]] = name
    return found


def describe_renamings(columns: Sequence[object], found: dict[int, str]) -> list[str]:
    """Return a sentence for each column that got another name than it has in the source."""
    return [
        f"Column {str(columns[k])!r} is taken for {name!r}."
        for k, name in sorted(found.items())
        if str(columns[k]).strip() != name
    ]


def collect_units(columns: Sequence[object], found: dict[int, str]) -> dict[str, str]:
    """Return the units in the headers of renamed columns, by expected name."""
    units = {
        name: split_name_and_unit(str(columns[k]))[1] for k, name in found.items() if str(columns[k]).strip() != name
    }
    return {name: unit for name, unit in units.items() if unit and not split_name_and_unit(name)[1]}


def refuse_duplicates(columns: Sequence[object], what: str, origin: str) -> None:
    """Raise an `InputError` if two columns have the same name."""
    twice = [name for name, count in Counter(map(str, columns)).items() if count > 1]
    if twice:
        raise InputError(
            f"{what}: every column must have a name of its own; {origin} has {format_list(map(repr, twice))} more than "
            "once. Rename or drop one of them."
        )


def split_name_and_unit(text: str, spaced: bool = True) -> tuple[str, str]:
    """The name in a header and its unit: "Temp [°C]", "Temp (°C)", "Temp / °C" and "Temp °C" are ("Temp", "°C").

    The last of these only if a space may set a unit apart.
    """
    text = text.strip().strip("'\"").strip()
    bracketed = _IN_BRACKETS.fullmatch(text)
    if bracketed and bracketed[1]:
        return bracketed[1], (bracketed[2] or bracketed[3] or "").strip()
    slashed = _AFTER_A_SLASH.fullmatch(text)
    if slashed and is_unit(slashed[2]):
        return slashed[1], slashed[2]
    apart = _AFTER_A_SPACE.fullmatch(text) if spaced else None
    if apart and any(map(str.isalpha, apart[1])):
        return apart[1], apart[2]
    return text, ""


def is_variant_name(text: str, name: str) -> bool:
    """Whether a header is a name with a number or with something in brackets after it, as of a second measurement.

    >>> [is_variant_name(text, "yield [%]") for text in ("yield 2", "Yield_2", "yield (NMR)", "yield", "yield rate")]
    [True, True, True, False, False]
    """
    bare = re.escape(split_name_and_unit(name)[0])
    apart = r"[\s_.-]*" if len(bare) > 2 else r"[\s_.-]+"  # y2 beside y may be something else
    suffix = rf"{bare}(?:{apart}\d+|\s*\(.+\)|\s*\[.+\])"
    return text.strip() != name.strip() and re.fullmatch(suffix, text.strip(), re.IGNORECASE) is not None


def is_same_name(text: str, name: str, spaced: bool = True) -> bool:
    """Return whether a header means this name, ignoring capitals and a unit; two units must not differ."""
    (one, unit), (other, other_unit) = split_name_and_unit(text, spaced), split_name_and_unit(name, spaced)
    return one.casefold() == other.casefold() and bool(one) and not (unit and other_unit and unit != other_unit)


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
    """Return whether a cell is a unit, such as "°C", "ml/min" or "[any text in brackets]"."""
    if not isinstance(cell, str):
        return False
    text = cell.strip()
    if len(text) > 2 and (text[0], text[-1]) in (("[", "]"), ("(", ")")):
        return True
    parts = [part for part in _JOINTS.split(text) if part]
    return bool(parts) and all(map(_is_symbol, parts))


def split_number_and_unit(cell: object) -> tuple[str, str] | None:
    """Split a cell into a number and the unit after it; None for any other cell.

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
    """Return whether two units differ; text in brackets that is no unit differs from nothing.

    >>> are_different_units("%", "fraction"), are_different_units("°C", "degC"), are_different_units("ml/min",
    ...     "mL/min"), are_different_units("%", "GC")
    (True, False, False, False)
    """
    one, other = _normalise_unit(one), _normalise_unit(other)
    return one != other and all(map(_is_surely_a_unit, (one, other)))


def _is_surely_a_unit(text: str) -> bool:
    """Return whether a text is a unit and nothing else; GC may be a method as well as gigacoulombs."""
    short_name = len(text) > 1 and text.isalpha() and text.isupper()
    return text in _WORDS or (is_unit(text) and not short_name)


def _normalise_unit(text: str) -> str:
    text = text.strip().strip("[]()").strip()
    return _SAME.get(text.casefold(), _LITRES.sub(r"\1L", text.replace("μ", "µ")))


def is_line_of_units(row: Sequence[Any], after: Sequence[Any]) -> bool:
    """Return whether `row` consists of units for the numbers in the row after it."""
    above_numbers = [cell for cell, below in zip(row, after, strict=False) if is_number(below)]
    # A blank alone is a missing number; beside units it is a number without one.
    return any(map(is_unit, above_numbers)) and all(is_unit(cell) or is_unmeasured(cell) for cell in row)


def _is_symbol(part: str) -> bool:
    return any(part.startswith(prefix) and part[len(prefix) :] in _SYMBOLS for prefix in _PREFIXES)


def is_number(cell: object) -> bool:
    """Return whether a cell is a number or the text of a number."""
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None
    return isinstance(cell, int | float) and not isinstance(cell, bool)
