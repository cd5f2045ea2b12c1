"""A weighted mixture of Gaussian processes, as an ensemble model of BoTorch and as a `ComponentModel`.

As an ensemble it has equal members, of which several may be the same process; its components are the distinct
processes, each with the share of its members as its weight.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import FantasizeMixin, Model
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.settings import min_variance
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels.sections import KernelStack, StackSection
from tunedprior.model_averaging.hypotheses import Processes
from tunedprior.models.posterior import Moments, PullBack, compute_leave_one_out
from tunedprior.numerics.chunking import broadcast_shape
from tunedprior.numerics.linalg import cholesky, compute_cholesky_corner
from tunedprior.space.encoding import Box

#: Lower bound on the posterior variance, relative to the amplitude.
LEAST_VARIANCE = 1e-10


class MixtureOfProcesses(Model, FantasizeMixin):
    """p(f | D) = (1/m) Σ_s GP_s(f | D): m equally weighted members, several of which may be the same process.

    Acquisition functions average over the members, the posterior is BoTorch's Gaussian mixture. Inputs are encoded
    settings (see `Box`), the response has mean 0 and is maximised. All tensors are buffers, so that `to` and
    `state_dict` include them.

    Args:
        processes: The distinct processes.
        amplitude: a, one for each distinct process.
        members: The number of the process that each member is.
        box: The map from encoded settings to kernel inputs in [-1, 1].
        X: The observed settings.
        y: The observations there.
        factor: L, the Cholesky factor of the observations' covariance over a; computed, when left out.
    """

    num_outputs = 1
    _is_ensemble = True

    lengthscales: Tensor
    shares: Tensor
    noise: Tensor
    amplitude: Tensor
    members: Tensor
    X: Tensor
    train_targets: Tensor
    x: Tensor
    factor: Tensor
    whitened: Tensor

    def __init__(
        self,
        processes: Processes,
        amplitude: Float[Tensor, " s"],
        members: Int[Tensor, " m"],
        box: Box,
        X: Float[Tensor, "n k"],
        y: Float[Tensor, "n 1"],
        factor: Float[Tensor, "s n n"] | None = None,
    ) -> None:
        super().__init__()
        x = box.to_kernel_inputs(X)
        if factor is None:
            factor = cholesky(processes.add_noise_(processes.compute_covariance(x, x)))
        # L⁻¹y, from which every prediction is one product away.
        whitened = torch.linalg.solve_triangular(factor, y.expand(len(processes), *y.shape), upper=False)
        observed = {"X": X, "train_targets": y.squeeze(-1), "x": x, "factor": factor, "whitened": whitened}
        self._set_state(processes, amplitude, members, box, observed)

    def _set_state(
        self,
        processes: Processes,
        amplitude: Float[Tensor, " s"],
        members: Int[Tensor, " m"],
        box: Box,
        observed: dict[str, Tensor],
    ) -> None:
        """Set the processes and what was observed, as buffers; leading axes are those of BoTorch's fantasies.

        Args:
            processes: The distinct processes.
            amplitude: a, one for each distinct process.
            members: The number of the process that each member is.
            box: The map from encoded settings to kernel inputs in [-1, 1].
            observed: The encoded settings X, the responses there (`train_targets`; one row for each member, where
                members were conditioned on different ones), the settings as kernel inputs x, the Cholesky factor L of
                the observations' covariance over a for each distinct process, and L⁻¹y (`whitened`).
        """
        kernels = processes.kernels
        self.box, self.constant, self.sizes = box, processes.constant, kernels.sizes
        self.kernels = torch.nn.ModuleList(kernels.others)
        held = {"lengthscales": kernels.lengthscales, "shares": processes.shares, "noise": processes.noise}
        for name, value in (held | {"amplitude": amplitude, "members": members} | observed).items():
            self.register_buffer(name, value)
        likelihood = GaussianLikelihood(batch_shape=torch.Size([len(members)])).to(amplitude)
        # BoTorch reads the noise from here, in units of the response; 1e-4 is GPyTorch's own bound.
        likelihood.noise = (amplitude * processes.noise)[members, None].clamp_min(1.01e-4)
        self.likelihood = likelihood.requires_grad_(False)

    @property
    def processes(self) -> Processes:
        """The distinct processes."""
        kernels = KernelStack(self.lengthscales, tuple(self.kernels), self.sizes)
        return Processes(kernels, self.shares, self.noise, self.constant)

    @property
    def weights(self) -> Float[Tensor, " s"]:
        """The share of the members that each distinct process has."""
        return torch.bincount(self.members, minlength=len(self.processes)).to(self.x) / len(self.members)

    @property
    def noise_variances(self) -> Float[Tensor, " s"]:
        """The variance of a measurement's noise under each distinct process."""
        return self.amplitude * self.noise

    @property
    def train_inputs(self) -> tuple[Float[Tensor, "*fantasies n k"]]:
        """The observed settings X, from which BoTorch starts searches."""
        return (self.X,)

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of fantasies, if any, then the number of members."""
        return torch.Size([*self.factor.shape[:-3], len(self.members)])

    def posterior(  # type: ignore[override]  # BoTorch's Model and its FantasizeMixin differ; this is the Model's
        self,
        X: Float[Tensor, "*batch q k"],
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> GaussianMixturePosterior:
        """The posterior of all members at encoded settings X, joint over the q points of each entry of the batch."""
        if output_indices not in (None, [0]):
            raise InputError(f"The model has one output, number 0; got {output_indices}.")
        x, processes = self.box.to_kernel_inputs(X), self.processes
        explained = self.whiten_cross_covariance(x)
        mean = (explained.mT @ self.whitened).squeeze(-1)
        if x.shape[-2] == 1:  # the case of most acquisition functions
            left = processes.compute_variance(x) - explained.square().sum(-2)
            covariance = left.clamp_min(LEAST_VARIANCE)[..., None]
        else:
            covariance = processes.compute_covariance(x, x) - explained.mT @ explained
            covariance = covariance + LEAST_VARIANCE * torch.eye(x.shape[-2]).to(x)
        if observation_noise is True:
            covariance = processes.add_noise_(covariance)
        mean = mean.index_select(-2, self.members)
        covariance = (covariance * self.amplitude[:, None, None]).index_select(-3, self.members)
        if isinstance(observation_noise, Tensor):  # `q 1` for all members, or `... m q 1`
            noise = self._add_member_axis(observation_noise, X).squeeze(-1)
            covariance = covariance + torch.diag_embed(noise.expand(mean.shape))
        posterior = GaussianMixturePosterior(MultivariateNormal(mean, covariance))
        if posterior_transform is None:
            return posterior
        transformed: Any = posterior_transform(posterior=posterior, X=X)  # to an ordinary posterior, of a batch
        return GaussianMixturePosterior(transformed.distribution)

    def make_moment_function(self) -> "_MixtureMoments":
        """x ↦ (m_s(x), σ_s(x)) of the distinct processes, with derivatives by hand."""
        return _MixtureMoments(self)

    def make_mean_function(self) -> Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]:
        """x ↦ Σ_s w_s m_s(x); faster at many points than the posterior."""
        solved = torch.linalg.solve_triangular(self.factor.mT, self.whitened, upper=True)
        weighted, processes = self.weights[:, None, None] * solved, self.processes

        def predict_mean(X: Float[Tensor, "n k"]) -> Float[Tensor, " n"]:
            covariance = processes.compute_covariance(self.x, self.box.to_kernel_inputs(X))
            found: Tensor = (covariance * weighted).sum((0, 1))
            return found

        return predict_mean

    def predict_components(
        self, X: Float[Tensor, "n k"], measured: bool = False
    ) -> tuple[Float[Tensor, "n s"], Float[Tensor, "n s"]]:
        """Mean and variance at each point under each distinct process; point by point, so that memory suffices.

        As the posterior has them; but the first posterior of a program takes PyTorch seconds to prepare for.
        """
        x, processes = self.box.to_kernel_inputs(X)[:, None], self.processes
        explained = self.whiten_cross_covariance(x)
        mean = (explained.mT @ self.whitened)[..., 0, 0]
        variance = (processes.compute_variance(x) - explained.square().sum(-2))[..., 0].clamp_min(LEAST_VARIANCE)
        return mean, (variance + processes.noise if measured else variance) * self.amplitude

    def iterate_joint_moments(
        self, X: Float[Tensor, "n k"]
    ) -> Iterator[tuple[Float[Tensor, " n"], Float[Tensor, "n n"]]]:
        """The joint mean and covariance at n points; one process at a time, as all together would fill the memory."""
        x, processes = self.box.to_kernel_inputs(X), self.processes
        explained = self.whiten_cross_covariance(x)
        means = (explained.mT @ self.whitened).squeeze(-1)
        for number in range(len(processes)):
            one = processes.take(torch.tensor([number]))
            covariance = one.compute_covariance(x, x)[0] - explained[number].mT @ explained[number]
            yield means[number], covariance * self.amplitude[number]

    def compute_leave_one_out(self) -> tuple[Float[Tensor, "s n"], Float[Tensor, "s n"]]:
        """The leave-one-out error of each distinct process at each observation, and its predicted variance."""
        errors, variances = compute_leave_one_out(self.factor, self.whitened)
        return errors, variances * self.amplitude[:, None]

    def predict_means(self, X: Float[Tensor, "*batch q k"]) -> Float[Tensor, "*batch m q"]:
        """The posterior mean of each member at encoded settings X, without the covariance."""
        explained = self.whiten_cross_covariance(self.box.to_kernel_inputs(X))
        return (explained.mT @ self.whitened).squeeze(-1).index_select(-2, self.members)

    def subset_output(self, idcs: list[int]) -> "MixtureOfProcesses":
        """The model itself, which has one output: number 0."""
        if list(idcs) not in ([0], [-1]):
            raise InputError(f"The model has one output, number 0; got {idcs}.")
        return self

    def condition_on_observations(
        self,
        X: Float[Tensor, "*batch p k"],
        Y: Float[Tensor, "*batch2 p 1"],
        noise: Float[Tensor, "..."] | None = None,
        **unknown: Any,
    ) -> "MixtureOfProcesses":
        """The model with more observations: Y is the same for all members, or has a row for each (`... m p 1`).

        The weights of the members are kept: fantasies are no evidence.

        Args:
            X: The encoded settings of the new observations.
            Y: The new observations.
            noise: The variance of each observation's noise, shaped like Y; each process's own, when left out.
            **unknown: Raises an `InputError`.
        """
        if unknown:
            raise InputError(f"condition_on_observations takes X, Y and noise; got {', '.join(unknown)} too.")
        # Members that are the same process may be conditioned on different observations.
        apart = torch.arange(len(self.members), device=self.members.device)
        conditioned = self._copy(self.processes.take(self.members), self.amplitude[self.members], apart, self.members)
        y = self._add_member_axis(Y, X)
        variances = None
        if noise is not None:
            variances = self._add_member_axis(noise, X).squeeze(-1) / conditioned.amplitude[:, None]
        shape = broadcast_shape(X.shape[:-2], self.factor.shape[:-3], y.shape[:-3])
        conditioned._extend(X.expand(*shape, *X.shape[-2:]), lambda expected: y - expected, variances)
        conditioned.train_targets = self._append_targets(y, shape)
        return conditioned

    def condition_on_means(self, X: Float[Tensor, "p k"]) -> "MixtureOfProcesses":
        """Each process conditioned on its own posterior mean at X: no expected gain there, and no uncertainty.

        Equal to `condition_on_observations(X, posterior(X).mean)`, on the distinct processes instead of all members.
        """
        copied = self._copy(self.processes, self.amplitude, self.members, slice(None))
        copied._extend(X, torch.zeros_like)
        copied.train_targets = torch.cat([self.train_targets, self.predict_means(X).mean(-2)], dim=-1)
        return copied

    def _add_member_axis(self, values: Float[Tensor, "*batch q 1"], X: Float[Tensor, "*b p k"]) -> Float[Tensor, "..."]:
        """`... m q 1`, or `... 1 q 1` where `values` at X has no axis for the members.

        The last batch axis is that of the members if it is as long as there are members (or 1), and is not the
        settings' own batch.
        """
        if values.ndim < 3 or values.shape[-3] not in (1, len(self.members)):
            return values.unsqueeze(-3)
        is_batch = values.ndim == X.ndim and values.shape[-3] == X.shape[-3]
        return values.unsqueeze(-3) if is_batch else values

    def _append_targets(self, y: Float[Tensor, "*batch m p 1"], shape: torch.Size) -> Float[Tensor, "..."]:
        """The targets with y appended, for fantasies of this shape; one row for each member, if members differ."""
        has_rows = self.train_targets.ndim == self.factor.ndim - 1
        if not has_rows and y.shape[-3] == 1:
            both = self.train_targets, y[..., 0, :, 0]
        else:
            shape = torch.Size([*shape, len(self.members)])
            both = self.train_targets if has_rows else self.train_targets.unsqueeze(-2), y.squeeze(-1)
        return torch.cat([part.expand(*shape, part.shape[-1]) for part in both], dim=-1)

    def _extend(
        self,
        X: Float[Tensor, "*fantasies p k"],
        residual: Callable[[Float[Tensor, "..."]], Float[Tensor, "..."]],
        noise: Float[Tensor, "..."] | None = None,
    ) -> None:
        """Append observations at X to the factors, in place; the targets stay as they are.

        Args:
            X: The encoded settings of the new observations.
            residual: From each process's posterior mean at X to the observation less that mean.
            noise: The variance of each observation's noise over the amplitude; the process's own, when left out.
        """
        x, processes, shape = self.box.to_kernel_inputs(X), self.processes, X.shape[:-2]
        prior = processes.compute_covariance(x, x)
        if noise is None:
            prior = processes.add_noise_(prior)
        else:
            prior = prior + torch.diag_embed(noise.expand(prior.shape[:-1]))
        explained = self.whiten_cross_covariance(x)
        corner = compute_cholesky_corner(explained, prior)
        assert corner is not None  # `cholesky` raises instead
        n, p = self.factor.shape[-1], x.shape[-2]
        old = self.factor.expand(*shape, len(processes), n, n)
        factor = torch.zeros(*old.shape[:-2], n + p, n + p).to(old)
        factor[..., :n, :n], factor[..., n:, :n], factor[..., n:, n:] = old, explained.mT, corner
        news = torch.linalg.solve_triangular(corner, residual(explained.mT @ self.whitened), upper=False)
        before = self.whitened.expand(*shape, len(processes), n, 1)
        self.factor, self.whitened = factor, torch.cat([before, news.expand(*before.shape[:-2], p, 1)], dim=-2)
        self.x = torch.cat([self.x.expand(*shape, *self.x.shape[-2:]), x], dim=-2)
        self.X = torch.cat([self.X.expand(*shape, *self.X.shape[-2:]), X], dim=-2)

    def whiten_cross_covariance(self, x: Float[Tensor, "*batch q d"]) -> Float[Tensor, "*all s n q"]:
        """L⁻¹ cov(f(D), f(x)), for every process; for all fantasies, if there are any."""
        have_factors = self.factor.ndim > 3  # fantasies have factors of their own
        # Else there is one triangular system for the whole batch, instead of one for each of its members.
        points = x if have_factors else x.reshape(-1, x.shape[-1])
        covariance = self.processes.compute_covariance(self.x, points)
        solved: Tensor = torch.linalg.solve_triangular(self.factor, covariance, upper=False)
        if have_factors:
            return solved
        return solved.reshape(*solved.shape[:-1], *x.shape[:-1]).movedim((0, 1), (-3, -2))

    def _copy(
        self,
        processes: Processes,
        amplitude: Float[Tensor, " s"],
        members: Int[Tensor, " m"],
        which: Int[Tensor, " s"] | slice,
    ) -> "MixtureOfProcesses":
        """A copy with these processes, on the factors of the subset `which` of the present ones."""
        copied = MixtureOfProcesses.__new__(MixtureOfProcesses)
        Model.__init__(copied)
        observed = {name: getattr(self, name) for name in ("X", "train_targets", "x")}
        observed |= {name: getattr(self, name)[..., which, :, :] for name in ("factor", "whitened")}
        copied._set_state(processes, amplitude, members, self.box, observed)
        return copied


# GPyTorch's own floor for variances.
_FLOOR = min_variance.value(torch.float64)


class _MixtureMoments:
    """m_s(x) and σ_s(x) of the distinct processes of a mixture, with their gradients."""

    def __init__(self, model: MixtureOfProcesses) -> None:
        self._box, self._processes = model.box, model.processes
        self._amplitude, self._whitened = model.amplitude[:, None], model.whitened
        with torch.no_grad():
            self._section = StackSection.from_stack(model.processes.kernels, model.x)
            identity = torch.eye(len(model.x)).to(model.x)
            self._inverse = torch.linalg.solve_triangular(model.factor, identity, upper=False)  # L⁻¹

    def evaluate(self, X: Float[Tensor, "b k"]) -> tuple[Moments, PullBack]:
        """With k = K(D, x) and e = L⁻¹k: m = eᵀL⁻¹y and σ² = a (K(x, x) - eᵀe); and the vector-Jacobian product."""
        kernels = self._section.evaluate(self._box.to_kernel_inputs(X))
        explained = self._processes.mix_kernels(kernels.cross, dims=2) @ self._inverse.mT
        mean = (explained @ self._whitened).squeeze(-1)
        left = self._processes.mix_kernels(kernels.variance, dims=1) - explained.square().sum(-1)
        variance = left.clamp_min(LEAST_VARIANCE) * self._amplitude
        sigma = variance.clamp_min(_FLOOR).sqrt()

        def pull_back_gradient(by_mean: Float[Tensor, "s b"], by_sigma: Float[Tensor, "s b"]) -> Float[Tensor, "b k"]:
            uncertain = (left >= LEAST_VARIANCE) & (variance >= _FLOOR)
            by_left = torch.where(uncertain, by_sigma * self._amplitude / (2 * sigma), 0.0)
            by_explained = by_mean[..., None] * self._whitened.mT - 2 * by_left[..., None] * explained
            by_cross = torch.tensordot(self._processes.shares.mT, by_explained @ self._inverse, dims=1)
            by_inputs = kernels.pull_back_gradient(by_cross, self._processes.shares.mT @ by_left)
            return self._box.pull_back_gradient(by_inputs)

        return (mean, sigma), pull_back_gradient
