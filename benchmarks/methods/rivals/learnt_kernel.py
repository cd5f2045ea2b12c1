"""Kernels whose shape is learnt from old data: SE-ARD, and DT-MKL's mixture of three."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from botorch.models import SingleTaskGP
from botorch.optim.core import scipy_minimize
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from torch import Tensor

from benchmarks.methods.rivals.leave_one_out import fixed_process
from benchmarks.methods.rivals.source import Rival, Source, gaussian_process, on_unit_cube
from tunedprior.errors import FactorisationError
from tunedprior.goals.observations import Observations
from tunedprior.kernels import SquaredExponential
from tunedprior.machines import LeastSquares, select
from tunedprior.machines.machine import compute_loo_residuals
from tunedprior.machines.selection import LEAST_SQUARES_LAMBDAS, PARAMETER_BOUNDS
from tunedprior.numerics.linalg import cholesky

_WEIGHTS = (1e-4, 1e4)
_STARTS = (0.2, 0.6, 2.0)
# Inputs lie in the unit cube here, which is half as wide as the [-1, 1] that bounds are made for.
_LENGTHSCALES = tuple(bound / 2 for bound in PARAMETER_BOUNDS["lengthscale"])


Learnt = tuple[Kernel, float]  # a kernel and λ


def anisotropic(source: Source) -> Learnt:
    """SE with one length-scale per input, and λ, with the least leave-one-out error on the old data."""
    y = source.standardised[:, 0]
    chosen = select(LeastSquares(1.0), SquaredExponential(), 2 * source.inputs - 1, y, ard=True)
    return on_unit_cube(chosen.kernel), chosen.machine.lam


class Mixture(Kernel):
    """v₀ SE + v₁ Matérn-1/2 + v₂ Matérn-3/2, each with a length-scale of its own."""

    def __init__(self, lengthscale: float) -> None:
        super().__init__()
        self.parts = torch.nn.ModuleList([RBFKernel(), MaternKernel(nu=0.5), MaternKernel(nu=1.5)])
        self.log_weights = torch.nn.Parameter(torch.zeros(3))
        for part in self.parts:
            part.lengthscale = lengthscale

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """The weighted sum."""
        terms = torch.stack([part.forward(x1, x2, diag=diag, **params) for part in self.parts], dim=-1)
        return terms @ self.log_weights.exp()


def mixture(source: Source) -> Learnt:
    """DT-MKL's mixture: weights, length-scales and λ with the least leave-one-out error on the old data."""
    found = [_descended(Mixture(start).double(), source) for start in _STARTS]
    _, kernel, lam = min(found, key=lambda candidate: candidate[0])
    return kernel, lam


def _descended(kernel: Mixture, source: Source) -> tuple[float, Mixture, float]:
    """The error at the foot of its slope, with the kernel and λ there."""
    log_lam = torch.tensor(-3.0).double().requires_grad_()
    parameters = dict(kernel.named_parameters()) | {"log_lam": log_lam}
    edges = kernel.parts[0].raw_lengthscale_constraint.inverse_transform(torch.tensor(_LENGTHSCALES)).tolist()
    bounds = {name: tuple(edges) for name in parameters if name.endswith("raw_lengthscale")}
    bounds["log_weights"] = tuple(torch.tensor(_WEIGHTS).log().tolist())
    bounds["log_lam"] = tuple(torch.tensor(LEAST_SQUARES_LAMBDAS).log().tolist())
    y = source.standardised[:, 0]

    def error_and_gradients() -> tuple[Tensor, tuple[Tensor, ...]]:
        gram = kernel(source.inputs).to_dense() + log_lam.exp() * torch.eye(len(y)).to(y)
        error = (compute_loo_residuals(cholesky(gram), y) ** 2).mean()
        return error, torch.autograd.grad(error, list(parameters.values()))

    try:
        result = scipy_minimize(error_and_gradients, parameters, bounds=bounds, options={"maxiter": 200})
    except FactorisationError:  # a step too far; the other starts remain
        return torch.inf, kernel, float(log_lam.detach().exp())
    return float(result.fval), kernel, float(log_lam.detach().exp())


@dataclass(frozen=True, eq=False)
class LearntKernel(Rival):
    """f ~ GP(0, s² K) with noise s²λ, K and λ learnt from old data once; the amplitude s from D at every step.

    s cancels from every leave-one-out prediction, so old data cannot say what it is.
    """

    learnt: Learnt | None

    @classmethod
    def learn(cls, source: Source, learn: Callable[[Source], Learnt]) -> "LearntKernel":
        """From the old data; a flat one teaches nothing, and the standard process stays."""
        return cls(source, None if source.flat else learn(source))

    def model(self, inputs: Tensor, observations: Observations) -> SingleTaskGP:
        """With the learnt kernel as it is."""
        if self.learnt is None:
            return gaussian_process(inputs, observations.y)
        kernel, lam = self.learnt
        return fixed_process(kernel, lam, inputs, observations.y)
