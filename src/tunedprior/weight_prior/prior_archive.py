"""Save and load weight priors: one zip archive of plain arrays and a JSON header, fully checked, no pickle."""

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from io import BytesIO
from math import prod
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
import torch
from msgspec import Meta, Struct
from torch import Tensor

from tunedprior.errors import FileFormatError, InputError, TunedPriorError
from tunedprior.kernels.registry import check_kernel_arguments, get_kernel_arguments, make_kernel
from tunedprior.machines import AlphaFit, FeatureFit, Fit
from tunedprior.space.encoding import Axis, Box
from tunedprior.tables import check_file_name

if TYPE_CHECKING:
    from tunedprior.weight_prior.prior import WeightPrior

_TYPES: dict[str, type[np.generic]] = {"<f8": np.float64, "<i8": np.int64, "|u1": np.uint8}
_LONGEST_PREAMBLE = 1024  # of an array: its type, order and shape


def pack_archive(header: bytes, tensors: Mapping[str, Tensor]) -> bytes:
    """Pack a header and tensors into the bytes of an uncompressed archive, as float64 and int64."""
    buffer = BytesIO()
    content: dict[str, Any] = {"header": np.frombuffer(header, dtype=np.uint8)}
    for name, tensor in tensors.items():
        content[name] = (tensor.double() if tensor.is_floating_point() else tensor).cpu().numpy()
    np.savez(buffer, **content)
    return buffer.getvalue()


def unpack_archive(data: bytes) -> tuple[bytes, dict[str, np.ndarray]]:
    """Unpack the header and all arrays of an archive; a `FileFormatError` gives the reason if it is damaged.

    Members must be uncompressed, so that no array is larger than the file.
    """
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            members = archive.infolist()
            if len({member.filename for member in members}) < len(members):
                raise FileFormatError("two of its parts have one name")
            for member in members:
                if member.compress_type != zipfile.ZIP_STORED or member.file_size != member.compress_size:
                    raise FileFormatError(f"its part {member.filename[:40]!r} is compressed")
                if not member.filename.endswith(".npy") or member.file_size > len(data):
                    raise FileFormatError(f"its part {member.filename[:40]!r} is no array")
            arrays = {member.filename.removesuffix(".npy"): _parse_array(archive.read(member)) for member in members}
        text = arrays.pop("header", None)
        if text is None or text.dtype != np.uint8 or text.ndim != 1:
            raise FileFormatError("it has no header")
        return text.tobytes(), arrays
    except FileFormatError:
        raise
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise errors of a dozen kinds
        raise FileFormatError(str(error)[:200] or type(error).__name__) from error


def _parse_array(data: bytes) -> np.ndarray:
    file = BytesIO(data)
    if np.lib.format.read_magic(file) != (1, 0):
        raise FileFormatError("an array has an unknown version")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_LONGEST_PREAMBLE)
    if dtype.str not in _TYPES or dtype.shape or dtype.fields:
        raise FileFormatError(f"an array has the type {str(dtype)[:40]}, and must have float64 or int64")
    rest = len(data) - file.tell()
    if any(type(length) is not int or length < 0 for length in shape) or prod(shape) * dtype.itemsize != rest:
        raise FileFormatError(f"an array of shape {str(shape)[:40]} cannot have {rest} bytes")
    flat: np.ndarray = np.frombuffer(data, dtype=_TYPES[dtype.str], offset=file.tell())
    return flat.reshape(shape, order="F" if fortran else "C").copy(order="K")


FORMAT = "tunedprior weight prior"
VERSION = 2

# Upper bounds, far above anything that is learnt, so that no file takes long or much memory to use.
_MOST_AXES = 10_000
_LARGEST_EXPONENT = 700.0  # exp of it is still a float

_Number = Annotated[float, Meta(ge=-1e300, le=1e300)]
_Positive = Annotated[float, Meta(gt=0, le=1e300)]


class StrictHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """A struct that refuses unknown fields."""


class AxisEntry(StrictHeader, frozen=True):
    """One parameter's side of the box."""

    name: str
    low: _Number
    high: _Number
    log: bool
    choices: Annotated[tuple[str | int | float | bool | None, ...], Meta(min_length=1)] | None


class WeightPriorHeader(StrictHeader, frozen=True):
    """All fields but the arrays."""

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
    """The fields that every version of the format has."""

    format: str
    version: int


def parse_header(data: bytes) -> tuple[WeightPriorHeader, dict[str, Any]]:
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
        arguments = check_kernel_arguments(header.kernel, msgspec.json.decode(header.arguments))
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise FileFormatError(f"is not a weight prior, or is damaged (its header: {error})") from error
    for reason in _find_contradictions(header):
        raise FileFormatError(f"is not a weight prior, or is damaged (its header: {reason})")
    return header, arguments


