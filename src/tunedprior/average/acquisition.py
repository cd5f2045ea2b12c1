"""Expected improvement and confidence bounds of a mixture of processes, with their gradients by hand.

The values are BoTorch's on the same model, but each distinct process is evaluated once, however many members share it,
and no autograd graph is kept: an evaluation is a few products of precomputed matrices.
"""

from collections.abc import Callable
from functools import partial
from math import log, pi, sqrt
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, UpperConfidenceBound
from gpytorch.settings import min_variance
from jaxtyping import Float
from torch import Tensor

from tunedprior.average.mixture import LEAST_VARIANCE, MixtureOfProcesses
from tunedprior.kernels.sections import StackSection

# GPyTorch's own floor for variances.
_FLOOR = min_variance.value(torch.float64)
# Beyond so many standard deviations, the first terms of an asymptotic series are exact up to rounding.
_FAR_DOWN, _FAR_UP = -100.0, 30.0

# The acquisition value from means and standard deviations, and its derivatives by both.
Score = Callable[
    [Float[Tensor, "s b"], Float[Tensor, "s b"]],
    tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]],
]


class MixtureAcquisition(AcquisitionFunction):
    """a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)), over the distinct processes of a mixture.

    Args:
        model: The mixture.
        score: The acquisition value from their means and standard deviations, with its derivatives.
    """

    def __init__(self, model: MixtureOfProcesses, score: Score) -> None:
        super().__init__(model)
        self._score, self._box, self._processes = score, model.box, model.processes
        self._amplitude, self._whitened = model.amplitude[:, None], model.whitened
        with torch.no_grad():
            self._section = StackSection.of(model.processes.kernels, model.x)
            identity = torch.eye(len(model.x)).to(model.x)
            self._inverse = torch.linalg.solve_triangular(model.factor, identity, upper=False)  # L⁻¹

    @classmethod
    def of(cls, acquisition: AcquisitionFunction) -> "MixtureAcquisition | None":
        """The equivalent of a BoTorch acquisition function; None if there is none."""
        model = getattr(acquisition, "model", None)
        if not isinstance(model, MixtureOfProcesses) or model.factor.ndim > 3:
            return None
        if type(acquisition) not in (LogExpectedImprovement, UpperConfidenceBound):
            return None
        if acquisition.posterior_transform is not None or not acquisition.maximize:
            return None
        weights = torch.bincount(model.members, minlength=len(model.processes)).to(model.x) / len(model.members)
        if isinstance(acquisition, LogExpectedImprovement):
            best = acquisition.best_f.to(model.x)
            if best.ndim:  # `m 1`, the same for all members that are the same process
                best = best.new_zeros(len(model.processes), 1).index_put((model.members,), best)
            return cls(model, partial(log_expected_improvement, weights, best))
        return cls(model, partial(upper_confidence_bound, weights, acquisition.beta.to(model.x).sqrt()))

    def forward(self, X: Float[Tensor, "*b 1 k"]) -> Float[Tensor, "*b"]:
        """a(x) at a batch of codes; autograd takes the gradient by hand."""
        codes = X.flatten(0, -2)
        if X.requires_grad and torch.is_grad_enabled():
            values: Tensor = _WithGradient.apply(codes, self)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        else:
            with torch.no_grad():
                values, _ = self._evaluate(codes, gradient=False)
        return values.reshape(X.shape[:-2])

    @torch.no_grad()
    def values_and_gradients(self, codes: Float[Tensor, "b k"]) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """a and ∂a/∂x at every row of codes."""
        return self._evaluate(codes, gradient=True)

    def _evaluate(
        self, codes: Float[Tensor, "b k"], gradient: bool
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """With k = K(D, x) and e = L⁻¹k: m = eᵀL⁻¹y and σ² = a (K(x, x) - eᵀe), then the score of both.

        The second result is its gradient, by the chain rule; without `gradient` it is a placeholder.
        """
        kernels = self._section.at(self._box.inputs(codes))
        explained = self._processes.mixed(kernels.cross, dims=2) @ self._inverse.mT
        mean = (explained @ self._whitened).squeeze(-1)
        left = self._processes.mixed(kernels.variance, dims=1) - explained.square().sum(-1)
        variance = left.clamp_min(LEAST_VARIANCE) * self._amplitude
        sigma = variance.clamp_min(_FLOOR).sqrt()
        value, by_mean, by_sigma = self._score(mean, sigma)
        if not gradient:
            return value, codes
        uncertain = (left >= LEAST_VARIANCE) & (variance >= _FLOOR)
        by_left = torch.where(uncertain, by_sigma * self._amplitude / (2 * sigma), 0.0)
        by_explained = by_mean[..., None] * self._whitened.mT - 2 * by_left[..., None] * explained
        by_cross = torch.tensordot(self._processes.shares.mT, by_explained @ self._inverse, dims=1)
        by_inputs = kernels.pulled_back(by_cross, self._processes.shares.mT @ by_left)
        return value, self._box.pulled_back(by_inputs)


class _WithGradient(torch.autograd.Function):
    """a(x) for PyTorch's automatic differentiation, with ∂a/∂x by hand."""

    @staticmethod
    def forward(ctx: Any, codes: Float[Tensor, "b k"], acquisition: MixtureAcquisition) -> Float[Tensor, " b"]:
        """a(x) at every row of codes."""
        values, gradients = acquisition.values_and_gradients(codes.detach())
        ctx.save_for_backward(gradients)
        return values

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, " b"]) -> tuple[Float[Tensor, "b k"], None]:
        """The gradient by x, from that by a(x)."""
        (gradients,) = ctx.saved_tensors
        return slope[:, None] * gradients, None


