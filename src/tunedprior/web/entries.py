"""What people type: the form for a run and its result, numbers, their name, and the errors that say what is wrong.

A number has a decimal point or a decimal comma; a number that may mean two things is refused. The name of the person is
kept in a cookie, so that it is typed once.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from tunedprior.checks import format_value
from tunedprior.errors import InputError, StorageError
from tunedprior.goals.goal import format_goal
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.cells import parse_label
from tunedprior.history.trials import Trial, is_same_setting, recognise_setting
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Setting, Space
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


#: What a form's buttons mean.
WORKED, FAILED = "worked", "failed"
_PASS, _FAIL = "pass", "fail"
#: No note needs more, and a request is no place for a book.
MOST_LETTERS = {"note": 2000, "who": 80}


@dataclass(frozen=True)
class Choice:
    """An option of a field."""

    value: str
    text: str


@dataclass(frozen=True)
class Field:
    """A field of a form.

    Attributes:
        name: Its name in the form.
        label: What people call it.
        hint: What may be written.
        text: What stands in it.
        choices: What it offers, if it is no text.
        wrong: What is wrong with what was typed.
    """

    name: str
    label: str
    hint: str = ""
    text: str = ""
    choices: tuple[Choice, ...] = ()
    wrong: str = ""


def fill_field(field: Field, typed: Mapping[str, str] | None, wrong: Mapping[str, str] | None) -> Field:
    """Return the field with what was typed into it, if anything was, and with what is wrong with that."""
    return replace(field, text=(typed or {}).get(field.name, field.text), wrong=(wrong or {}).get(field.name, ""))


@dataclass(frozen=True)
class Entry:
    """The parsed content of a form.

    Attributes:
        setting: What was run.
        values: What was measured, by response; +1 and -1 for pass and fail.
        failed: Whether the run gave nothing.
        note: Whatever is to be kept with it.
        who: Who says so.
    """

    setting: Setting
    values: Mapping[str, float] = field(default_factory=dict)
    failed: bool = False
    note: str = ""
    who: str = ""

    def is_told_by(self, trial: Trial, goals: Goals) -> bool:
        """Return whether a trial already has the same content."""
        told = {one.name: one.get_value(trial) for one in goals.responses}
        told = {name: value for name, value in told.items() if not isnan(value)}
        same = told == dict(self.values) and trial.failed == self.failed and trial.note == self.note
        return same and is_same_setting(trial.setting, self.setting)


@dataclass(frozen=True)
class ResultForm:
    """The form for the results of a campaign.

    Attributes:
        space: What may be set.
        goals: What is measured.
    """

    space: Space
    goals: Goals

    def build_parameter_fields(
        self, setting: Setting | None, typed: Mapping[str, str] | None = None, wrong: Mapping[str, str] | None = None
    ) -> list[Field]:
        """Build the fields for the setting, filled with `setting` or with what was typed."""
        fields = (
            Field(
                f"p{position}",
                one.name,
                format_hint(one),
                "" if setting is None else _format_parameter(one, setting[one.name]),
                _list_choices(one),
            )
            for position, one in enumerate(self.space.parameters)
        )
        return [fill_field(one, typed, wrong) for one in fields]

    def build_response_fields(
        self, trial: Trial | None, typed: Mapping[str, str] | None = None, wrong: Mapping[str, str] | None = None
    ) -> list[Field]:
        """Build the fields for the responses, filled with a trial's values or with what was typed."""
        verdicts = (Choice("", "not measured"), Choice(_PASS, _PASS), Choice(_FAIL, _FAIL))
        fields = (
            Field(
                f"r{position}",
                one.name,
                self._describe_goal(one),
                "" if trial is None else format_exact_response(one, one.get_value(trial)),
                verdicts if one.labels else (),
            )
            for position, one in enumerate(self.goals.responses)
        )
        return [fill_field(one, typed, wrong) for one in fields]

    def parse_entry(self, typed: Mapping[str, str], shown: Setting | None = None) -> Entry:
        """Parse a form; an `InvalidFormError` names every wrong field.

        Args:
            typed: The form's fields.
            shown: The setting that the form was filled with: numbers that were left as they stood there keep all their
                digits.
        """
        wrong: dict[str, str] = {}
        setting: dict[str, object] = {}
        for position, parameter in enumerate(self.space.parameters):
            text = typed.get(f"p{position}", "").strip()
            try:
                setting[parameter.name] = _parse_parameter(parameter, text, shown)
            except InputError as error:
                wrong[f"p{position}"] = str(error)
        values: dict[str, float] = {}
        for position, response in enumerate(self.goals.responses):
            text = typed.get(f"r{position}", "").strip()
            try:
                if text:
                    values[response.name] = parse_label(text) if response.labels else parse_number(text)
                    response.refuse_impossible_value(values[response.name])
                    beyond = response.describe_limit_violation(values[response.name])
                    if beyond and typed.get(f"refused-r{position}") != text:
                        raise InputError(f"{beyond}. If it was measured so, send it again.")
            except InputError as error:
                wrong[f"r{position}"] = str(error)
        failed = typed.get("outcome", WORKED) == FAILED
        if failed and (values or any(name.startswith("r") for name in wrong)):
            wrong["r0"] = "A run that failed has no result. Clear what is typed here, or record it as a result."
        elif not failed and not values and not any(name.startswith("r") for name in wrong):
            wrong["r0"] = "Type what was measured here, or say that the run failed."
        for name, most in MOST_LETTERS.items():
            if len(typed.get(name, "")) > most:
                wrong[name] = f"This has {len(typed[name])} letters, and there is room for {most}."
        if wrong:
            raise InvalidFormError(wrong)
        note, who = (clean_line(typed.get(name, "")) for name in ("note", "who"))
        return Entry(recognise_setting(setting, self.space), values, failed, note, who)

    def _describe_goal(self, response: Objective) -> str:
        """What is wanted of one of several responses; of a single one, the head of the page says it."""
        if len(self.goals.responses) == 1 and not self.goals.requirements:
            return ""
        required = [str(one) for one in self.goals.requirements if one.response == response.name]
        wanted = [format_goal(response.direction, "it")] if response in self.goals.objectives else []
        return "; ".join((*wanted, *(f"required: {one}" for one in required)))


