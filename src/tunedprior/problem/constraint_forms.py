"""The forms in which constraints are given: as text, as objects, or as functions of a setting."""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite
from typing import Any
from unicodedata import normalize

from tunedprior.checks import format_list, format_value
from tunedprior.errors import InputError
from tunedprior.problem.constraints import Constraint, FunctionConstraint, LinearConstraint
from tunedprior.problem.parameters import Parameter

_MOST_CHARACTERS = 10_000
# Python's own stack holds a thousand calls; a sum of n terms is n levels deep.
_MOST_LEVELS = 400
_FORMS = '"a + 2*b <= 10", Mixture, Linear, OnlyWhen, or a function of a setting that returns True or False'
# A sum: the number for each name, and a constant.
_Sum = tuple[dict[str, float], float]


def parse_constraints(given: Sequence[Any], parameters: Sequence[Parameter]) -> tuple[Constraint, ...]:
    """Constraints in any form, for these parameters; each once."""
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
