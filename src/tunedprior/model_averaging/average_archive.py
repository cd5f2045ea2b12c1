"""Save and load what an average learnt from old data, as bytes: plain arrays and a JSON header, no pickle.

A worker needs nothing else, and no table of old data is in it. Fits with an α for each row hold the settings of up to
500 old rows, as their anchors, with their places; the responses are not stored, but follow from α and λ.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated, Any

import msgspec
import numpy as np
import torch
from msgspec import Meta
from torch import Tensor

from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.registry import check_kernel_arguments, get_kernel_arguments, make_kernel
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.model_averaging.average import Average
from tunedprior.models.surrogate import encode_surrogate, register_decoder
from tunedprior.numerics.stationary import Axes
from tunedprior.space.encoding import Box
from tunedprior.weight_prior.prior_archive import (
    AxisEntry,
    StrictHeader,
    check_arrays,
    make_box,
    pack_archive,
    unpack_archive,
)
from tunedprior.weight_prior.sources import SourceData

FORMAT, VERSION = "tunedprior average", 1

_Finite = Annotated[float, Meta(ge=-1e300, le=1e300)]
_Positive = Annotated[float, Meta(gt=0, le=1e300)]
_Sign = Annotated[int, Meta(ge=-1, le=1)]


class SavedFit(StrictHeader, frozen=True):
    """A `Fit`, without its arrays."""

    kernel: str
    arguments: dict[str, Any]
    lam: _Positive
    bias: _Finite


class SavedSourceData(StrictHeader, frozen=True):
    """A `SourceData`, without its arrays; files have other names for three of the fields."""

    name: str
    fits: Annotated[list[SavedFit], Meta(min_length=1, max_length=100)] = msgspec.field(name="readings")
    units: list[_Positive]
    middle: _Finite
    fit_probabilities: list[_Positive] = msgspec.field(name="likely")
    sign: _Sign
    presumed_sign: _Sign = msgspec.field(name="hoped")
    span: Annotated[tuple[_Finite, ...], Meta(max_length=2)] = ()


class SavedAverage(StrictHeader, frozen=True):
    """An `Average`, without its arrays."""

    format: str
    version: int
    axes: Annotated[list[AxisEntry], Meta(min_length=1)]
    beliefs: list[str]
    alone: bool
    sets: list[SavedSourceData]


#: What an average is called where surrogates are stored.
KIND = "average"


def encode_average(average: Average) -> bytes:
    """Encode the average as bytes, for `decode_average`; an `InputError` if something in it cannot be stored."""
    axes = Axes.make_numeric(average.box.num_inputs) if average.axes is None else average.axes
    tensors = {"of_input": axes.of_input, "unit": axes.unit}
    for position, one in enumerate(average.sources):
        if one.sample is not None:
            tensors[f"{position} some"] = one.sample
        if one.places:  # as bytes: what reads no places finds the same header as before
            tensors[f"{position} places"] = torch.tensor(list(msgspec.json.encode(one.places)), dtype=torch.uint8)
        for number, fit in enumerate(one.fits):
            tensors |= {f"{position} {number} {name}": each for name, each in _collect_tensors(fit).items()}
    header = SavedAverage(
        FORMAT,
        VERSION,
        [AxisEntry(**asdict(axis)) for axis in average.box.axes],
        list(average.beliefs),
        average.alone,
        [_encode_source(one) for one in average.sources],
    )
    try:
        data = pack_archive(msgspec.json.encode(header), tensors)
        decode_average(data)  # whatever is written can be read again
    except (TypeError, ValueError) as error:
        raise InputError(
            "What was learnt from old data cannot be stored. Categories must be text, numbers, True, False or None "
            f"({str(error).rstrip('.')})."
        ) from error
    return data


def decode_average(data: bytes) -> Average:
    """Decode the bytes that `encode_average` wrote; a `FileFormatError` if they are damaged or something else."""
    try:
        text, arrays = unpack_archive(data)
    except FileFormatError as error:
        raise FileFormatError(f"What is stored of old data is damaged: {error}.") from error
    try:
        header = msgspec.json.decode(text, type=SavedAverage)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileFormatError(f"What is stored of old data is damaged (its header: {error}).") from error
    if header.format != FORMAT or header.version > VERSION:
        raise FileFormatError(
            f"What is stored of old data is {header.format[:40]!r}, version {header.version}; this tunedprior reads "
            f"{FORMAT!r} up to version {VERSION}. Update it."
        )
    box = make_box(header.axes)
    axes = Axes(_get_tensor(arrays, "of_input", np.int64), _get_tensor(arrays, "unit", np.float64))
    if not len(axes.of_input) == len(axes.unit) == box.num_inputs or not (axes.unit > 0).all():
        raise FileFormatError("What is stored of old data is damaged: its axes do not belong to its box.")
    try:
        known = tuple(_decode_source(one, position, arrays, box) for position, one in enumerate(header.sets))
        return Average(box, known, tuple(header.beliefs), header.alone, axes)
    except InputError as error:
        raise FileFormatError(f"What is stored of old data is damaged: {error}") from error


def _encode_source(one: SourceData) -> SavedSourceData:
    return SavedSourceData(
        one.name,
        [_encode_fit(fit) for fit in one.fits],
        list(one.units),
        one.shift,
        list(one.fit_probabilities),
        one.sign,
        one.presumed_sign,
        one.span or (),
    )


def _encode_fit(fit: Fit) -> SavedFit:
    kernel = fit.kernel
    if not isinstance(kernel, FreeKernel):
        raise InputError(f"Only fits with a free kernel can be stored; got one with {type(kernel).__name__}.")
    bias = fit.bias if isinstance(fit, AlphaFit) else 0.0
    return SavedFit(type(kernel).__name__, get_kernel_arguments(kernel), fit.lam, bias)


def _collect_tensors(fit: Fit) -> dict[str, Tensor]:
    if isinstance(fit, AlphaFit | FeatureFit):
        return fit.to_arrays()
    raise InputError(f"A {type(fit).__name__} cannot be stored.")


def _decode_source(saved: SavedSourceData, position: int, arrays: Mapping[str, np.ndarray], box: Box) -> SourceData:
    some = f"{position} some"
    fits = tuple(_decode_fit(one, f"{position} {k} ", arrays, box) for k, one in enumerate(saved.fits))
    if len(saved.units) != len(fits) or len(saved.fit_probabilities) not in (0, len(fits)):
        raise FileFormatError("What is stored of old data is damaged: a fit lacks its unit or probability.")
    return SourceData(
        saved.name,
        fits,
        tuple(saved.units),
        saved.middle,
        tuple(saved.fit_probabilities),
        saved.sign,
        saved.presumed_sign or 1,
        _get_tensor(arrays, some, np.float64) if some in arrays else None,
        _decode_places(arrays.get(f"{position} places"), fits),
        (saved.span[0], saved.span[1]) if len(saved.span) == 2 else None,
    )


def _decode_places(text: np.ndarray | None, fits: tuple[Fit, ...]) -> tuple[str, ...]:
    """The places of old rows, one for each anchor of the last fit; empty where none were stored."""
    if text is None:
        return ()
    try:
        found = tuple(msgspec.json.decode(text.tobytes(), type=list[str]))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileFormatError(f"What is stored of old data is damaged (its rows: {error}).") from error
    anchors = fits[-1].anchors if isinstance(fits[-1], AlphaFit) else ()
    if len(found) != len(anchors):
        raise FileFormatError("What is stored of old data is damaged: its rows are not those of its settings.")
    return found


def _decode_fit(saved: SavedFit, prefix: str, arrays: Mapping[str, np.ndarray], box: Box) -> Fit:
    own = {name.removeprefix(prefix): one for name, one in arrays.items() if name.startswith(prefix)}
    try:
        arguments = check_kernel_arguments(saved.kernel, saved.arguments)
        # A fit by features has no anchors; those of a single point in the middle stand for them.
        stand_in = {"anchors": np.zeros((1, box.num_inputs)), "alpha": np.zeros(0)}
        check_arrays(stand_in | own, box.num_inputs)
    except (msgspec.MsgspecError, FileFormatError) as error:
        raise FileFormatError(f"What is stored of old data {error}.") from error
    kernel = make_kernel(saved.kernel, arguments).requires_grad_(False)
    tensors = {name: torch.as_tensor(one) for name, one in own.items()}
    if "alpha" in tensors:
        return AlphaFit.from_arrays(kernel, saved.lam, tensors, saved.bias)
    return FeatureFit.from_arrays(kernel, saved.lam, tensors)


def _get_tensor(arrays: Mapping[str, np.ndarray], name: str, kind: type[np.generic]) -> Tensor:
    found = arrays.get(name)
    if found is None or found.dtype != kind or not np.isfinite(found).all():
        raise FileFormatError(f"What is stored of old data is damaged: {name!r} is missing or of another type.")
    return torch.as_tensor(found)


@encode_surrogate.register
def _encode_registered(surrogate: Average) -> tuple[str, bytes]:
    return KIND, encode_average(surrogate)


register_decoder(KIND, decode_average)