def _find_contradictions(header: WeightPriorHeader) -> Iterable[str]:
    """Describe contradictions that the types alone do not exclude."""
    names = [axis.name for axis in header.axes]
    if len(set(names)) < len(names):
        yield "two parameters have one name"
    for axis in header.axes:
        if axis.low > axis.high:
            yield f"{axis.name!r} has its low end above its high end"
        if axis.log and max(abs(axis.low), abs(axis.high)) > _LARGEST_EXPONENT:
            yield f"{axis.name!r} has a logarithmic scale beyond all numbers"


_PLAIN_FIELDS = ("machine", "error", "reach", "response_shift", "response_scale")
_OF_ALPHA = frozenset(("anchors", "alpha"))
_OF_PRUNED = _OF_ALPHA | {"inverse_root", "signal"}
_OF_FEATURES = _OF_ALPHA | {"indices", "weights", "factor", "signal_and_missing"}

# Upper bounds on what is read: of the file in bytes, and of the powers of a feature, summed over the inputs.
_MOST_BYTES = 2**30
_MOST_POWERS = 2**14
_ROUNDING = 1e-6


def encode_prior(prior: "WeightPrior") -> bytes:
    """Encode a prior as the content of a file."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kernel": type(prior.base).__name__,
        "arguments": get_kernel_arguments(prior.base),
        "axes": [asdict(axis) for axis in prior.box.axes],
        "lam": prior.lam,
        **{name: getattr(prior, name) for name in _PLAIN_FIELDS},
    }
    assert isinstance(prior.fit, AlphaFit | FeatureFit)
    tensors = {"anchors": prior.anchors, "alpha": prior.alpha} | prior.fit.to_arrays()
    try:
        data = pack_archive(json.dumps(header).encode(), tensors)
        decode_prior(data)  # whatever is written can be read again
    except (TypeError, ValueError, FileFormatError) as error:
        raise InputError(
            f"This prior cannot be saved: {error}. Categories must be text, numbers, True, False or None."
        ) from error
    return data


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields of the `WeightPrior` that `encode_prior` encoded and this file holds."""
    file = Path(check_file_name(path))
    try:
        if file.is_dir():
            raise InputError(f"{os.fspath(path)!r} is a folder. Name the file that prior.save(path) wrote.")
        if not file.is_file():
            raise InputError(f"There is no file {os.fspath(path)!r}. Name one that prior.save(path) wrote.")
        size = file.stat().st_size
        data = file.read_bytes() if size <= _MOST_BYTES else b""
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{os.fspath(path)!r} cannot be read: {error}.") from error
    try:
        if size > _MOST_BYTES:
            raise FileFormatError(f"is not a weight prior: it holds {size:,} bytes")
        return decode_prior(data)
    except FileFormatError as error:
        raise FileFormatError(
            f"{os.fspath(path)!r} {error}. {_describe_file_kind(data)}Make it again with prior.save(path)."
        ) from error


