"""Posterior moments at settings, and models conditioned on their own expectation at pending settings."""

from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from jaxtyping import Float
from torch import Tensor

from tunedprior.average.mixture import MixtureOfProcesses
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import NEGATIVE_VARIANCE, quietly
from tunedprior.problem.observations import Observations

_PREDICTED_AT_ONCE = 1024


def moments(
    model: Model, codes: Float[Tensor, "n k"], measured: bool = False
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Mean and variance of the response at each setting, or of a measurement of it; of the mixture, if it is one."""
    if isinstance(model, MixtureOfProcesses):  # point by point: joint covariances of all members would fill the memory
        parts = [model.posterior(some[:, None], observation_noise=measured) for some in codes.split(_PREDICTED_AT_ONCE)]
        mean = torch.cat([part.mixture_mean for part in parts])
        return mean[:, 0, 0], torch.cat([part.mixture_variance for part in parts])[:, 0, 0]
    with quietly(NEGATIVE_VARIANCE):
        posterior: Any = model.posterior(codes)  # BoTorch's own type does not promise a mean
        variance = posterior.variance.squeeze(-1)
        if measured and isinstance(model, SingleTaskGP):
            # The noise where there are observations; with known noise it is the same for all of them.
            variance = variance + model.likelihood.noise.mean()
        elif measured:
            with_noise: Any = model.posterior(codes, observation_noise=True)
            variance = with_noise.variance.squeeze(-1)
        return posterior.mean.squeeze(-1), variance


def believing(
    model: Model, surrogate: Surrogate, observations: Observations, pending: Float[Tensor, "p k"]
) -> tuple[Model, Float[Tensor, "*m p"]]:
    """The model conditioned on its posterior mean at the pending settings, and that mean: no variance is left there.

    In a mixture every process has its own expectation; then the mean has a row for each member.
    """
    with torch.no_grad(), quietly(NEGATIVE_VARIANCE):
        posterior: Any = model.posterior(pending)
        expected = posterior.mean
        if isinstance(model, MixtureOfProcesses):
            return model.expecting(pending), expected.squeeze(-1)
    with quietly(NEGATIVE_VARIANCE):
        if not isinstance(model, SingleTaskGP):
            return surrogate(observations.supposing(pending, expected)), expected.squeeze(-1)
        noise = {}
        if isinstance(model.likelihood, FixedNoiseGaussianLikelihood):  # known noise, one per point
            noise["noise"] = model.likelihood.noise[:1].expand(len(pending))[:, None]
        return model.condition_on_observations(pending, expected, **noise), expected.squeeze(-1)
