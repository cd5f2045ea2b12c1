"""The paper's Algorithm 1: `pretrain` learns a `WeightPrior` from old data, `TunedPrior` is the process with it.

The algorithm's loop over experiments is `campaign.Optimizer(prior="as printed")`; `prior="reweighted"` is the same with
the changes that docs/algorithm1.md lists.
"""

from tunedprior.algorithm1.pretraining import pretrain
from tunedprior.algorithm1.tuned_prior import TunedPrior
from tunedprior.algorithm1.weight_prior import WeightPrior

__all__ = ["TunedPrior", "WeightPrior", "pretrain"]
