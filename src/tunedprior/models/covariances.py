"""Covariances of the objective: codes of settings to kernel inputs, a learnt kernel to one with an amplitude."""

from typing import Any

import torch
from botorch.models.transforms.input import InputTransform
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from jaxtyping import Float
from torch import Tensor

from tunedprior.problem.box import Box

# Where a prior variance is smaller than this share of its mean, dividing by it would only magnify rounding.
_LEAST_VARIANCE = 1e-10
# A kernel whose mean variance is below this counts as zero.
_VANISHING = 1e-12


class KernelInputs(InputTransform, torch.nn.Module):
    """Input transform from codes, which acquisition functions are maximised over, to kernel inputs."""

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


class UnitMeanVariance(Kernel):
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

    @property
    def vanishes(self) -> bool:
        """Whether K is numerically zero, so that there was nothing to divide by."""
        return self.mean_variance < _VANISHING

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        keep = not diag and not x1.requires_grad and torch.equal(x1, x2)
        if keep and self._kept is not None and _are_equal(x1, self._kept[0]):
            return self._kept[1]
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params) / self.mean_variance
        if keep and self.training:
            self._kept = (x1, matrix)
        return matrix


def _are_equal(x: Float[Tensor, "..."], kept: Float[Tensor, "..."]) -> bool:
    """Whether both are the same; a model may have been moved to another device or dtype in between."""
    return x.dtype == kept.dtype and x.device == kept.device and torch.equal(x, kept)


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
    return amplified(UnitMeanVariance(kernel, mean_variance))


def amplified(kernel: Kernel, batch_shape: tuple[int, ...] = ()) -> ScaleKernel:
    """σ_f² K(x, x') with an amplitude σ_f to fit, one for each member of a batch."""
    return ScaleKernel(
        kernel,
        batch_shape=torch.Size(batch_shape),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        # Untransformed, so that the fit has a bound to respect instead of an underflow to fall into.
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )
