"""The learnt kernel as a function of settings in the user's units, for models that know nothing of boxes."""

from typing import Any

import torch
from gpytorch.kernels import AdditiveKernel, Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.algorithm1.weight_prior import WeightPrior
from tunedprior.beliefs import KernelBelief, get_belief, list_beliefs
from tunedprior.beliefs.reweighted import ReweightedBelief
from tunedprior.checks import format_list, format_value
from tunedprior.errors import DomainError, InputError
from tunedprior.kernels.anchors import Float64Module
from tunedprior.kernels.box_means import compute_mean_variance
from tunedprior.models.covariances import UnitMeanVariance
from tunedprior.problem.box import Box

REWEIGHTED = ReweightedBelief.name
# A point may miss the edge of the box by rounding, in single precision too.
_SLACK = 1e-6


class KernelInputMap(Float64Module):
    """u(x): from settings in the user's units to kernel inputs in [-reach, reach].

    A number stands for itself (its logarithm is taken on logarithmic axes), a category for its position among the
    choices.
    """

    low: Tensor
    high: Tensor

    def __init__(self, box: Box, reach: float = 1.0) -> None:
        super().__init__()
        self.box, self.reach = box, reach
        # Axes that do not vary, and categories, keep their value: they have no scale.
        ends = [(axis.low, axis.high) if axis.choices is None and axis.width else (-1.0, 1.0) for axis in box.axes]
        low, high = torch.tensor(ends, dtype=torch.float64).T
        self.register_buffer("low", low)
        self.register_buffer("high", high)
        self._scaled = [axis.choices is None and axis.width > 0 for axis in box.axes]
        self._log = [axis.log for axis in box.axes]

    def encode(self, x: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch k"]:
        """The codes of settings (see `Box`); a `DomainError` if some lie outside the box."""
        if x.shape[-1] != len(self._log):
            raise InputError(
                f"Settings must have {len(self._log)} columns ({format_list(self.box.names)}), as the old data "
                "has; got "
                f"{x.shape[-1]}."
            )
        columns = [
            column.log() if log else column for column, log in zip(x.double().unbind(-1), self._log, strict=True)
        ]
        codes: Tensor = (2 * torch.stack(columns, dim=-1) - self.low - self.high) / (self.high - self.low)
        outside = (codes.detach().abs() <= 1 + _SLACK).logical_not().reshape(-1, codes.shape[-1]).any(0)
        for number in outside.nonzero().flatten().tolist():
            if self._scaled[number]:
                self._refuse_outside(x, number)
        return codes

    def forward(self, x: Float[Tensor, "*batch k"]) -> Float[Tensor, "*batch d"]:
        """u(x)."""
        return self.reach * self.box.to_kernel_inputs(self.encode(x))

    def _refuse_outside(self, x: Float[Tensor, "*batch k"], number: int) -> None:
        axis, column = self.box.axes[number], x.detach()[..., number]
        raise DomainError(
            f"Settings must lie in the box around old data, training data and bounds. There {axis.name!r} (column "
            f"{number}) goes from {axis.decode(-1):g} to {axis.decode(1):g}; got {float(column.min()):g} to "
            f"{float(column.max()):g}. Give bounds that hold every setting you will ask about."
        )


class SettingKernel(Kernel):
    """K(u(x), u(x')), with u from the user's units to kernel inputs: what was learnt, as a kernel on settings.

    Args:
        kernel: A kernel on inputs in [-reach, reach], without parameters to learn.
        box: The map from settings to kernel inputs.
        reach: See `WeightPrior`.
    """

    def __init__(self, kernel: Kernel, box: Box, reach: float = 1.0) -> None:
        super().__init__()
        self.base = kernel
        self.inputs = KernelInputMap(box, reach)

    def forward(
        self, x1: Float[Tensor, "*b1 n k"], x2: Float[Tensor, "*b2 m k"], diag: bool = False, **params: Any
    ) -> Float[Tensor, "..."]:
        """The matrix, or its diagonal, in the dtype of the settings."""
        left = self.inputs(x1)
        right = left if x2 is x1 else self.inputs(x2)
        values: Tensor = self.base.forward(left, right, diag=diag, **params)
        return values.to(torch.promote_types(x1.dtype, x2.dtype))


class SourceKernelSum(AdditiveKernel):
    """Σ_k σ_k² K_k(x, x'): what several old data sets taught, each with an amplitude of its own."""


def list_kernel_beliefs() -> list[str]:
    """The names of the beliefs that are one kernel."""
    return [one.name for one in list_beliefs() if isinstance(one, KernelBelief)]


def make_belief_kernel(prior: WeightPrior, name: str = REWEIGHTED) -> UnitMeanVariance:
    """K(u(x), u(x'))/c, with c its mean variance over the box: the kernel of a belief on settings in the user's units.

    Args:
        prior: What was learnt from old data.
        name: The belief; "reweighted" is the Theorem's K^A₂.
    """
    if name not in list_kernel_beliefs():
        raise InputError(f"prior must be one of {format_list(list_kernel_beliefs())}; got {format_value(name)}.")
    held = get_belief(name)
    assert isinstance(held, KernelBelief)
    kernel = prior.make_kernel() if name == REWEIGHTED else held.make_kernel(prior.fit)
    size = compute_mean_variance(kernel, prior.box.num_inputs, prior.reach)
    return UnitMeanVariance(SettingKernel(kernel, prior.box, prior.reach), size)
