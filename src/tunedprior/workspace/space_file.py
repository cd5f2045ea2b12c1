"""Read space files: YAML in which a person writes down the parameters, the constraints and the goals."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from tunedprior.checks import format_list, suggest_name
from tunedprior.errors import InputError
from tunedprior.goals.goal import DIRECTIONS, Goal, Target, parse_limits
from tunedprior.space.parameters import Description
from tunedprior.space.search_space import Space

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s+to\s+({_NUMBER})(?:\s+step\s+({_NUMBER})|\s+(log)(?:\s+digits\s+(\d+))?)?")
_TARGET = re.compile(rf"target\s+({_NUMBER})(?:\s+to\s+({_NUMBER}))?")
_LIMITS = re.compile(rf"({_NUMBER})\s+to\s+({_NUMBER})")
_WHOLE = re.compile(r"[-+]?\d+")
_MOST_BYTES, _MOST_LEVELS = 2**20, 20
_MOST_DIGITS = 400  # a float has 309 before the point at most
_PLAIN_TAGS = (None, "!", *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "seq", "map", "null")))
_PARTS = ("parameters", "goals", "limits", "requirements", "constraints")


@dataclass(frozen=True)
class SpaceFile:
    """The content of a space file.

    Attributes:
        parameters: As for `Optimizer(space=…)`.
        goals: What is wanted of each response, by name.
        requirements: As for `Optimizer`.
        constraints: As for `Optimizer`.
        limits: What each response cannot be beyond, as for `Optimizer`.
    """

    parameters: dict[str, Description]
    goals: dict[str, Goal] = field(default_factory=dict)
    requirements: dict[str, str] = field(default_factory=dict)
    constraints: list[str] = field(default_factory=list)
    limits: dict[str, Any] = field(default_factory=dict)

    @property
    def space(self) -> Space:
        """The search space with its constraints."""
        return Space.parse(self.parameters).add_constraints(self.constraints)


def read_space_file(path: str | PathLike[str]) -> SpaceFile:
    """Read a space file; an `InputError` names the line that cannot be understood, and says how to write it."""
    path = Path(path)
    if not path.is_file():
        raise InputError(
            f"There is no space file {str(path)!r}. Draft one from old data: tunedprior space old.csv -o {path.name}"
        )
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(
            f"{path.name} must be a space file; it has more than {_MOST_BYTES // 2**20} MiB. Name another."
        )
    try:
        return parse_space_text(path.read_text(encoding="utf-8-sig"), path.name)
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} must be text in UTF-8: {error}. Save it again as UTF-8.") from error


def parse_space_text(text: str, origin: str) -> SpaceFile:
    r"""Parse the text of a space file.

    >>> read = parse_space_text("parameters:\n  heat: 20 to 90 step 5\n  gas: [air, argon]", "space.yaml")
    >>> read.parameters
    {'heat': (20, 90, 5), 'gas': ['air', 'argon']}
    """
    try:
        _refuse_unusual(text, origin)
        node = yaml.compose(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InputError(
            f"{origin}, line {line}: {error.problem}. Compare it with what `tunedprior space` drafts."
        ) from error
    except (yaml.YAMLError, UnicodeError, ValueError, LookupError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{origin} cannot be read: {reason}. Compare it with what `tunedprior space` drafts."
        ) from error
    parts = _parse_mapping(node, origin, "a space file has the parts " + format_list(_PARTS))
    unknown = [name for name in parts if name not in _PARTS]
    if unknown or "parameters" not in parts:
        wrong = f"has {format_list(map(repr, unknown))}" if unknown else "has no 'parameters'"
        raise InputError(
            f"{origin} {wrong}; its parts are {format_list(_PARTS)}, of which the first must be there."
            f"{suggest_name(unknown, _PARTS)}"
        )
    parameters = _parse_each(parts["parameters"], origin, _parse_description_node)
    goals = _parse_each(parts.get("goals"), origin, _parse_goal_node)
    requirements = _parse_each(parts.get("requirements"), origin, _parse_text_node)
    constraints = parts.get("constraints")
    if constraints is None or _is_null(constraints):
        lines = []
    elif isinstance(constraints, yaml.SequenceNode):
        lines = [_parse_text_node(one, "constraints", origin) for one in constraints.value]
    else:
        lines = [_parse_text_node(constraints, "constraints", origin)]
    return SpaceFile(
        parameters, goals, requirements, lines, _parse_each(parts.get("limits"), origin, _parse_limits_node)
    )


def parse_goal_text(text: str) -> Goal | None:
    """Parse `maximize`, `minimize`, `target 500` or `target 480 to 520`; None for any other text."""
    if text.lower() in DIRECTIONS:
        return text.lower()
    found = _TARGET.fullmatch(text.strip())
    return None if found is None else Target(*(float(one) for one in found.groups() if one is not None))


def _refuse_unusual(text: str, origin: str) -> None:
    """An `InputError` for what a space file has no use for, before anything is built: deep nesting, aliases, tags."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.BaseLoader):
        line = event.start_mark.line + 1
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MOST_LEVELS:
            raise InputError(f"{origin}, line {line}: a space file has {_MOST_LEVELS} levels at most; this has more.")
        if isinstance(event, yaml.AliasEvent):
            raise InputError(f"{origin}, line {line}: *{event.anchor} stands for something else. Write it out.")
        tag = getattr(event, "tag", None)
        if tag not in _PLAIN_TAGS:
            raise InputError(f"{origin}, line {line}: {tag!r} has no meaning here. Leave it out.")