def is_weight_prior(path: str | PathLike[str]) -> bool:
    """Whether the file is one that `WeightPrior.save` wrote, by its content; False if it cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "header.npy" in archive.namelist()
    except (OSError, ValueError, EOFError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        return False


def refuse_unusable(prior: "WeightPrior", path: str | PathLike[str]) -> None:
    """Raise a `FileFormatError` if g or the kernel is not finite at the old settings or at two corners of the box.

    Nor may old data explain more of K₂ than there is.
    """
    corner = torch.full_like(prior.anchors[:1], prior.reach)
    points = torch.cat([prior.anchors, corner, -corner])
    try:
        with torch.no_grad():
            values = torch.cat([prior.make_kernel()(points, diag=True), prior.fit(points)])
            usable = bool(torch.isfinite(values).all()) and _has_sound_posterior(prior.fit, points)
    except (TunedPriorError, ArithmeticError, RuntimeError, ValueError, IndexError, MemoryError):
        usable = False
    if not usable:
        raise FileFormatError(
            f"{os.fspath(path)!r} is not a weight prior, or is damaged (its kernel is not finite). "
            "Make it again with prior.save(path)."
        )


def _has_sound_posterior(fit: Fit, points: Tensor) -> bool:
    """Whether k(x)ᵀMk(x) ≤ K₂(x, x) at these points, where M is stored with the fit."""
    if not isinstance(fit, AlphaFit) or fit.posterior is None:
        return True
    cross, whole = fit.kernel(points, fit.anchors).to_dense(), fit.kernel(points, diag=True)
    explained = (cross @ fit.posterior.inverse_root.mT).square().sum(1)
    return bool((explained <= (1 + _ROUNDING) * whole).all())


def decode_prior(data: bytes) -> dict[str, Any]:
    """Decode the fields of a `WeightPrior` from the bytes of a file; an error's message continues the file's name."""
    try:
        text, arrays = unpack_archive(data)
    except FileFormatError as error:
        raise FileFormatError(f"is not a weight prior, or is damaged ({error})") from error
    header, arguments = parse_header(text)
    box = make_box(header.axes)
    check_arrays(arrays, box.num_inputs)
    tensors = {name: torch.as_tensor(array) for name, array in arrays.items()}
    fit_type: type[AlphaFit | FeatureFit] = FeatureFit if "weights" in tensors else AlphaFit
    try:
        base = make_kernel(header.kernel, arguments).requires_grad_(False)
        if base.num_inputs not in (None, box.num_inputs):
            raise InputError(f"{base.num_inputs} length-scales for {box.num_inputs} inputs")
        fit = fit_type.from_arrays(base, header.lam, tensors)
    except InputError as error:
        raise FileFormatError(f"is not a weight prior, or is damaged (its kernel: {error})") from error
    plain = {name: getattr(header, name) for name in _PLAIN_FIELDS}
    return {"fit": fit, "anchors": tensors["anchors"], "box": box, **plain}


def make_box(entries: Iterable[AxisEntry]) -> Box:
    """Make the box whose sides the entries of a header describe."""
    return Box(tuple(Axis(*msgspec.structs.astuple(entry)) for entry in entries))


def check_arrays(arrays: Mapping[str, np.ndarray], d: int) -> None:
    """Check the arrays of a fit: types, shapes, finite numbers, and a size that can be used."""
    wanted = next((some for some in (_OF_ALPHA, _OF_PRUNED) if arrays.keys() <= some), _OF_FEATURES)
    missing, surplus = sorted(wanted - arrays.keys()), sorted(arrays.keys() - wanted)
    if missing or surplus:
        told = f"lacks {missing[0]!r}" if missing else f"has a part {surplus[0][:40]!r} of another format"
        raise FileFormatError(f"is not a weight prior, or is damaged: it {told}")
    a = len(arrays["anchors"]) if arrays["anchors"].ndim else 0
    p = len(arrays["weights"]) if wanted is _OF_FEATURES and arrays["weights"].ndim else 0
    shapes = {"anchors": (a, d), "alpha": (0,) if p else (a,), "indices": (p, d), "weights": (p,), "factor": (p, p)}
    shapes |= {"signal_and_missing": (2,), "inverse_root": (a, a), "signal": (1,)}
    for name in sorted(wanted):
        array, kind = arrays[name], np.int64 if name == "indices" else np.float64
        if array.dtype != kind or array.shape != shapes[name] or not np.isfinite(array).all():
            _refuse(name, f"must be finite, {np.dtype(kind)}, of shape {shapes[name]}")
    if a < 1 or d < 1 or np.abs(arrays["anchors"]).max() > 1 + _ROUNDING:
        _refuse("anchors", "must lie in [-1, 1], in one row or more")
    if wanted is _OF_PRUNED and arrays["signal"] <= 0:
        _refuse("signal", "must be a variance")
    if wanted is _OF_FEATURES:
        _check_features(arrays)


def _check_features(arrays: Mapping[str, np.ndarray]) -> None:
    indices = arrays["indices"]
    if not len(indices) or indices.min() < 0 or indices.max() > _MOST_POWERS:
        _refuse("indices", f"must be powers from 0 to {_MOST_POWERS}")
    if indices.max(0).sum() > _MOST_POWERS or len(np.unique(indices, axis=0)) < len(indices):
        _refuse("indices", f"must be different powers of at most {_MOST_POWERS} in all")
    if arrays["factor"].diagonal().min() <= 0:
        _refuse("factor", "must have a positive diagonal")
    signal, missing = arrays["signal_and_missing"]
    if signal < -_ROUNDING or not -_ROUNDING <= missing <= 1 + _ROUNDING:
        _refuse("signal_and_missing", "must be a variance and a share")


def _refuse(name: str, reason: str) -> None:
    raise FileFormatError(f"is not a weight prior, or is damaged ({name!r} {reason})")


def _describe_file_kind(data: bytes) -> str:
    """A sentence on what other kind of file it is, if that can be seen."""
    if not data:
        return "It is empty. "
    if data.startswith(b"PK"):
        return ""
    if b"\0" in data[:1000]:
        return "It is a file of another kind. "
    return "It looks like text, such as a CSV file: learn from it with pretrain(path, space). "
