"""Parse the cells of tables that people write: numbers, flags, labels, results, and empty cells."""

import numbers
import re
from decimal import Decimal
from math import inf, isfinite
from typing import Any

from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.space.parameters import BLANKS, Categorical, Parameter, is_missing
from tunedprior.tables.cells import describe_non_number, is_spreadsheet_error, parse_ambiguous_number

#: How people write true and false, in small letters.
FLAGS = {**dict.fromkeys(("true", "yes", "1", "1.0"), True), **dict.fromkeys(("false", "no", "0", "0.0"), False)}


#: How people write that a run passed or failed, in small letters.
PASSED = frozenset({"pass", "passed", "ok", "good", "yes", "true", "success", "i.o.", "ja", "gut", "oui"})
NOT_PASSED = frozenset(
    {"fail", "failed", "nok", "not ok", "bad", "no", "false", "failure", "n.i.o.", "nein", "schlecht", "non"}
)

_PERCENT = re.compile(r"\s*([-+]?(?:\d+[.,]?\d*|[.,]\d+))\s*%\s*", re.ASCII)


def is_empty_cell(cell: Any) -> bool:
    """Whether a cell is empty, or holds what programs write for an empty one."""
    if is_spreadsheet_error(cell):  # something should be there, even if it is #N/A
        return False
    return is_missing(cell) or (isinstance(cell, str) and cell.strip().casefold() in BLANKS)


def parse_number(cell: Any) -> float:
    """Parse the finite number in a cell that is not blank; an `InputError` if there is none."""
    reason = describe_non_number(cell)
    if reason:
        raise InputError(f"is {reason}")
    if isinstance(cell, str):
        try:
            number = float(cell if "_" not in cell else "")  # 1_000 is Python, and not a number in a table
        except ValueError:
            raise InputError(f"is {format_value(cell)}, {_guess_reading(cell)}") from None
    elif isinstance(cell, numbers.Real | Decimal) and not isinstance(cell, bool):
        try:
            number = float(cell)
        except OverflowError:  # a whole number with hundreds of digits
            number = inf
    else:
        raise InputError(f"is {format_value(cell)} ({type(cell).__name__}), which is no number")
    if not isfinite(number):
        raise InputError(f"is {cell if isinstance(cell, str) else format_value(cell)}, which is not finite")
    return number


def _guess_reading(text: str) -> str:
    """Say what a text that is no number may mean, and what to do where that is known."""
    percent = _PERCENT.fullmatch(text)
    if percent:
        number = float(percent[1].replace(",", "."))
        either_way = f"{number:.15g} or {number / 100:.15g}"
        return f"which may be {either_way}: write the number alone, not shown as per cent"
    either = parse_ambiguous_number(text.strip())
    if either is not None:
        meant = " or ".join(either)
        return f"whose comma may be a decimal or a thousands separator: write {meant}, whichever is meant"
    return "which is no number"


def parse_result(cell: Any, choices: str = "a number, failed, or leave it blank") -> float:
    """Parse the finite number of a result; an `InputError` says what the cell may hold."""
    try:
        return parse_number(cell)
    except InputError as error:
        advice = "" if "write " in str(error) else f": write {choices}"
        raise InputError(f"{error}{advice}") from None


def parse_flag(cell: Any) -> bool | None:
    """Parse true, false, or None for a blank cell; an `InputError` for anything else."""
    word = str(cell).strip().casefold()
    if not is_empty_cell(cell) and word not in FLAGS:
        raise InputError(f"is {cell!r}; write true or false")
    return FLAGS.get(word)


def parse_label(cell: Any) -> float:
    """Parse +1 for pass, -1 for fail, in any spelling, or as true and false, 1 and 0, or ±1; else an `InputError`."""
    word = str(cell).strip().casefold()
    if word in PASSED or word in ("1", "1.0", "+1"):
        return 1.0
    if word in NOT_PASSED or word in ("0", "0.0", "-1", "-1.0"):
        return -1.0
    raise InputError(f"is {format_value(cell)}; write pass or fail")


def parse_trial_number(cell: Any) -> int | None:
    """Parse a whole number, 1 or more; None for a blank cell; an `InputError` for anything else."""
    if is_empty_cell(cell):
        return None
    number = parse_number(cell)
    if number % 1 != 0 or number < 1:
        raise InputError(f"is {cell!r}; a trial's number is a whole number, 1 or more")
    return int(number)


def parse_value(parameter: Parameter, cell: Any) -> Any:
    """Parse the parameter's value in a cell; an `InputError` if there is none.

    Categories are returned as they are: the model's box checks whether it knows them.
    """
    if isinstance(parameter, Categorical):
        if parameter.allows(cell):
            return parameter.recognise(cell)
        if is_spreadsheet_error(cell):
            raise InputError(f"is {describe_non_number(cell)}")
        if is_empty_cell(cell):
            raise InputError("is blank")
        return cell
    if is_empty_cell(cell):
        raise InputError("is blank")
    return parameter.recognise(parse_number(cell))


def convert_numeric_text(cells: list[Any]) -> list[Any]:
    """Convert a column's text to numbers if each filled cell is a number as a program would write it."""
    filled = [cell for cell in cells if not is_missing(cell) and cell != ""]
    if not filled or not all(isinstance(cell, str) and _is_plain_number(cell) for cell in filled):
        return cells
    whole = all(cell.lstrip("-").isdigit() for cell in filled)
    return [cell if is_missing(cell) or cell == "" else int(cell) if whole else float(cell) for cell in cells]


def _is_plain_number(text: str) -> bool:
    """Whether a text is a number; not 007, which is a label, nor nan."""
    digits = text.lstrip("-")
    if digits.startswith("0") and digits[1:2].isdigit():
        return False
    try:
        return isfinite(parse_number(text)) and len(text) <= 25  # longer ones would lose digits
    except InputError:
        return False
