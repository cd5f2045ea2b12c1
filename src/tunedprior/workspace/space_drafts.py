"""Draft a space file from old data; guess from the columns' names which one is the response, and its direction."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import gcd
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray

from tunedprior.checks import format_list, format_value, suggest_name
from tunedprior.errors import InputError
from tunedprior.goals.goal import MAXIMIZE, MINIMIZE
from tunedprior.history.cells import NOT_PASSED, PASSED
from tunedprior.source_data.number_checks import (
    describe_isolated_values,
    describe_mixed_units,
    find_mixed_units,
    find_sentinels,
    find_slips,
)
from tunedprior.source_data.rows import Finding
from tunedprior.tables.cells import DATE, is_unmeasured, parse_numbers
from tunedprior.tables.content import ReadTable
from tunedprior.tables.names import is_number, is_variant_name, split_name_and_unit, split_number_and_unit
from tunedprior.tables.reading import read_table

_RESPONSES = ("y", "response", "result", "objective", "target", "yield", "ausbeute", "ergebnis", "value", "wert")
_WORDS_OF_RESPONSES = frozenset({"yield", "ausbeute", "ergebnis", "response"})  # inside of longer names too
_WORD = re.compile(r"[^\W\d_]+")
_UNWANTED = frozenset(
    _WORD.findall(
        "loss losses logloss error errors err rmse mse mae mape nll perplexity regret cost costs price time runtime "
        "duration latency waste scrap impurity impurities defect defects residuals deviation verlust "
        "verluste fehler kosten preis zeit dauer laufzeit abfall ausschuss verunreinigung abweichung"
    )
)
# Beside these it is the other way round, or may be: time saved, impurity removal, time to failure.
_TURNED = frozenset(
    _WORD.findall(
        "saved saving savings reduction reduced removal removed avoided rejection free life failure breakdown "
        "retention survival efficiency effectiveness tolerance resistance"
    )
)
_FEW_ROWS = 8


def guess_direction(name: str) -> str:
    """Guess from a response's name whether it is maximised or minimised.

    >>> [guess_direction(name) for name in ("yield", "val_loss", "Cost [EUR]", "survival time", "glossiness")]
    ['maximize', 'minimize', 'minimize', 'maximize', 'maximize']
    """
    words = _split_words(split_name_and_unit(name)[0])
    return MINIMIZE if _UNWANTED & words and not _TURNED & words else MAXIMIZE


def guess_response(read: ReadTable) -> tuple[str, str]:
    """Guess the column of the response and the reason; remarks, dates and mostly blank columns are excluded.

    An `InputError` if a column has the name of one and is blank: another one, in its place, would be wrong.
    """
    columns = [str(name) for name in read.table.columns]
    able = [name for name in columns if _can_be_response(read.table[name])]
    bare = {name: split_name_and_unit(name)[0].casefold() for name in columns}
    by_name = [[name for name in columns if bare[name] == wanted] for wanted in _RESPONSES]
    by_name.append([name for name in columns if _WORDS_OF_RESPONSES & _split_words(bare[name])])
    for named in by_name:
        found = [name for name in named if name in able]
        if len(found) == 1:
            return found[0], "of its name"
    for name in dict.fromkeys(name for named in by_name for name in named):
        blank = sum(map(is_unmeasured, read.table[name]))
        if 2 * blank > len(read):
            rows = "every row" if blank == len(read) else f"{blank:,} of {len(read):,} rows"
            raise InputError(
                f"{read.origin} has a column {name!r}, which is the response by its name, and it is blank in {rows}. "
                "Fill it in, or name the column of the response with --target."
            )
    if not able:
        raise InputError(
            f"{read.origin} has no column that is likely to be the response: all are text, or blank in most rows. Name "
            "it with --target."
        )
    last = [name for name in able if not are_row_numbers(parse_numbers(read.table[name])[0])] or able
    after = [str(name) for name in read.table.columns][list(read.table.columns).index(last[-1]) + 1 :]
    return last[-1], f"it is the last{' column of numbers' if after else ''}"


def are_row_numbers(values: Float64[ndarray, " n"]) -> bool:
    """Return whether values are 1, 2, 3, … or 0, 1, 2, …, in more than a few rows."""
    steps = np.diff(values)
    return len(values) > _FEW_ROWS and bool((steps == 1).all()) and values[0] in (0.0, 1.0)


def _can_be_response(column: "pd.Series[Any]") -> bool:
    """Return whether at least half of a column is filled in, mostly with numbers or pass and fail."""
    values, wrong = parse_numbers(column)
    measured = int(np.isfinite(values).sum())
    measured += sum(str(column.iloc[row]).strip().casefold() in PASSED | NOT_PASSED for row in wrong)
    filled = len(column) - sum(map(is_unmeasured, column))
    return 2 * filled >= len(column) and 2 * measured > filled


def _split_words(name: str) -> set[str]:
    return set(_WORD.findall(name.casefold()))


_WHAT = "Old data"
_REMARKS = frozenset(
    [
        "remark",
        "remarks",
        "comment",
        "comments",
        "note",
        "notes",
        "bemerkung",
        "bemerkungen",
        "anmerkung",
        "kommentar",
        "notiz",
        "notizen",
    ]
)
_PEOPLE = frozenset(
    re.findall(
        r"\w+",
        "operator operators analyst technician person experimenter user initials author chemist who bediener "
        "bedienerin bearbeiter bearbeiterin laborant laborantin anwender kürzel",
    )
)
_NEARLY_EMPTY = 0.1  # the part of the rows that is filled in
# Of the cells of a column of numbers, those that are text are mistakes if they are no more than this share.
_FEW_TEXTS = 0.1
_PLAIN = re.compile(r"[^\W\d][\w-]*(?: [\w-]+)*")
_LONGEST_KEY = 100  # YAML takes longer ones only in its long form
_MOST_LEVELS = 8
_TEMPERATURES = frozenset(["", "°C", "℃", "C", "degC", "deg C", "K", "°K"])  # units of a column that may be one
_LOG = 1000.0  # a range whose ends are so many times apart may be one to take logarithms of
_MOST_CHOICES = 60
_DIGITS = 15
_FEWEST_DIGITS, _MOST_DIGITS = 2, 3  # that are significant on a logarithmic scale: 3 are steps of 0.1 to 1 %
_FINEST = 300  # a range is drafted with so many steps at least, where old data has more digits than anybody sets
_COMMENT_AT = 44
_HEAD = """\
# What may be set and what is wanted, drafted from {origin} ({rows:,} rows).
# Ranges are those of old data: change them to what may be set now.
# Steps and digits are what people can set, by old data and the range: a step of 0.1 suggests 116.3 and not 116.344,
# and 3 digits suggest 0.0997 and not 0.0996713.
# A line that begins with # is left out.
#   20 to 90          anything between        20 to 90 step 5   a grid
#   0.1 to 10 log     a logarithmic scale     [A, B, C]         a choice
#   0.1 to 10 log digits 3    a logarithmic scale, in numbers of 3 significant digits
"""
_TAIL = """
# What results cannot be beyond, what they must be, and what settings must be:
# limits:
#   {goal}: 0 to 100
# requirements:
#   purity: ">= 0.95"
# constraints:
#   - acid + salt <= 1
"""


@dataclass(frozen=True)
class Draft:
    """A drafted space file.

    Attributes:
        text: What it says.
        target: The column that is taken for the response.
        parameters: The names of what may be set.
        left_out: Columns that are no settings, each with the reason.
        direction: Whether it is to be maximised or minimised, judged by its name.
        why: The reason for choosing that column as the response; empty if the user named it.
        doubtful: Cells that are most likely slips; ranges are drafted without them.
    """

    text: str
    target: str
    parameters: tuple[str, ...]
    left_out: dict[str, str]
    direction: str = MAXIMIZE
    why: str = ""
    doubtful: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class _Line:
    """A parameter in the file; without a description, it is left out."""

    name: str
    description: str
    comment: str
    doubtful: tuple[Finding, ...] = ()

    @property
    def text(self) -> str:
        if not self.description:
            return f"  # {_clean_line(self.name)}: left out: {_clean_line(self.comment)}"
        key = quote_yaml(self.name)
        start = f"  ? {key}\n  : " if len(key) > _LONGEST_KEY else f"  {key}: "
        line = f"{start}{self.description}".ljust(_COMMENT_AT) + f"  # {_clean_line(self.comment)}"
        return "\n".join([*(f"  # Look this up: {_clean_line(one.text)}" for one in self.doubtful), line])


def draft_space_file(data: Any, target: str | None = None) -> Draft:
    r"""Draft a space file that `read_space_file` takes, whatever the columns are called.

    Args:
        data: Whatever `tables.read_table` reads.
        target: The column of the response; guessed if left out: one that is called y, yield or the like, or the
            last that can be one.

    >>> old = {"heat [°C]": [20, 40, 60], "gas": ["air", "argon", "air"], "y": [0.1, 0.3, 0.2]}
    >>> print(draft_space_file(old).text.split("significant digits\n")[1])
    parameters:
      heat: 20 to 60 step 20                      # °C; 3 values in old data
      gas: [air, argon]                           # 2 choices in old data
    <BLANKLINE>
    goals:
      # 'y' is taken as the response because of its name; name another with --target.
      y: maximize                                 # or minimize, or target 500
    <BLANKLINE>
    # What results cannot be beyond, what they must be, and what settings must be:
    # limits:
    #   y: 0 to 100
    # requirements:
    #   purity: ">= 0.95"
    # constraints:
    #   - acid + salt <= 1
    <BLANKLINE>
    """
    read = _read_columns(data, target)
    columns = [str(name) for name in read.table.columns]
    chosen, why = (target, "") if target is not None else guess_response(read)
    names = _split_units(columns)
    lines = [
        _Line(names[name][0], "", "looks like a second response; not used")
        if is_variant_name(name, chosen)
        else _draft_line(*names[name], read.table[name], read.format_place)
        for name in columns
        if name != chosen
    ]
    kept = tuple(one.name for one in lines if one.description)
    if not kept:
        reasons = format_list(f"{one.name!r} ({one.comment})" for one in lines)
        raise InputError(f"{read.origin} has no column that can be a setting: {reasons}.")
    goal, unit = names[chosen]
    direction = guess_direction(goal)
    if why:
        why = f"{_clean_line(goal)!r} is taken as the response because {why}; name another with --target."
    goals = _format_goal(goal, unit, direction, why)
    head = _HEAD.format(origin=_clean_line(read.origin), rows=len(read))
    head += "".join(f"# {_clean_line(sentence)}\n" for sentence in read.remarks)
    text = (
        f"{head}parameters:\n"
        + "\n".join(one.text for one in lines)
        + "\n"
        + goals
        + _TAIL.format(goal=quote_yaml(goal))
    )
    left_out = {one.name: one.comment for one in lines if not one.description}
    return Draft(text, goal, kept, left_out, direction, why, tuple(found for one in lines for found in one.doubtful))


def _format_goal(name: str, unit: str, direction: str, why: str) -> str:
    """The section of a space file on the response, with the reason why it was chosen where there is one."""
    comment = f"{unit}; " * bool(unit) + f"or {MINIMIZE if direction == MAXIMIZE else MAXIMIZE}, or target 500"
    because = f"  # {_clean_line(why)}\n" if why else ""
    return f"\ngoals:\n{because}{_Line(name, direction, comment).text}\n"


def _read_columns(data: Any, target: str | None) -> ReadTable:
    """Read all columns; an `InputError` unless there are rows, a column for a setting and one for the response."""
    first = read_table(data, [] if target is None else [target], _WHAT)
    columns = [str(name) for name in first.table.columns]
    if target is not None and target not in columns:
        raise InputError(
            f"There is no column {format_value(target)} for the response; there are {format_list(map(repr, columns))}."
            f"{suggest_name([target], columns)}"
        )
    if len(columns) > 1 and len(first) == 0:
        raise InputError(
            f"{first.origin} has a header, and no rows below it. Add rows, or see whether it is the right file and "
            "sheet."
        )
    if len(columns) < 2:
        raise InputError(
            f"{_WHAT} must have a column for each setting, one for the response, and rows; {first.origin} has "
            f"{len(columns)} columns and {len(first)} rows."
        )
    # Once more with all names, so that decimal commas are understood. What is no file can be read a second time too.
    return read_table(data if not hasattr(data, "read") else first, columns, _WHAT)


def quote_yaml(text: str) -> str:
    """Format text for YAML, in quotes where needed."""
    if _PLAIN.fullmatch(text) and text.isprintable():
        return text
    escaped = "".join(
        letter
        if letter.isprintable() and letter not in '"\\' and ord(letter) < 0xD800
        else f"\\{letter}"
        if letter in '"\\'
        else f"\\U{ord(letter):08x}"
        for letter in text
    )
    return f'"{escaped}"'


def _split_units(columns: Sequence[str]) -> dict[str, tuple[str, str]]:
    """For each column its name and its unit; a name that would be there twice stays as it is."""
    found = {name: split_name_and_unit(name) for name in columns}
    bare = [name.casefold() for name, _ in found.values()]
    return {
        column: (name, unit) if unit and name and bare.count(name.casefold()) == 1 else (column, "")
        for column, (name, unit) in found.items()
    }


def _draft_line(name: str, unit: str, column: "pd.Series[Any]", where: Callable[[int], str]) -> _Line:
    cells = [cell for cell in column if not is_unmeasured(cell)]
    of_unit = f"{unit}; " if unit else ""
    if not cells:
        return _Line(name, "", "blank in every row")
    if len(cells) < _NEARLY_EMPTY * len(column):
        return _Line(name, "", f"filled in in {len(cells)} of {len(column):,} rows")
    values, wrong = parse_numbers(column)
    bare, in_cells, with_units = _strip_cell_units(name, column, where) if wrong else (column, "", ())
    if with_units:
        return replace(_draft_line(name, unit or in_cells, bare, where), doubtful=with_units)
    if 0 < len(wrong) <= _FEW_TEXTS * len(cells):
        line = _draft_line(name, unit, column.astype(object).mask(column.index.isin(column.index[wrong])), where)
        return replace(line, doubtful=(_describe_texts(name, column, wrong, where), *line.doubtful))
    if not wrong:
        values, doubtful = _drop_slips(name, unit, values, where)
        distinct = np.unique([float(_format_number(value)) for value in values[np.isfinite(values)]])
        if len(distinct) == 1:
            return _Line(name, "", f"{of_unit}{_format_number(distinct[0])} in every row")
        if are_row_numbers(values):
            return _Line(name, "", "it counts the rows")
        return _Line(name, _format_range(distinct), f"{of_unit}{len(distinct):,} values in old data", doubtful)
    texts = list(dict.fromkeys(str(cell).strip() for cell in cells))
    if all(DATE.fullmatch(text) for text in texts):
        return _Line(name, "", "dates")
    if len(texts) == 1:
        filled = "in every row" if len(cells) == len(column) else "wherever it is filled in"
        return _Line(name, "", f"{texts[0][:40]!r} {filled}")
    if len(texts) > _MOST_CHOICES or (len(texts) == len(column) and len(texts) > _MOST_LEVELS):
        return _Line(name, "", f"{len(texts):,} different texts, as of names or notes")
    if name.strip().casefold() in _PEOPLE:
        return _Line(name, "", f"{len(texts)} texts, as of who did it")
    if 2 * len(cells) < len(column) or name.strip().casefold() in _REMARKS:
        return _Line(name, "", f"text in {len(cells):,} of {len(column):,} rows, as of remarks")
    return _Line(name, f"[{', '.join(map(quote_yaml, texts))}]", f"{of_unit}{len(texts)} choices in old data")


def _strip_cell_units(
    name: str, column: "pd.Series[Any]", where: Callable[[int], str]
) -> tuple["pd.Series[Any]", str, tuple[Finding, ...]]:
    """A column of numbers that nearly all have one unit behind them as numbers, the unit, and what to do about it."""
    parts = [split_number_and_unit(cell) for cell in column]
    rows = [row for row, part in enumerate(parts) if part]
    units = {part[1] for part in parts if part}
    others = [cell for cell, part in zip(column, parts, strict=True) if not part and not is_unmeasured(cell)]
    if len(units) != 1 or 2 * len(rows) < len(rows) + len(others) or not all(map(is_number, others)):
        return column, "", ()
    texts = [part[0] if part else cell for cell, part in zip(column, parts, strict=True)]
    bare = pd.Series(texts, dtype=object)
    if not any("." in str(text) for text in texts):
        bare = bare.map(lambda text: text.replace(",", ".") if isinstance(text, str) else text)
    if parse_numbers(bare)[1]:
        return column, "", ()
    unit = units.pop()
    said = (
        f"{name!r} is numbers with the unit {unit} in the cells ({str(column.iloc[rows[0]]).strip()!r}), which are "
        "text to a table. Write numbers alone, and the unit into the header, before this is learnt from."
    )
    return bare, unit, (Finding("units in cells", name, tuple(map(where, rows)), said),)


def _describe_texts(name: str, column: "pd.Series[Any]", wrong: Sequence[int], where: Callable[[int], str]) -> Finding:
    """What to do about the few cells of a column of numbers that are none."""
    rows = tuple(map(where, wrong))
    texts = format_list(repr(str(column.iloc[row]).strip()) for row in wrong)
    said = (
        f"{name!r} is {texts} in {format_list(rows)}, and a number in all other rows. Correct the old data, or leave "
        "the cell blank, before this is learnt from."
    )
    return Finding("text among numbers", name, rows, said)


def _drop_slips(
    name: str, unit: str, values: Float64[ndarray, " n"], where: Callable[[int], str]
) -> tuple[Float64[ndarray, " n"], tuple[Finding, ...]]:
    """A column of numbers without those that are most likely mistakes, and what these are."""
    found = []
    marked = find_sentinels(values)
    if marked.any():
        rows = tuple(where(int(row)) for row in np.flatnonzero(marked))
        marks = format_list(_format_number(value) for value in dict.fromkeys(values[marked]))
        said = f"{name!r} is {marks} in {format_list(rows)}, which most likely stands for 'not measured'."
        found.append(Finding("sentinel", name, rows, said))
    values = np.where(marked, np.nan, values)
    known = np.isfinite(values)
    odd = np.zeros(len(values), dtype=bool)
    mixed = find_mixed_units(values[known])
    # Without a range to compare with, only K and °C tell: factors are what settings span.
    if mixed is not None and mixed.offset and unit in _TEMPERATURES:
        odd[known] = mixed.rows
        rows = tuple(where(int(row)) for row in np.flatnonzero(odd))
        said = describe_mixed_units(name, values, replace(mixed, rows=odd), format_list(rows))
        found.append(Finding("part in other units", name, rows, f"{said}."))
        return np.where(odd, np.nan, values), tuple(found)
    odd[known] = find_slips(values[known])
    if odd.any():
        rows = tuple(where(int(row)) for row in np.flatnonzero(odd))
        found.append(Finding("far off", name, rows, describe_isolated_values(name, values, odd, rows)))
    return np.where(odd, np.nan, values), tuple(found)


def _format_range(distinct: Float64[ndarray, " n"]) -> str:
    """Levels, or a range with the step that old data is on, or else one that people can set.

    The ends are rounded outwards to steps. A logarithmic range has significant digits instead of a step.
    """
    decimals = [Decimal(_format_number(value)) for value in distinct]
    step, width = _find_step(decimals), decimals[-1] - decimals[0]
    is_grid = len(distinct) > 2 and step is not None and width / step < 2 * len(distinct)
    if not is_grid and len(distinct) <= _MOST_LEVELS and (len(distinct) > 2 or _are_whole(distinct)):
        return f"[{', '.join(_format_number(value) for value in distinct)}]"
    if not is_grid and distinct[0] > 0 and distinct[-1] > _LOG * distinct[0]:
        digits = min(_MOST_DIGITS, max(_FEWEST_DIGITS, *(len(one.normalize().as_tuple().digits) for one in decimals)))
        low, high = (
            _round_significant(decimals[0], digits, ROUND_FLOOR),
            _round_significant(decimals[-1], digits, ROUND_CEILING),
        )
        return f"{low} to {high} log digits {digits}"
    finest = Decimal(1).scaleb((width / _FINEST).adjusted())
    if step is None or (not is_grid and (len(distinct) == 2 or step < finest)):
        step = finest
        decimals[0] = (decimals[0] / step).to_integral_value(ROUND_FLOOR) * step
        decimals[-1] = (decimals[-1] / step).to_integral_value(ROUND_CEILING) * step
    return (
        f"{_format_number(float(decimals[0]))} to {_format_number(float(decimals[-1]))} step "
        f"{_format_number(float(step))}"
    )


def _are_whole(values: Float64[ndarray, " n"]) -> bool:
    return all(one == int(one) for one in values)


def _round_significant(value: Decimal, digits: int, way: str) -> str:
    places = value.adjusted() - digits + 1
    return _format_number(float(value.quantize(Decimal(1).scaleb(places), rounding=way)))


def _find_step(decimals: Sequence[Decimal]) -> Decimal | None:
    """The largest step of a grid that holds all of the numbers."""
    places = max(0, *(-int(one.as_tuple().exponent) for one in decimals))
    if places > _DIGITS:
        return None
    whole = [int((one - decimals[0]).scaleb(places)) for one in decimals]
    return Decimal(gcd(*whole)).scaleb(-places) if any(whole) else None


def _format_number(value: float) -> str:
    return f"{value + 0.0:.{_DIGITS}g}"  # without the sign of -0


def _clean_line(text: str) -> str:
    """A comment: in one line, of letters that any reader takes."""
    return "".join(letter if letter.isprintable() and ord(letter) < 0xD800 else " " for letter in text)
