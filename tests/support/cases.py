"""Every kernel of the package beside the loop that says what it must equal."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import factorial

import torch

from support import reference
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


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64)


def table(*shape: int, seed: int = 0, low: float = -0.9, high: float = 0.9) -> torch.Tensor:
    """Uniform random points inside every kernel's domain."""
    generator = torch.Generator().manual_seed(seed)
    return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)


@dataclass(frozen=True)
class Case:
    """A kernel on two inputs, its loop, its squared weights, and the degree where its features end."""

    name: str
    make: Callable[..., FreeKernel]
    loop: Callable
    squared_weight: Callable
    ends_at: int | None = None
    feature: Callable = reference.monomial
    truncate_at: int = 24

    @property
    def max_degree(self) -> int:
        return self.truncate_at if self.ends_at is None else self.ends_at


def _dot(xi: Callable) -> Callable:
    return partial(reference.dot_product_squared_weight, xi=xi)


def _direct(xi: Callable) -> Callable:
    return partial(reference.direct_product_squared_weight, xi=xi)


def _binomial(q: int) -> float:
    return factorial(3) / factorial(q) / factorial(3 - q) * 0.7 ** (3 - q) if q <= 3 else 0.0


ARD = [0.7, 1.3]
COEFFICIENTS = [0.5, 0.0, 2.0, 0.25]


def _given(q: int) -> float:
    return COEFFICIENTS[q] if q < len(COEFFICIENTS) else 0.0


CASES = [
    Case("linear", lambda **kw: Linear(**kw).double(), reference.linear, _dot(lambda q: float(q == 1)), ends_at=1),
    Case(
        "polynomial",
        lambda **kw: Polynomial(3, number(0.7), **kw),
        partial(reference.polynomial, degree=3, offset=0.7),
        _dot(_binomial),
        ends_at=3,
    ),
    Case(
        "sinh",
        lambda **kw: Sinh(number(1.5), **kw),
        partial(reference.sinh, scale=1.5),
        _dot(lambda q: 1.5**q / factorial(q) if q % 2 else 0.0),
    ),
    Case(
        "exponential",
        lambda **kw: Exponential(number(1.5), **kw),
        partial(reference.exponential, scale=1.5),
        _dot(lambda q: 1.5**q / factorial(q)),
    ),
    Case(
        "log ratio",
        lambda **kw: LogRatio(**kw).double(),
        reference.log_ratio,
        _direct(lambda q: 2 / q if q % 2 else 0.0),
        truncate_at=40,
    ),
    Case(
        "squared exponential",
        lambda **kw: SquaredExponential(number(0.8), **kw),
        partial(reference.squared_exponential, lengthscales=[0.8, 0.8]),
        partial(reference.squared_exponential_squared_weight, lengthscales=[0.8, 0.8]),
        feature=partial(reference.squared_exponential_feature, lengthscales=[0.8, 0.8]),
    ),
    Case(
        "squared exponential, ARD",
        lambda **kw: SquaredExponential(torch.tensor(ARD, dtype=torch.float64), **kw),
        partial(reference.squared_exponential, lengthscales=ARD),
        partial(reference.squared_exponential_squared_weight, lengthscales=ARD),
        feature=partial(reference.squared_exponential_feature, lengthscales=ARD),
    ),
    Case(
        "dot product",
        lambda **kw: DotProduct(torch.tensor(COEFFICIENTS, dtype=torch.float64), **kw),
        partial(reference.dot_product, coefficients=COEFFICIENTS),
        _dot(_given),
        ends_at=3,
    ),
    Case(
        "direct product",
        lambda **kw: DirectProduct(torch.tensor(COEFFICIENTS, dtype=torch.float64), **kw),
        partial(reference.direct_product, coefficients=COEFFICIENTS),
        _direct(_given),
        ends_at=6,
    ),
]
IDS = [case.name for case in CASES]
