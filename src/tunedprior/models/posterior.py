"""The posterior of any BoTorch model: its moments, its components, and the model conditioned on pending points.

p(f | D) = Σ_s w_s GP_s(f | D), a mixture of one or several Gaussian processes, is a `ComponentModel`: there targets,
requirements, costs and trade-offs have closed forms. Whatever needs these asks for the components of a model, and not
which class it is.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.posteriors import GPyTorchPosterior
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from gpytorch.distributions import MultivariateNormal
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.goals.observations import Observations
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import NEGATIVE_VARIANCE, silence_warnings
from tunedprior.numerics.linalg import cholesky

#: The means and the standard deviations of the components.
Moments = tuple[Float[Tensor, "s b"], Float[Tensor, "s b"]]
#: From the derivatives of a value by the means and by the standard deviations to those by the points.
PullBack = Callable[[Float[Tensor, "s b"], Float[Tensor, "s b"]], Float[Tensor, "b k"]]

#: The size of an ensemble. BoTorch weighs its members equally, so a weight becomes a number of equal members.
MEMBERS = 64
_PREDICTED_AT_ONCE = 1024
_ENOUGH_TO_JUDGE = 5  # observations


def assign_members(weights: Float[Tensor, " s"], count: int = MEMBERS) -> Int[Tensor, " m"]:
    """The process of each of `count` equal members, such that each process has its weight's share of them (rounded).

    Members stand at equal distances along the cumulative weights: adjacent processes too light for a member of their
    own share one, and no weight is off by more than one member.
    """
    ends = weights.cumsum(0) / weights.sum()
    positions = (torch.arange(count).to(weights) + 0.5) / count
    return torch.searchsorted(ends, positions).clamp(max=len(weights) - 1)


class MomentFunction(Protocol):
    """x ↦ (m_s(x), σ_s(x)) with derivatives, for acquisition functions that are evaluated many times."""

    def evaluate(self, X: Float[Tensor, "b k"]) -> tuple[Moments, PullBack]:
        """The moments at b points, and the chain rule back to these points."""
        ...


@runtime_checkable
class ComponentModel(Protocol):
    """A model with the posterior p(f | D) = Σ_s w_s GP_s(f | D) for one output."""

    @property
    def weights(self) -> Float[Tensor, " s"]:
        """w_s; they sum to 1."""
        ...

    @property
    def noise_variances(self) -> Float[Tensor, " s"]:
        """The variance of a measurement's noise under each component."""
        ...

    def make_moment_function(self) -> MomentFunction:
        """x ↦ (m_s(x), σ_s(x)), with derivatives."""
        ...

    def make_mean_function(self) -> Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]:
        """x ↦ Σ_s w_s m_s(x), for many points at once."""
        ...

    def predict_components(
        self, X: Float[Tensor, "n k"], measured: bool = False
    ) -> tuple[Float[Tensor, "n s"], Float[Tensor, "n s"]]:
        """Mean and variance of f at each point under each component; with `measured`, of a measurement of it."""
        ...

    def iterate_joint_moments(
        self, X: Float[Tensor, "n k"]
    ) -> Iterator[tuple[Float[Tensor, " n"], Float[Tensor, "n n"]]]:
        """The joint mean and covariance of f at n points, one component after the other."""
        ...

    def condition_on_means(self, X: Float[Tensor, "p k"]) -> "ComponentModel":
        """Each component conditioned on its own mean at p points, so that no variance is left there."""
        ...

    def compute_leave_one_out(self) -> tuple[Float[Tensor, "s n"], Float[Tensor, "s n"]] | None:
        """e_i and σ_i²: each component's error at its i-th observation, predicted from all others; None if unknown."""
        ...


