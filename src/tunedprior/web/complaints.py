"""Errors of web requests with their HTTP status, and the parsing of numbers that people type.

A number has a decimal point or a decimal comma; a number that may mean two things is refused.
"""

import re
from collections.abc import Mapping

from tunedprior.checks import format_value
from tunedprior.errors import InputError, StorageError
from tunedprior.history.trials import Trial
from tunedprior.tables.cells import parse_ambiguous_number


class RequestError(InputError):
    """A rejected request; the message says why and what to do."""

    status = 422


class InvalidFormError(RequestError):
    """A form with wrong fields.

    Attributes:
        fields: What is wrong with each field, by its name in the form.
    """

    def __init__(self, fields: Mapping[str, str]) -> None:
        several = f"{len(fields)} entries need" if len(fields) > 1 else "One entry needs"
        super().__init__(f"{several} another look. Nothing was recorded yet, and what you typed is still here.")
        self.fields = dict(fields)


class NotFoundError(RequestError):
    """A page or trial that does not exist."""

    status = 404


class FormConflictError(RequestError):
    """A change that another person has already made differently.

    Attributes:
        trial: The trial as it is now.
    """

    status = 409

    def __init__(self, message: str, trial: Trial | None = None) -> None:
        super().__init__(message)
        self.trial = trial


class BusyError(RequestError):
    """Too many requests are waiting.

    Attributes:
        retry_after: Seconds after which to try again.
    """

    status = 503
    retry_after = 10


class ForeignFormError(RequestError):
    """A form that this page did not send to this browser."""

    status = 403


def get_http_status(error: InputError | StorageError) -> int:
    """Return the HTTP status for an error."""
    if isinstance(error, StorageError):
        return BusyError.status
    return error.status if isinstance(error, RequestError) else RequestError.status


_NUMBER = re.compile(r"[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_GROUPED = re.compile(r"[+-]?\d{1,3}(?:[., '’\u00a0\u2009\u202f]\d{3})+(?:[.,]\d*)?", re.ASCII)


def parse_number(text: str) -> float:
    """Parse a number as people type it; the `InputError` says how to write it.

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
    """Parse a whole number from 0 to `most`; None for any other text.

    >>> parse_count("12", 99), parse_count("9" * 5000, 99), parse_count("-1", 99)
    (12, None, None)
    """
    is_one = text.isdecimal() and len(text) <= len(str(most))
    return int(text) if is_one and int(text) <= most else None


def format_short(value: object) -> str:
    """Format a value with at most six significant digits.

    >>> format_short(0.30000000000000004), format_short(1234567.0), format_short(None)
    ('0.3', '1234567', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        text = f"{value:.6g}"
        return f"{value:.0f}" if "e+" in text and abs(value) < 1e9 else text
    return str(value)
