"""Machines that learn α from old data, and the leave-one-out error that selects λ and the kernel's parameters."""

from tunedprior.machines.fit import AlphaFit, Fit
from tunedprior.machines.least_squares import LeastSquares
from tunedprior.machines.leave_one_out import compute_loo_error
from tunedprior.machines.machine import Machine
from tunedprior.machines.selection import Selection, select
from tunedprior.machines.streamed import FeatureFit
from tunedprior.machines.support_vector import SupportVectorClassifier, SupportVectorRegressor

__all__ = [
    "AlphaFit",
    "FeatureFit",
    "Fit",
    "LeastSquares",
    "Machine",
    "Selection",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "compute_loo_error",
    "select",
]
