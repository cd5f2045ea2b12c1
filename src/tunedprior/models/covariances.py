"""Covariances of the objective: codes of settings to kernel inputs, a learnt kernel to one with an amplitude."""

from typing import Any, Protocol, runtime_checkable

import torch
from botorch.models.transforms.input import InputTransform
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel, ScaleKernel
from gpytorch.priors import LogNormalPrior
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import refuse_other_types
from tunedprior.problem.box import Box

# Where a prior variance is less than so many times its own rounding error, dividing by it would only magnify that.
_LEAST_DIGITS = 1e3
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
        return middle + half * self.box.to_kernel_inputs(X)


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


@runtime_checkable
class HasRoundingBound(Protocol):
    """A kernel that is exact but for rounding, and knows how large that may be."""

    def bound_rounding_error(self, x: Float[Tensor, "*batch n d"]) -> Float[Tensor, "*batch n"]:
        """Upper bound on the rounding error of K(x, x)."""
        ...


class UnitDiagonal(Kernel):
    """K(x, x') / √(K(x, x) K(x', x')): every setting has prior variance 1, only correlations are learnt.

    K(x, x) may be 1e-200 of its mean over the box, so K must be right relative to itself: features up to a share of the
    mean will not do. Where K(x, x) is less than 1,000 times its rounding error, that is divided by instead: there the
    prior stays certain of zero, or nearly so.

    Args:
        kernel: K, a kernel that also is `HasRoundingBound`, as `FixedReweightedKernel` summed over pairs of rows.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        refuse_other_types(kernel, HasRoundingBound, "kernel", "one that is exact but for rounding, FixedReweighted")
        self.base = kernel

    def forward(
        self, x1: Float[Tensor, "*b1 n d"], x2: Float[Tensor, "*b2 k d"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The scaled matrix, or its diagonal."""
        left, right = self._compute_scale(x1, **params), self._compute_scale(x2, **params)
        matrix: Tensor = self.base.forward(x1, x2, diag=diag, **params)
        # One after the other: both together may overflow.
        return matrix * left * right if diag else matrix * left[..., :, None] * right[..., None, :]

    def _compute_scale(self, x: Float[Tensor, "*batch n d"], **params: Any) -> Float[Tensor, "*batch n"]:
        """1/√K(x, x). A batch of candidates repeats the training points for each; they are computed once."""
        if x.requires_grad:
            return self._compute_distinct_scale(x, **params)
        points, place = x.flatten(0, -2).unique(dim=0, return_inverse=True)
        return self._compute_distinct_scale(points, **params)[place].reshape(x.shape[:-1])

    def _compute_distinct_scale(self, x: Float[Tensor, "*batch n d"], **params: Any) -> Float[Tensor, "*batch n"]:
        variance: Tensor = self.base.forward(x, x, diag=True, **params)
        with torch.no_grad():
            least = (_LEAST_DIGITS * self.base.bound_rounding_error(x)).clamp_min(torch.finfo(variance.dtype).tiny)
        return torch.maximum(variance, least).rsqrt()


def standardise_with_amplitude(kernel: Kernel, mean_variance: float) -> ScaleKernel:
    """σ_f² K(x, x')/c: a learnt kernel with an amplitude σ_f to fit, near 1 for standardised observations."""
    return add_amplitude(UnitMeanVariance(kernel, mean_variance))


def add_amplitude(kernel: Kernel, batch_shape: tuple[int, ...] = ()) -> ScaleKernel:
    """σ_f² K(x, x') with an amplitude σ_f to fit, one for each member of a batch."""
    return ScaleKernel(
        kernel,
        batch_shape=torch.Size(batch_shape),
        outputscale_prior=LogNormalPrior(0.0, 1.0),
        # Untransformed, so that the fit has a bound to respect instead of an underflow to fall into.
        outputscale_constraint=GreaterThan(1e-4, transform=None, initial_value=1.0),
    )
