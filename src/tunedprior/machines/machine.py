"""The base class of machines, which learn coefficients α from old data and a kernel."""

from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_positive, refuse_other_types, warn
from tunedprior.errors import VanishingKernelWarning
from tunedprior.kernels import FreeKernel
from tunedprior.machines.fit import AlphaFit
from tunedprior.problem.training_set import check_distinct_rows


@dataclass(frozen=True)
class Machine(ABC):
    """min over w of ½‖w‖² + (1/λ) Σ_i E(y_i, g(x_i)), solved in the dual for α.

    Args:
        lam: λ > 0: large values smooth, small ones fit closely.
    """

    lam: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", check_positive(self.lam, "λ"))

    def fit(self, kernel: Kernel, X: Numbers, y: Numbers) -> AlphaFit:
        """The machine's fit to responses y at the rows of X (`n x d`, distinct, at least two; y must vary)."""
        X, y = self.check(kernel, X, y)
        alpha, bias = self.solve(compute_gram_matrix(kernel, X), y.double())
        if not alpha.any():
            warn(
                "The machine learnt nothing: every α is zero, and a kernel re-weighted with it vanishes. "
                "Lower λ (or epsilon), or go on without this data.",
                VanishingKernelWarning,
            )
        return AlphaFit(deepcopy(kernel).to(X), X.clone(), alpha.to(X), self.lam, bias)

    def check(self, kernel: Kernel, X: Numbers, y: Numbers) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
        """X and y as tensors; an `InputError` if the machine cannot be trained on them."""
        # With active_dims a kernel's inputs are not the table's columns: GPyTorch picks them later.
        refuse_other_types(kernel, Kernel, "kernel", "a GPyTorch kernel, such as SquaredExponential()")
        whole = isinstance(kernel, FreeKernel) and kernel.active_dims is None
        return check_distinct_rows(X, y, num_inputs=kernel.num_inputs if whole else None)

    @abstractmethod
    def solve(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Float[Tensor, " n"], float]:
        """α and the bias, from the Gram matrix of K₂."""

    @abstractmethod
    def predict_loo(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """g₋ᵢ(x_i) for each row i: its prediction by the machine trained on all other rows."""

    def compute_loo_losses(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """E(y_i, g₋ᵢ(x_i)) for each row i: the loss of its leave-one-out prediction."""
        return self.compute_loss(y, self.predict_loo(gram, y))

    def compute_loss(self, y: Float[Tensor, " n"], predictions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """E(y, g), the loss that the leave-one-out error averages: the squared residual, unless overridden."""
        return (y - predictions) ** 2


def compute_gram_matrix(kernel: Kernel, X: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """K₂ between all rows of X, without autograd, always in float64: solvers need a positive definite matrix."""
    with torch.no_grad():
        gram: Tensor = deepcopy(kernel).to(X.double())(X.double()).to_dense()
    return gram
