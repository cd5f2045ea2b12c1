"""The form for a run and its result: its fields, what was typed into them, and the name of the person.

The name is kept in a cookie, so that it is typed once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isnan
from urllib.parse import quote, unquote

from starlette.requests import Request
from starlette.responses import Response

from tunedprior.errors import InputError
from tunedprior.goals.goal import format_goal
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.cells import parse_label
from tunedprior.history.trials import Trial, is_same_setting, recognise_setting
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Setting, Space
from tunedprior.web.complaints import InvalidFormError, format_short, parse_count, parse_number

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
