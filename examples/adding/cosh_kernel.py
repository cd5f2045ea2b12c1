"""The kernel of even functions."""

import torch

from tunedprior.kernels import register_kernel
from tunedprior.kernels.registry import OneNumber
from tunedprior.kernels.table1 import DotProductKernel


@register_kernel
class Cosh(DotProductKernel):
    """K_m = cosh(ν Σ_d x₁_d⋯x_m_d), with ξ_q = ν^q/q! for even q.

    Args:
        scale: ν > 0; learnable, and tuned by `select`.
        **kernel_options: As for `FreeKernel`.
    """

    tuned_parameter = "scale"
    saved_arguments = {"scale": OneNumber}

    def __init__(self, scale=1.0, **kernel_options):
        super().__init__(**kernel_options)
        self._register_positive("scale", scale)

    @property
    def scale(self):
        """ν."""
        return self._get_positive("scale")

    @scale.setter
    def scale(self, value):
        self._set_positive("scale", value)

    def _evaluate_series(self, chi):
        return torch.cosh(self.scale[..., None] * chi)

    def _compute_log_coefficients(self, max_degree):
        q = torch.arange(max_degree + 1).to(self.scale)
        logs = q * self.scale.log() - torch.lgamma(q + 1)
        return logs.masked_fill(q % 2 == 1, -torch.inf)
