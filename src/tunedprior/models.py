"""What Gaussian processes for the objective are made of, and how their parameters are fitted."""

import warnings
from typing import Any, TypeVar

import torch
from botorch.exceptions.errors import ModelFittingError
from botorch.fit import fit_gpytorch_mll
from botorch.models.gpytorch import GPyTorchModel
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

#: A noise variance of zero makes covariance matrices singular; this much of the response's variance does not show.
LEAST_NOISE = 2e-6
# Where a prior variance is smaller than this share of its mean, dividing by it would only magnify rounding.
_LEAST_VARIANCE = 1e-10
_SAMPLE_OF_BOX = 256

ModelT = TypeVar("ModelT", bound=GPyTorchModel)


def sample_of_box(num_inputs: int, reach: float = 1.0) -> Float[Tensor, "n d"]:
    """Points all over [-reach, reach]^d, always the same, to take means over the box."""
    sobol = torch.quasirandom.SobolEngine(num_inputs, scramble=True, seed=0)
    return reach * (2 * sobol.draw(_SAMPLE_OF_BOX, dtype=torch.float64) - 1)


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

    def __init__(self, kernel: Kernel, mean_variance: float) -> None:
        super().__init__()
        self.base = kernel.requires_grad_(False)
        self.mean_variance = mean_variance
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


class UnitDiagonal(Kernel):
    """K(x, x') / √(K(x, x) K(x', x')): every setting has prior variance 1, only correlations are learnt."""

    def __init__(self, kernel: Kernel, mean_variance: float) -> None:
        super().__init__()
        self.base = kernel
        # A kernel may vanish somewhere (a product kernel does at the origin); there the prior stays certain of zero.
        self._least = _LEAST_VARIANCE * mean_variance

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        left, right = self._scale(x1, **params), self._scale(x2, **params)
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params)
        scale: Tensor = left * right if diag else left[..., :, None] * right[..., None, :]
        return matrix * scale

    def _scale(self, x: Float[Tensor, "*batch n d"], **params: Any) -> Float[Tensor, "*batch n"]:
        """1/√K(x, x). A batch of candidates repeats the training points for each; they are computed once."""
        if x.requires_grad:
            variance: Tensor = self.base.forward(x, x, diag=True, **params)
        else:
            points, place = x.flatten(0, -2).unique(dim=0, return_inverse=True)
            variance = self.base.forward(points, points, diag=True, **params)[place].reshape(x.shape[:-1])
        return variance.clamp_min(self._least).rsqrt()


def with_amplitude(kernel: Kernel, mean_variance: float) -> ScaleKernel:
    """σ_f² K(x, x')/c: a learnt kernel with an amplitude σ_f to fit, near 1 for standardised observations."""
    return ScaleKernel(
        PriorCovariance(kernel, mean_variance),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        # Untransformed, so that the fit has a bound to respect instead of an underflow to fall into.
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )


def fit(model: ModelT, max_steps: int | None = None) -> ModelT:
    """The model with its most probable parameters, ready to predict; with a warning, with its initial ones.

    With `max_steps` the search for them ends after so many steps, and can be taken up again.
    """
    options = None if max_steps is None else {"options": {"maxiter": max_steps}}
    with torch.enable_grad(), validate_input_scaling(False):  # [-1, 1] is where free kernels live
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs=options)
        except ModelFittingError as error:
            message = f"The model's parameters could not be fitted ({error}); going on with those it had."
            warnings.warn(message, FittingWarning, stacklevel=4)
    return model.eval()
