"""DT-MKL (Duan, Tsang and Xu 2012) with its maximum mean discrepancy: the weights of a mixture of three kernels.

DT-MKL minimises ½ (tr KS)² + θ R over K = Σ_m v_m K_m with v ≥ 0 and Σ_m v_m = 1. tr KS is the squared maximum mean
discrepancy between the inputs of the two domains, R the structural risk of what is labelled. Its target domain has a
few labels; before a campaign it has none. So the target is a sample of the search space, and R is that of old data.

Here old settings and the search space have the same distribution, and the discrepancy is that of two samples of one
distribution: about (1/|A| + 1/|T|)(1 - E k_m(x, x')). The term favours smooth kernels, whatever old data says.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from scipy.optimize import minimize
from torch import Tensor

from benchmarks.methods.rivals.learnt_kernel import Learnt, Mixture, descend
from benchmarks.methods.rivals.source import Source
from tunedprior.machines.machine import compute_loo_residuals
from tunedprior.numerics.linalg import cholesky

#: θ, what the risk counts beside the discrepancy, and how many values of λ are tried with each.
THETAS = (1e-8, 1e-6, 1e-4, 1e-2, 1.0)
_LAMBDAS = 9
_KINDS: tuple[Callable[[], Kernel], ...] = (RBFKernel, partial(MaternKernel, nu=0.5), partial(MaternKernel, nu=1.5))


def domain_transfer(source: Source, target: Tensor, y: Tensor, lam_bounds: tuple[float, float]) -> Learnt:
    """The mixture, and λ.

    "All hyper-parameters were selected to minimise the leave-one-out error on A": each kernel's length-scale is the one
    with which it predicts best alone, and λ and θ those with which the mixture of their v does.

    Args:
        source: The old data, of which the settings count.
        target: Settings of the search space, in the unit cube.
        y: The old responses, on the scale that is to be learnt, `n`.
        lam_bounds: The search interval of λ.
    """
    parts = [descend(partial(_alone, kind), source.inputs, y, lam_bounds)[0] for kind in _KINDS]
    with torch.no_grad():
        grams = torch.stack([part(source.inputs).to_dense() for part in parts])
        discrepancies = torch.stack([discrepancy(part, source.inputs, target) for part in parts])
    found = [
        (loo_error(torch.einsum("m,mij->ij", weights, grams), y, lam), lam, weights)
        for lam in np.geomspace(*lam_bounds, _LAMBDAS).tolist()
        for theta in THETAS
        for weights in [weigh(grams, discrepancies, y, lam, theta)]
    ]
    _, lam, weights = min(found, key=lambda one: one[0])
    mixture = Mixture(1.0).double()
    for own, part in zip(mixture.parts, parts, strict=True):
        own.lengthscale = part.lengthscale.detach()
    with torch.no_grad():
        mixture.log_weights.copy_(weights.clamp_min(1e-12).log())
    return mixture, lam


def discrepancy(kernel: Kernel, old: Tensor, target: Tensor) -> Tensor:
    """‖mean φ(old) - mean φ(target)‖², the squared maximum mean discrepancy."""
    blocks = [kernel(a, b).to_dense().mean() for a, b in ((old, old), (old, target), (target, target))]
    return blocks[0] - 2 * blocks[1] + blocks[2]


def weigh(grams: Tensor, discrepancies: Tensor, y: Tensor, lam: float, theta: float) -> Tensor:
    """argmin over v ≥ 0, Σ v = 1 of ½ (pᵀv)² + θ·½ yᵀ(Σ_m v_m K_m + λI)⁻¹y, which is convex.

    The second term is the least value of the risk ½‖g‖² + (1/2λ) Σ_i (y_i - g(x_i))², of ridge regression.
    """
    p, ridge = discrepancies.numpy(), lam * torch.eye(len(y)).to(y)

    def value_and_gradient(v: np.ndarray) -> tuple[float, np.ndarray]:
        alpha = torch.cholesky_solve(
            y[:, None], cholesky(torch.einsum("m,mij->ij", torch.as_tensor(v), grams) + ridge)
        )[:, 0]
        risk = theta * float(y @ alpha) / 2
        slope = -theta / 2 * torch.einsum("i,mij,j->m", alpha, grams, alpha).numpy()
        return scale * ((p @ v) ** 2 / 2 + risk), scale * ((p @ v) * p + slope)

    scale, even = 1.0, np.full(len(p), 1 / len(p))
    scale = 1 / value_and_gradient(even)[0]  # the solver's tolerance is absolute
    result = minimize(
        value_and_gradient, even, jac=True, method="SLSQP", bounds=[(0, 1)] * len(p),
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": lambda v: np.ones_like(v)},
        options={"maxiter": 200, "ftol": 1e-12},
    )  # fmt: skip
    v = np.clip(result.x, 0, 1)
    return torch.as_tensor(v / v.sum())


def loo_error(gram: Tensor, y: Tensor, lam: float) -> float:
    """The mean squared leave-one-out error of ridge regression."""
    return float((compute_loo_residuals(cholesky(gram + lam * torch.eye(len(y)).to(y)), y) ** 2).mean())


def _alone(kind: Callable[[], Kernel], lengthscale: float) -> Kernel:
    kernel = kind()
    kernel.lengthscale = lengthscale
    return kernel
