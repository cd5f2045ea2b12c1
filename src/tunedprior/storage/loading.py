"""Load a saved campaign: read its file, complete its configuration by what no file can hold, and check its trials."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from os import PathLike
from pathlib import Path
from typing import Any

from tunedprior.checks import format_list, refuse_other_types, warn
from tunedprior.errors import FileFormatError, InputError, OldDataWarning
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import CANCELLED, COMPLETE, FAILED, PENDING, WITHDRAWN, History, Trial
from tunedprior.space.constraints import Constraint, FunctionConstraint
from tunedprior.storage.converter import decode_trial
from tunedprior.storage.saved_campaign import SavedCampaign, decode_campaign
from tunedprior.suggestion.config import CampaignConfig, SearchConfig, SourceDescription, TransferConfig
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import check_file_name
from tunedprior.weight_prior.sources import name_sources

_MOST_BYTES = 200_000_000
# What no file can hold, and the part of the configuration that it belongs to.
_PARTS = {"kernel": "transfer", "model": "search", "cost": "search", "acquisition": "search"}


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


def complete_config(
    saved: SavedCampaign,
    where: str,
    *,
    objects: Mapping[str, Any],
    constraints: Any = (),
    transfer: TransferConfig | None = None,
    search: SearchConfig | None = None,
    seed: int | None = None,
) -> CampaignConfig:
    """Return the configuration of a saved campaign, with what the user passed.

    Args:
        saved: The content of the file.
        where: What the file is called.
        objects: What no file can hold, by name; those that are None were not passed.
        constraints: Constraints that are functions, and more constraints.
        transfer: Another use of old data.
        search: Another search for suggestions.
        seed: Another seed.
    """
    given = {name: one for name, one in objects.items() if one is not None}
    replaced = {"transfer": transfer, "search": search}
    known = [*given, *(["constraints"] if constraints else [])]
    known += [name for name, part in _PARTS.items() if replaced[part] is not None]
    again = [name for name in saved.objects if name not in known]
    if again:
        raise InputError(
            f"The campaign was made with objects that no file can hold. Give them again: "
            f"Optimizer.load(path, {', '.join(f'{name}=…' for name in again)})."
        )
    without = ["search"] if search is not None else ["acquisition"] if "acquisition" in given else []
    config = saved.decode_config(where, without)
    if search is None:
        search = replace(config.search, **{name: one for name, one in given.items() if _PARTS.get(name) == "search"})
    if transfer is None:
        transfer = replace(config.transfer, kernel=given.get("kernel", config.transfer.kernel))
    else:
        transfer = replace(transfer, relations=config.transfer.relations, sources=config.transfer.sources)
    space = config.space.add_constraints(constraints) if constraints else config.space
    _refuse_other_functions(saved, space.constraints)
    seed = config.seed if seed is None else seed
    return replace(config, space=space, transfer=transfer, search=search, seed=seed)


def refuse_other_suggester(suggester: Any, config: CampaignConfig) -> None:
    """Raise an `InputError` unless a suggester is for the space and the goals of a campaign."""
    refuse_other_types(suggester, Suggester, "suggester", "a Suggester, such as opt.suggester")
    own, saved = (
        (space.without_functions, _drop_preference(goals))
        for space, goals in ((suggester.space, suggester.goals), (config.space, config.goals))
    )
    if own != saved:
        raise InputError("The suggester has another space, direction or target than the campaign.")


def _drop_preference(goals: Goals) -> tuple[object, ...]:
    return tuple((one.name, one.direction) for one in goals.objectives), goals.requirements


def _refuse_other_functions(saved: SavedCampaign, given: Sequence[Constraint]) -> None:
    """Raise an `InputError` unless each constraint that is a function was passed again."""
    functions = Counter(saved.functions)
    missing = functions - Counter(one.name for one in given if isinstance(one, FunctionConstraint))
    if missing and "constraints" in saved.objects:
        raise InputError(
            f"The campaign has constraints that are functions: {format_list(functions.elements())}. Give them again: "
            f"Optimizer.load(path, constraints=[…]). Without {format_list(missing)} suggestions might violate them."
        )


def collect_old_data(config: CampaignConfig, path: str | PathLike[str], given: Any) -> dict[str, Any]:
    """Return the old data of a campaign by name: what the user passed again, and files where they were."""
    known = {one.name: one for one in config.transfer.sources}
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
    return {name: found[name] for name in known}


def refuse_changed(saved: SavedCampaign, path: str | PathLike[str]) -> None:
    """Raise a `FileFormatError` if the configuration in the file is valid but not the one that was saved."""
    if not saved.is_intact:
        raise FileFormatError(
            f"{str(path)!r} was changed since it was saved: its checksum is not that of its configuration (space, "
            "goals, seed and all else). Undo the change, or go on from a copy of before. To go on with another search "
            "or prior, give them to Optimizer.load(path, …), or make a new Optimizer and have it resume the history."
        )


def warn_of_changes(before: tuple[SourceDescription, ...], now: tuple[SourceDescription, ...]) -> None:
    """Issue an `OldDataWarning` if old data has changed since the campaign was saved."""
    known = {one.name: one.fingerprint for one in before}
    changed = [one.name for one in now if known.get(one.name, one.fingerprint) != one.fingerprint]
    if changed:
        warn(
            f"Old data is not what it was when the campaign was saved ({format_list(changed)}), so suggestions "
            "may differ.",
            OldDataWarning,
        )


def decode_history(saved: SavedCampaign, path: str | PathLike[str]) -> History:
    """Return the trials in the file; a `FileFormatError` names a wrong one."""
    space = saved.decode_space(repr(str(path)))
    trials = [decode_trial(one, space, f"{str(path)!r} is damaged at a trial") for one in saved.trials]
    times = Counter(trial.id for trial in trials)
    wrong = {
        trial.id: _find_contradiction(trial, plain["state"], times[trial.id])
        for trial, plain in zip(trials, saved.trials, strict=True)
    }
    said = [f"trial {id_} {what}" for id_, what in wrong.items() if what]
    if said:
        raise FileFormatError(
            f"{str(path)!r} contradicts itself: {format_list(said)}. Undo the change, or load the file as it "
            "was and tell, amend or withdraw the trial."
        )
    return History(
        tuple(trial for trial in trials if trial.state in (COMPLETE, FAILED)),
        tuple(trial for trial in trials if trial.is_pending),
        tuple(trial for trial in trials if trial.set_aside),
    )


def _find_contradiction(trial: Trial, state: str, times: int) -> str | None:
    """Describe what is wrong with a saved trial, which says that it is in a state; None if nothing is."""
    has_value = not isnan(trial.value) or bool(trial.more)
    if times > 1:
        return f"is there {times} times"
    if state == COMPLETE and not has_value:
        return f"is {COMPLETE!r} and has no value"
    if state not in (COMPLETE, WITHDRAWN) and has_value:
        return f"is {state!r} and has a value, which only one that is {COMPLETE!r} has"
    if trial.suggested is None and state in (PENDING, CANCELLED):
        return f"is {state!r} and was never suggested"
    return None
