"""Bayesian optimisation that learns from related old data which features matter.

The way the data flows, and the modules with it: auxiliary data → `kernels` (free kernels, Table 1) →
`machines` (SVM, LS-SVM) → `kernels.theorem` (the re-weighted kernel) → a Gaussian process. `weight_space` is the
paper's own view of that process.
"""

from tunedprior.errors import TunedPriorError
from tunedprior.validation import average_replicates

__version__ = "0.1.0"

__all__ = ["TunedPriorError", "average_replicates"]
