"""Ridge regression in the kernel's feature space: the LS-SVM."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from tunedprior.machines.machine import Machine
from tunedprior.numerics.linalg import cholesky, solve_posdef


@dataclass(frozen=True)
class LeastSquares(Machine):
    """α = (K + λI)⁻¹ y: ridge regression (LS-SVM), E(y, g) = ½(y - g)².

    >>> from tunedprior.kernels import Polynomial
    >>> trained = LeastSquares(lam=1e-6).fit(Polynomial(2, 1.0), [[-1.0], [0.0], [1.0]], [1.0, 0.0, 1.0])
    >>> round(trained([[0.5]]).item(), 3)
    0.25
    """

    def solve(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Float[Tensor, " n"], float]:
        """α = (K + λI)⁻¹ y."""
        return solve_posdef(self._add_ridge(gram), y[:, None])[:, 0], 0.0

    def predict_loo(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """g₋ᵢ(x_i) = y_i - α_i / M_ii with M = (K + λI)⁻¹: all n refits from one factorisation."""
        return y - compute_loo_residuals(cholesky(self._add_ridge(gram)), y)

    def _add_ridge(self, gram: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
        return gram + self.lam * torch.eye(len(gram)).to(gram)


def compute_loo_residuals(factor: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """y_i - g₋ᵢ(x_i) = α_i / M_ii with M = (K + λI)⁻¹, from the Cholesky factor of K + λI; differentiable."""
    inverse = torch.cholesky_inverse(factor)
    return (inverse @ y) / inverse.diagonal()
