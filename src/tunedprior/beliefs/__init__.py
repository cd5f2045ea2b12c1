"""Beliefs: prior covariances of the objective that old data justifies, one file for each, registered by name."""

from tunedprior.beliefs.aligned import AlignedFeatureKernel, AlignedKernel
from tunedprior.beliefs.matched import MatchedKernel
from tunedprior.beliefs.registry import (
    Belief,
    KernelBelief,
    PriorCovariance,
    forget,
    get_belief,
    list_beliefs,
    register,
)
from tunedprior.beliefs.reweighted import FixedReweightedKernel
from tunedprior.beliefs.shape import ShapeBelief
from tunedprior.beliefs.uncertain import UncertainKernel
from tunedprior.beliefs.uninformed import UninformedBelief
from tunedprior.discovery import import_modules

import_modules(__name__)

__all__ = [
    "AlignedFeatureKernel",
    "AlignedKernel",
    "Belief",
    "FixedReweightedKernel",
    "KernelBelief",
    "MatchedKernel",
    "PriorCovariance",
    "ShapeBelief",
    "UncertainKernel",
    "UninformedBelief",
    "forget",
    "get_belief",
    "list_beliefs",
    "register",
]
