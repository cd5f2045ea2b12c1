"""What every rival shares: old data as tensors, and Gaussian processes over the unit cube."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.posteriors import Posterior
from botorch.settings import validate_input_scaling
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import RBFKernel
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.goals.observations import Observations
from tunedprior.kernels import SquaredExponential
from tunedprior.models.gaussian_process import LEAST_NOISE, fit
from tunedprior.source_data.matching import read_old_data
from tunedprior.source_data.training_set import average_replicates
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space


@dataclass(frozen=True, eq=False)
class Source:
    """Old data as rivals take it.

    Attributes:
        box: Holds the search space and the old settings.
        inputs: Old settings in the unit cube, `n x d`.
        y: Old responses, larger is better, `n`.
    """

    box: Box
    inputs: Tensor
    y: Tensor

    @classmethod
    def read(cls, old: pd.DataFrame, space: Mapping[str, Any], direction: str = "maximize") -> "Source":
        """From a table, with repeated settings averaged."""
        parsed = Space.parse(space)
        data = read_old_data(old, parsed, direction=direction)
        box = Box.enclose(parsed, data.settings)
        inputs, y = average_replicates(box.to_kernel_inputs(box.encode(data.settings)), data.response, data.labels)
        if data.labels:  # good or bad, whichever way numbers run; methods that copy values need some scale for them
            y = (1 + y) / 2
        elif direction == "minimize":
            y = -y
        return cls(box, (1 + inputs) / 2, y)

    @property
    def flat(self) -> bool:
        """Whether the response never varies."""
        return bool(self.y.max() == self.y.min())

    @property
    def standardised(self) -> Tensor:
        """y with mean 0 and variance 1 (0 if it is flat), `n x 1`."""
        centred = self.y - self.y.mean()
        return (centred if self.flat else centred / self.y.std(correction=0))[:, None]

    @cached_property
    def model(self) -> SingleTaskGP:
        """A standard process for the old data, standardised."""
        return gaussian_process(self.inputs, self.standardised)

    def in_units_of(self, observations: Observations) -> Tensor:
        """y as if it had been told: standardised as the observations were, `n x 1`."""
        return ((self.y - observations.shift) / observations.scale)[:, None]

    def expected(self, inputs: Tensor, observations: Observations) -> tuple[Tensor, Tensor]:
        """Mean and variance that the old data's process expects, in units of `observations.y`, both `n x 1`."""
        unit = self.y.std(correction=0) / observations.scale
        with torch.no_grad():
            posterior = self.model.posterior(inputs)
        mean = (self.y.mean() - observations.shift) / observations.scale + unit * posterior.mean
        return mean, unit**2 * posterior.variance

    def joined(self, inputs: Tensor, y: Tensor, old: Tensor, variance: Tensor) -> SingleTaskGP:
        """One process over new observations and old responses, these with known variances on top of the noise."""
        return gaussian_process(
            torch.cat([inputs, self.inputs]),
            torch.cat([y, old]),
            extra_noise=torch.cat([torch.zeros_like(y), variance]),
        )

    def unit(self, codes: Tensor) -> Tensor:
        """Codes of settings in the unit cube."""
        return (1 + self.box.to_kernel_inputs(codes)) / 2


class OnCodes(Model):
    """A model over the unit cube, seen as one over codes."""

    num_outputs = 1

    def __init__(self, inner: Model, unit: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self._unit = inner, unit

    @property
    def batch_shape(self) -> torch.Size:
        """No batch of models."""
        return torch.Size()

    def posterior(self, X: Tensor, *args: Any, **kwargs: Any) -> Posterior:
        """The inner model's posterior at the settings."""
        return self.inner.posterior(self._unit(X), *args, **kwargs)


@dataclass(frozen=True, eq=False)
class Rival(ABC):
    """A `Surrogate` that makes a model of the old data and the observations, both in the unit cube."""

    source: Source

    @property
    def box(self) -> Box:
        """Of the old data and the search space."""
        return self.source.box

    def __call__(self, observations: Observations) -> OnCodes:
        """The fitted model, over codes."""
        if observations.noise_std is not None:
            raise InputError("Rivals learn the noise from the data; leave noise_std out.")
        return OnCodes(self.model(self.source.unit(observations.X), observations), self.source.unit)

    @abstractmethod
    def model(self, inputs: Tensor, observations: Observations) -> Model:
        """The fitted model, over the unit cube; `inputs` are the observed settings there."""


def gaussian_process(inputs: Tensor, y: Tensor, extra_noise: Tensor | None = None) -> SingleTaskGP:
    """BoTorch's standard process, fitted; if asked, with known variances on top of the learnt noise.

    It standardises y, as BoTorch's priors expect, and predicts in the units that came.
    """
    likelihood = None
    if extra_noise is not None:  # BoTorch's own prior on the noise that is learnt
        variance = float(y.var()) if len(y) > 1 and y.max() > y.min() else 1.0
        likelihood = FixedNoiseGaussianLikelihood(
            (extra_noise / variance).squeeze(-1).clamp_min(LEAST_NOISE),
            learn_additional_noise=True,
            noise_prior=LogNormalPrior(-4.0, 1.0),
            noise_constraint=GreaterThan(1e-4, transform=None, initial_value=torch.tensor(-5.0).exp()),
        )
    with validate_input_scaling(False):  # a flat response is no mistake here
        model = SingleTaskGP(inputs, y, likelihood=likelihood)
    return fit(model)


def on_unit_cube(kernel: SquaredExponential) -> RBFKernel:
    """The same kernel, chosen on [-1, 1], for inputs in the unit cube, which is half as wide."""
    lengthscale = kernel.lengthscale.detach() / 2
    moved = RBFKernel(ard_num_dims=lengthscale.numel() if lengthscale.numel() > 1 else None).to(lengthscale)
    moved.lengthscale = lengthscale
    return moved