def format_hint(parameter: Parameter) -> str:
    """Describe the allowed values of a parameter, such as "20 to 90 in steps of 5"."""
    if isinstance(parameter, Categorical):
        return ""
    if parameter.levels is not None:
        return ", ".join(map(format_short, parameter.levels))
    step = f" in steps of {format_short(parameter.step)}" if parameter.step is not None else ""
    digits = f", to {parameter.digits} significant digits" if parameter.digits is not None else ""
    return f"{format_short(parameter.low)} to {format_short(parameter.high)}{step}{digits}"


def format_exact_response(response: Objective, value: float) -> str:
    """Format a response with all digits, as it would be typed; "" if it was not measured."""
    if isnan(value):
        return ""
    return (_PASS if value > 0 else _FAIL) if response.labels else f"{value:.15g}"


def _format_parameter(parameter: Parameter, value: object) -> str:
    if isinstance(parameter, Numeric):
        return format_short(value)
    position = next((k for k, one in enumerate(parameter.choices) if is_same_setting({"": one}, {"": value})), None)
    return "" if position is None else str(position)


def _list_choices(parameter: Parameter) -> tuple[Choice, ...]:
    choices = parameter.choices if isinstance(parameter, Categorical) else ()
    return tuple(Choice(str(position), format_short(one)) for position, one in enumerate(choices))


def clean_line(text: str) -> str:
    """Remove characters that are not allowed in a line or in some databases."""
    return "".join(letter if letter.isprintable() else " " for letter in text).strip()


def _parse_parameter(parameter: Parameter, text: str, shown: Setting | None) -> object:
    if shown is not None and text == _format_parameter(parameter, shown[parameter.name]):
        return shown[parameter.name]
    if isinstance(parameter, Categorical):
        position = parse_count(text, len(parameter.choices) - 1)
        if position is not None:
            return parameter.choices[position]
        raise InputError("Choose one of the values.")
    if not text:
        raise InputError("Say what it was set to.")
    return parse_number(text)


_COOKIE = "tunedprior-who"
_YEAR = 365 * 24 * 3600


def read_name(request: Request) -> str:
    """Return the person's name from the cookie; "" if there is none."""
    return clean_line(unquote(request.cookies.get(_COOKIE, "")))[: MOST_LETTERS["who"]]


def keep_name(response: Response, name: str) -> None:
    """Set the cookie with the person's name, or delete it for an empty name."""
    name = clean_line(name)[: MOST_LETTERS["who"]]
    age = _YEAR if name else 0
    response.set_cookie(_COOKIE, quote(name, safe=""), age, path="/", httponly=True, samesite="lax")
