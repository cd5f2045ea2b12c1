"""Machines that learn α from old data, and the leave-one-out error that selects λ and the kernel's parameters."""

from tunedprior.machines.feature_ridge import FeatureFit
from tunedprior.machines.machine import AlphaFit, Fit, LeastSquares, Machine, compute_loo_error
from tunedprior.machines.pruning import PrunedLeastSquares
from tunedprior.machines.selection import Selection, select
from tunedprior.machines.support_vector import SupportVectorClassifier, SupportVectorRegressor

__all__ = [
    "AlphaFit",
    "FeatureFit",
    "Fit",
    "LeastSquares",
    "Machine",
    "PrunedLeastSquares",
    "Selection",
    "SupportVectorClassifier",
    "SupportVectorRegressor",
    "compute_loo_error",
    "select",
]
