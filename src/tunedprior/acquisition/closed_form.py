"""Acquisition functions in closed form: a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)) over components of models.

Each component is evaluated once, gradients are by hand, and no autograd graph is kept: an evaluation is a few products
of precomputed matrices.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction
from jaxtyping import Float
from torch import Tensor

from tunedprior.models.posterior import ComponentModel
from tunedprior.numerics.log_improvements import compute_log_improvement

#: The acquisition value from the moments of one or several models, and its derivatives by each of them.
Score = Callable[..., tuple[Float[Tensor, "..."], ...]]


class ClosedFormAcquisition(AcquisitionFunction):
    """a(x) = score(m_1(x), σ_1(x), …, m_s(x), σ_s(x)), over the components of one model, or of several.

    Args:
        models: The model of each response.
        score: The acquisition value from their means and standard deviations, with its derivatives.
    """

    def __init__(self, models: Sequence[ComponentModel], score: Score) -> None:
        first: Any = models[0]
        super().__init__(getattr(first, "model", first))  # BoTorch's searches begin at its training inputs
        self._score, self._each = score, [one.make_moment_function() for one in models]

    def forward(self, X: Float[Tensor, "*b 1 k"]) -> Float[Tensor, "*b"]:
        """a(x) at a batch of points; autograd takes the gradient by hand."""
        points = X.flatten(0, -2)
        if X.requires_grad and torch.is_grad_enabled():
            values: Tensor = _AnalyticGradient.apply(points, self)  # type: ignore[no-untyped-call]  # PyTorch has no types for it
        else:
            with torch.no_grad():
                values, _ = self._evaluate(points, gradient=False)
        return values.reshape(X.shape[:-2])

    @torch.no_grad()
    def evaluate_with_gradients(self, points: Float[Tensor, "b k"]) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """a and ∂a/∂x at every row of points."""
        return self._evaluate(points, gradient=True)

    def _evaluate(
        self, points: Float[Tensor, "b k"], gradient: bool
    ) -> tuple[Float[Tensor, " b"], Float[Tensor, "b k"]]:
        """The score; the second result is its gradient, by the chain rule, or without `gradient` a placeholder."""
        found = [one.evaluate(points) for one in self._each]
        value, *slopes = self._score(*chain.from_iterable(moments for moments, _ in found))
        if not gradient:
            return value, points
        by_points = [back(*slopes[2 * k : 2 * k + 2]) for k, (_, back) in enumerate(found)]
        return value, by_points[0] if len(by_points) == 1 else torch.stack(by_points).sum(0)


class _AnalyticGradient(torch.autograd.Function):
    """a(x) for PyTorch's automatic differentiation, with ∂a/∂x by hand."""

    @staticmethod
    def forward(ctx: Any, points: Float[Tensor, "b k"], acquisition: ClosedFormAcquisition) -> Float[Tensor, " b"]:
        """a(x) at every row of points."""
        values, gradients = acquisition.evaluate_with_gradients(points.detach())
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
