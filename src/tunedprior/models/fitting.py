"""Fitting the parameters of a Gaussian process to observations."""

from math import sqrt
from typing import Any, TypeVar

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.gpytorch import GPyTorchModel
from botorch.models.transforms.input import InputTransform
from botorch.settings import validate_input_scaling
from gpytorch.kernels import Kernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.likelihoods.noise_models import FixedGaussianNoise
from gpytorch.means import ConstantMean
from gpytorch.mlls import ExactMarginalLogLikelihood
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import warn
from tunedprior.errors import FittingWarning, JitterWarning
from tunedprior.numerics.isolation import ENDED_EARLY, silence_warnings
from tunedprior.numerics.linalg import compute_jitter
from tunedprior.problem.observations import Observations

#: Known noise counts as this share of the results' variance at least, but for a process as printed: with less,
#: covariance matrices may be singular. It shows where settings lie so close together that results differ by as little.
LEAST_NOISE = 2e-6

ModelT = TypeVar("ModelT", bound=GPyTorchModel)


class _UnclampedNoise(FixedGaussianNoise):
    """GPyTorch's fixed noise, without its floor of 1e-6."""

    def __init__(self, noise: Float[Tensor, " n"]) -> None:
        super().__init__(torch.ones_like(noise))
        self.noise = noise


class KnownNoiseLikelihood(FixedNoiseGaussianLikelihood):
    """Gaussian noise whose variance is known for each observation, and taken as it is, however small."""

    def __init__(self, noise: Float[Tensor, " n"]) -> None:
        super().__init__(torch.ones_like(noise))
        self.noise_covar = _UnclampedNoise(noise)

    def get_fantasy_likelihood(self, **kwargs: Any) -> "KnownNoiseLikelihood":
        """The same for more observations, whose noise is given as `noise`."""
        more: Tensor = kwargs["noise"]
        return KnownNoiseLikelihood(torch.cat([self.noise.expand(*more.shape[:-1], -1), more], -1))


def compute_known_noise(observations: Observations) -> Float[Tensor, "n 1"] | None:
    """The noise variance of each observation, where it is known: `LEAST_NOISE` or more, with a warning if it was less.

    An exact response is one with that little noise, without a warning.
    """
    told, counted = observations.compute_noise_variances(0.0), observations.compute_noise_variances(LEAST_NOISE)
    if told is not None and bool(((told > 0) & (told < LEAST_NOISE)).any()):
        warn_of_little_noise()
    return counted


def warn_of_little_noise() -> None:
    """Say that known noise counts as more than it is."""
    warn(
        f"noise_std is less than {100 * sqrt(LEAST_NOISE):.2f} % of the standard deviation of the results, and counts "
        "as that much: with less, their covariance matrix may be singular. prior='as printed' takes it as it is.",
        JitterWarning,
    )


def fit_process(
    observations: Observations, transform: InputTransform, covariance: Kernel | None = None
) -> SingleTaskGP:
    """BoTorch's Gaussian process with this covariance (its own, if there is none), fitted to the observations."""
    return fit(_make_process(observations, transform, covariance, compute_known_noise(observations)))


def fit_unscaled_process(
    observations: Observations, transform: InputTransform, covariance: Kernel, mean: float
) -> SingleTaskGP:
    """The process with this prior mean and covariance, in the units of y; only noise that is not known is fitted.

    Known noise is taken as it is. Where the covariance matrix cannot be factorised with it, jitter is added to it, with
    a warning that says how much.
    """
    constant = ConstantMean()
    constant.constant.requires_grad_(False).fill_(mean)
    fixed: dict[str, Any] = {"mean_module": constant, "outcome_transform": None}
    noise = observations.compute_noise_variances(0.0)
    if noise is not None:
        with torch.no_grad():
            inputs = transform.transform(observations.X)
            matrix: Tensor = covariance(inputs).to_dense()
        matrix = matrix + torch.diag(noise[:, 0])
        fixed["likelihood"] = KnownNoiseLikelihood(noise[:, 0] + compute_jitter(matrix))
    return fit(_make_process(observations, transform, covariance, None, **fixed))


def _make_process(
    observations: Observations,
    transform: InputTransform,
    covariance: Kernel | None,
    noise: Float[Tensor, "n 1"] | None,
    **options: Any,
) -> SingleTaskGP:
    with silence_warnings(), validate_input_scaling(False):  # [-1, 1] is where free kernels live
        return SingleTaskGP(
            observations.X, observations.y, noise, covar_module=covariance, input_transform=transform, **options
        )


def fit(model: ModelT, max_steps: int | None = None) -> ModelT:
    """The model with its most probable parameters, ready to predict; with a warning, with its initial ones.

    With `max_steps` the search for them ends after so many steps, and can be taken up again.
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        return model.eval()  # BoTorch would not know what to do without any
    options = None if max_steps is None else {"options": {"maxiter": max_steps}}
    # [-1, 1] is where free kernels live; BoTorch's settings, like its warnings, are those of the whole process.
    with silence_warnings(ENDED_EARLY), torch.enable_grad(), validate_input_scaling(False):
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=options)
        except ModelFittingError as error:
            failure: str | None = f"The model's parameters could not be fitted ({error}); going on with those it had."
        else:
            failure = None
    if failure is not None:
        warn(failure, FittingWarning)
    return model.eval()
