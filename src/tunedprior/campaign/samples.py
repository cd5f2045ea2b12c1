"""What a response may be at several settings at once: samples of a mixture, in its units."""

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from torch import Tensor

from tunedprior.average.mixture import MEMBERS, MixtureOfProcesses
from tunedprior.campaign.fitted import ResponseModel
from tunedprior.numerics.linalg import cholesky
from tunedprior.problem.goals import Target
from tunedprior.problem.objective import Objective

_OF_EACH = 8  # samples of each member of the mixture
NUM_SAMPLES = _OF_EACH * MEMBERS
_LEAST_VARIANCE = 1e-9  # relative to the amplitude: settings may be the same but for rounding


def sample_posterior(model: MixtureOfProcesses, codes: Float[Tensor, "n k"], seed: int) -> Float[Tensor, "s n"]:
    """Samples of f at settings, jointly, each process as often as its weight says."""
    x, processes = model.box.to_kernel_inputs(codes), model.processes
    explained = model.whiten_cross_covariance(x)
    means = (explained.mT @ model.whitened).squeeze(-1)
    generator = torch.Generator().manual_seed(seed)
    found = []
    for number, count in enumerate(torch.bincount(model.members, minlength=len(processes)).tolist()):
        one = processes.take(torch.tensor([number]))  # one at a time: all of them together would fill the memory
        covariance = one.compute_covariance(x, x)[0] - explained[number].mT @ explained[number]
        covariance.diagonal().add_(_LEAST_VARIANCE)
        factor = cholesky(covariance[None])[0] * model.amplitude[number].sqrt()
        draws = torch.randn(len(x), count * _OF_EACH, generator=generator, dtype=x.dtype)
        found.append(means[number] + (factor @ draws).mT)
    return torch.cat(found)


def convert_to_utilities(
    response: Objective, part: ResponseModel, samples: Float[Tensor, "s n"]
) -> Float64[ndarray, "s n"]:
    """Utilities of samples, in units of the response."""
    y = response.sign * (part.observations.shift + part.observations.scale * samples.numpy())
    return _evaluate_utility(response, (np.exp(y) if response.log else y).clip(*part.limits))


def _evaluate_utility(response: Objective, y: Float64[ndarray, "s n"]) -> Float64[ndarray, "s n"]:
    wanted = response.direction
    if isinstance(wanted, Target):
        return -np.maximum(np.maximum(wanted.low - y, y - wanted.upper), 0.0)
    return response.sign * y
