"""A whole campaign as one file: JSON with the arguments, the history, and where old data came from.

Arguments that are objects (a kernel, a model, an acquisition class, a suggester, constraints that are functions) cannot
be in it; the file names them, and they are to be given again when it is loaded.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from math import isfinite, isnan
from os import PathLike
from pathlib import Path
from typing import Any

import botorch
import msgspec
import torch

from tunedprior.campaign.saved_form import (
    FORMAT,
    VERSION,
    Cell,
    SavedArguments,
    SavedCampaign,
    SavedCategorical,
    SavedEntry,
    SavedFunction,
    SavedGoals,
    SavedLinear,
    SavedNumeric,
    SavedObjective,
    SavedOldSource,
    SavedOnlyWhen,
    SavedRequirement,
    SavedTarget,
    SavedTrial,
    encode_cell,
)
from tunedprior.campaign.sources import Provenance
from tunedprior.campaign.suggester import Suggester
from tunedprior.errors import InputError
from tunedprior.files import check_file_name
from tunedprior.problem.aims import Goals
from tunedprior.problem.constraints import Constraint, FunctionConstraint, LinearConstraint, OnlyWhen
from tunedprior.problem.goals import NO_LIMITS, Target
from tunedprior.problem.objective import Objective
from tunedprior.problem.parameters import Categorical, Parameter
from tunedprior.problem.space import Space
from tunedprior.problem.trials import History, Trial


def encode_campaign_file(
    suggester: Suggester,
    seed: int,
    made: Provenance,
    history: History,
    journal: Sequence[SavedEntry],
    path: str | PathLike[str],
) -> bytes:
    """The content of the file at `path`; an `InputError` names the category that cannot be saved."""
    folder = Path(check_file_name(path)).resolve().parent
    return msgspec.json.format(encode_campaign(suggester, seed, made, history, journal, folder), indent=1)


def encode_campaign(
    suggester: Suggester,
    seed: int,
    made: Provenance,
    history: History,
    journal: Sequence[SavedEntry],
    folder: Path | None,
) -> bytes:
    """The campaign as JSON; paths of old data in the folder are as seen from there."""
    import tunedprior

    objective, acquisition = suggester.objective, suggester.acquisition
    plain = suggester.goals.is_plain and not objective.log and objective.limits == NO_LIMITS
    arguments = SavedArguments(
        space=[_encode_parameter(parameter) for parameter in suggester.space.parameters],
        direction=objective.direction if plain else "maximize",  # type: ignore[arg-type]  # one of the two
        acquisition=acquisition if isinstance(acquisition, str) else None,
        seed=seed,
        target=objective.name,
        beta=suggester.beta if isinstance(suggester.beta, str) else float(suggester.beta),
        noise_std=None if objective.noise_std is None else float(objective.noise_std),
        initial=suggester.initial,
        prior=made.prior,
        ard=made.ard,
        design=suggester.design,
        relations=dict(made.relations),
        aims=None if plain else _encode_goals(suggester.goals),
        failures=suggester.failures,
        constraints=[_encode_constraint(constraint) for constraint in suggester.space.constraints],
        objects=[*made.objects, *([] if "suggester" in made.objects else _list_further_objects(suggester))],
    )
    versions = {"tunedprior": tunedprior.__version__, "torch": torch.__version__, "botorch": botorch.__version__}
    versions = {name: str(version) for name, version in versions.items()}  # torch has a class of its own
    old = [
        SavedOldSource(one.name, _convert_path(folder, one.path), one.fingerprint, dict(one.units))
        for one in made.old_sources
    ]
    trials = [encode_trial(trial, suggester.space) for trial in history.trials]
    content = SavedCampaign(FORMAT, VERSION, versions, arguments, old, trials, list(journal), made.id, len(journal))
    try:
        return msgspec.json.encode(add_checksum(content))
    except UnicodeError as error:
        raise InputError(f"The campaign has text that is no Unicode, so it cannot be saved: {error}.") from error


def add_checksum(content: SavedCampaign) -> SavedCampaign:
    """The campaign with the checksum of what defines it."""
    return msgspec.structs.replace(content, checksum=compute_checksum(content))


def compute_checksum(content: SavedCampaign) -> str:
    """A checksum over the arguments, what old data was, the id, and the number of entries and the last of them.

    Trials follow from the journal, whose entries have checksums of their own. Where old data lies, and versions of
    libraries, may be changed by anybody.
    """
    old = [(one.name, one.fingerprint) for one in content.old_data]
    last = content.journal[-1].checksum if content.journal else ""
    parts = (content.version, content.id, content.arguments, old, content.entries, last)
    # Python's own JSON writes a number in one way, whatever library reads it.
    text = json.dumps(msgspec.to_builtins(parts), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _list_further_objects(suggester: Suggester) -> list[str]:
    """Objects among the arguments that the suggester tells of."""
    has_function = any(isinstance(constraint, FunctionConstraint) for constraint in suggester.space.constraints)
    by_name = isinstance(suggester.acquisition, str)
    return [*([] if by_name else ["acquisition"]), *(["constraints"] if has_function else [])]


def _convert_path(folder: Path | None, path: str | None) -> str | None:
    if path is None or folder is None:
        return path
    inside = Path(path).is_relative_to(folder)
    return (Path(path).relative_to(folder) if inside else Path(path)).as_posix()


def _encode_parameter(parameter: Parameter) -> SavedNumeric | SavedCategorical:
    if isinstance(parameter, Categorical):
        return SavedCategorical(parameter.name, [encode_cell(choice, parameter.name) for choice in parameter.choices])
    fields = {name: getattr(parameter, name) for name in SavedNumeric.__struct_fields__}
    return SavedNumeric(**fields | {"levels": None if parameter.levels is None else list(parameter.levels)})


def _encode_goals(aims: Goals) -> SavedGoals:
    def encode_goal(one: Objective) -> Any:
        wanted = one.direction
        return SavedTarget(float(wanted.low), float(wanted.upper)) if isinstance(wanted, Target) else wanted

    return SavedGoals(
        [
            SavedObjective(
                one.name,
                encode_goal(one),
                one.noise_std,
                one.log,
                None if one.limits == NO_LIMITS else (_encode_bound(one.limits[0]), _encode_bound(one.limits[1])),
            )
            for one in aims.objectives
        ],
        [
            SavedRequirement(one.response, _encode_bound(one.low), _encode_bound(one.high), one.labels)
            for one in aims.requirements
        ],
        dict(aims.weights),
        dict(aims.bounds),
    )


def _encode_bound(number: float) -> float | None:
    """An end of a range; None if it is open, for which JSON has no number."""
    return number if isfinite(number) else None


def _encode_constraint(constraint: Constraint) -> SavedLinear | SavedOnlyWhen | SavedFunction:
    if isinstance(constraint, LinearConstraint):
        return SavedLinear(dict(constraint.coefficients), _encode_bound(constraint.low), _encode_bound(constraint.high))
    if isinstance(constraint, OnlyWhen):
        when = {name: [encode_cell(one, name) for one in values] for name, values in constraint.when.items()}
        return SavedOnlyWhen(constraint.parameter, when, encode_cell(constraint.otherwise, constraint.parameter))
    return SavedFunction(str(constraint))


def encode_trial(trial: Trial, space: Space) -> SavedTrial:
    """A trial in the form of the file."""

    def encode_row(setting: Mapping[str, Any]) -> list[Cell]:
        return [encode_cell(setting[name], name) for name in space.names]

    return SavedTrial(
        trial.id,
        trial.state,  # type: ignore[arg-type]  # one of the five
        None if isnan(trial.value) else trial.value,
        encode_row(trial.setting),
        None if trial.suggested is None else encode_row(trial.suggested),
        trial.note,
        {name: encode_cell(cell) for name, cell in trial.extra.items()},
        dict(trial.more),
        dict(trial.noise),
        None if isnan(trial.cost) else trial.cost,
        trial.substitute,
    )
