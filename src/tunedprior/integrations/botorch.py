"""Old data inside BoTorch: a Gaussian process with the learnt kernel, and the average over beliefs as an ensemble."""

from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.utils.types import DEFAULT
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from gpytorch.means import Mean
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.checks import Numbers, warn
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.integrations import pathwise
from tunedprior.integrations.ensemble import TunedPriorEnsemble
from tunedprior.integrations.learnt_kernel import REWEIGHTED, LearntSum, OnSettings, learnt_kernel
from tunedprior.integrations.model_units import InModelUnits, in_model_units
from tunedprior.integrations.old_tensors import learnt_prior, space_within
from tunedprior.models.covariances import amplified
from tunedprior.problem.box import Box

__all__ = ["TunedPriorEnsemble", "TunedPriorGP", "learnt_prior"]

pathwise.register()


class TunedPriorGP(SingleTaskGP):
    """f ~ GP(m, σ_f² K^A₂): BoTorch's `SingleTaskGP` with the kernel that old data A taught (Algorithm 1).

    It is a `SingleTaskGP` in all respects, so that whatever takes one takes this: it is made from tensors in the user's
    units, fitted with `fit_gpytorch_mll` (m, σ_f and the noise; what old data taught stays as it is), conditioned,
    fantasised, listed in a `ModelListGP`, sampled by paths. That is why the average over beliefs, the default of
    `Optimizer`, is a class of its own: a mixture of many processes has no marginal likelihood to fit and no single
    kernel, and is a BoTorch ensemble instead. Take `TunedPriorEnsemble` where an ensemble will do: it holds it
    possible that old data says nothing. This model holds one belief about it, whatever the observations say.

    Of several old data sets the kernel is a sum, Σ_k σ_k² K_k, with an amplitude for each.

    Args:
        train_X: Settings, `n x d` (or a batch of these), in any units.
        train_Y: Observations, `n x 1`, in any units: they are standardised, as `SingleTaskGP` does.
        train_Yvar: The variances of the observations' noise, where they are known.
        old: `(X_old, y_old)`, a `WeightPrior`, or a list of these. X_old has the columns and units of train_X, y_old is
            any response that may be related. A `WeightPrior` scales settings itself, so it goes without
            `input_transform`.
        bounds: The search space, `2 x d`. The model is defined in the box that holds these bounds, train_X and X_old.
            When left out, the bounds are the unit cube if that holds all settings, otherwise their range.
        prior: The belief about old data, by name: "reweighted" is the paper's, and any other that is one kernel will
            do, such as "aligned" (the objective is ρ·g, with ρ of either sign).
        likelihood: As for `SingleTaskGP`.
        mean_module: As for `SingleTaskGP`.
        outcome_transform: As for `SingleTaskGP`: `Standardize` when left out.
        input_transform: As for `SingleTaskGP`; old settings go through it too. It must have nothing to learn.
        seed: The seed of random choices among many old rows.
    """

    def __init__(
        self,
        train_X: Float[Tensor, "*batch n d"],
        train_Y: Float[Tensor, "*batch n m"],
        train_Yvar: Float[Tensor, "*batch n m"] | None = None,
        likelihood: Likelihood | None = None,
        mean_module: Mean | None = None,
        outcome_transform: OutcomeTransform | Any | None = DEFAULT,
        input_transform: InputTransform | None = None,
        *,
        old: Any,
        bounds: Numbers | None = None,
        prior: str = REWEIGHTED,
        seed: int = 0,
    ) -> None:
        if train_Y.shape[-1] != 1:
            raise InputError(
                f"Old data is of one response, so train_Y must have one column; got {train_Y.shape[-1]}. Make a model "
                "for each response, and put them into a ModelListGP."
            )
        given = in_model_units(train_X, old, bounds, input_transform)
        learnt = [amplified(kernel, train_X.shape[:-2]) for kernel in _kernels(given, prior, seed)]
        if len(learnt) > 1:
            covariance: Kernel = LearntSum(*learnt)
        else:
            covariance = learnt[0] if learnt else _without_old_data(given.edges, train_X.shape[:-2])
        super().__init__(
            train_X,
            train_Y,
            train_Yvar,
            likelihood=likelihood,
            covar_module=covariance,
            mean_module=mean_module,
            outcome_transform=outcome_transform,
            input_transform=input_transform,
        )
        self._subset_batch_dict: dict[str, int] = {}  # one output: `subset_output` has nothing to choose from


def _kernels(given: InModelUnits, name: str, seed: int) -> list[Kernel]:
    """The learnt kernel of each old data set; those that teach nothing are left out, with a warning."""
    found: list[Kernel] = []
    for one in given.old:
        try:
            prior = one if isinstance(one, WeightPrior) else learnt_prior(*one, given.edges, seed)
        except NothingToLearnError as error:
            warn(f"{error} Going on without it.", OldDataWarning)
            continue
        if prior.vanishes:
            warn("The kernel learnt from old data vanishes. Going on without it.", OldDataWarning)
            continue
        found.append(learnt_kernel(prior, name))
    return found


def _without_old_data(edges: Float[Tensor, "2 d"], batch_shape: torch.Size) -> Kernel:
    """BoTorch's default kernel, on the unit cube that its priors are made for."""
    box = Box.around(space_within(edges))
    plain = get_covar_module_with_dim_scaled_prior(ard_num_dims=box.num_inputs, batch_shape=batch_shape)
    return OnSettings(plain, box, reach=0.5)  # a cube of width 1: the kernel is stationary
