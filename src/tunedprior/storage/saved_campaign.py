"""The file format of a saved campaign: JSON with the arguments, the history, and the sources of old data.

Arguments that are objects (a kernel, a model, an acquisition class, a suggester, constraints that are functions) cannot
be stored. The file names them, and the user passes them again when the campaign is loaded. Each campaign has a random
identifier, which its sheets carry too.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from math import inf, isfinite, isnan, nan
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import botorch
import msgspec
import torch
from optuna.study import Study

from tunedprior.errors import InputError
from tunedprior.goals.goal import NO_LIMITS, Target
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import History, Trial
from tunedprior.space.constraints import Constraint, FunctionConstraint, LinearConstraint, OnlyWhen
from tunedprior.space.parameters import Categorical, Parameter
from tunedprior.space.search_space import Space
from tunedprior.storage.file_guard import Provenance
from tunedprior.suggestion.suggester import Suggester
from tunedprior.tables import check_file_name

FORMAT, VERSION = "tunedprior campaign", 3


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Read strictly: a field more, or of another type, is an error."""


class TupleCell(_Struct, frozen=True, tag="tuple"):
    """A category that is a tuple, in the form of the file."""

    items: "list[Cell]"


class FloatCell(_Struct, frozen=True, tag="float"):
    """An infinity or NaN, which JSON cannot express."""

    text: Literal["nan", "inf", "-inf"]


Cell = None | bool | int | float | str | TupleCell | FloatCell


class SavedNumeric(_Struct, frozen=True, tag="number", omit_defaults=True):
    """A `Numeric` in the form of the file."""

    name: str
    low: int | float
    high: int | float
    log: bool
    step: int | float | None
    levels: list[int | float] | None
    integer: bool
    digits: Annotated[int, msgspec.Meta(ge=1)] | None = None  # as in files of before it was there


class SavedCategorical(_Struct, frozen=True, tag="category"):
    """A `Categorical` in the form of the file."""

    name: str
    choices: list[Cell]


class SavedTarget(_Struct, frozen=True, tag="target"):
    """A `Target` in the form of the file."""

    low: float
    high: float


class SavedObjective(_Struct, frozen=True, omit_defaults=True):
    """An `Objective` in the form of the file; a missing limit is null."""

    name: str
    goal: Literal["maximize", "minimize"] | SavedTarget
    noise_std: float | None
    log: bool
    limits: tuple[float | None, float | None] | None = None  # as in files of before it was there


class SavedRequirement(_Struct, frozen=True):
    """A `Requirement` in the form of the file; an open end is null."""

    name: str
    low: float | None
    high: float | None
    labels: bool


class SavedGoals(_Struct, frozen=True):
    """`Goals` in the form of the file."""

    objectives: Annotated[list[SavedObjective], msgspec.Meta(min_length=1)]
    requirements: list[SavedRequirement]
    weights: dict[str, float]
    bounds: dict[str, float]


class SavedLinear(_Struct, frozen=True, tag="linear"):
    """A `LinearConstraint` in the form of the file; a missing bound is null."""

    coefficients: dict[str, float]
    low: float | None
    high: float | None


class SavedOnlyWhen(_Struct, frozen=True, tag="only when"):
    """An `OnlyWhen` in the form of the file."""

    parameter: str
    when: dict[str, list[Cell]]
    otherwise: Cell


class SavedFunction(_Struct, frozen=True, tag="function"):
    """A constraint that is a function; only its name is stored."""

    name: str


class SavedArguments(_Struct, frozen=True):
    """The arguments of the `Optimizer`."""

    space: list[SavedNumeric | SavedCategorical]
    direction: Literal["maximize", "minimize"]
    acquisition: str | None
    seed: Annotated[int, msgspec.Meta(ge=0)]
    target: str
    beta: float | str
    noise_std: float | None
    initial: Annotated[int, msgspec.Meta(ge=1)] | None
    prior: str
    ard: bool
    objects: list[str]
    # Files of before these arguments were there: their campaigns began with a Sobol design, and nobody named relations
    # or constraints.
    design: str = "sobol"
    relations: dict[str, str] = {}
    # None where there is one response to be maximised or minimised, which the fields above say.
    goals: SavedGoals | None = msgspec.field(default=None, name="aims")
    failures: str = "worst"  # as in files of before it was there
    constraints: list[SavedLinear | SavedOnlyWhen | SavedFunction] = []


class SavedOldSource(_Struct, frozen=True, omit_defaults=True):
    """An `OldSource`; a relative path starts at the folder of this file."""

    name: str
    path: str | None
    fingerprint: str
    units: dict[str, str] = {}  # as in files of before it was there


class SavedTrial(_Struct, frozen=True):
    """A `Trial`; settings are lists in the order of the parameters."""

    id: Annotated[int, msgspec.Meta(ge=1)]
    state: Literal["complete", "failed", "pending", "cancelled", "withdrawn"]
    value: float | None
    setting: list[Cell]
    suggested: list[Cell] | None
    note: str
    extra: dict[str, Cell]
    more: dict[str, float] = {}
    noise: dict[str, float] = {}
    cost: float | None = None
    substitute: bool = False


class SavedEntry(_Struct, frozen=True, omit_defaults=True):
    """An entry of the journal; `tunedprior.storage.journal` says what its fields mean."""

    sequence: Annotated[int, msgspec.Meta(ge=1)]
    time: str
    who: str
    action: str
    trial: Annotated[int, msgspec.Meta(ge=1)]
    changes: dict[str, Any]
    act: str
    checksum: str
    previous: str = ""  # as in the first entry, and in those of version 2


