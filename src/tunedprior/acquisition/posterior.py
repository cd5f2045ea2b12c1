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


def moments(model: Model, codes: Float[Tensor, "n k"]) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Mean and variance of the response at each setting; those of the mixture, if the model is one."""
    if isinstance(model, MixtureOfProcesses):  # point by point: joint covariances of all members would fill the memory
        parts = [model.posterior(some[:, None]) for some in codes.split(_PREDICTED_AT_ONCE)]
        mean = torch.cat([part.mixture_mean for part in parts])
        return mean[:, 0, 0], torch.cat([part.mixture_variance for part in parts])[:, 0, 0]
    with quietly(NEGATIVE_VARIANCE):
        posterior: Any = model.posterior(codes)  # BoTorch's own type does not promise a mean
        return posterior.mean.squeeze(-1), posterior.variance.squeeze(-1)


def believing(model: Model, surrogate: Surrogate, observations: Observations, pending: Float[Tensor, "p k"]) -> Model:
    """The model conditioned on its posterior mean at the pending settings: no variance and no gain is left there.

    In a mixture every process has its own expectation.
    """
    if isinstance(model, MixtureOfProcesses):
        with torch.no_grad():
            return model.expecting(pending)
    with quietly(NEGATIVE_VARIANCE):
        with torch.no_grad():
            posterior: Any = model.posterior(pending)
            expected = posterior.mean
        if not isinstance(model, SingleTaskGP):
            return surrogate(observations.supposing(pending, expected))
        noise = {}
        if isinstance(model.likelihood, FixedNoiseGaussianLikelihood):  # known noise, one per point
            noise["noise"] = model.likelihood.noise[:1].expand(len(pending))[:, None]
        conditioned: Model = model.condition_on_observations(pending, expected, **noise)
        return conditioned
