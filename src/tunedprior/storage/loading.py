"""Load a saved campaign: check the form of the file, then its content, and build an optimiser from it."""

from collections import Counter
from collections.abc import Mapping
from math import inf, nan
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from tunedprior.checks import format_list, refuse_other_types, warn
from tunedprior.errors import FileFormatError, InputError, OldDataWarning
from tunedprior.goals.goal import MAXIMIZE, MINIMIZE, Requirement, Target
from tunedprior.goals.goals import Goals, make_goals
from tunedprior.history.trials import CANCELLED, COMPLETE, FAILED, PENDING, WITHDRAWN, History, Trial
from tunedprior.space.constraints import Constraint, FunctionConstraint, LinearConstraint, OnlyWhen
from tunedprior.space.parameters import Categorical, Numeric, Parameter
from tunedprior.space.search_space import Space
from tunedprior.storage.file_guard import OldSource
from tunedprior.storage.saved_campaign import (
    FORMAT,
    VERSION,
    CampaignHeader,
    Cell,
    SavedArguments,
    SavedCampaign,
    SavedCategorical,
    SavedFunction,
    SavedLinear,
    SavedNumeric,
    SavedOnlyWhen,
    SavedRequirement,
    SavedTarget,
    SavedTrial,
    compute_checksum,
    decode_cell,
)
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import check_file_name
from tunedprior.weight_prior.sources import name_sources

_MOST_BYTES = 200_000_000
# The last version whose files have no checksum of what defines the campaign.
_WITHOUT_CHECKSUM = 2
#: Arguments that belong to the campaign: what was told is worth nothing with others.
_FIXED = ("space", "direction", "target", "objectives", "requirements")


def read_campaign(path: str | PathLike[str]) -> SavedCampaign:
    """Read a campaign's file and check its form; a `FileFormatError` if it is no campaign or damaged."""
    given = check_file_name(path)
    file = Path(given)
    if not file.is_file():
        what = f"{given!r} is a folder" if file.is_dir() else f"There is no file {given!r}"
        raise InputError(f"{what}. Name a file that opt.save(path) wrote.")
    if file.stat().st_size > _MOST_BYTES:
        raise FileFormatError(f"{given!r} is too large for a campaign.")
    return decode_campaign(file.read_bytes(), repr(given))


def decode_campaign(data: bytes, given: str) -> SavedCampaign:
    """Parse the bytes of a campaign and check their form; errors name the file as `given`."""
    try:
        header = msgspec.json.decode(data, type=CampaignHeader)
        if header.format != FORMAT:
            raise FileFormatError(f"{given} does not hold a campaign. Make one with opt.save(path).")
        if header.version > VERSION:
            raise FileFormatError(
                f"{given} has format version {header.version}; this tunedprior reads up to {VERSION}. Update it."
            )
        return msgspec.json.decode(data, type=SavedCampaign)
    except msgspec.DecodeError as error:
        if isinstance(error, msgspec.ValidationError) or "truncated" not in str(error) or not data.strip():
            raise _make_format_error(given, error) from error
        raise FileFormatError(
            f"{given} is damaged: it ends in the middle, as if it had been cut off when it was copied. Take a whole "
            "copy of it."
        ) from error
    except (msgspec.MsgspecError, UnicodeError, RecursionError, OverflowError) as error:
        raise _make_format_error(given, error) from error


def _make_format_error(given: str, error: Exception) -> FileFormatError:
    return FileFormatError(f"{given} is not a campaign that opt.save(path) wrote, or is damaged: {error}.")


