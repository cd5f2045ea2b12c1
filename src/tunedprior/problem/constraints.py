"""Known constraints: which settings may be run at all, beyond the range of each parameter."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite
from sys import float_info
from typing import Any

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.problem.parameters import Categorical, Numeric, Parameter, is_missing

# Numbers may miss their bounds by this part of their range, as people and searches round.
_SLACK = 1e-9
# And by this part of their size, as sums of floats do.
_ROUNDING = 16 * float_info.epsilon


class Constraint(ABC):
    """What a setting must satisfy; its text is how messages call it."""

    @abstractmethod
    def bind_parameters(self, parameters: Sequence[Parameter]) -> "Constraint":
        """The same for these parameters, or an `InputError` that says why it makes no sense for them."""

    @abstractmethod
    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Whether the setting satisfies it."""


@dataclass(frozen=True)
class LinearConstraint(Constraint):
    """A sum of parameters, each times a number, that must lie between `low` and `high`; equal to both, if they agree.

    Attributes:
        coefficients: The number for each parameter's name.
        low: The least that the sum may be; any when left out.
        high: The most.
        slack: By how much the sum may miss its bounds, which is rounding; it follows from the parameters' ranges.
        rounding: By how much of that it may because sums of floats do.

    >>> print(LinearConstraint({"a": 1, "b": -2}, high=3))
    a - 2*b <= 3
    """

    coefficients: Mapping[str, float] = field(hash=False)
    low: float = -inf
    high: float = inf
    slack: float = field(default=_SLACK, repr=False, compare=False, kw_only=True)
    rounding: float = field(default=0.0, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        given = self.coefficients
        if not isinstance(given, Mapping) or not given or not all(isinstance(name, str) for name in given):
            raise InputError(
                f'Linear needs a number for each name, such as {{"a": 1, "b": 2}}; got {format_value(given)}.'
            )
        numbers = {name: _check_number(one, f"The coefficient of {name!r}") for name, one in given.items()}
        numbers = {name: one for name, one in numbers.items() if one != 0}
        low = -inf if self.low is None or self.low == -inf else _check_number(self.low, "low")
        high = inf if self.high is None or self.high == inf else _check_number(self.high, "high")
        if not numbers:
            raise InputError("A linear constraint needs a parameter with a coefficient that is not 0; there is none.")
        if low > high or (low, high) == (-inf, inf):
            raise InputError(
                f"Linear needs low, high or both, low not above high; got low={low:g}, high={high:g}. They are the "
                "same for an equality."
            )
        for name, value in (("coefficients", numbers), ("low", low), ("high", high)):
            object.__setattr__(self, name, value)

    def bind_parameters(self, parameters: Sequence[Parameter]) -> "LinearConstraint":
        """With the slack that belongs to the parameters' ranges."""
        by_name = {parameter.name: parameter for parameter in parameters}
        magnitude = max((abs(edge) for edge in (self.low, self.high) if isfinite(edge)), default=0.0)
        width, apart = 0.0, inf
        for name, coefficient in self.coefficients.items():
            one = _get_parameter(name, by_name, self)
            if isinstance(one, Categorical):
                raise InputError(
                    f"The constraint {str(self)!r} takes numbers, and {name!r} is a category. Use OnlyWhen, or a "
                    "function of the setting."
                )
            magnitude += abs(coefficient) * max(abs(one.low), abs(one.high))
            width = max(width, abs(coefficient) * (one.high - one.low))
            apart = min(apart, abs(coefficient) * _compute_least_gap(one))
        rounding = _ROUNDING * magnitude
        # Sums of whole numbers are right or wrong by a whole one, however large the numbers are.
        return replace(self, slack=rounding + min(_SLACK * width, apart / 4), rounding=rounding)

    @property
    def is_equality(self) -> bool:
        """Whether the sum must have one value."""
        return self.low == self.high

    def compute_sum(self, setting: Mapping[str, Any]) -> float:
        """The sum at a setting."""
        return sum(coefficient * float(setting[name]) for name, coefficient in self.coefficients.items())

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Whether the sum is within its bounds, up to rounding."""
        return self.low - self.slack <= self.compute_sum(setting) <= self.high + self.slack

    def __str__(self) -> str:
        terms = "".join(
            f" {'-' if one < 0 else '+'} {'' if abs(one) == 1 else f'{abs(one):.12g}*'}{_format_name(name)}"
            for name, one in self.coefficients.items()
        )
        terms = terms.removeprefix(" + ") if terms.startswith(" + ") else "-" + terms.removeprefix(" - ")
        if self.is_equality:
            return f"{terms} == {self.low:.12g}"
        if isfinite(self.low) and isfinite(self.high):
            return f"{self.low:.12g} <= {terms} <= {self.high:.12g}"
        return f"{terms} >= {self.low:.12g}" if isfinite(self.low) else f"{terms} <= {self.high:.12g}"


@dataclass(frozen=True)
class Mixture(Constraint):
    """Parts that add up to a total.

    Attributes:
        parts: The parameters' names.
        total: Their sum.

    >>> print(Mixture(["water", "oil"]).equality)
    water + oil == 1
    """

    parts: Sequence[str] = field(hash=False)
    total: float = 1.0

    def __post_init__(self) -> None:
        parts = self.parts if isinstance(self.parts, Sequence) and not isinstance(self.parts, str) else ()
        if not all(isinstance(one, str) for one in parts) or len(set(parts)) < max(2, len(parts)):
            raise InputError(
                f'Mixture needs two or more different names, such as ["a", "b"]; got {format_value(self.parts)}.'
            )
        _check_number(self.total, "The total of a Mixture")

    @property
    def equality(self) -> LinearConstraint:
        """The same as a linear constraint."""
        return LinearConstraint(dict.fromkeys(self.parts, 1.0), self.total, self.total)

    def bind_parameters(self, parameters: Sequence[Parameter]) -> LinearConstraint:
        """The equality that it is."""
        return self.equality.bind_parameters(parameters)

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Whether the parts add up, up to rounding."""
        return self.equality.allows(setting)


@dataclass(frozen=True)
class OnlyWhen(Constraint):
    """A parameter that has any other value than `otherwise` only when others have the given values.

    Attributes:
        parameter: Its name.
        when: The value of each other parameter, or a list of values, by name.
        otherwise: The value it has in all other cases.
        slacks: By how much numbers may differ that are the same, by name; it follows from the parameters' ranges.

    >>> print(OnlyWhen("additive", {"catalyst": "B"}, otherwise="none"))
    additive is 'none' unless catalyst is 'B'
    """

    parameter: str
    when: Mapping[str, Any] = field(hash=False)
    otherwise: Any
    slacks: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.parameter, str):
            raise InputError(
                f"OnlyWhen begins with the name of a parameter, as text; got {format_value(self.parameter)}."
            )
        if not isinstance(self.when, Mapping) or not self.when or self.parameter in self.when:
            raise InputError(
                'OnlyWhen needs the values of one or more other parameters, such as {"catalyst": "B"}; got '
                f"{format_value(self.when)}."
            )
        several = {name: list(one) if isinstance(one, list | set) else [one] for name, one in self.when.items()}
        object.__setattr__(self, "when", several)

    def bind_parameters(self, parameters: Sequence[Parameter]) -> "OnlyWhen":
        """With values as the parameters have them."""
        by_name = {parameter.name: parameter for parameter in parameters}
        when = {}
        for name, values in self.when.items():
            one = _get_parameter(name, by_name, self)
            if one.count is None:
                raise InputError(
                    f"The constraint {str(self)!r} depends on {name!r}, which is a continuum: it is hardly ever one "
                    "value. Give it levels, or write a function of the setting."
                )
            when[name] = [_check_value(one, value, self) for value in values]
        otherwise = _check_value(_get_parameter(self.parameter, by_name, self), self.otherwise, self)
        slacks = {name: compute_slack(by_name[name]) for name in (self.parameter, *when)}
        return OnlyWhen(self.parameter, when, otherwise, slacks=slacks)

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Whether the parameter has the value that it has otherwise, or may differ from it."""
        met = all(
            any(self._is_same_value(name, setting[name], one) for one in values) for name, values in self.when.items()
        )
        return met or self._is_same_value(self.parameter, setting[self.parameter], self.otherwise)

    def _is_same_value(self, name: str, value: Any, other: Any) -> bool:
        if is_missing(value) or is_missing(other):
            return is_missing(value) and is_missing(other)
        if isinstance(value, int | float) and isinstance(other, int | float):
            return abs(value - other) <= self.slacks.get(name, _SLACK)
        return bool(value == other)

    def __str__(self) -> str:
        conditions = [f"{name} is {' or '.join(map(format_value, values))}" for name, values in self.when.items()]
        return f"{self.parameter} is {format_value(self.otherwise)} unless {' and '.join(conditions)}"


@dataclass(frozen=True)
class FunctionConstraint(Constraint):
    """A function of the setting that says whether it may be run.

    Attributes:
        function: It.
    """

    function: Callable[[dict[str, Any]], Any]

    @property
    def name(self) -> str:
        """What the function is called."""
        function = getattr(self.function, "func", self.function)  # functools.partial has no name
        return str(getattr(function, "__name__", type(function).__name__))

    def bind_parameters(self, parameters: Sequence[Parameter]) -> "FunctionConstraint":  # noqa: ARG002  # a function may look at any of them
        """It, as it is."""
        return self

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """What the function says; an `InputError` if it says anything but yes or no."""
        try:
            answer = self.function(dict(setting))
        except Exception as error:  # whatever a function of theirs may raise
            raise InputError(
                f"The constraint {self.name} failed for {dict(setting)} ({type(error).__name__}: {error}). It must "
                "take every setting of the search space and return True or False."
            ) from error
        if callable(getattr(answer, "item", None)):
            with suppress(ValueError, RuntimeError):  # an array or a tensor of several
                answer = answer.item()
        if not isinstance(answer, bool):
            raise InputError(
                f"The constraint {self.name} must return True or False; for {dict(setting)} it returned "
                f"{format_value(answer)}."
            )
        return answer

    def __str__(self) -> str:
        return self.name


def _check_number(value: Any, what: str) -> float:
    try:
        number = float(value) if not isinstance(value, bool | str | bytes) else inf
    except (TypeError, ValueError, OverflowError):
        number = inf
    if not isfinite(number):
        raise InputError(f"{what} must be a finite number; got {format_value(value)}.")
    return number


def _get_parameter(name: str, by_name: Mapping[str, Parameter], where: Constraint) -> Parameter:
    if name not in by_name:
        raise InputError(
            f"The constraint {str(where)!r} names {name!r}, which is no parameter. Parameters are "
            f"{format_list(by_name)}."
        )
    return by_name[name]


def _check_value(parameter: Parameter, value: Any, where: Constraint) -> Any:
    if isinstance(parameter, Numeric):
        value = _check_number(value, f"The value of {parameter.name!r} in the constraint {str(where)!r}")
    if not parameter.allows(value):
        offered = f"one of {format_list(parameter.list_values())}"
        if isinstance(parameter, Numeric) and parameter.count is None:
            offered = f"between {parameter.low:g} and {parameter.high:g}"
        raise InputError(
            f"In the constraint {str(where)!r}, {parameter.name!r} must be {offered}; got {format_value(value)}."
        )
    return parameter.recognise(value)


def compute_slack(parameter: Parameter) -> float:
    """By how much two numbers may differ that are the same value of this parameter."""
    if isinstance(parameter, Categorical):
        return _SLACK
    rounding = _ROUNDING * max(abs(parameter.low), abs(parameter.high))
    return rounding + min(_SLACK * (parameter.high - parameter.low), _compute_least_gap(parameter) / 4)


def _compute_least_gap(parameter: Numeric) -> float:
    """How far two values on a grid or on levels are apart at least; infinite where there is neither."""
    if parameter.low == parameter.high:
        return inf
    if parameter.levels is not None:
        return min(high - low for low, high in pairwise(parameter.levels))
    return inf if parameter.step is None else float(parameter.step)


def _format_name(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"
