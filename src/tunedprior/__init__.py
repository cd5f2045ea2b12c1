"""Bayesian optimisation with transfer from related old data, trusted as far as new results bear it out.

Start with `Optimizer` (ask and tell) or `optimize`. The packages follow the data: `problem` (what may be set, what was
told, old data) → `kernels` (free kernels, Table 1, the Theorem) → `machines` (SVM, LS-SVM) → `beliefs` (what old data
justifies) → `models` → `algorithm1` (the paper) and `average` (the default) → `acquisition` → `insight` → `campaign` →
`desk` → `plots` → `report` and `cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunedprior.algorithm1 import WeightPrior, pretrain
    from tunedprior.campaign import Optimizer, Suggester, optimize
    from tunedprior.errors import TunedPriorError
    from tunedprior.problem.constraints import LinearConstraint, Mixture, OnlyWhen
    from tunedprior.problem.goals import Target
    from tunedprior.problem.training_set import average_replicates
    from tunedprior.problem.trials import History, Trial

__version__ = "0.1.0"

# Where each name is defined. They are imported when they are first used: PyTorch takes seconds, and neither the help of
# the command line nor its completion should.
_DEFINED_IN = {
    "History": "tunedprior.problem.trials",
    "LinearConstraint": "tunedprior.problem.constraints",
    "Mixture": "tunedprior.problem.constraints",
    "OnlyWhen": "tunedprior.problem.constraints",
    "Optimizer": "tunedprior.campaign",
    "Suggester": "tunedprior.campaign",
    "Target": "tunedprior.problem.goals",
    "Trial": "tunedprior.problem.trials",
    "TunedPriorError": "tunedprior.errors",
    "WeightPrior": "tunedprior.algorithm1",
    "average_replicates": "tunedprior.problem.training_set",
    "optimize": "tunedprior.campaign",
    "pretrain": "tunedprior.algorithm1",
}

__all__ = [
    "History",
    "LinearConstraint",
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


# Packages that can be used without importing them by name.
_PACKAGES = ("audit", "average", "beliefs", "campaign", "kernels", "machines", "models", "plots", "problem")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_DEFINED_IN[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
