"""Free kernels: Table 1, the two constructions behind it, and the kernels that old data makes of them."""

from tunedprior.kernels.beliefs import Aligned, Matched, ReweightedBelief, Uncertain
from tunedprior.kernels.constructions import DirectProduct, DotProduct
from tunedprior.kernels.free_kernel import FreeKernel
from tunedprior.kernels.table1 import Exponential, Linear, LogRatio, Polynomial, Sinh, SquaredExponential
from tunedprior.kernels.theorem import Reweighted

__all__ = [
    "Aligned",
    "DirectProduct",
    "DotProduct",
    "Exponential",
    "FreeKernel",
    "Linear",
    "LogRatio",
    "Matched",
    "Polynomial",
    "Reweighted",
    "ReweightedBelief",
    "Sinh",
    "SquaredExponential",
    "Uncertain",
]
