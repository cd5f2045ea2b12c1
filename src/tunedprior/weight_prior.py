"""What was learnt from old data, as a value: it can be looked at, saved, and turned into a kernel."""

import json
import zipfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import cached_property
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.box import Axis, Box
from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import (
    DirectProduct,
    DotProduct,
    Exponential,
    FreeKernel,
    Linear,
    LogRatio,
    Polynomial,
    ReweightedBelief,
    Sinh,
    SquaredExponential,
)
from tunedprior.machines.primal import PrimalFit

_FORMAT = "tunedprior weight prior"
_VERSION = 2
#: A prior variance below this, at the old data itself, is no prior at all.
_VANISHING = 1e-12

#: How each kernel is made again: the names of its constructor's arguments.
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


@dataclass(frozen=True, eq=False)
class WeightPrior:
    """K^A₂(x, x') = Σ_jk α_j α_k K₄(a_j, a_k, x, x'), and all that is needed to use it on new settings.

    Attributes:
        base: The free kernel K_m, its parameters chosen.
        anchors: Old settings as kernel inputs in [-1, 1], `a x d`; some of them, where there were too many for α.
        alpha: What the machine learnt, `a`; nothing where `fit` says it.
        lam: The machine's λ.
        machine: The machine's name.
        error: Its leave-one-out error on the old data, in the units of the scaled response.
        box: How settings become kernel inputs.
        reach: The part of [-1, 1] the box is scaled onto; below 1 for kernels undefined at the ends.
        response_shift: Subtracted from the old responses before training.
        response_scale: And what they were then divided by.
        fit: ŵ, learnt without α in explicit features; None where α says it all.
    """

    base: FreeKernel
    anchors: Float[Tensor, "a d"]
    alpha: Float[Tensor, " _"]
    lam: float
    machine: str
    error: float
    box: Box
    reach: float = 1.0
    response_shift: float = 0.0
    response_scale: float = 1.0
    fit: PrimalFit | None = None

    def kernel(self) -> Kernel:
        """The re-weighted kernel, a GPyTorch covariance on `inputs`; nothing in it is learnable."""
        return deepcopy(self._kernel)  # whoever moves it to a GPU moves their own

    @cached_property
    def _kernel(self) -> Kernel:
        if self.fit is not None:
            return self.fit.belief("reweighted")
        return ReweightedBelief(self.base, self.anchors, self.alpha)

    def inputs(self, codes: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """What the kernel sees of a setting's codes."""
        return self.reach * self.box.inputs(codes)

    @cached_property
    def vanishes(self) -> bool:
        """Whether the kernel is zero for all practical purposes: the old data was too flat to say anything."""
        with torch.no_grad():
            return float(self.kernel()(self.anchors, diag=True).mean()) < _VANISHING

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything into one file: a zip archive of plain arrays and a JSON header."""
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "kernel": type(self.base).__name__,
            "arguments": _arguments(self.base),
            "axes": [asdict(axis) for axis in self.box.axes],
            **{name: getattr(self, name) for name in _PLAIN_FIELDS},
        }
        buffer = BytesIO()
        text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        arrays = {"anchors": self.anchors, "alpha": self.alpha} | ({} if self.fit is None else self.fit.arrays())
        content: dict[str, Any] = {name: tensor.cpu().numpy() for name, tensor in arrays.items()}
        np.savez(buffer, header=text, **content)
        # Written beside and then moved, so that a crash leaves the old file or the new one, never half of one.
        path = Path(path)
        beside = path.with_name(path.name + ".part")
        beside.write_bytes(buffer.getvalue())
        beside.replace(path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "WeightPrior":
        """Read what `save` wrote; a `FileFormatError` says why another file is not that."""
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
        axes = [
            axis | {"choices": None if axis["choices"] is None else tuple(axis["choices"])} for axis in header["axes"]
        ]
        base = _make(header["kernel"], header["arguments"], anchors).requires_grad_(False)
        try:
            fit = PrimalFit.from_arrays(base, header["lam"], arrays) if arrays else None
        except KeyError as error:
            raise FileFormatError(f"{str(path)!r} lacks {error}. Make it again with prior.save(path).") from error
        return cls(
            base=base,
            anchors=anchors,
            alpha=alpha,
            fit=fit,
            box=Box(tuple(Axis(**axis) for axis in axes)),
            **{name: header[name] for name in _PLAIN_FIELDS},
        )


_PLAIN_FIELDS = ("lam", "machine", "error", "reach", "response_shift", "response_scale")


def _arguments(kernel: FreeKernel) -> dict[str, Any]:
    names = _KERNELS.get(type(kernel))
    if names is None:
        raise InputError(
            f"Only the kernels of tunedprior.kernels can be saved ({listed_kernels()}); got {type(kernel).__name__}."
        )
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
    """The names of all kernels that can be saved."""
    return ", ".join(kernel.__name__ for kernel in _KERNELS)
