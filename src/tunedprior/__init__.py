"""Bayesian optimisation that learns from related old data which features matter.

Start with `Optimizer` (ask and tell) or `optimize`. The packages follow the data: `problem` (what may be set, what was
told, old data) → `kernels` (free kernels, Table 1, the Theorem) → `machines` (SVM, LS-SVM) → `beliefs` (what old data
justifies) → `models` → `algorithm1` (the paper) and `average` (the default) → `acquisition` → `insight` → `campaign`.
"""

from tunedprior.algorithm1 import WeightPrior, pretrain
from tunedprior.campaign import Optimizer, Suggester, optimize
from tunedprior.errors import TunedPriorError
from tunedprior.problem.constraints import Linear, Mixture, OnlyWhen
from tunedprior.problem.goals import Target
from tunedprior.problem.training_set import average_replicates
from tunedprior.problem.trials import History, Trial

__version__ = "0.1.0"

__all__ = [
    "History",
    "Linear",
    "Mixture",
    "OnlyWhen",
    "Optimizer",
    "Suggester",
    "Target",
    "Trial",
    "TunedPriorError",
    "WeightPrior",
    "average_replicates",
    "optimize",
    "pretrain",
]
