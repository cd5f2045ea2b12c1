"""Kernels are saved by what their classes declare, and nothing else is taken from a file."""

import json
from typing import Any

import msgspec
import pytest
import torch

from support.cases import CASES
from tunedprior.errors import FileFormatError, InputError
from tunedprior.kernels import FreeKernel, Linear, Polynomial, SquaredExponential, WithBias, register_kernel
from tunedprior.kernels.registry import check_kernel_arguments, get_kernel_arguments, make_kernel

X = torch.tensor([[0.2, -0.4], [0.5, 0.1]], dtype=torch.float64)


def restore(kernel: FreeKernel) -> Any:
    """The kernel that a file would give back."""
    text = json.dumps(get_kernel_arguments(kernel))
    return make_kernel(name := type(kernel).__name__, check_kernel_arguments(name, json.loads(text)))


@pytest.mark.parametrize("wrap", [lambda kernel: kernel, WithBias], ids=["itself", "with bias"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_kernel_comes_back(case: Any, wrap: Any) -> None:
    kernel = wrap(case.make()).double()
    again = restore(kernel)
    assert type(again) is type(kernel)
    torch.testing.assert_close(again(X).to_dense(), kernel(X).to_dense(), rtol=1e-6, atol=0)


def test_what_says_not_how_it_is_saved_is_refused() -> None:
    class Own(Linear):
        pass

    with pytest.raises(InputError, match=r"Own cannot be saved.*register_kernel"):
        get_kernel_arguments(Own())
    with pytest.raises(InputError, match="Own cannot be saved"):
        get_kernel_arguments(WithBias(Own()))
    with pytest.raises(InputError, match="active_dims"):
        get_kernel_arguments(Linear(active_dims=[0]))


def test_a_name_is_given_once() -> None:
    taken = type("Linear", (Linear,), {})
    with pytest.raises(InputError, match="There is a kernel 'Linear' already"):
        register_kernel(taken)
    assert type(restore(Linear())) is Linear


def test_a_class_must_declare_its_arguments() -> None:
    class Unsaid(FreeKernel):
        pass

    with pytest.raises(InputError, match="Unsaid must have `saved_arguments`"):
        register_kernel(Unsaid)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Linear", {"scale": [1.0]}),
        ("Polynomial", {"degree": 2}),
        ("Polynomial", {"degree": 10**6, "offset": [1.0]}),
        ("SquaredExponential", {"lengthscale": []}),
        ("SquaredExponential", {"lengthscale": [0.0]}),
        ("WithBias", {"base": {"kernel": "Linear"}}),
        ("WithBias", {"base": {"kernel": "Linear", "arguments": {"more": 1}}}),
    ],
)
def test_other_arguments_are_refused(name: str, arguments: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        check_kernel_arguments(name, arguments)


def test_kernels_are_not_nested_without_end() -> None:
    kernel: Any = SquaredExponential()
    for _ in range(3):
        kernel = WithBias(kernel)
    restore(kernel)
    with pytest.raises(FileFormatError, match="deep"):
        restore(WithBias(kernel))
    with pytest.raises(FileFormatError, match="names a kernel 'Nothing'"):
        check_kernel_arguments("WithBias", {"base": {"kernel": "Nothing", "arguments": {}}})


def test_a_polynomial_with_a_bias_keeps_both_constants() -> None:
    again = restore(WithBias(Polynomial(2, 0.5)).double())
    assert again.base.degree == 2
    torch.testing.assert_close(again(X, diag=True), ((X**2).sum(1) + 0.5).square() + 1, rtol=1e-6, atol=0)
