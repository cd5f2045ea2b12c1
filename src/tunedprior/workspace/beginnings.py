"""Turn what people type into the arguments of a new campaign."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tunedprior.campaign.optimizer import Optimizer
from tunedprior.checks import format_list
from tunedprior.errors import InputError
from tunedprior.goals.goal import MAXIMIZE, MINIMIZE, Goal
from tunedprior.goals.goals import Goals
from tunedprior.space.parameters import Description
from tunedprior.suggestion.config import UNINFORMED, TransferConfig
from tunedprior.workspace.space_file import parse_goal_text, parse_limits_text


def collect_goals(
    written: Mapping[str, Goal], maximize: Sequence[str], minimize: Sequence[str], targets: Sequence[str]
) -> dict[str, Goal]:
    """Merge the goals of the space file with those typed; an `InputError` if there are none.

    >>> collect_goals({}, ["yield"], [], ["length=480..520"])
    {'yield': 'maximize', 'length': Target(low=480.0, high=520.0)}
    """
    typed = [(name, MAXIMIZE) for name in maximize] + [(name, MINIMIZE) for name in minimize]
    found: dict[str, Goal] = dict(written)
    for name, goal in [*typed, *map(_parse_target_option, targets)]:
        if name in found and found[name] != goal:
            raise InputError(f"{name!r} has two goals, {found[name]} and {goal}. Keep one.")
        found[name] = goal
    if not found:
        raise InputError(
            "Say what is wanted: --maximize yield, --minimize cost, or --target length=500; or write it into the space "
            "file under goals."
        )
    return found


def parse_requirement_options(texts: Sequence[str]) -> dict[str, str]:
    """Parse the requirements on responses.

    >>> parse_requirement_options(["purity >= 0.95", "quality pass"])
    {'purity': '>= 0.95', 'quality': 'pass'}
    """
    found = {}
    for text in texts:
        at = next((text.index(sign) for sign in (">=", "<=", ">", "<") if sign in text), None)
        if at is None and text.split()[-1:] == ["pass"] and len(text.split()) > 1:
            at = text.rindex("pass")
        if not at:
            raise InputError(f"A requirement is written 'purity >= 0.95' or 'quality pass'; got {text!r}.")
        found[text[:at].strip()] = text[at:].strip()
    return found


def parse_limit_options(texts: Sequence[str]) -> dict[str, Any]:
    """Parse the physical limits of responses.

    >>> parse_limit_options(["yield=0..100", "time >= 0"])
    {'yield': (0.0, 100.0), 'time': '>= 0'}
    """
    found = {}
    for text in texts:
        at = next((text.index(sign) for sign in (">=", "<=", "=") if sign in text), 0)
        name, ends = text[:at].strip(), text[at:].strip()
        if not name:
            raise InputError(f"Limits are written yield=0..100 or 'time >= 0'; got {text!r}.")
        written = ends[1:].replace("..", " to ") if ends.startswith("=") else ends
        found[name] = parse_limits_text(written, name)
    return found


def parse_old_data_options(given: Sequence[str]) -> dict[str, str] | None:
    """Parse old data files; the name of each is the one typed before it, or the file's own."""
    found: dict[str, str] = {}
    for one in given:
        before, equals, after = one.partition("=")
        name, path = (before, after) if equals and not Path(one).exists() else (Path(one).stem, one)
        if name in found:
            raise InputError(f"There are two old data sets called {name!r} ({format_list(given)}). Write NAME=FILE.")
        found[name] = path
    return found or None


def refuse_useless_old_data(
    sets: Mapping[str, str],
    parameters: Mapping[str, Description],
    constraints: Sequence[str],
    goals: Goals,
) -> None:
    """Raise an `InputError` for old data without a usable row, or without most parameters, before anything is created.

    Most parameters are rarely missing on purpose: a device names its columns anew.

    Args:
        sets: The files, by name.
        parameters: What may be set.
        constraints: What must hold.
        goals: What is wanted.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all of it is said again when it is learnt from
        transfer = TransferConfig(UNINFORMED)
        begun = Optimizer(parameters, sets, objectives=goals, constraints=constraints, transfer=transfer)
    for one in begun.old_data_report.sets:
        if one.used == 0:
            why = " ".join(finding.text for finding in one.findings) or "It has no rows."
            raise InputError(
                f"Nothing can be learnt from {sets.get(one.name, one.name)!r}: {why} See: tunedprior audit. To begin "
                "without it, leave it out, or add --anyway."
            )
        absent = [finding.column for finding in one.findings if finding.kind == "absent"]
        if 2 * len(absent) > len(parameters):
            others = "".join(f" {finding.text}" for finding in one.findings if finding.kind == "extra columns")
            raise InputError(
                f"{sets.get(one.name, one.name)!r} has no column for most parameters: {format_list(absent)}.{others} "
                "If some of them have other names there, give the columns the names of the space file, or the space "
                "file theirs. To begin with what is there, add --anyway."
            )


def _parse_target_option(text: str) -> tuple[str, Goal]:
    name, _, value = text.rpartition("=")
    goal = parse_goal_text(f"target {value.replace('..', ' to ')}")
    if not name or goal is None:
        raise InputError(
            f"A target is written length=500 or length=480..520; got {text!r}. If it is the column of the response, "
            "write it into the space file under goals, or after --maximize or --minimize."
        )
    return name.strip(), goal
