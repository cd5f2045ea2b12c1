"""Kernels that can be saved: each class says which arguments it is made from again, and registers itself."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

import msgspec
import torch
from gpytorch.kernels import Kernel
from msgspec import Meta, Struct
from torch import Tensor

from tunedprior.checks import format_list
from tunedprior.errors import FileFormatError, InputError

KernelT = TypeVar("KernelT", bound=type[Kernel])

# Upper bounds, far above anything that is learnt, so that no file takes long or much memory to use.
_MOST_COEFFICIENTS = 1000
_MOST_INPUTS = 10_000
_MOST_NESTED = 3

_NotNegative = Annotated[float, Meta(ge=0, le=1e300)]
#: A whole number, 0 or more, such as a polynomial's degree.
WholeNumber = Annotated[int, Meta(ge=0, le=_MOST_COEFFICIENTS)]
#: One learnable number, 0 or more, such as ν of Table 1; a tensor of shape 1.
OneNumber = Annotated[list[_NotNegative], Meta(min_length=1, max_length=1)]
#: One number above 0 for all inputs or one for each, such as length-scales.
PositiveNumbers = Annotated[list[Annotated[float, Meta(gt=0, le=1e300)]], Meta(min_length=1, max_length=_MOST_INPUTS)]
#: The Taylor coefficients of a series.
SeriesCoefficients = Annotated[list[_NotNegative], Meta(min_length=1, max_length=_MOST_COEFFICIENTS)]


class NestedKernel(Struct, frozen=True, forbid_unknown_fields=True):
    """A kernel as an argument of another one."""

    kernel: str
    arguments: dict[str, Any]


_KERNELS: dict[str, tuple[type[Kernel], type[Struct]]] = {}


def register_kernel(kind: KernelT) -> KernelT:
    """Let kernels of this class be saved, under the name of the class; a decorator.

    Args:
        kind: A class of free kernels with `saved_arguments`: the name of each argument that a kernel is made from
            again, which is also an attribute of the kernel, and its type in a file (one of this module's, or any
            other type that msgspec can check).
    """
    name, arguments = kind.__name__, getattr(kind, "saved_arguments", None)
    if arguments is None:
        raise InputError(f"{name} must have `saved_arguments`, the type of each argument by its name ({{}} for none).")
    if name in _KERNELS and _KERNELS[name][0].__module__ != kind.__module__:
        raise InputError(f"There is a kernel {name!r} already. Choose another name.")
    # Exactly these fields, or a file is refused.
    _KERNELS[name] = kind, msgspec.defstruct(name, list(arguments.items()), frozen=True, forbid_unknown_fields=True)
    return kind


def forget_kernel(name: str) -> None:
    """Remove a kernel from the registry."""
    _KERNELS.pop(name, None)


def get_kernel_arguments(kernel: Kernel) -> dict[str, Any]:
    """The arguments that `make_kernel` makes the kernel from again, as JSON has them."""
    name = type(kernel).__name__
    if name not in _KERNELS or _KERNELS[name][0] is not type(kernel):
        raise InputError(
            f"A kernel {name} cannot be saved: its class says not how. Use one of {format_list(_KERNELS)}, or give the "
            "class `saved_arguments` and the decorator tunedprior.kernels.register_kernel."
        )
    if kernel.active_dims is not None:
        raise InputError("A kernel with active_dims cannot be saved. Learn from a table with those columns alone.")
    return {field: _encode_value(getattr(kernel, field)) for field in _KERNELS[name][1].__struct_fields__}


def _encode_value(value: Any) -> Any:
    if isinstance(value, Kernel):
        return {"kernel": type(value).__name__, "arguments": get_kernel_arguments(value)}
    return value.detach().flatten().tolist() if isinstance(value, Tensor) else value


def check_kernel_arguments(name: str, arguments: Any, depth: int = 0) -> dict[str, Any]:
    """The arguments of a saved kernel, checked against what its class declares.

    Args:
        name: The name of its class.
        arguments: Its arguments, from JSON.
        depth: In how many kernels it is nested.

    Raises:
        FileFormatError: There is no such kernel, or kernels are nested too deeply.
        msgspec.ValidationError: An argument is missing, unknown, or of another type.
    """
    if name not in _KERNELS:
        raise FileFormatError(
            f"names a kernel {name[:40]!r}; known are {', '.join(_KERNELS)}. Update tunedprior, or import the module "
            "that registers this kernel"
        )
    if depth > _MOST_NESTED:
        raise FileFormatError(f"has kernels in kernels, more than {_MOST_NESTED} deep")
    checked = msgspec.structs.asdict(msgspec.convert(arguments, type=_KERNELS[name][1]))
    for field, value in checked.items():
        if isinstance(value, NestedKernel):
            nested = check_kernel_arguments(value.kernel, value.arguments, depth + 1)
            checked[field] = {"kernel": value.kernel, "arguments": nested}
    return checked


def make_kernel(name: str, arguments: Mapping[str, Any]) -> Any:
    """The kernel of this name with arguments that `check_kernel_arguments` or `get_kernel_arguments` gave."""
    return _KERNELS[name][0](**{field: _decode_value(value) for field, value in arguments.items()})


def _decode_value(value: Any) -> Any:
    if isinstance(value, dict):
        return make_kernel(value["kernel"], value["arguments"])
    return torch.tensor(value, dtype=torch.float64) if isinstance(value, list) else value
