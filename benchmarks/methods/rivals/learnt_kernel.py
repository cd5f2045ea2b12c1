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
#: Length-scales that a search begins with.
STARTS = (0.2, 0.6, 2.0)
#: Inputs lie in the unit cube here, which is half as wide as the [-1, 1] that bounds are made for.
LENGTHSCALES = tuple(bound / 2 for bound in PARAMETER_BOUNDS["lengthscale"])


Learnt = tuple[Kernel, float]  # a kernel and λ


def anisotropic(source: Source) -> Learnt:
    """SE with one length-scale per input, and λ, with the least leave-one-out error on the old data."""
    return anisotropic_of(source, source.standardised[:, 0], LEAST_SQUARES_LAMBDAS)


def anisotropic_of(source: Source, y: Tensor, lam_bounds: tuple[float, float]) -> Learnt:
    """The same of these old responses, with λ in these bounds."""
    chosen = select(LeastSquares(1.0), SquaredExponential(), 2 * source.inputs - 1, y, ard=True, lam_bounds=lam_bounds)
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
    return descend(Mixture, source.inputs, source.standardised[:, 0], LEAST_SQUARES_LAMBDAS)


def convex_mixture(source: Source, lam_bounds: tuple[float, float]) -> Learnt:
    """The same of responses as they are, with weights that add up to 1: K(x, x) = 1."""
    kernel, lam = descend(Mixture, source.inputs, source.y, lam_bounds)
    total = kernel.log_weights.detach().logsumexp(0)
    with torch.no_grad():
        kernel.log_weights -= total  # every leave-one-out prediction stays as it is
    return kernel, lam / float(total.exp())


def descend(
    make_kernel: Callable[[float], Kernel], inputs: Tensor, y: Tensor, lam_bounds: tuple[float, float]
) -> tuple[Any, float]:
    """The kernel and λ at the foot of the slope of the leave-one-out error, of some starts.

    Args:
        make_kernel: From a length-scale to begin with to a kernel, with inputs in the unit cube.
        inputs: Settings, `n x d`.
        y: Responses, `n`.
        lam_bounds: The search interval of λ.
    """
    found = [_descended(make_kernel(start).double(), inputs, y, lam_bounds) for start in STARTS]
    _, kernel, lam = min(found, key=lambda candidate: candidate[0])
    return kernel, lam


def _descended(
    kernel: Kernel, inputs: Tensor, y: Tensor, lam_bounds: tuple[float, float]
) -> tuple[float, Kernel, float]:
    """The error at the foot of its slope, with the kernel and λ there."""
    log_lam = torch.tensor(-3.0).double().requires_grad_()
    parameters = dict(kernel.named_parameters()) | {"log_lam": log_lam}
    edges = torch.tensor(LENGTHSCALES)
    bounds = {
        name: tuple(kernel.constraint_for_parameter_name(name).inverse_transform(edges).tolist())
        for name in parameters
        if name.endswith("raw_lengthscale")
    }
    if "log_weights" in parameters:
        bounds["log_weights"] = tuple(torch.tensor(_WEIGHTS).log().tolist())
    bounds["log_lam"] = tuple(torch.tensor(lam_bounds).log().tolist())

    def error_and_gradients() -> tuple[Tensor, tuple[Tensor, ...]]:
        gram = kernel(inputs).to_dense() + log_lam.exp() * torch.eye(len(y)).to(y)
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