def log_expected_improvement(
    weights: Float[Tensor, " s"], best: Float[Tensor, "*s1"], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """log Σ_s w_s σ_s h(u_s) with u_s = (m_s - best_s)/σ_s, and its derivatives by m and σ."""
    log_h, slope, rest = _improvement((mean - best) / sigma)
    each = weights.log()[:, None] + log_h + sigma.log()
    value = each.logsumexp(0)
    share = (each - value).exp() / sigma
    return value, share * slope, share * rest


def upper_confidence_bound(
    weights: Float[Tensor, " s"], width: Float[Tensor, ""], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """Σ_s w_s (m_s + √β σ_s), and its derivatives by m and σ."""
    by_mean = weights[:, None].expand_as(mean)
    return weights @ (mean + width * sigma), by_mean, width * by_mean


def _improvement(u: Float[Tensor, "*shape"]) -> tuple[Float[Tensor, "*shape"], ...]:
    """log h, h'/h = Φ/h and 1 - u h'/h = φ/h, where h(u) = φ(u) + u Φ(u) = φ (1 + u M) with Mills's ratio M = Φ/φ.

    For u ≪ 0 by the asymptotic series 1 + u M = u⁻² - 3u⁻⁴ + 15u⁻⁶ - …, for u ≫ 0 by h = u.
    """
    near = u.clamp(_FAR_DOWN, _FAR_UP)
    mills = sqrt(pi / 2) * torch.special.erfcx(near / -sqrt(2))
    gap = 1 + near * mills
    log_h, slope, rest = gap.log() - near.square() / 2 - log(2 * pi) / 2, mills / gap, 1 / gap
    if (near == u).all():
        return log_h, slope, rest
    t = u.clamp_max(_FAR_DOWN) ** -2
    below, above = u < _FAR_DOWN, u > _FAR_UP
    gap = t * (1 - t * (3 - t * (15 - 105 * t)))
    for found, far_down, far_up in (
        (log_h, gap.log() - u.square() / 2 - log(2 * pi) / 2, u.log()),
        (slope, (gap - 1) / u / gap, 1 / u),
        (rest, 1 / gap, torch.zeros_like(u)),
    ):
        found.copy_(torch.where(below, far_down, torch.where(above, far_up, found)))
    return log_h, slope, rest
