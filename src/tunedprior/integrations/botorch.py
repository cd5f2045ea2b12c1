"""Old data inside BoTorch: a Gaussian process with the learnt kernel, and the average over beliefs as an ensemble."""

from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import OutcomeTransform
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.utils.datasets import SupervisedDataset
from botorch.utils.types import DEFAULT
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import Likelihood
from gpytorch.means import Mean
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.beliefs.aligned import AlignedBelief
from tunedprior.checks import Numbers, check_flag, warn
from tunedprior.errors import InputError, NothingToLearnError, OldDataWarning
from tunedprior.integrations import pathwise
from tunedprior.integrations.ensemble import TunedPriorEnsemble
from tunedprior.integrations.model_units import ModelUnitData, convert_to_model_units
from tunedprior.integrations.old_tensors import make_numbered_space, pretrain_on_tensors, refuse_vector
from tunedprior.integrations.on_settings import SettingKernel, SourceKernelSum, make_belief_kernel
from tunedprior.models.covariances import add_amplitude
from tunedprior.problem.box import Box

__all__ = ["TunedPriorEnsemble", "TunedPriorGP", "pretrain_on_tensors"]

pathwise.register_feature_generators()


class TunedPriorGP(SingleTaskGP):
    """f ~ GP(m, σ_g² K_A + σ_r² K_r): BoTorch's `SingleTaskGP`, with the kernel K_A that old data A taught.

    K_r is BoTorch's default kernel: a remainder, by which observations can overrule old data.
    `prior="reweighted", remainder=False` is the paper's Algorithm 1. Of several old data sets the kernel is a sum,
    with an amplitude for each.

    It is a `SingleTaskGP` in all respects, so that whatever takes one takes this: it is made from tensors in the user's
    units, fitted with `fit_gpytorch_mll` (what old data taught stays as it is), conditioned, fantasised, listed in a
    `ModelListGP`, sampled by paths. That is why the average over beliefs, the default of `Optimizer`, is a class of its
    own: a mixture of many processes has no marginal likelihood to fit and no single kernel, and is a BoTorch ensemble
    instead. Take `TunedPriorEnsemble` where an ensemble will do.

    Args:
        train_X: Settings, `n x d` (or a batch of these), in any units.
        train_Y: Observations, `n x 1`, in any units: they are standardised, as `SingleTaskGP` does.
        train_Yvar: The variances of the observations' noise, where they are known.
        old: `(X_old, y_old)`, a `WeightPrior`, or a list of these. X_old has the columns and units of train_X, y_old is
            any response that may be related. A `WeightPrior` scales settings itself, so it goes without
            `input_transform`.
        bounds: The search space, `2 x d`. The model is defined in the box that holds these bounds, train_X and X_old.
            When left out, the bounds are the unit cube if that holds all settings, otherwise their range.
        prior: The belief about old data, by name: "aligned" (the objective is ρ·g, with ρ of either sign, plus what old
            data left open), "reweighted" (the paper's), or any other that is one kernel.
        remainder: Whether the kernel has the part K_r.
        likelihood: As for `SingleTaskGP`.
        mean_module: As for `SingleTaskGP`.
        outcome_transform: As for `SingleTaskGP`: `Standardize` when left out.
        input_transform: As for `SingleTaskGP`; old settings go through it too. It must have nothing to learn.
        seed: The seed of random choices among many old rows.
    """

    def __init__(
        self,
        train_X: Float[Tensor, "*batch n d"],
        train_Y: Tensor,  # `*batch n 1`, left open: people pass vectors
        train_Yvar: Float[Tensor, "*batch n m"] | None = None,
        likelihood: Likelihood | None = None,
        mean_module: Mean | None = None,
        outcome_transform: OutcomeTransform | Any | None = DEFAULT,
        input_transform: InputTransform | None = None,
        *,
        old: Any,
        bounds: Numbers | None = None,
        prior: str = AlignedBelief.name,
        remainder: bool = True,
        seed: int = 0,
    ) -> None:
        refuse_vector(train_Y, train_X)
        if train_Y.shape[-1] != 1:
            raise InputError(
                f"Old data is of one response, so train_Y must have one column; got {train_Y.shape[-1]}. Make a model "
                "for each response, and put them into a ModelListGP."
            )
        given = convert_to_model_units(train_X, old, bounds, input_transform)
        batch_shape, plain = train_X.shape[:-2], _make_default_kernel(given.edges, train_X.shape[:-2])
        parts: list[Kernel] = [
            add_amplitude(kernel, batch_shape) for kernel in _make_source_kernels(given, prior, seed)
        ]
        if parts and check_flag(remainder, "remainder"):
            parts.append(add_amplitude(plain, batch_shape))
        covariance = SourceKernelSum(*parts) if len(parts) > 1 else parts[0] if parts else plain
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

    @classmethod
    def construct_inputs(cls, training_data: SupervisedDataset, **options: Any) -> dict[str, Any]:
        """Arguments of the model, from a data set and options such as `old`: Ax makes models by this."""
        return {**super().construct_inputs(training_data), **options}


def _make_source_kernels(given: ModelUnitData, name: str, seed: int) -> list[Kernel]:
    """The learnt kernel of each old data set; those that teach nothing are left out, with a warning."""
    found: list[Kernel] = []
    for one in given.old:
        try:
            prior = one if isinstance(one, WeightPrior) else pretrain_on_tensors(*one, given.edges, seed)
        except NothingToLearnError as error:
            warn(f"{error} Going on without it.", OldDataWarning)
            continue
        kernel = make_belief_kernel(prior, name)
        if kernel.vanishes:
            warn("The kernel learnt from old data vanishes. Going on without it.", OldDataWarning)
            continue
        found.append(kernel)
    return found


def _make_default_kernel(edges: Float[Tensor, "2 d"], batch_shape: torch.Size) -> Kernel:
    """BoTorch's default kernel, on the unit cube that its priors are made for."""
    box = Box.enclose(make_numbered_space(edges))
    plain = get_covar_module_with_dim_scaled_prior(ard_num_dims=box.num_inputs, batch_shape=batch_shape)
    return SettingKernel(plain, box, reach=0.5)  # a cube of width 1: the kernel is stationary
