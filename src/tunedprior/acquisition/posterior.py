"""Posterior moments at settings, calibration of a model, and models conditioned on pending settings."""

from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from jaxtyping import Float
from torch import Tensor

from tunedprior.goals.observations import Observations
from tunedprior.model_averaging.mixture import LEAST_VARIANCE, MixtureOfProcesses
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import NEGATIVE_VARIANCE, silence_warnings
from tunedprior.numerics.linalg import cholesky

_PREDICTED_AT_ONCE = 1024
_ENOUGH_TO_JUDGE = 5  # observations


def predict_moments(
    model: Model, X: Float[Tensor, "n k"], measured: bool = False
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Posterior mean and variance at each setting, of the response or (`measured`) of a noisy measurement.

    For a mixture of processes they are the moments of the mixture.
    """
    if isinstance(model, MixtureOfProcesses):
        parts = [predict_process_moments(model, some, measured) for some in X.split(_PREDICTED_AT_ONCE)]
        means, variances = (torch.cat(each) for each in zip(*parts, strict=True))
        mean, weights = means @ model.weights, model.weights
        return mean, variances @ weights + means.square() @ weights - mean.square()
    with silence_warnings(NEGATIVE_VARIANCE):
        posterior: Any = model.posterior(X, observation_noise=measured)  # BoTorch's type does not promise a mean
        return posterior.mean.squeeze(-1), posterior.variance.squeeze(-1)


def predict_process_moments(
    model: MixtureOfProcesses, X: Float[Tensor, "n k"], measured: bool = False
) -> tuple[Float[Tensor, "n s"], Float[Tensor, "n s"]]:
    """Posterior mean and variance at each setting for each process of a mixture, computed in batches of bounded memory.

    They are those of the model's `posterior`, whose first call in a program costs seconds of preparation in PyTorch.
    """
    x, processes = model.box.to_kernel_inputs(X)[:, None], model.processes
    explained = model.whiten_cross_covariance(x)
    mean = (explained.mT @ model.whitened)[..., 0, 0]
    variance = (processes.compute_variance(x) - explained.square().sum(-2))[..., 0].clamp_min(LEAST_VARIANCE)
    return mean, (variance + processes.noise if measured else variance) * model.amplitude


@torch.no_grad()
def compute_miscalibration(model: Model) -> float:
    """The factor by which a model's standard deviations are too small: √(Σ_i e_i²/σ_i² / n), or 1 if they are not.

    e_i is the leave-one-out error of observation i, and σ_i its predicted standard deviation, with noise: e_i =
    [R⁻¹y]_i/[R⁻¹]_ii and σ_i² = 1/[R⁻¹]_ii for a process whose observations have covariance R. For a mixture they are
    the moments of the mixture. For other kinds of models the factor is 1.
    """
    if isinstance(model, MixtureOfProcesses):
        factor, whitened, amplitude = model.factor, model.whitened, model.amplitude[:, None]
        weights = torch.bincount(model.members, minlength=len(amplitude)).to(factor) / len(model.members)
    elif isinstance(model, SingleTaskGP):
        observed = model.likelihood(model.forward(model.train_inputs[0]), model.train_inputs[0])
        factor = cholesky(observed.covariance_matrix)[None]
        whitened = torch.linalg.solve_triangular(factor, (model.train_targets - observed.mean)[:, None], upper=False)
        amplitude, weights = factor.new_ones(1, 1), factor.new_ones(1)
    else:
        return 1.0
    if factor.shape[-1] < _ENOUGH_TO_JUDGE:
        return 1.0
    inverse = torch.linalg.solve_triangular(factor, torch.eye(factor.shape[-1]).to(factor), upper=False)
    diagonal = inverse.square().sum(-2)
    errors = (inverse.mT @ whitened).squeeze(-1) / diagonal
    error = weights @ errors
    variance = weights @ (amplitude / diagonal + errors.square()) - error.square()
    return max(1.0, float((error.square() / variance).mean().sqrt()))


def condition_on_pending(
    model: Model, surrogate: Surrogate, observations: Observations, pending: Float[Tensor, "p k"]
) -> tuple[Model, Float[Tensor, "*m p"]]:
    """Condition a model on its own posterior mean at the pending settings; return the model and that mean.

    No variance is left at pending settings. In a mixture each process is conditioned on its own mean; then the mean has
    a row for each member.
    """
    with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
        if isinstance(model, MixtureOfProcesses):
            return model.condition_on_means(pending), model.predict_means(pending)
        posterior: Any = model.posterior(pending)
        expected = posterior.mean
    with silence_warnings(NEGATIVE_VARIANCE):
        if not isinstance(model, SingleTaskGP):
            return surrogate(observations.append_observations(pending, expected)), expected.squeeze(-1)
        noise = {}
        if observations.noise_std is not None:  # in units of y, as the model has a scale of its own
            least = float(model.likelihood.noise.min())
            noise["noise"] = torch.full_like(expected, max(observations.noise_std**2, least))
        return model.condition_on_observations(pending, expected, **noise), expected.squeeze(-1)
