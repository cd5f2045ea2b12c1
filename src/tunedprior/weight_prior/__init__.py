"""The paper's Algorithm 1: `pretrain` learns a `WeightPrior` from old data, `TunedPrior` is the process with it.

The algorithm's loop over experiments is `campaign.Optimizer` with `TransferConfig(prior="as printed")`; `"reweighted"`
differs from it in the points that docs/algorithm1.md lists.
"""

from tunedprior.weight_prior.pretraining import pretrain
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.tuned_prior import TunedPrior

__all__ = ["TunedPrior", "WeightPrior", "pretrain"]
