"""Fitting the parameters of a Gaussian process to observations."""

from typing import Any, TypeVar

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.transforms.input import InputTransform
from botorch.settings import validate_input_scaling
from gpytorch.kernels import Kernel
from gpytorch.means import ConstantMean
from gpytorch.mlls import ExactMarginalLogLikelihood

from tunedprior.checks import warn
from tunedprior.errors import FittingWarning
from tunedprior.numerics.isolation import ENDED_EARLY, quietly
from tunedprior.problem.observations import Observations

#: A noise variance of zero makes covariance matrices singular; this much of the response's variance does not show.
LEAST_NOISE = 2e-6

ModelT = TypeVar("ModelT", bound=GPyTorchModel)


def fitted_process(
    observations: Observations, transform: InputTransform, covariance: Kernel | None = None, mean: float | None = None
) -> SingleTaskGP:
    """BoTorch's Gaussian process with this covariance (its own, if there is none), fitted to the observations.

    With a `mean`, that is the prior mean, and y is taken in the units it has; otherwise the mean is fitted too.
    """
    noise, fixed = observations.noise_variances(LEAST_NOISE), dict[str, Any]()
    if mean is not None:
        constant = ConstantMean()
        constant.constant.requires_grad_(False).fill_(mean)
        fixed = {"mean_module": constant, "outcome_transform": None}
    with quietly(), validate_input_scaling(False):  # [-1, 1] is where free kernels live
        model = SingleTaskGP(
            observations.codes, observations.y, noise, covar_module=covariance, input_transform=transform, **fixed
        )
    return fit(model)


def fit(model: ModelT, max_steps: int | None = None) -> ModelT:
    """The model with its most probable parameters, ready to predict; with a warning, with its initial ones.

    With `max_steps` the search for them ends after so many steps, and can be taken up again.
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model.eval()  # BoTorch would not know what to do without any
    options = None if max_steps is None else {"options": {"maxiter": max_steps}}
    # [-1, 1] is where free kernels live; BoTorch's settings, like its warnings, are those of the whole process.
    with quietly(ENDED_EARLY), torch.enable_grad(), validate_input_scaling(False):
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=options)
        except ModelFittingError as error:
            failure: str | None = f"The model's parameters could not be fitted ({error}); going on with those it had."
        else:
            failure = None
    if failure is not None:
        warn(failure, FittingWarning)
    return model.eval()
