"""Gaussian processes for the objective: on the re-weighted kernel, and the standard one for when nothing is known."""

import warnings
from typing import Any

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms.input import InputTransform
from botorch.settings import validate_input_scaling
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from jaxtyping import Float
from torch import Tensor

from tunedprior.box import Box
from tunedprior.errors import FittingWarning
from tunedprior.weight_prior import WeightPrior

# A noise variance of zero makes covariance matrices singular; this much of the response's variance does not show.
_LEAST_NOISE = 2e-6
_VARIANCE_SAMPLE = 256


class KernelInputs(InputTransform, torch.nn.Module):
    """Codes of settings, which acquisitions are maximised over, to what the kernel sees."""

    is_one_to_many = False

    def __init__(self, box: Box, low: float, high: float) -> None:
        super().__init__()
        self.box, self.low, self.high = box, low, high
        self.transform_on_train = True
        self.transform_on_eval = True
        self.transform_on_fantasize = True

    def transform(self, X: Float[Tensor, "*batch n k"]) -> Float[Tensor, "*batch n d"]:
        """Inputs between `low` and `high`."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return middle + half * self.box.inputs(X)


class PriorCovariance(Kernel):
    """K(x, x')/c, with c the mean of K(x, x) over the box: a learnt kernel whose own parameters stay as learnt.

    On average over the box the prior variance is then 1, so that the amplitude learnt from standardised observations
    is near 1 whatever the size of α was. The matrix of the training points is kept: amplitude and noise are fitted
    many times over the same one.
    """

    def __init__(self, kernel: Kernel, box_sample: Float[Tensor, "n d"]) -> None:
        super().__init__()
        self.base = kernel.requires_grad_(False)
        with torch.no_grad():
            self.mean_variance = float(kernel(box_sample, diag=True).mean())
        self._kept: tuple[Tensor, Tensor] | None = None

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        keep = not diag and not x1.requires_grad and torch.equal(x1, x2)
        if keep and self._kept is not None and torch.equal(x1, self._kept[0]):
            return self._kept[1]
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params) / self.mean_variance
        if keep and self.training:
            self._kept = (x1, matrix)
        return matrix


def tuned_prior_model(
    prior: WeightPrior, codes: Float[Tensor, "n k"], y: Float[Tensor, "n 1"], noise_std: float | None
) -> SingleTaskGP:
    """f ~ GP(m, σ_f² K^A₂): the objective on the re-weighted kernel, with m, σ_f and the noise learnt from y."""
    sample = torch.quasirandom.SobolEngine(prior.anchors.shape[1], scramble=True, seed=0).draw(
        _VARIANCE_SAMPLE, dtype=torch.float64
    )
    covariance = ScaleKernel(
        PriorCovariance(prior.kernel(), prior.reach * (2 * sample - 1)),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        # Untransformed, so that the fit has a bound to respect instead of an underflow to fall into.
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )
    return _fitted(codes, y, noise_std, KernelInputs(prior.box, -prior.reach, prior.reach), covariance)


def standard_model(
    box: Box, codes: Float[Tensor, "n k"], y: Float[Tensor, "n 1"], noise_std: float | None
) -> SingleTaskGP:
    """BoTorch's standard Gaussian process: squared exponential, ARD, priors that grow with the number of inputs."""
    return _fitted(codes, y, noise_std, KernelInputs(box, 0.0, 1.0), None)


def _fitted(
    codes: Float[Tensor, "n k"],
    y: Float[Tensor, "n 1"],
    noise_std: float | None,
    transform: InputTransform,
    covariance: Kernel | None,
) -> SingleTaskGP:
    noise = None
    if noise_std is not None:
        noise = torch.full_like(y, max(noise_std**2, _LEAST_NOISE))
    with validate_input_scaling(False):  # [-1, 1] is where free kernels live
        model = SingleTaskGP(codes, y, noise, covar_module=covariance, input_transform=transform)
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError as error:
            message = f"Amplitude and noise could not be fitted ({error}); using their priors."
            warnings.warn(message, FittingWarning, stacklevel=4)
    return model.eval()


def believing(model: SingleTaskGP, pending: Float[Tensor, "p k"]) -> Model:
    """The model, as if every pending setting had given just what it expects: no gain there, and no uncertainty."""
    with torch.no_grad():
        expected = model.posterior(pending).mean
    noise = {}
    if hasattr(model.likelihood, "noise_covar") and model.likelihood.noise.numel() > 1:  # known noise, one per point
        noise["noise"] = model.likelihood.noise[:1].expand(len(pending))[:, None]
    conditioned: Model = model.condition_on_observations(pending, expected, **noise)
    return conditioned
