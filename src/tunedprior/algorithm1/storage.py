"""Weight priors on disk: one file, a zip archive of plain arrays and a JSON header. No pickle."""

import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import (
    DirectProduct,
    DotProduct,
    Exponential,
    FreeKernel,
    Linear,
    LogRatio,
    Polynomial,
    Sinh,
    SquaredExponential,
)
from tunedprior.machines.fit import AlphaFit
from tunedprior.machines.streamed import FeatureFit
from tunedprior.problem.box import Axis, Box

if TYPE_CHECKING:
    from tunedprior.algorithm1.weight_prior import WeightPrior

_FORMAT = "tunedprior weight prior"
_VERSION = 2
_PLAIN_FIELDS = ("machine", "error", "reach", "response_shift", "response_scale")

#: The names of the constructor arguments that each kernel is restored from.
_KERNELS: dict[type[FreeKernel], tuple[str, ...]] = {
    Linear: (),
    Polynomial: ("degree", "offset"),
    Sinh: ("scale",),
    Exponential: ("scale",),
    LogRatio: (),
    SquaredExponential: ("lengthscale",),
    DotProduct: ("coefficients",),
    DirectProduct: ("coefficients",),
}


def write(prior: "WeightPrior", path: str | PathLike[str]) -> None:
    """Write the prior into one file, atomically: a crash leaves the previous file or the new one."""
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "kernel": type(prior.base).__name__,
        "arguments": _arguments(prior.base),
        "axes": [asdict(axis) for axis in prior.box.axes],
        "lam": prior.lam,
        **{name: getattr(prior, name) for name in _PLAIN_FIELDS},
    }
    buffer = BytesIO()
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    arrays = {"anchors": prior.anchors, "alpha": prior.alpha}
    arrays |= prior.fit.arrays() if isinstance(prior.fit, FeatureFit) else {}
    content: dict[str, Any] = {name: tensor.cpu().numpy() for name, tensor in arrays.items()}
    np.savez(buffer, header=text, **content)
    # Renaming is atomic, writing is not.
    path = Path(path)
    beside = path.with_name(path.name + ".part")
    beside.write_bytes(buffer.getvalue())
    beside.replace(path)


def read(path: str | PathLike[str]) -> dict[str, Any]:
    """The fields of the `WeightPrior` that `write` stored in this file."""
    try:
        with np.load(BytesIO(Path(path).read_bytes()), allow_pickle=False) as archive:
            header = json.loads(bytes(archive["header"]))
            arrays = {name: torch.as_tensor(archive[name]) for name in archive.files if name != "header"}
            anchors, alpha = arrays.pop("anchors"), arrays.pop("alpha")
    except FileNotFoundError as error:
        raise InputError(f"There is no file {str(path)!r}.") from error
    except (zipfile.BadZipFile, EOFError, KeyError, ValueError, TypeError, OSError) as error:
        raise FileFormatError(
            f"{str(path)!r} is not a weight prior, or is damaged ({error}). Make it again with prior.save(path)."
        ) from error
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise FileFormatError(f"{str(path)!r} does not hold a weight prior. Make one with prior.save(path).")
    if header["version"] > _VERSION:
        raise FileFormatError(
            f"{str(path)!r} has format version {header['version']}; this tunedprior reads up to {_VERSION}. "
            "Update tunedprior, or save the prior again with this version."
        )
    base = _make(header["kernel"], header["arguments"], anchors).requires_grad_(False)
    try:
        fit = (
            FeatureFit.from_arrays(base, header["lam"], arrays)
            if arrays
            else AlphaFit(base, anchors, alpha, header["lam"])
        )
    except KeyError as error:
        raise FileFormatError(f"{str(path)!r} lacks {error}. Make it again with prior.save(path).") from error
    axes = [axis | {"choices": None if axis["choices"] is None else tuple(axis["choices"])} for axis in header["axes"]]
    return {
        "fit": fit,
        "anchors": anchors,
        "box": Box(tuple(Axis(**axis) for axis in axes)),
        **{name: header[name] for name in _PLAIN_FIELDS},
    }


def _arguments(kernel: FreeKernel) -> dict[str, Any]:
    names = _KERNELS.get(type(kernel))
    if names is None:
        raise InputError(
            f"Only the kernels of tunedprior.kernels can be saved ({listed_kernels()}); got {type(kernel).__name__}."
        )
    if kernel.active_dims is not None:
        raise InputError("A kernel with active_dims cannot be saved. Learn from a table with those columns alone.")
    values = {name: getattr(kernel, name) for name in names}
    return {name: v.detach().flatten().tolist() if isinstance(v, Tensor) else v for name, v in values.items()}


def _make(kind: str, arguments: dict[str, Any], like: Tensor) -> FreeKernel:
    classes: dict[str, Callable[..., FreeKernel]] = {kernel.__name__: kernel for kernel in _KERNELS}
    if kind not in classes:
        raise FileFormatError(f"The file names a kernel {kind!r}; known are {listed_kernels()}. Update tunedprior.")
    tensors = {
        name: torch.tensor(value, dtype=like.dtype) for name, value in arguments.items() if isinstance(value, list)
    }
    return classes[kind](**(arguments | tensors))


def listed_kernels() -> str:
    """The names of all kernels that can be stored, comma separated."""
    return ", ".join(kernel.__name__ for kernel in _KERNELS)
