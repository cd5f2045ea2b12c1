"""Bayesian optimisation that learns from related old data which features matter.

Start with `Optimizer` (ask and tell) or `optimize`. The modules follow the data: `space`, `box`, `auxiliary` (old data)
→ `kernels` (free kernels, Table 1, the Theorem, beliefs) → `machines` (SVM, LS-SVM) → `pretrain` (a `WeightPrior`) →
`models`, `surrogates` (Gaussian processes) → `acquisition`, `maximise` → `record`, `optimizer`. The default prior, an
average over beliefs, goes `evidence`, `old_fits`, `knowledge` → `candidates`, `growing`, `average`, `mixture`,
`mixture_acquisition` → `trust`. `weight_space` is the paper's own view of the process.
"""

from tunedprior.errors import TunedPriorError
from tunedprior.optimize import optimize
from tunedprior.optimizer import Optimizer
from tunedprior.pretrain import pretrain
from tunedprior.record import Trial
from tunedprior.validation import average_replicates
from tunedprior.weight_prior import WeightPrior

__version__ = "0.1.0"

__all__ = ["Optimizer", "Trial", "TunedPriorError", "WeightPrior", "average_replicates", "optimize", "pretrain"]
