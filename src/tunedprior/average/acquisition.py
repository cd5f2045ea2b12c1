"""Expected improvement and confidence bounds of a mixture of processes, with their gradients by hand.

The values are BoTorch's on the same model, but each distinct process is evaluated once, however many members share it,
and no autograd graph is kept: an evaluation is a few products of precomputed matrices.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement, UpperConfidenceBound
from gpytorch.settings import min_variance
from jaxtyping import Float
from torch import Tensor

from tunedprior.average.mixture import LEAST_VARIANCE, MixtureOfProcesses
from tunedprior.kernels.sections import StackSection
from tunedprior.numerics.log_improvements import compute_log_improvement

# GPyTorch's own floor for variances.
_FLOOR = min_variance.value(torch.float64)
#: The means and the standard deviations of the distinct processes of a mixture.
Moments = tuple[Float[Tensor, "s b"], Float[Tensor, "s b"]]
#: The acquisition value from the moments of one or several mixtures, and its derivatives by each of them.
Score = Callable[..., tuple[Float[Tensor, "..."], ...]]


class _MixtureMoments:
    """m_s(x) and σ_s(x) of the distinct processes of a mixture, with what their gradients take."""

    def __init__(self, model: MixtureOfProcesses) -> None:
        self._box, self._processes = model.box, model.processes
        self._amplitude, self._whitened = model.amplitude[:, None], model.whitened
        with torch.no_grad():
            self._section = StackSection.from_stack(model.processes.kernels, model.x)
            identity = torch.eye(len(model.x)).to(model.x)
            self._inverse = torch.linalg.solve_triangular(model.factor, identity, upper=False)  # L⁻¹

    def evaluate(self, codes: Float[Tensor, "b k"]) -> tuple[Moments, Callable[..., Float[Tensor, "b k"]]]:
        """With k = K(D, x) and e = L⁻¹k: m = eᵀL⁻¹y and σ² = a (K(x, x) - eᵀe); and the chain rule back to codes."""
        kernels = self._section.evaluate(self._box.to_kernel_inputs(codes))
        explained = self._processes.mix_kernels(kernels.cross, dims=2) @ self._inverse.mT
        mean = (explained @ self._whitened).squeeze(-1)
        left = self._processes.mix_kernels(kernels.variance, dims=1) - explained.square().sum(-1)
        variance = left.clamp_min(LEAST_VARIANCE) * self._amplitude
        sigma = variance.clamp_min(_FLOOR).sqrt()

        def pull_back_gradient(by_mean: Float[Tensor, "s b"], by_sigma: Float[Tensor, "s b"]) -> Float[Tensor, "b k"]:
            uncertain = (left >= LEAST_VARIANCE) & (variance >= _FLOOR)
            by_left = torch.where(uncertain, by_sigma * self._amplitude / (2 * sigma), 0.0)
            by_explained = by_mean[..., None] * self._whitened.mT - 2 * by_left[..., None] * explained
            by_cross = torch.tensordot(self._processes.shares.mT, by_explained @ self._inverse, dims=1)
            by_inputs = kernels.pull_back_gradient(by_cross, self._processes.shares.mT @ by_left)
            return self._box.pull_back_gradient(by_inputs)

        return (mean, sigma), pull_back_gradient


class MixtureAcquisition(AcquisitionFunction):
    """a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)), over the distinct processes of one mixture, or of several.

    Args:
        models: The mixture, or one for each response.
        score: The acquisition value from their means and standard deviations, with its derivatives.
    """

    def __init__(self, models: MixtureOfProcesses | Sequence[MixtureOfProcesses], score: Score) -> None:
        each = [models] if isinstance(models, MixtureOfProcesses) else list(models)
        super().__init__(each[0])
        self._score, self._each = score, [_MixtureMoments(one) for one in each]

    @classmethod
    def from_botorch(cls, acquisition: AcquisitionFunction) -> "MixtureAcquisition | None":
        """The equivalent of a BoTorch acquisition function; None if there is none."""
        if isinstance(acquisition, cls):
            return acquisition
        model = getattr(acquisition, "model", None)
        if not isinstance(model, MixtureOfProcesses) or model.factor.ndim > 3:
            return None
        if type(acquisition) not in (LogExpectedImprovement, UpperConfidenceBound):
            return None
        if acquisition.posterior_transform is not None or not acquisition.maximize:
            return None
        weights = model.weights
        if isinstance(acquisition, LogExpectedImprovement):
            best = acquisition.best_f.to(model.x)
            if best.ndim:  # `m 1`, the same for all members that are the same process
                best = best.new_zeros(len(model.processes), 1).index_put((model.members,), best)
            return cls(model, partial(compute_log_expected_improvement, weights, best))
        return cls(model, partial(compute_upper_confidence_bound, weights, acquisition.beta.to(model.x).sqrt()))

    def forward(self, X: Float[Tensor, "*b 1 k"]) -> Float[Tensor, "*b"]:
        """a(x) at a batch of codes; autograd takes the gradient by hand."""
        codes = X.flatten(0, -2)
        if X.requires_grad and torch.is_grad_enabled():
            values: Tensor = _AnalyticGradient.apply(codes, self)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        else:
            with torch.no_grad():
                values, _ = self._evaluate(codes, gradient=False)
        return values.reshape(X.shape[:-2])

    @torch.no_grad()
    def evaluate_with_gradients(self, codes: Float[Tensor, "b k"]) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """a and ∂a/∂x at every row of codes."""
        return self._evaluate(codes, gradient=True)

    def _evaluate(
        self, codes: Float[Tensor, "b k"], gradient: bool
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """The score; the second result is its gradient, by the chain rule, or without `gradient` a placeholder."""
        found = [one.evaluate(codes) for one in self._each]
        value, *slopes = self._score(*chain.from_iterable(moments for moments, _ in found))
        if not gradient:
            return value, codes
        by_codes = [back(*slopes[2 * k : 2 * k + 2]) for k, (_, back) in enumerate(found)]
        return value, by_codes[0] if len(by_codes) == 1 else torch.stack(by_codes).sum(0)


class _AnalyticGradient(torch.autograd.Function):
    """a(x) for PyTorch's automatic differentiation, with ∂a/∂x by hand."""

    @staticmethod
    def forward(ctx: Any, codes: Float[Tensor, "b k"], acquisition: MixtureAcquisition) -> Float[Tensor, " b"]:
        """a(x) at every row of codes."""
        values, gradients = acquisition.evaluate_with_gradients(codes.detach())
        ctx.save_for_backward(gradients)
        return values

    @staticmethod
    def backward(ctx: Any, slope: Float[Tensor, " b"]) -> tuple[Float[Tensor, "b k"], None]:
        """The gradient by x, from that by a(x)."""
        (gradients,) = ctx.saved_tensors
        return slope[:, None] * gradients, None


def compute_log_expected_improvement(
    weights: Float[Tensor, " s"], best: Float[Tensor, "*s1"], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """log Σ_s w_s σ_s h(u_s) with u_s = (m_s - best_s)/σ_s, and its derivatives by m and σ."""
    log_h, slope, rest = compute_log_improvement((mean - best) / sigma)
    each = weights.log()[:, None] + log_h + sigma.log()
    value = each.logsumexp(0)
    share = (each - value).exp() / sigma
    return value, share * slope, share * rest


def compute_upper_confidence_bound(
    weights: Float[Tensor, " s"], width: Float[Tensor, ""], mean: Float[Tensor, "s b"], sigma: Float[Tensor, "s b"]
) -> tuple[Float[Tensor, " b"], Float[Tensor, "s b"], Float[Tensor, "s b"]]:
    """Σ_s w_s (m_s + √β σ_s), and its derivatives by m and σ."""
    by_mean = weights[:, None].expand_as(mean)
    return weights @ (mean + width * sigma), by_mean, width * by_mean
