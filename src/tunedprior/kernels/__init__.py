"""Free kernels: the paper's Table 1, one without an origin, and the Theorem that re-weights them."""

from tunedprior.kernels.anchors import ReweightedKernel
from tunedprior.kernels.free_kernel import FreeKernel, WithBias
from tunedprior.kernels.registry import forget_kernel, register_kernel
from tunedprior.kernels.stationary import StationarySquaredExponential
from tunedprior.kernels.table1 import (
    DirectProduct,
    DotProduct,
    Exponential,
    Linear,
    LogRatio,
    Polynomial,
    Sinh,
    SquaredExponential,
)

__all__ = [
    "DirectProduct",
    "DotProduct",
    "Exponential",
    "FreeKernel",
    "Linear",
    "LogRatio",
    "Polynomial",
    "ReweightedKernel",
    "Sinh",
    "SquaredExponential",
    "StationarySquaredExponential",
    "WithBias",
    "forget_kernel",
    "register_kernel",
]
