"""Known constraints on settings, given as text, as objects, or as functions of a setting."""

import ast
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import inf, isfinite
from sys import float_info
from typing import Any
from unicodedata import normalize

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.space.parameters import Categorical, Numeric, Parameter, is_missing

# Numbers may miss their bounds by this part of their range, as people and searches round.
_SLACK = 1e-9
# And by this part of their size, as sums of floats do.
_ROUNDING = 16 * float_info.epsilon


class Constraint(ABC):
    """A condition that settings must satisfy; `str` of it is its name in messages."""

    @abstractmethod
    def bind_parameters(self, parameters: Sequence[Parameter]) -> "Constraint":
        """Return the constraint for these parameters; raise an `InputError` if it does not fit them."""

    @abstractmethod
    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Return whether a setting satisfies the constraint."""


@dataclass(frozen=True)
class LinearConstraint(Constraint):
    """low ≤ Σ_i c_i x_i ≤ high for parameters x_i; an equality if low = high.

    Attributes:
        coefficients: c_i by the parameter's name.
        low: The lower bound of the sum; none by default.
        high: The upper bound of the sum; none by default.
        slack: The tolerance of the bounds for rounding, which follows from the parameters' ranges.
        rounding: The part of the slack that allows for errors of floating-point sums.

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
        """Return the constraint with the slack that the parameters' ranges imply."""
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
        """Whether low = high."""
        return self.low == self.high

    def compute_sum(self, setting: Mapping[str, Any]) -> float:
        """Return Σ_i c_i x_i at a setting."""
        return sum(coefficient * float(setting[name]) for name, coefficient in self.coefficients.items())

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Return whether the sum is within its bounds, up to rounding."""
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
    """Parameters that add up to a total, such as the parts of a mixture.

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
        """The mixture as a linear constraint."""
        return LinearConstraint(dict.fromkeys(self.parts, 1.0), self.total, self.total)

    def bind_parameters(self, parameters: Sequence[Parameter]) -> LinearConstraint:
        """Return the mixture as a linear constraint on these parameters."""
        return self.equality.bind_parameters(parameters)

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Return whether the parts add up to the total, up to rounding."""
        return self.equality.allows(setting)


@dataclass(frozen=True)
class OnlyWhen(Constraint):
    """A parameter may differ from `otherwise` only when other parameters have given values.

    Attributes:
        parameter: Its name.
        when: The value of each other parameter, or a list of values, by name.
        otherwise: The value it has in all other cases.
        slacks: By name, the largest difference of numbers that count as equal; it follows from the parameters' ranges.

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
        """Return the condition with its values converted to those of the parameters."""
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
        """Return whether a setting satisfies the condition."""
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
    """A function that returns whether a setting may be run.

    Attributes:
        function: The function.
    """

    function: Callable[[dict[str, Any]], Any]

    @property
    def name(self) -> str:
        """The name of the function."""
        function = getattr(self.function, "func", self.function)  # functools.partial has no name
        return str(getattr(function, "__name__", type(function).__name__))

    def bind_parameters(self, parameters: Sequence[Parameter]) -> "FunctionConstraint":  # noqa: ARG002  # a function may look at any of them
        """Return the constraint unchanged."""
        return self

    def allows(self, setting: Mapping[str, Any]) -> bool:
        """Return the function's answer; raise an `InputError` if it is not True or False."""
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
    """Return the largest difference of two numbers that count as the same value of a parameter."""
    if isinstance(parameter, Categorical):
        return _SLACK
    rounding = _ROUNDING * max(abs(parameter.low), abs(parameter.high))
    return rounding + min(_SLACK * (parameter.high - parameter.low), _compute_least_gap(parameter) / 4)


def _compute_least_gap(parameter: Numeric) -> float:
    """Return the least distance of two values of a grid or of levels; infinite for other parameters."""
    if parameter.low == parameter.high:
        return inf
    if parameter.levels is not None:
        return min(high - low for low, high in pairwise(parameter.levels))
    return inf if parameter.step is None else float(parameter.step)