@dataclass(frozen=True, eq=False)
class GaussianComponents:
    """A BoTorch model with a Gaussian posterior, or an ensemble of these, as a `ComponentModel`.

    Attributes:
        model: The model; its posterior is a `GPyTorchPosterior` or a `GaussianMixturePosterior`.
        observations: The observations that it was fitted to.
        surrogate: The function that made it; called again where the model cannot be conditioned.
        weights: 1 for a Gaussian process, 1/m for each member of an ensemble.
        noise_variances: On average over the observed points.
    """

    model: Model
    observations: Observations
    surrogate: Surrogate
    weights: Float[Tensor, " s"]
    noise_variances: Float[Tensor, " s"]

    @classmethod
    def from_model(cls, model: Model, observations: Observations, surrogate: Surrogate) -> "GaussianComponents | None":
        """The model's components; None if its posterior is not Gaussian, or has several outputs."""
        with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
            if _get_normal(model.posterior(observations.X[:1])) is None:
                return None
            latent = _split_components(model.posterior(observations.X[:, None]))[1]
            measured = _split_components(model.posterior(observations.X[:, None], observation_noise=True))[1]
        noise = (measured - latent).clamp_min(0.0).mean(1)
        return cls(model, observations, surrogate, torch.full_like(noise, 1 / len(noise)), noise)

    def make_moment_function(self) -> "GaussianComponents":
        """The components themselves: they keep nothing from one evaluation to the next."""
        return self

    def make_mean_function(self) -> Callable[[Float[Tensor, "n k"]], Float[Tensor, " n"]]:
        """x ↦ Σ_s w_s m_s(x)."""
        return lambda X: predict_moments(self, X)[0]

    def evaluate(self, X: Float[Tensor, "b k"]) -> tuple[Moments, PullBack]:
        """The moments, and their derivatives by automatic differentiation."""
        with torch.enable_grad(), silence_warnings(NEGATIVE_VARIANCE):
            points = X.detach().clone().requires_grad_()
            mean, variance = _split_components(self.model.posterior(points[:, None]))
            sigma = variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()

        def pull_back_gradient(by_mean: Float[Tensor, "s b"], by_sigma: Float[Tensor, "s b"]) -> Float[Tensor, "b k"]:
            with silence_warnings(NEGATIVE_VARIANCE):
                (found,) = torch.autograd.grad([mean, sigma], [points], [by_mean, by_sigma], retain_graph=True)
            return found.nan_to_num()

        return (mean.detach(), sigma.detach()), pull_back_gradient

    def predict_components(
        self, X: Float[Tensor, "n k"], measured: bool = False
    ) -> tuple[Float[Tensor, "n s"], Float[Tensor, "n s"]]:
        """Mean and variance at each point under each component."""
        with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
            mean, variance = _split_components(self.model.posterior(X[:, None], observation_noise=measured))
        return mean.mT, variance.clamp_min(0.0).mT

    def iterate_joint_moments(
        self, X: Float[Tensor, "n k"]
    ) -> Iterator[tuple[Float[Tensor, " n"], Float[Tensor, "n n"]]]:
        """The joint mean and covariance at n points, one component after the other."""
        with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
            normal = _get_normal(self.model.posterior(X))
            assert normal is not None
            mean, covariance = normal.mean.reshape(-1, len(X)), normal.covariance_matrix.reshape(-1, len(X), len(X))
        yield from zip(mean, covariance, strict=True)

    def condition_on_means(self, X: Float[Tensor, "p k"]) -> ComponentModel:
        """The model conditioned on its mean at p points."""
        conditioned, _ = condition_on_pending(self.model, self.surrogate, self.observations, X)
        found = find_components(conditioned, self.observations, self.surrogate)
        assert found is not None
        return found

    def compute_leave_one_out(self) -> tuple[Float[Tensor, "s n"], Float[Tensor, "s n"]] | None:
        """e_i = [R⁻¹y]_i/[R⁻¹]_ii and σ_i² = 1/[R⁻¹]_ii, where R is the covariance of the observations.

        In the units that the model has inside: errors and variances go together. Known for BoTorch's exact Gaussian
        process.
        """
        model = self.model
        if not isinstance(model, SingleTaskGP):
            return None
        with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
            observed = model.likelihood(model.forward(model.train_inputs[0]), model.train_inputs[0])
            factor = cholesky(observed.covariance_matrix)[None]
            whitened = torch.linalg.solve_triangular(
                factor, (model.train_targets - observed.mean)[None, :, None], upper=False
            )
        return compute_leave_one_out(factor, whitened)


