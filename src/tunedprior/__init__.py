"""Bayesian optimisation with transfer from related old data, trusted as far as new results bear it out.

Start with `Optimizer` (ask and tell) or `optimize`. The packages follow the data: `space`, `goals`, `history` and
`source_data` (what may be set, what is wanted, what was recorded, old data) → `kernels` (free kernels, Table 1, the
Theorem) → `machines` (SVM, LS-SVM) → `beliefs` (what old data justifies) → `models` → `weight_prior` (the paper) and
`model_averaging` (the default) → `acquisition` → `suggestion` → `explain` → `storage` → `campaign` → `workspace` →
`plots` → `report`, `web` and `cli`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tunedprior.campaign import Optimizer, Suggester, optimize
    from tunedprior.errors import TunedPriorError
    from tunedprior.goals.goal import Target
    from tunedprior.goals.goals import Goals
    from tunedprior.history.trials import History, Trial
    from tunedprior.source_data.training_set import average_replicates
    from tunedprior.space.constraints import LinearConstraint, Mixture, OnlyWhen
    from tunedprior.suggestion.config import CampaignConfig, SearchConfig, TransferConfig
    from tunedprior.weight_prior import WeightPrior, pretrain

__version__ = "0.2.0"

# Where each name is defined. They are imported when they are first used: PyTorch takes seconds, and neither the help of
# the command line nor its completion should.
_DEFINED_IN = {
    "CampaignConfig": "tunedprior.suggestion.config",
    "Goals": "tunedprior.goals.goals",
    "History": "tunedprior.history.trials",
    "LinearConstraint": "tunedprior.space.constraints",
    "Mixture": "tunedprior.space.constraints",
    "OnlyWhen": "tunedprior.space.constraints",
    "Optimizer": "tunedprior.campaign",
    "SearchConfig": "tunedprior.suggestion.config",
    "Suggester": "tunedprior.campaign",
    "Target": "tunedprior.goals.goal",
    "Trial": "tunedprior.history.trials",
    "TransferConfig": "tunedprior.suggestion.config",
    "TunedPriorError": "tunedprior.errors",
    "WeightPrior": "tunedprior.weight_prior",
    "average_replicates": "tunedprior.source_data.training_set",
    "optimize": "tunedprior.campaign",
    "pretrain": "tunedprior.weight_prior",
}

__all__ = [
    "CampaignConfig",
    "Goals",
    "History",
    "LinearConstraint",
    "Mixture",
    "OnlyWhen",
    "Optimizer",
    "SearchConfig",
    "Suggester",
    "Target",
    "TransferConfig",
    "Trial",
    "TunedPriorError",
    "WeightPrior",
    "average_replicates",
    "optimize",
    "pretrain",
]


# Packages that can be used without importing them by name.
_PACKAGES = (
    *("audit", "beliefs", "campaign", "goals", "history", "kernels", "machines", "model_averaging", "models", "plots"),
    *("source_data", "space", "weight_prior"),
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    if name not in _DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_DEFINED_IN[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