class SavedCampaign(_Struct, frozen=True):
    """The whole file; version 1 has no journal."""

    format: str
    version: int
    versions: dict[str, str]
    arguments: SavedArguments
    old_data: list[SavedOldSource]
    trials: list[SavedTrial]
    journal: list[SavedEntry] = []
    id: str = ""  # as in files of before it was there
    # How many entries the journal has, and a checksum of what defines the campaign; not in files of before version 3.
    entries: int | None = None
    checksum: str = ""


class CampaignHeader(msgspec.Struct):
    """The fields that are read first; all others depend on the version."""

    format: str = ""
    version: int = 0


def encode_cell(value: Any, parameter: str | None = None) -> Cell:
    """Convert a category or number for JSON; other objects in the user's own columns become text."""
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value
    if isinstance(value, float) and not isfinite(value):
        return FloatCell(str(value))  # type: ignore[arg-type]  # one of the three
    if isinstance(value, tuple):
        return TupleCell([encode_cell(one, parameter) for one in value])
    if value is None or type(value) in (bool, int, float, str):
        return value  # type: ignore[no-any-return]
    if parameter is not None:
        raise InputError(
            f"{parameter!r} has the category {value!r}, and a {type(value).__name__} cannot be saved. Name categories "
            "by text or numbers."
        )
    return str(value)


def decode_cell(cell: Cell) -> Any:
    """Return the value that `encode_cell` wrote."""
    if isinstance(cell, FloatCell):
        return {"nan": nan, "inf": inf, "-inf": -inf}[cell.text]
    return tuple(map(decode_cell, cell.items)) if isinstance(cell, TupleCell) else cell


def encode_campaign_file(
    suggester: Suggester,
    seed: int,
    made: Provenance,
    history: History,
    journal: Sequence[SavedEntry],
    path: str | PathLike[str],
) -> bytes:
    """Return the content of the file at `path`; an `InputError` names a category that cannot be saved."""
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
    """Return the campaign as JSON values; paths of old data are relative to the folder."""
    import tunedprior

    objective, search = suggester.objective, suggester.search
    plain = suggester.goals.is_plain and not objective.log and objective.limits == NO_LIMITS
    arguments = SavedArguments(
        space=[_encode_parameter(parameter) for parameter in suggester.space.parameters],
        direction=objective.direction if plain else "maximize",  # type: ignore[arg-type]  # one of the two
        acquisition=search.acquisition if isinstance(search.acquisition, str) else None,
        seed=seed,
        target=objective.name,
        beta=search.beta if isinstance(search.beta, str) else float(search.beta),
        noise_std=None if objective.noise_std is None else float(objective.noise_std),
        initial=suggester.initial,
        prior=made.prior,
        ard=made.ard,
        design=search.design,
        relations=dict(made.relations),
        goals=None if plain else _encode_goals(suggester.goals),
        failures=search.failures,
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
    """Return the campaign with a checksum of its arguments."""
    return msgspec.structs.replace(content, checksum=compute_checksum(content))


def compute_checksum(content: SavedCampaign) -> str:
    """Compute a checksum of the arguments, the fingerprints of old data, the id, and the end of the journal.

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
    by_name = isinstance(suggester.search.acquisition, str)
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


def _encode_goals(goals: Goals) -> SavedGoals:
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
            for one in goals.objectives
        ],
        [
            SavedRequirement(one.response, _encode_bound(one.low), _encode_bound(one.high), one.labels)
            for one in goals.requirements
        ],
        dict(goals.weights),
        dict(goals.bounds),
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
    """Convert a trial to the form of the file."""

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


# No digits and no vowels: spreadsheets make no number, date or word of it, and nobody reads one into it.
_LETTERS = "bcdfghjkmnpqrstvwxz"
_LENGTH = 10
# Fields of a saved campaign that were not there yet when files had no id.
_ADDED_SINCE = ("entries", "checksum")
_ID = re.compile(f"[{_LETTERS}]{{{_LENGTH}}}")


def draw_id() -> str:
    """Draw a random id for a new campaign."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


def derive_id(content: bytes) -> str:
    """Derive an id from the stored content of a campaign that has none; the same each time.

    >>> derive_id(b"campaign") == derive_id(b"campaign") != derive_id(b"another")
    True
    """
    number = int.from_bytes(hashlib.sha256(content).digest())
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_LENGTH))


def derive_file_id(saved: SavedCampaign) -> str:
    """Derive an id for a campaign without one, from the content of its file."""
    content = msgspec.structs.asdict(saved)
    return derive_id(msgspec.json.encode({name: one for name, one in content.items() if name not in _ADDED_SINCE}))


def derive_study_id(study: Study) -> str:
    """Derive an id for a campaign without one, from the time of the first trial of its study."""
    first = next(iter(study.get_trials(deepcopy=False)), None)
    began = "" if first is None or first.datetime_start is None else first.datetime_start.isoformat()
    return derive_id(f"{study.study_name} {began}".encode())


def parse_id(cell: Any) -> str:
    """Return the id in a cell of a sheet, in any capitals; "" if there is none."""
    text = str(cell).strip().casefold()
    return text if _ID.fullmatch(text) else ""