def compute_leave_one_out(
    factor: Float[Tensor, "s n n"], whitened: Float[Tensor, "s n 1"]
) -> tuple[Float[Tensor, "s n"], Float[Tensor, "s n"]]:
    """e_i = [R⁻¹y]_i/[R⁻¹]_ii and σ_i² = 1/[R⁻¹]_ii, of R = L Lᵀ.

    Args:
        factor: L.
        whitened: L⁻¹y, where y is what was observed less its prior mean.
    """
    inverse = torch.linalg.solve_triangular(factor, torch.eye(factor.shape[-1]).to(factor), upper=False)
    diagonal = inverse.square().sum(-2)
    return (inverse.mT @ whitened).squeeze(-1) / diagonal, 1 / diagonal


def find_components(model: Model, observations: Observations, surrogate: Surrogate) -> ComponentModel | None:
    """The model as a mixture of Gaussian processes; None if its posterior is something else."""
    if isinstance(model, ComponentModel):
        return model
    return GaussianComponents.from_model(model, observations, surrogate)


def predict_moments(
    model: Model | ComponentModel, X: Float[Tensor, "n k"], measured: bool = False
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Mean and variance of f at each point, or of a measurement of it; of the whole mixture, where it is one."""
    if isinstance(model, ComponentModel):
        parts = [model.predict_components(some, measured) for some in X.split(_PREDICTED_AT_ONCE)]
        means, variances = (torch.cat(each) for each in zip(*parts, strict=True))
        mean, weights = means @ model.weights, model.weights
        return mean, variances @ weights + means.square() @ weights - mean.square()
    with silence_warnings(NEGATIVE_VARIANCE):
        posterior: Any = model.posterior(X, observation_noise=measured)  # BoTorch's type does not promise a mean
        return posterior.mean.squeeze(-1), posterior.variance.squeeze(-1)


@torch.no_grad()
def compute_miscalibration(components: ComponentModel | None) -> float:
    """By how much a model's standard deviations are too small: √(Σ_i e_i²/σ_i² / n), or 1 if they are not.

    e_i is the error of the observation i as predicted from all others, σ_i the standard deviation it had (with noise),
    both of the whole mixture. A model that does not know these is taken at its word.
    """
    known = None if components is None else components.compute_leave_one_out()
    if components is None or known is None or known[0].shape[-1] < _ENOUGH_TO_JUDGE:
        return 1.0
    errors, variances = known
    error = components.weights @ errors
    variance = components.weights @ (variances + errors.square()) - error.square()
    return max(1.0, float((error.square() / variance).mean().sqrt()))


def condition_on_pending(
    model: Model, surrogate: Surrogate, observations: Observations, pending: Float[Tensor, "p k"]
) -> tuple[Model, Float[Tensor, "*s p"]]:
    """The model conditioned on its posterior mean at the pending points, and that mean: no variance is left there.

    In a mixture every component has its own expectation; then the mean has a row for each component.
    """
    if isinstance(model, ComponentModel):
        with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
            conditioned: Any = model.condition_on_means(pending)
            return conditioned, model.predict_components(pending)[0].mT
    with torch.no_grad(), silence_warnings(NEGATIVE_VARIANCE):
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


def _get_normal(posterior: Any) -> MultivariateNormal | None:
    """The normal distribution of a posterior of one output, or of each member of an ensemble."""
    if not isinstance(posterior, GPyTorchPosterior | GaussianMixturePosterior):
        return None
    found = posterior.distribution
    is_single = isinstance(found, MultivariateNormal) and type(found) is MultivariateNormal
    return found if is_single else None


def _split_components(posterior: Any) -> Moments:
    """Means and variances, of components by points, of a posterior at `b 1 k` points."""
    normal = _get_normal(posterior)
    assert normal is not None
    mean, variance = normal.mean.squeeze(-1), normal.variance.squeeze(-1)
    return mean.reshape(len(mean), -1).mT, variance.reshape(len(mean), -1).mT