def _format_name(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


_MOST_CHARACTERS = 10_000
# Python's own stack holds a thousand calls; a sum of n terms is n levels deep.
_MOST_LEVELS = 400
_FORMS = '"a + 2*b <= 10", Mixture, Linear, OnlyWhen, or a function of a setting that returns True or False'
# A sum: the number for each name, and a constant.
_Sum = tuple[dict[str, float], float]


def parse_constraints(given: Sequence[Any], parameters: Sequence[Parameter]) -> tuple[Constraint, ...]:
    """Parse constraints in any form for these parameters, and drop duplicates."""
    found: list[Constraint] = []
    for one in given:
        found += [constraint.bind_parameters(parameters) for constraint in _parse_constraint(one, parameters)]
    return tuple(one for k, one in enumerate(found) if one not in found[:k])


def _parse_constraint(given: Any, parameters: Sequence[Parameter]) -> list[Constraint]:
    if isinstance(given, str):
        return list(_parse_linear(given, [parameter.name for parameter in parameters]))
    if isinstance(given, type) and issubclass(given, Constraint):
        raise InputError(f"A constraint is an object; got the class {given.__name__}. Write {given.__name__}(…).")
    if isinstance(given, Constraint):
        return [given]
    if callable(given):
        return [FunctionConstraint(given)]
    raise InputError(f"A constraint is {_FORMS}; got {type(given).__name__} {format_value(given)}.")


def _parse_linear(text: str, names: Sequence[str]) -> Iterator[LinearConstraint]:
    """The linear constraints that a text such as "0 <= a - b <= 2" states."""
    tree, by_word = _parse_expression(text, names)
    if not isinstance(tree, ast.Compare):
        raise _make_error(text, "is no comparison. Write <=, >= or ==, and one constraint in each text")
    sides = [_parse_sum(side, text, by_word) for side in (tree.left, *tree.comparators)]
    if len(sides) == 3 and not sides[0][0] and not sides[2][0] and type(tree.ops[0]) is type(tree.ops[1]):
        terms, low, high = _normalise_comparison(tree.ops[0], sides[0], sides[1], text)
        _, other_low, other_high = _normalise_comparison(tree.ops[1], sides[1], sides[2], text)
        if max(low, other_low) > min(high, other_high):
            raise _make_error(text, "has its bounds the wrong way round")
        yield LinearConstraint(terms, max(low, other_low), min(high, other_high))
        return
    for op, left, right in zip(tree.ops, sides, sides[1:], strict=False):
        yield LinearConstraint(*_normalise_comparison(op, left, right, text))


def _normalise_comparison(op: ast.cmpop, left: _Sum, right: _Sum, text: str) -> tuple[dict[str, float], float, float]:
    """The sum with all parameters on the left, or right if there are none there, and its bounds."""
    if not left[0] and right[0]:
        left, right = right, left
        op = {ast.LtE: ast.GtE(), ast.GtE: ast.LtE()}.get(type(op), op)
    names = dict.fromkeys([*left[0], *right[0]])
    terms = {name: left[0].get(name, 0.0) - right[0].get(name, 0.0) for name in names}
    terms = {name: one for name, one in terms.items() if one != 0}
    edge = right[1] - left[1]
    if not terms:
        raise _make_error(text, "compares numbers that no parameter changes. Name a parameter on one side")
    if not all(map(isfinite, [edge, *terms.values()])):
        raise _make_error(text, "has numbers that are not finite")
    if isinstance(op, ast.LtE):
        return terms, -inf, edge
    if isinstance(op, ast.GtE):
        return terms, edge, inf
    if isinstance(op, ast.Eq):
        return terms, edge, edge
    if isinstance(op, ast.Lt | ast.Gt):
        raise _make_error(text, "is strict. Write <= or >=, with the last value that may be, such as n <= 4 for n < 5")
    raise _make_error(text, "compares in a way that is none of <=, >= and ==")


def _parse_expression(text: str, names: Sequence[str]) -> tuple[ast.expr, dict[str, str]]:
    """The expression, and the parameter that each word in it stands for; it is never run."""
    if len(text) > _MOST_CHARACTERS:
        raise InputError(f"A constraint has {_MOST_CHARACTERS:,} characters at most; got {len(text):,}.")
    # Python reads every name in this form of Unicode: the micro sign becomes the Greek letter.
    by_word = {normalize("NFKC", name) if name.isidentifier() else f"`{name}`": name for name in names}
    quoted: list[str] = []

    def replace_quoted(found: re.Match[str]) -> str:
        quoted.append(found[1])
        return f" quoted_{len(quoted) - 1}__ "

    plain = re.sub("`([^`]*)`", replace_quoted, text)
    by_word |= {f"quoted_{k}__": _match_name(name, names, text) for k, name in enumerate(quoted)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's, of texts that are refused further on
            tree = ast.parse(plain.strip(), mode="eval").body
        _refuse_deep(tree, text)
        return tree, by_word
    except InputError:
        raise
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        hint = " Write == for an equality." if re.search(r"(?<![<>=!])=(?!=)", plain) else ""
        raise _make_error(
            text,
            f"cannot be read ({getattr(error, 'msg', None) or type(error).__name__}).{hint} Names with spaces or signs "
            "stand in backticks: `flow rate` <= 3",
        ) from None


def _refuse_deep(tree: ast.expr, text: str) -> None:
    """An `InputError` for an expression whose parts are nested too deep; which Python's stack would not hold."""
    level: list[ast.AST] = [tree]
    for _ in range(_MOST_LEVELS):
        level = [child for one in level for child in ast.iter_child_nodes(one)]
        if not level:
            return
    raise _make_error(text, f"has more than {_MOST_LEVELS} terms or brackets within each other. Write a shorter one")


def _match_name(name: str, names: Sequence[str], text: str) -> str:
    for one in names:
        if one == name or one.strip() == name.strip():
            return one
    raise _make_error(text, f"names {name!r}, which is no parameter. Parameters are {format_list(names)}")


def _parse_sum(node: ast.expr, text: str, by_word: Mapping[str, str]) -> _Sum:
    """An expression as a sum; an `InputError` if it is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        try:
            return {}, float(node.value)
        except OverflowError:
            raise _make_error(text, "has numbers that are not finite") from None
    if isinstance(node, ast.Name):
        if node.id not in by_word:
            known = format_list(dict.fromkeys(by_word.values()))
            raise _make_error(text, f"names {node.id!r}, which is no parameter. Parameters are {known}")
        return {by_word[node.id]: 1.0}, 0.0
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _multiply_sum(_parse_sum(node.operand, text, by_word), -1.0 if isinstance(node.op, ast.USub) else 1.0)
    if isinstance(node, ast.BinOp):
        left, right = _parse_sum(node.left, text, by_word), _parse_sum(node.right, text, by_word)
        if isinstance(node.op, ast.Add | ast.Sub):
            right = _multiply_sum(right, -1.0 if isinstance(node.op, ast.Sub) else 1.0)
            names = dict.fromkeys([*left[0], *right[0]])
            return {name: left[0].get(name, 0.0) + right[0].get(name, 0.0) for name in names}, left[1] + right[1]
        if isinstance(node.op, ast.Mult) and not (left[0] and right[0]):
            return _multiply_sum(right, left[1]) if not left[0] else _multiply_sum(left, right[1])
        if isinstance(node.op, ast.Div) and not right[0] and right[1] != 0:
            return _multiply_sum(left, 1 / right[1])
    raise _make_error(
        text,
        "is not linear. Write sums of parameters, each times a number, such as a + 2*b <= 10; for anything else give "
        "a function, such as lambda s: s['a'] * s['b'] <= 10",
    )


def _multiply_sum(one: _Sum, factor: float) -> _Sum:
    return {name: factor * coefficient for name, coefficient in one[0].items()}, factor * one[1]


def _make_error(text: str, why: str) -> InputError:
    return InputError(f"The constraint {format_value(text)} {why}.")