def build_arguments(
    saved: SavedCampaign, path: str | PathLike[str], old_data: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of the `Optimizer`: from the file, the old data and the options passed by the user."""
    fixed = [name for name in options if name in _FIXED]
    if fixed:
        raise InputError(f"{format_list(fixed)} belongs to the campaign and cannot be changed. Make a new Optimizer.")
    again = [name for name in saved.arguments.objects if name not in options]
    if again:
        raise InputError(
            f"The campaign was made with objects that no file can hold. Give them again: "
            f"Optimizer.load(path, {', '.join(f'{name}=…' for name in again)})."
        )
    own, space = saved.arguments, decode_space(saved, path)
    _refuse_other_functions(saved, space, options)
    shared = options.get("suggester")
    if shared is not None:
        refuse_other_types(shared, Suggester, "suggester", "a Suggester, such as opt.suggester")
    if shared is not None and (
        (shared.space.without_functions, _drop_preference(shared.goals))
        != (space, _drop_preference(decode_goals(saved)))
    ):
        raise InputError("The suggester has another space, direction or target than the campaign.")
    plain = {name: getattr(own, name) for name in ("seed", "beta", "initial", "prior", "failures")}
    plain |= _build_goal_arguments(own)
    plain |= {"ard": own.ard, "space": space, "old_data": _collect_old_data(saved, path, old_data)}
    plain |= {"design": own.design} | ({"relation": own.relations} if own.relations else {})
    return plain | ({} if own.acquisition is None else {"acquisition": own.acquisition}) | dict(options)


def _build_goal_arguments(own: SavedArguments) -> dict[str, Any]:
    """Convert the goals to arguments of the `Optimizer`."""
    if own.goals is None:
        return {"direction": own.direction, "target": own.target, "noise_std": own.noise_std}
    each, required = own.goals.objectives, own.goals.requirements
    goals = {
        one.name: Target(one.goal.low, one.goal.high) if isinstance(one.goal, SavedTarget) else one.goal for one in each
    }
    bounds = {
        name: f"<= {-utility!r}" if goals[name] == MINIMIZE else f">= {utility!r}"
        for name, utility in own.goals.bounds.items()
    }
    return {
        "objectives": goals,
        "requirements": {one.name: Requirement(one.name, *_decode_range(one), one.labels) for one in required},
        "preference": own.goals.weights or bounds or None,
        "noise_std": {one.name: one.noise_std for one in each if one.noise_std is not None},
        "log": [one.name for one in each if one.log],
        "limits": {one.name: _format_limits(*one.limits) for one in each if one.limits is not None},
    }


def _format_limits(low: float | None, high: float | None) -> Any:
    """Limits as the argument has them; one of them may be open."""
    return f">= {low!r}" if high is None else f"<= {high!r}" if low is None else (low, high)


def decode_goals(saved: SavedCampaign) -> Goals:
    """Return the goals in the file."""
    arguments = {"target": "y", "direction": MAXIMIZE} | _build_goal_arguments(saved.arguments)
    return make_goals(**arguments)


def _drop_preference(goals: Goals) -> tuple[object, ...]:
    return tuple((one.name, one.direction) for one in goals.objectives), goals.requirements


def _refuse_other_functions(saved: SavedCampaign, space: Space, options: Mapping[str, Any]) -> None:
    """Raise an `InputError` unless each constraint that is a function was passed again."""
    functions = Counter(one.name for one in saved.arguments.constraints if isinstance(one, SavedFunction))
    if "constraints" in saved.arguments.objects:
        given = space.add_constraints_unchecked(options["constraints"]).constraints
        missing = functions - Counter(one.name for one in given if isinstance(one, FunctionConstraint))
        if missing:
            raise InputError(
                f"The campaign has constraints that are functions: {format_list(functions.elements())}. Give "
                "them again: "
                f"Optimizer.load(path, constraints=[…]). Without {format_list(missing)} suggestions might violate them."
            )


def _collect_old_data(saved: SavedCampaign, path: str | PathLike[str], given: Any) -> dict[str, Any] | None:
    known = {one.name: one for one in saved.old_data}
    found = name_sources(given)
    if len(found) == len(known) == 1:
        found = dict(zip(known, found.values(), strict=True))  # the only one, whatever it is called now
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(
            f"The campaign's old data is called {format_list(known)}; got {format_list(unknown)}. Give it by "
            "these names."
            if known
            else "The campaign had no old data, and what was told would not fit to it now. Make a new Optimizer."
        )
    for name, one in known.items():
        if name in found:
            continue
        file = None if one.path is None else Path(path).resolve().parent / one.path
        if file is None or not file.is_file():
            where = "was no file" if file is None else f"was read from {str(file)!r}, and there is no such file"
            raise InputError(f"The old data {name!r} {where}. Give it again: Optimizer.load(path, old_data=…).")
        found[name] = file
    return {name: found[name] for name in known} or None


def refuse_changed(saved: SavedCampaign, path: str | PathLike[str]) -> None:
    """Raise a `FileFormatError` if the arguments in the file are valid but not those that were saved."""
    if saved.checksum != compute_checksum(saved) and (saved.checksum or saved.version > _WITHOUT_CHECKSUM):
        raise FileFormatError(
            f"{str(path)!r} was changed since it was saved: its checksum is not that of its arguments (space, goals, "
            "seed and all others). Undo the change, or go on from a copy of before. To go on with other arguments, "
            "give them to Optimizer.load(path, …), or make a new Optimizer and have it resume the history."
        )


def warn_of_changes(saved: SavedCampaign, now: tuple[OldSource, ...]) -> None:
    """Issue an `OldDataWarning` if old data has changed since the campaign was saved."""
    before = {one.name: one.fingerprint for one in saved.old_data}
    changed = [one.name for one in now if before.get(one.name, one.fingerprint) != one.fingerprint]
    if changed:
        warn(
            f"Old data is not what it was when the campaign was saved ({format_list(changed)}), so suggestions "
            "may differ.",
            OldDataWarning,
        )


def decode_space(saved: SavedCampaign, path: str | PathLike[str]) -> Space:
    """Return the search space in the file."""
    space = Space(tuple(map(_decode_parameter, saved.arguments.space)))
    wrong = [
        parameter.name
        for parameter in space.parameters
        if (isinstance(parameter, Categorical) and len(set(map(repr, parameter.choices))) < max(1, parameter.count))
        or (isinstance(parameter, Numeric) and not _is_sound(parameter))
    ]
    if wrong or not space.parameters or len(set(space.names)) < len(space.names):
        raise FileFormatError(f"{str(path)!r} is damaged: the search space makes no sense ({format_list(wrong)}).")
    try:
        return space.add_constraints_unchecked(
            [_decode_constraint(one) for one in saved.arguments.constraints if not isinstance(one, SavedFunction)]
        )
    except InputError as error:
        raise FileFormatError(f"{str(path)!r} is damaged: {error}") from error


def _decode_constraint(saved: SavedLinear | SavedOnlyWhen) -> Constraint:
    if isinstance(saved, SavedOnlyWhen):
        when = {name: list(map(decode_cell, values)) for name, values in saved.when.items()}
        return OnlyWhen(saved.parameter, when, decode_cell(saved.otherwise))
    return LinearConstraint(saved.coefficients, *_decode_range(saved))


def _decode_range(saved: SavedLinear | SavedRequirement) -> tuple[float, float]:
    """Convert a range whose open ends are null."""
    return -inf if saved.low is None else saved.low, inf if saved.high is None else saved.high


def _is_sound(one: Numeric) -> bool:
    levels = one.levels is None or (list(one.levels) == sorted(set(one.levels)) and one.low <= one.levels[0])
    return levels and one.low <= one.high and (one.step is None or one.step > 0) and (one.low > 0 or not one.log)


def _decode_parameter(saved: SavedNumeric | SavedCategorical) -> Parameter:
    if isinstance(saved, SavedCategorical):
        return Categorical(saved.name, tuple(map(decode_cell, saved.choices)))
    fields = {name: getattr(saved, name) for name in saved.__struct_fields__}
    return Numeric(**fields | {"levels": None if saved.levels is None else tuple(saved.levels)})


def decode_history(saved: SavedCampaign, path: str | PathLike[str]) -> History:
    """Return the trials in the file; a `FileFormatError` names a wrong one."""
    space = decode_space(saved, path)
    times = Counter(trial.id for trial in saved.trials)
    wrong = {trial.id: _find_contradiction(trial, space, times[trial.id]) for trial in saved.trials}
    said = [f"trial {id_} {what}" for id_, what in wrong.items() if what]
    if said:
        raise FileFormatError(
            f"{str(path)!r} contradicts itself: {format_list(said)}. Undo the change, or load the file as it "
            "was and tell, "
            "amend or withdraw the trial."
        )
    trials = [decode_trial(trial, space) for trial in saved.trials]
    return History(
        tuple(trial for trial in trials if trial.state in (COMPLETE, FAILED)),
        tuple(trial for trial in trials if trial.is_pending),
        tuple(trial for trial in trials if trial.set_aside),
    )


def _find_contradiction(trial: SavedTrial, space: Space, times: int) -> str | None:
    """Describe what is wrong with a saved trial; None if nothing is."""
    if times > 1:
        return f"is there {times} times"
    if trial.state == COMPLETE and trial.value is None and not trial.more:
        return f"is {COMPLETE!r} and has no value"
    if trial.state not in (COMPLETE, WITHDRAWN) and (trial.value is not None or trial.more):
        return f"is {trial.state!r} and has a value, which only one that is {COMPLETE!r} has"
    if trial.suggested is None and trial.state in (PENDING, CANCELLED):
        return f"is {trial.state!r} and was never suggested"
    if not all(_is_valid_row(row, space) for row in (trial.setting, trial.suggested) if row is not None):
        return "has a setting that is none of the search space"
    return None


def _is_valid_row(row: list[Cell], space: Space) -> bool:
    return len(row) == len(space.parameters) and all(
        isinstance(parameter, Categorical) or type(cell) in (int, float)
        for cell, parameter in zip(row, space.parameters, strict=True)
    )


def decode_trial(saved: SavedTrial, space: Space) -> Trial:
    """Return the trial from its form in the file."""

    def decode_setting(row: list[Cell]) -> dict[str, Any]:
        return dict(zip(space.names, map(decode_cell, row), strict=True))

    return Trial(
        decode_setting(saved.setting),
        nan if saved.value is None else saved.value,
        None if saved.suggested is None else decode_setting(saved.suggested),
        saved.id,
        is_pending=saved.state == PENDING,
        note=saved.note,
        extra={name: decode_cell(cell) for name, cell in saved.extra.items()},
        set_aside=saved.state if saved.state in (CANCELLED, WITHDRAWN) else "",
        more=saved.more,
        noise=saved.noise,
        cost=nan if saved.cost is None else saved.cost,
        substitute=saved.substitute,
    )
