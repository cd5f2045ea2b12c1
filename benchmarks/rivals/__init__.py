"""What the tuned prior is compared with: the paper's rivals and the field's strong ones, as `Surrogate`s.

All see the same observations through the same optimiser; they differ in what they make of the old data. None takes a
known noise level: they learn it, from the observations or (`LearntKernel`) from the old data.
"""

from benchmarks.rivals.difference import Difference
from benchmarks.rivals.envelope import Envelope
from benchmarks.rivals.learnt_kernel import LearntKernel, anisotropic, mixture
from benchmarks.rivals.leave_one_out import LeaveOneOut
from benchmarks.rivals.multi_task import MultiTask
from benchmarks.rivals.ranking_ensemble import RankingEnsemble

__all__ = [
    "Difference",
    "Envelope",
    "LearntKernel",
    "LeaveOneOut",
    "MultiTask",
    "RankingEnsemble",
    "anisotropic",
    "mixture",
]
