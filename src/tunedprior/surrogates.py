"""From observations to a model of the objective: with the tuned prior, with the standard one, or with your own."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms.input import InputTransform
from botorch.settings import validate_input_scaling
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.box import Box
from tunedprior.mixture import MixtureOfProcesses
from tunedprior.models import LEAST_NOISE, KernelInputs, UnitDiagonal, fit, sample_of_box, with_amplitude
from tunedprior.weight_prior import WeightPrior

_PREDICTED_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Observations:
    """What was told, as models take it: larger is better, mean 0, variance 1.

    Attributes:
        codes: Settings, as `Box.codes` has them.
        y: Responses; `shift + scale * y` has the user's units (with the sign turned if the user minimises).
        noise_std: The noise's standard deviation in units of `y`, where the user knows it.
        shift: What was subtracted.
        scale: And what was then divided by.
    """

    codes: Float[Tensor, "n k"]
    y: Float[Tensor, "n 1"]
    noise_std: float | None = None
    shift: float = 0.0
    scale: float = 1.0

    def supposing(self, codes: Float[Tensor, "p k"], y: Float[Tensor, "p 1"]) -> "Observations":
        """With more observations, in units of `y`."""
        return replace(self, codes=torch.cat([self.codes, codes]), y=torch.cat([self.y, y]))


@runtime_checkable
class Surrogate(Protocol):
    """Turns observations into a BoTorch model over codes; what it knows beforehand (old data, say) is its own."""

    @property
    def box(self) -> Box:
        """How settings become codes; it must hold the search space."""
        ...

    def __call__(self, observations: Observations) -> Model:
        """A fitted model with one output, in units of `observations.y`."""
        ...


@dataclass(frozen=True, eq=False)
class Standard:
    """BoTorch's standard Gaussian process: squared exponential, ARD, priors that grow with the number of inputs."""

    box: Box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The fitted model."""
        return _fitted(observations, KernelInputs(self.box, 0.0, 1.0), None)


@dataclass(frozen=True, eq=False)
class TunedPrior:
    """f ~ GP(m, σ_f² K^A₂): the objective on the re-weighted kernel, with m, σ_f and the noise learnt from D.

    Attributes:
        prior: What old data taught.
        unit_diagonal: Whether the kernel is normalised to K^A₂(x, x')/√(K^A₂(x, x) K^A₂(x', x')), as the paper's
            published program does. Then the prior variance no longer says where the objective is large, only which
            settings go together.
    """

    prior: WeightPrior
    unit_diagonal: bool = False

    @property
    def box(self) -> Box:
        """The box of the old data and the search space."""
        return self.prior.box

    def __call__(self, observations: Observations) -> SingleTaskGP:
        """The fitted model."""
        reach = self.prior.reach
        covariance = with_amplitude(self._kernel(), self._mean_variance)
        return _fitted(observations, KernelInputs(self.box, -reach, reach), covariance)

    def _kernel(self) -> Kernel:
        kernel = self.prior.kernel()
        return UnitDiagonal(kernel, self._learnt_mean_variance) if self.unit_diagonal else kernel

    # The same at every step, and worth |A|² terms for each point of the box that they are taken over.

    @cached_property
    def _learnt_mean_variance(self) -> float:
        return self._mean_over_box(self.prior.kernel())

    @cached_property
    def _mean_variance(self) -> float:
        """1 with a unit diagonal, but for places where the learnt kernel all but vanishes."""
        return self._mean_over_box(self._kernel()) if self.unit_diagonal else self._learnt_mean_variance

    def _mean_over_box(self, kernel: Kernel) -> float:
        sample = sample_of_box(self.prior.anchors.shape[1], self.prior.reach)
        with torch.no_grad():
            return float(kernel(sample, diag=True).mean())


def moments(model: Model, codes: Float[Tensor, "n k"]) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Mean and variance of the response at each setting; those of the mixture, if the model is one."""
    if isinstance(model, MixtureOfProcesses):  # point by point: joint covariances of all members would fill the memory
        parts = [model.posterior(some[:, None]) for some in codes.split(_PREDICTED_AT_ONCE)]
        mean = torch.cat([part.mixture_mean for part in parts])
        return mean[:, 0, 0], torch.cat([part.mixture_variance for part in parts])[:, 0, 0]
    posterior: Any = model.posterior(codes)  # BoTorch's own type does not promise a mean
    return posterior.mean.squeeze(-1), posterior.variance.squeeze(-1)


def believing(model: Model, surrogate: Surrogate, observations: Observations, pending: Float[Tensor, "p k"]) -> Model:
    """The model, as if every pending setting had given just what it expects: no gain there, and no uncertainty.

    In a mixture every member has its own expectation.
    """
    with torch.no_grad():
        posterior: Any = model.posterior(pending)
        expected = posterior.mean
        if isinstance(model, MixtureOfProcesses):
            return model.condition_on_observations(pending, expected)
    if not isinstance(model, SingleTaskGP):
        return surrogate(observations.supposing(pending, expected))
    noise = {}
    if hasattr(model.likelihood, "noise_covar") and model.likelihood.noise.numel() > 1:  # known noise, one per point
        noise["noise"] = model.likelihood.noise[:1].expand(len(pending))[:, None]
    conditioned: Model = model.condition_on_observations(pending, expected, **noise)
    return conditioned


def _fitted(observations: Observations, transform: InputTransform, covariance: Kernel | None) -> SingleTaskGP:
    noise = None
    if observations.noise_std is not None:
        noise = torch.full_like(observations.y, max(observations.noise_std**2, LEAST_NOISE))
    with validate_input_scaling(False):  # [-1, 1] is where free kernels live
        model = SingleTaskGP(
            observations.codes, observations.y, noise, covar_module=covariance, input_transform=transform
        )
    return fit(model)
