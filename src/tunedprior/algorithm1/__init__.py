"""The paper's Algorithm 1: `pretrain` learns a `WeightPrior` from old data, `TunedPrior` is the process with it.

The algorithm's loop over experiments is `campaign.Optimizer(prior="reweighted")`.
"""

from tunedprior.algorithm1.pretraining import pretrain
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.algorithm1.weight_prior import WeightPrior

__all__ = ["TunedPrior", "WeightPrior", "pretrain"]
