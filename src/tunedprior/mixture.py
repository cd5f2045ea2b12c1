"""A weighted mixture of Gaussian processes that BoTorch takes for an ensemble model."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import FantasizeMixin, Model
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tunedprior.box import Box
from tunedprior.errors import InputError
from tunedprior.kernels.stack import KernelStack
from tunedprior.linalg import cholesky

#: BoTorch weighs the members of an ensemble equally, so a weight becomes a number of equal members, out of so many.
MEMBERS = 64
#: Of any prediction, relative to the amplitude.
LEAST_VARIANCE = 1e-10


@dataclass(frozen=True, eq=False)
class Processes:
    """f_s ~ GP(0, a_s (c + Σ_r h_sr K_r)), observed with noise of variance a_s η_s, for every process s.

    Attributes:
        kernels: K_1, …, K_r.
        shares: h.
        noise: η, relative to the amplitude.
        constant: c, the variance of an unknown constant, relative to the amplitude.
    """

    kernels: KernelStack
    shares: Float[Tensor, "s r"]
    noise: Float[Tensor, " s"]
    constant: float

    def __len__(self) -> int:
        return len(self.shares)

    def only(self, which: Int[Tensor, " k"] | Bool[Tensor, " s"]) -> "Processes":
        """Some of the processes."""
        return replace(self, shares=self.shares[which], noise=self.noise[which])

    def take(self, which: Int[Tensor, " k"]) -> "Processes":
        """Some of the processes, with no more kernels than they need."""
        some = self.only(which)
        used = (some.shares != 0).any(0).nonzero().flatten()
        return replace(some, kernels=self.kernels.take(used), shares=some.shares[:, used])

    def covariance(self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"]) -> Float[Tensor, "*batch s n k"]:
        """cov(f_s(x1), f_s(x2))/a_s."""
        return self.mixed(self.kernels.matrices(x1, x2), dims=2)

    def variance(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch s n"]:
        """var(f_s(x))/a_s."""
        return self.mixed(self.kernels.variances(x), dims=1)

    def with_noise(self, covariance: Float[Tensor, "*batch s n n"]) -> Float[Tensor, "*batch s n n"]:
        """The covariance of observations, from that of f."""
        noisy = covariance.clone()
        noisy.diagonal(dim1=-2, dim2=-1).add_(self.noise[:, None])
        return noisy

    def mixed(self, parts: Float[Tensor, "..."], dims: int) -> Float[Tensor, "..."]:
        """c + Σ_r h_sr K_r, from the kernels' matrices (`dims` 2) or diagonals (1)."""
        mixed: Tensor = self.constant + torch.tensordot(self.shares, parts, dims=1)
        return mixed.movedim(0, -1 - dims)


def slots(weights: Float[Tensor, " s"], count: int = MEMBERS) -> Int[Tensor, " m"]:
    """Which process each of `count` equal members is, so that each has its weight's share of them (rounded).

    The members stand at equal distances along the cumulated weights: neighbours in the list that are too light for a
    member of their own share one, and no weight is off by more than one member.
    """
    ends = weights.cumsum(0) / weights.sum()
    positions = (torch.arange(count).to(weights) + 0.5) / count
    return torch.searchsorted(ends, positions).clamp(max=len(weights) - 1)


