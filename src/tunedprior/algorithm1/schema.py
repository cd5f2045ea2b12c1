"""What the header of a weight prior's file may say; anything else is refused before a kernel is built from it."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from tunedprior.errors import FileFormatError

FORMAT = "tunedprior weight prior"
VERSION = 2

# Upper bounds, far above anything that is learnt, so that no file takes long or much memory to use.
_MOST_COEFFICIENTS = 1000
_MOST_AXES = 10_000
_LARGEST_EXPONENT = 700.0  # exp of it is still a float

_Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
_Positive = Annotated[float, Meta(gt=0, le=1e300)]
_Positives = Annotated[list[_Positive], Meta(min_length=1, max_length=_MOST_AXES)]
# ν of Table 1, which may be 0.
_Single = Annotated[list[Annotated[float, Meta(ge=0, le=1e300)]], Meta(min_length=1, max_length=1)]


class _StrictHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """Exactly these fields."""


class _NoArguments(_StrictHeader, frozen=True):
    """No arguments."""


class _Polynomial(_StrictHeader, frozen=True):
    degree: Annotated[int, Meta(ge=0, le=_MOST_COEFFICIENTS)]
    offset: _Single


class _ScaleArgument(_StrictHeader, frozen=True):
    scale: _Single


class _Lengthscale(_StrictHeader, frozen=True):
    lengthscale: _Positives


class _Coefficients(_StrictHeader, frozen=True):
    coefficients: Annotated[
        list[Annotated[float, Meta(ge=0, le=1e300)]], Meta(min_length=1, max_length=_MOST_COEFFICIENTS)
    ]


#: The arguments that each kernel is restored from.
ARGUMENTS: dict[str, type[_StrictHeader]] = {
    "Linear": _NoArguments,
    "Polynomial": _Polynomial,
    "Sinh": _ScaleArgument,
    "Exponential": _ScaleArgument,
    "LogRatio": _NoArguments,
    "SquaredExponential": _Lengthscale,
    "DotProduct": _Coefficients,
    "DirectProduct": _Coefficients,
}


class AxisEntry(_StrictHeader, frozen=True):
    """One parameter's side of the box."""

    name: str
    low: _Number
    high: _Number
    log: bool
    choices: Annotated[list[str | int | float | bool | None], Meta(min_length=1)] | None


class WeightPriorHeader(_StrictHeader, frozen=True):
    """Everything but the arrays."""

    format: str
    version: Annotated[int, Meta(ge=1)]
    kernel: str
    arguments: msgspec.Raw
    axes: Annotated[list[AxisEntry], Meta(min_length=1, max_length=_MOST_AXES)]
    lam: _Positive
    machine: str
    error: Annotated[float, Meta(ge=0, le=1e300)]
    reach: Annotated[float, Meta(gt=0, le=1)]
    response_shift: _Number
    response_scale: _Positive


class _VersionHeader(Struct, frozen=True):
    """What every version of the format has."""

    format: str
    version: int


def parse_header(data: bytes) -> tuple[WeightPriorHeader, dict[str, object]]:
    """The header and its kernel's arguments, checked; a `FileFormatError` with the reason otherwise."""
    try:
        opening = msgspec.json.decode(data, type=_VersionHeader)
        if opening.format != FORMAT:
            raise FileFormatError(f"does not hold a weight prior, but {opening.format[:40]!r}")
        if opening.version > VERSION:
            raise FileFormatError(
                f"has format version {opening.version}; this tunedprior reads up to {VERSION}. Update tunedprior, or "
                "save the prior again with this version"
            )
        header = msgspec.json.decode(data, type=WeightPriorHeader)
        known = ARGUMENTS.get(header.kernel)
        if known is None:
            raise FileFormatError(
                f"names a kernel {header.kernel[:40]!r}; known are {', '.join(ARGUMENTS)}. Update tunedprior"
            )
        arguments = msgspec.structs.asdict(msgspec.json.decode(header.arguments, type=known))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileFormatError(f"is not a weight prior, or is damaged (its header: {error})") from error
    for reason in _find_contradictions(header):
        raise FileFormatError(f"is not a weight prior, or is damaged (its header: {reason})")
    return header, arguments


def _find_contradictions(header: WeightPriorHeader) -> Iterable[str]:
    """What the types alone do not exclude."""
    names = [axis.name for axis in header.axes]
    if len(set(names)) < len(names):
        yield "two parameters have one name"
    for axis in header.axes:
        if axis.low > axis.high:
            yield f"{axis.name!r} has its low end above its high end"
        if axis.log and max(abs(axis.low), abs(axis.high)) > _LARGEST_EXPONENT:
            yield f"{axis.name!r} has a logarithmic scale beyond all numbers"
