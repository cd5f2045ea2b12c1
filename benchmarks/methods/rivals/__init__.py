"""What the tuned prior is compared with: the paper's rivals and the field's strong ones, as `Surrogate`s.

All see the same observations through the same optimiser; they differ in what they make of the old data. None takes a
known noise level: they learn it, from the observations or (`LearntKernel`) from the old data.
"""

from benchmarks.methods.rivals.as_stated import (
    DifferenceAsStated,
    EnvelopeAsStated,
    LearntKernelAsStated,
    LeaveOneOutAsStated,
)
from benchmarks.methods.rivals.difference import Difference
from benchmarks.methods.rivals.envelope import Envelope
from benchmarks.methods.rivals.learnt_kernel import (
    LearntKernel,
    anisotropic,
    anisotropic_of,
    convex_mixture,
    mixture,
)
from benchmarks.methods.rivals.leave_one_out import LeaveOneOut
from benchmarks.methods.rivals.mean_discrepancy import domain_transfer
from benchmarks.methods.rivals.multi_task import MultiTask
from benchmarks.methods.rivals.ranking_ensemble import RankingEnsemble

__all__ = [
    "Difference",
    "DifferenceAsStated",
    "Envelope",
    "EnvelopeAsStated",
    "LearntKernel",
    "LearntKernelAsStated",
    "LeaveOneOut",
    "LeaveOneOutAsStated",
    "MultiTask",
    "RankingEnsemble",
    "anisotropic",
    "anisotropic_of",
    "convex_mixture",
    "domain_transfer",
    "mixture",
]