class MixtureOfProcesses(Model, FantasizeMixin):
    """p(f | D) = (1/m) Σ_s GP_s(f | D): equally weighted members, some of them alike.

    Acquisition functions average over the members, the posterior is BoTorch's Gaussian mixture. Inputs are codes, as
    `Box` has them, the response has mean 0 and is maximised.

    Args:
        processes: The distinct ones.
        amplitude: a, one for each of them.
        members: Which process each member is.
        box: From codes to the kernels' inputs in [-1, 1].
        codes: Observed settings.
        y: What was observed there.
        factor: L with LLᵀ = the covariance of the observations over a, where it is known already.
    """

    num_outputs = 1
    _is_ensemble = True

    def __init__(
        self,
        processes: Processes,
        amplitude: Float[Tensor, " s"],
        members: Int[Tensor, " m"],
        box: Box,
        codes: Float[Tensor, "n k"],
        y: Float[Tensor, "n 1"],
        factor: Float[Tensor, "s n n"] | None = None,
    ) -> None:
        super().__init__()
        self.processes, self.amplitude, self.members, self.box = processes, amplitude, members, box
        self.train_inputs = (codes,)  # where BoTorch looks for settings to start a search from
        self.x = box.inputs(codes)
        if factor is None:
            factor = cholesky(processes.with_noise(processes.covariance(self.x, self.x)))
        self.factor = factor
        # L⁻¹y, from which every prediction is one product away.
        self.whitened = torch.linalg.solve_triangular(self.factor, y.expand(len(processes), *y.shape), upper=False)
        self.likelihood = self._likelihood()

    @property
    def batch_shape(self) -> torch.Size:
        """Of fantasies, if any, then the members."""
        return torch.Size([*self.factor.shape[:-3], len(self.members)])

    def posterior(  # type: ignore[override]  # BoTorch's Model and its FantasizeMixin differ; this is the Model's
        self,
        X: Float[Tensor, "*batch q k"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> GaussianMixturePosterior:
        """The mixture at the codes X, a batch of `q` joint points each."""
        if output_indices not in (None, [0]):
            raise InputError(f"The model has one output, number 0; got {output_indices}.")
        x = self.box.inputs(X)
        explained = self._explained(x)
        mean = (explained.mT @ self.whitened).squeeze(-1)
        if x.shape[-2] == 1:  # most acquisition functions look at one point at a time
            left = self.processes.variance(x) - explained.square().sum(-2)
            covariance = left.clamp_min(LEAST_VARIANCE)[..., None]
        else:
            covariance = self.processes.covariance(x, x) - explained.mT @ explained
            covariance = covariance + LEAST_VARIANCE * torch.eye(x.shape[-2]).to(x)
        if observation_noise is True:
            covariance = self.processes.with_noise(covariance)
        mean = mean.index_select(-2, self.members)
        covariance = (covariance * self.amplitude[:, None, None]).index_select(-3, self.members)
        if isinstance(observation_noise, Tensor):  # as BoTorch has it: of all members, or `... m q 1`
            covariance = covariance + torch.diag_embed(observation_noise.squeeze(-1).expand(mean.shape))
        posterior = GaussianMixturePosterior(MultivariateNormal(mean, covariance))
        if posterior_transform is None:
            return posterior
        transformed: Any = posterior_transform(posterior=posterior, X=X)  # to an ordinary posterior, of a batch
        return GaussianMixturePosterior(transformed.distribution)

    def condition_on_observations(
        self, X: Float[Tensor, "*batch p k"], Y: Float[Tensor, "*batch2 p 1"], **_options: Any
    ) -> "MixtureOfProcesses":
        """With more observations: Y is the same for all members, or has a row of its own for each (`... m p 1`).

        Which members there are stays as it was: evidence from what was only imagined would be none.
        """
        conditioned = self._with_a_process_for_each_member()
        x = self.box.inputs(X)
        own_row = Y.ndim > 2 and Y.shape[-3] == len(self.members)
        y = Y if own_row else Y.unsqueeze(-3)
        fantasies = torch.broadcast_shapes(y.shape[:-3], x.shape[:-2], self.factor.shape[:-3])
        x = x.expand(*fantasies, *x.shape[-2:])
        explained = conditioned._explained(x)
        prior = conditioned.processes.covariance(x, x)
        prior = conditioned.processes.with_noise(prior)
        corner = cholesky(prior - explained.mT @ explained)
        n, p = self.factor.shape[-1], x.shape[-2]
        old = conditioned.factor.expand(*fantasies, len(self.members), n, n)
        factor = torch.zeros(*old.shape[:-2], n + p, n + p).to(old)
        factor[..., :n, :n], factor[..., n:, :n], factor[..., n:, n:] = old, explained.mT, corner
        residual = y - explained.mT @ conditioned.whitened
        news = torch.linalg.solve_triangular(corner, residual, upper=False)
        before = conditioned.whitened.expand(*fantasies, len(self.members), n, 1)
        conditioned.x = torch.cat([self.x.expand(*fantasies, *self.x.shape[-2:]), x], dim=-2)
        (codes,), shape = self.train_inputs, (*fantasies, -1, X.shape[-1])
        conditioned.train_inputs = (torch.cat([codes.expand(shape), X.expand(shape)], dim=-2),)
        conditioned.factor, conditioned.whitened = factor, torch.cat([before, news], dim=-2)
        return conditioned

    def _explained(self, x: Float[Tensor, "*batch q d"]) -> Float[Tensor, "*all s n q"]:
        """L⁻¹ cov(f(D), f(x)), for every process; for all fantasies, if there are any."""
        if self.factor.ndim > 3:  # fantasies have factors of their own
            covariance = self.processes.covariance(self.x, x)
            each: Tensor = torch.linalg.solve_triangular(self.factor, covariance, upper=False)
            return each
        # One triangular system for the whole batch, instead of one for each of its members.
        covariance = self.processes.covariance(self.x, x.reshape(-1, x.shape[-1]))
        solved: Tensor = torch.linalg.solve_triangular(self.factor, covariance, upper=False)
        shaped: Tensor = solved.unflatten(-1, x.shape[:-1])
        return shaped.movedim((0, 1), (-3, -2))

    def _with_a_process_for_each_member(self) -> "MixtureOfProcesses":
        each = MixtureOfProcesses.__new__(MixtureOfProcesses)
        Model.__init__(each)
        each.processes, each.amplitude = self.processes.take(self.members), self.amplitude[self.members]
        each.members, each.box, each.x = torch.arange(len(self.members)), self.box, self.x
        each.train_inputs = self.train_inputs
        each.factor = self.factor.index_select(-3, self.members)
        each.whitened = self.whitened.index_select(-3, self.members)
        each.likelihood = each._likelihood()
        return each

    def _likelihood(self) -> GaussianLikelihood:
        """For BoTorch, which asks for the noise in units of the response."""
        likelihood = GaussianLikelihood(batch_shape=torch.Size([len(self.members)])).to(self.amplitude)
        noise = (self.amplitude * self.processes.noise)[self.members, None]
        likelihood.noise = noise.clamp_min(1.01e-4)  # GPyTorch's own bound
        return likelihood.requires_grad_(False)
