"""Beliefs: prior covariances of the objective that old data justifies, one file for each, registered by name."""

from tunedprior.beliefs.aligned import Aligned, AlignedFeatures
from tunedprior.beliefs.matched import Matched
from tunedprior.beliefs.registry import Belief, KernelBelief, Version, belief, beliefs, forget, register
from tunedprior.beliefs.reweighted import FixedReweighted
from tunedprior.beliefs.shape import ShapeBelief
from tunedprior.beliefs.uncertain import Uncertain
from tunedprior.beliefs.uninformed import UninformedBelief

__all__ = [
    "Aligned",
    "AlignedFeatures",
    "Belief",
    "FixedReweighted",
    "KernelBelief",
    "Matched",
    "ShapeBelief",
    "Uncertain",
    "UninformedBelief",
    "Version",
    "belief",
    "beliefs",
    "forget",
    "register",
]
