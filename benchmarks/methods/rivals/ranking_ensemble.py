"""RGPE (Feurer et al.): a weighted sum of the old data's process and the new one's, by how well each ranks D."""

from dataclasses import dataclass
from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.posteriors import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from linear_operator import to_linear_operator
from torch import Tensor

from benchmarks.methods.rivals.source import Rival, gaussian_process
from tunedprior.goals.observations import Observations
from tunedprior.numerics.linalg import cholesky

_SAMPLES = 256
_FEWEST = 3  # with fewer observations there is no ranking to speak of, and both processes count alike
_TOLERATED = 0.95  # the old process is dropped when its median loss is beyond this quantile of the new one's


class WeightedSum(Model):
    """f = Σ_k w_k f_k of independent processes: mean Σ_k w_k m_k, covariance Σ_k w_k² C_k."""

    num_outputs = 1

    def __init__(self, models: list[SingleTaskGP], weights: Tensor) -> None:
        super().__init__()
        self.models, self.weights = torch.nn.ModuleList(models), weights

    @property
    def batch_shape(self) -> torch.Size:
        """No batch of models."""
        return torch.Size()

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> GPyTorchPosterior:
        """The weighted sum's."""
        parts = [model.posterior(X, *args, **kwargs).distribution for model in self.models]
        mean = sum(weight * part.mean for weight, part in zip(self.weights, parts, strict=True))
        covariance = sum(weight**2 * part.covariance_matrix for weight, part in zip(self.weights, parts, strict=True))
        # As an operator, which is factorised with jitter when that is asked for; a tensor would be at once, without.
        return GPyTorchPosterior(MultivariateNormal(mean, to_linear_operator(covariance)))


@dataclass(frozen=True, eq=False)
class RankingEnsemble(Rival):
    """w_k = P(process k misranks fewest pairs of D), over draws from the processes; leave-one-out for the new one.

    A left-out draw is ranked against the other observations as they were measured; ties are shared.
    """

    seed: int = 0

    def model(self, inputs: Tensor, observations: Observations) -> WeightedSum:
        """The ensemble."""
        new = gaussian_process(inputs, observations.y)
        return WeightedSum([self.source.model, new], self.weights(new, inputs, observations.y))

    def weights(self, new: SingleTaskGP, inputs: Tensor, y: Tensor) -> Tensor:
        """Of the old and the new process."""
        if len(y) < _FEWEST:
            return torch.full((2,), 0.5).to(y)
        generator = torch.Generator().manual_seed(self.seed)
        normal = torch.randn(2, _SAMPLES, len(y), generator=generator, dtype=y.dtype)
        with torch.no_grad():
            old = self.source.model.posterior(inputs).distribution
            old_draws = old.mean + normal[0] @ cholesky(_jittered(old.covariance_matrix)).T
            mean, std = leave_one_out(new)
            old_losses = misranked(old_draws[:, :, None], old_draws[:, None, :], y)
            new_losses = misranked((mean + std * normal[1])[:, :, None], y.T[None], y)
        if old_losses.median() > new_losses.quantile(_TOLERATED):
            return torch.tensor([0.0, 1.0]).to(y)
        old_wins = (old_losses < new_losses).to(y).mean() + (old_losses == new_losses).to(y).mean() / 2
        return torch.stack([old_wins, 1 - old_wins])


def misranked(left: Tensor, right: Tensor, y: Tensor) -> Tensor:
    """How many pairs (j, k) have left_j < right_k where y_j < y_k does not hold, or the reverse; one count per draw."""
    told = y < y.T
    pairs = ~torch.eye(len(y), dtype=torch.bool)
    return (((left < right) ^ told) & pairs).sum((-1, -2)).to(y)


def leave_one_out(model: SingleTaskGP) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of f(x_i) given all observations but the i-th."""
    inputs, y = model.train_inputs[0], model.train_targets
    noise = model.likelihood.noise.item()
    gram = model.covar_module(inputs).to_dense() + noise * torch.eye(len(y)).to(y)
    inverse = torch.cholesky_inverse(cholesky(gram))
    variance = 1 / inverse.diagonal()
    residual = (inverse @ (y - model.mean_module(inputs))) * variance
    mean, std = y - residual, (variance - noise).clamp_min(0.0).sqrt()
    shift, scale = model.outcome_transform.means.squeeze(), model.outcome_transform.stdvs.squeeze()
    return shift + scale * mean, scale * std


def _jittered(matrix: Tensor) -> Tensor:
    return matrix + 1e-8 * matrix.diagonal().mean() * torch.eye(len(matrix)).to(matrix)