def _parse_each(node: yaml.Node | None, origin: str, read: Callable[[yaml.Node, str, str], Any]) -> dict[str, Any]:
    if node is None or _is_null(node):
        return {}
    return {name: read(one, name, origin) for name, one in _parse_mapping(node, origin, "names with a colon").items()}


def _parse_mapping(node: yaml.Node | None, origin: str, expected: str) -> dict[str, yaml.Node]:
    """The names and contents of a mapping, where no name is there twice."""
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1 if node is not None else 1
        raise InputError(f"{origin}, line {line}: {expected} was expected here.")
    found: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise InputError(f"{origin}, line {key.start_mark.line + 1}: a name was expected here, and no list.")
        if key.value in found:
            raise InputError(f"{origin}, line {key.start_mark.line + 1}: {key.value!r} is there twice. Keep one.")
        found[key.value] = value
    return found


def _parse_description_node(node: yaml.Node, name: str, origin: str) -> Description:
    if isinstance(node, yaml.SequenceNode):
        values = [_parse_text_node(one, name, origin) for one in node.value]
        are_numbers = all(re.fullmatch(_NUMBER, one) for one in values)
        return [_parse_number(one, name, origin, node) for one in values] if are_numbers else values
    found = _RANGE.fullmatch(node.value.strip()) if isinstance(node, yaml.ScalarNode) else None
    if found is None:
        got = f"; got {node.value!r}" if isinstance(node, yaml.ScalarNode) else ""
        raise InputError(
            f"{origin}, line {node.start_mark.line + 1}: {name} must be a range, such as 20 to 90, 20 to 90 step 5 or "
            f"0.1 to 10 log digits 3 (with decimal points), or a list of values, such as [A, B]{got}."
        )
    low, high, step, log, digits = found.groups()
    ends = (_parse_number(low, name, origin, node), _parse_number(high, name, origin, node))
    if digits:
        return (*ends, "log", int(_parse_number(digits, name, origin, node)))
    return (*ends, "log") if log else (*ends, _parse_number(step, name, origin, node)) if step else ends


def _parse_goal_node(node: yaml.Node, name: str, origin: str) -> Goal:
    goal = parse_goal_text(_parse_text_node(node, name, origin))
    if goal is None:
        raise InputError(
            f"{origin}, line {node.start_mark.line + 1}: what is wanted of {name} must be maximize, minimize, "
            f"target 500 or target 480 to 520; got {node.value!r}."
        )
    return goal


def parse_limits_text(text: str, response: str) -> Any:
    """Parse `0 to 100`, `>= 0` or `<= 100` for `Goals.parse(limits=…)`; an `InputError` for any other text."""
    found = _LIMITS.fullmatch(text.strip())
    given = text if found is None else tuple(map(float, found.groups()))
    try:
        parse_limits(response, given)
    except InputError as error:
        raise InputError(
            f'The limits of {response!r}, which it cannot be beyond, are written 0 to 100, ">= 0" or "<= 100"; got '
            f"{text!r}."
        ) from error
    return given


def _parse_limits_node(node: yaml.Node, name: str, origin: str) -> Any:
    try:
        return parse_limits_text(_parse_text_node(node, name, origin), name)
    except InputError as error:
        raise InputError(f"{origin}, line {node.start_mark.line + 1}: {error}") from error


def _parse_text_node(node: yaml.Node, name: str, origin: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise InputError(f"{origin}, line {node.start_mark.line + 1}: {name} must be single values here.")
    return str(node.value).strip()


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.ScalarNode) and node.value in ("", "null", "~")


def _parse_number(text: str, name: str, origin: str, node: yaml.Node) -> int | float:
    if len(text) > _MOST_DIGITS or abs(float(text)) == inf:
        raise InputError(f"{origin}, line {node.start_mark.line + 1}: {name} has a number that is too large.")
    return int(text) if _WHOLE.fullmatch(text) else float(text)
