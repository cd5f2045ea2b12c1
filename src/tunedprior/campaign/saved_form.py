"""The form of a saved campaign: what is in the file, field by field, and how cells are written."""

from math import inf, isfinite, nan
from typing import Annotated, Any, Literal

import msgspec

from tunedprior.errors import InputError

FORMAT, VERSION = "tunedprior campaign", 3


class _Struct(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Read strictly: a field more, or of another type, is an error."""


class TupleCell(_Struct, frozen=True, tag="tuple"):
    """A category that is a tuple."""

    items: "list[Cell]"


class FloatCell(_Struct, frozen=True, tag="float"):
    """A number that JSON has no word for."""

    text: Literal["nan", "inf", "-inf"]


Cell = None | bool | int | float | str | TupleCell | FloatCell


class SavedNumeric(_Struct, frozen=True, tag="number", omit_defaults=True):
    """A `Numeric`."""

    name: str
    low: int | float
    high: int | float
    log: bool
    step: int | float | None
    levels: list[int | float] | None
    integer: bool
    digits: Annotated[int, msgspec.Meta(ge=1)] | None = None  # as in files of before it was there


class SavedCategorical(_Struct, frozen=True, tag="category"):
    """A `Categorical`."""

    name: str
    choices: list[Cell]


class SavedTarget(_Struct, frozen=True, tag="target"):
    """A `Target`."""

    low: float
    high: float


class SavedObjective(_Struct, frozen=True, omit_defaults=True):
    """An `Objective`; a limit that is not there is null."""

    name: str
    goal: Literal["maximize", "minimize"] | SavedTarget
    noise_std: float | None
    log: bool
    limits: tuple[float | None, float | None] | None = None  # as in files of before it was there


class SavedRequirement(_Struct, frozen=True):
    """A `Requirement`; an end that is open is null."""

    name: str
    low: float | None
    high: float | None
    labels: bool


class SavedGoals(_Struct, frozen=True):
    """`Goals`."""

    objectives: Annotated[list[SavedObjective], msgspec.Meta(min_length=1)]
    requirements: list[SavedRequirement]
    weights: dict[str, float]
    bounds: dict[str, float]


class SavedLinear(_Struct, frozen=True, tag="linear"):
    """A `Linear`; a bound that is not there is null."""

    coefficients: dict[str, float]
    low: float | None
    high: float | None


class SavedOnlyWhen(_Struct, frozen=True, tag="only when"):
    """An `OnlyWhen`."""

    parameter: str
    when: dict[str, list[Cell]]
    otherwise: Cell


class SavedFunction(_Struct, frozen=True, tag="function"):
    """A constraint that is a function: its name, as it has to be given again."""

    name: str


class SavedArguments(_Struct, frozen=True):
    """What the `Optimizer` was made with."""

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
    aims: SavedGoals | None = None
    failures: str = "worst"  # as in files of before it was there
    constraints: list[SavedLinear | SavedOnlyWhen | SavedFunction] = []


class SavedOldSource(_Struct, frozen=True, omit_defaults=True):
    """An `OldSource`; a path without a root is meant from the folder of this file."""

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
    """An entry of the journal; `tunedprior.campaign.journal` says what its fields mean."""

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
    """All of it; files of version 1 have no journal."""

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
    """What is read first; everything else may be of another version."""

    format: str = ""
    version: int = 0


def encode_cell(value: Any, parameter: str | None = None) -> Cell:
    """A category or a number; for cells of the user's own columns, which no model sees, text of whatever else it is."""
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
    """The value that `encode_cell` wrote."""
    if isinstance(cell, FloatCell):
        return {"nan": nan, "inf": inf, "-inf": -inf}[cell.text]
    return tuple(map(decode_cell, cell.items)) if isinstance(cell, TupleCell) else cell
