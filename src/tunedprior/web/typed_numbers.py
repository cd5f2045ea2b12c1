"""Numbers as people type them: with a decimal point or a decimal comma, and never one that may mean two things."""

import re

from tunedprior.checks import format_value
from tunedprior.errors import InputError
from tunedprior.files.cells import parse_ambiguous_number

_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[., '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?", re.ASCII)


def parse_number(text: str) -> float:
    """The number that was typed; an `InputError` that says how to write it.

    >>> parse_number(" 3,5 "), parse_number("−2.5e-3")
    (3.5, -0.0025)
    """
    plain = text.strip().replace("−", "-")
    either = parse_ambiguous_number(plain)
    if either is not None:
        point, whole = either
        raise InputError(f"{plain} may be {point} or {whole}. Write one of these.")
    if _NUMBER.fullmatch(plain):
        number = float(plain.replace(",", "."))
        if abs(number) == float("inf"):
            raise InputError(f"{format_value(plain)} is too large for a number.")
        return number
    if _GROUPED.fullmatch(plain):
        raise InputError(f"{plain} has a separator for thousands. Write it without, such as 1234.5.")
    raise InputError(f"{format_value(plain)} is no number. Write digits, such as 12.5 or 12,5.")


def parse_count(text: str, most: int) -> int | None:
    """A whole number from 0 to `most`; None for any other text, however long.

    >>> parse_count("12", 99), parse_count("9" * 5000, 99), parse_count("-1", 99)
    (12, None, None)
    """
    is_one = text.isdecimal() and len(text) <= len(str(most))
    return int(text) if is_one and int(text) <= most else None


def format_short(value: object) -> str:
    """A value as people read it: six digits, and no more of them than there are.

    >>> format_short(0.30000000000000004), format_short(1234567.0), format_short(None)
    ('0.3', '1234567', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        text = f"{value:.6g}"
        return f"{value:.0f}" if "e+" in text and abs(value) < 1e9 else text
    return str(value)
