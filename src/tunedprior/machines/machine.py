"""What every machine shares: it turns auxiliary data and a kernel into coefficients α."""

import warnings
from abc import ABC, abstractmethod
from copy import deepcopy
from dataclasses import dataclass

import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.errors import VanishingKernelWarning
from tunedprior.kernels import FreeKernel, Reweighted
from tunedprior.validation import Numbers, positive, table, training_set


@dataclass(frozen=True)
class TrainedMachine:
    """g(x) = Σ_j α_j K₂(a_j, x) + b: what a machine learnt from the auxiliary data.

    Attributes:
        kernel: K₂.
        anchors: The auxiliary points a_j, `a x d`.
        alpha: α, `a`.
        bias: b; 0 for machines without one.
    """

    kernel: Kernel
    anchors: Float[Tensor, "a d"]
    alpha: Float[Tensor, " a"]
    bias: float = 0.0

    def __call__(self, x: Numbers) -> Float[Tensor, " n"]:
        """g at each row of x."""
        x = table(x, "Points", num_inputs=self.anchors.shape[1]).to(self.anchors)
        with torch.no_grad():
            cross: Tensor = self.kernel(x, self.anchors).to_dense()
        return cross.to(self.alpha) @ self.alpha + self.bias

    def reweighted(self) -> Reweighted:
        """The kernel whose prior belief is what this machine learnt (the Theorem); the bias plays no part."""
        return Reweighted(deepcopy(self.kernel), self.anchors, self.alpha)


@dataclass(frozen=True)
class Machine(ABC):
    """min over w of ½‖w‖² + (1/λ) Σ_i E(y_i, g(x_i)), solved in the dual for α.

    Args:
        lam: λ > 0: large values smooth, small ones fit closely.
    """

    lam: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", positive(self.lam, "λ"))

    def fit(self, kernel: Kernel, X: Numbers, y: Numbers) -> TrainedMachine:
        """Learn y at the rows of X (`n x d`, distinct, at least two; y must vary)."""
        X, y = self.check(kernel, X, y)
        alpha, bias = self.solve(gram_matrix(kernel, X), y.double())
        if not alpha.any():
            warnings.warn(
                "The machine learnt nothing: every α is zero, and a kernel re-weighted with it vanishes. "
                "Lower λ (or epsilon), or go on without this data.",
                VanishingKernelWarning,
                stacklevel=2,
            )
        return TrainedMachine(deepcopy(kernel).to(X), X.clone(), alpha.to(X), bias)

    def check(self, kernel: Kernel, X: Numbers, y: Numbers) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
        """X and y as tensors, or an `InputError`."""
        # With active_dims a kernel's inputs are not the table's columns: GPyTorch picks them later.
        whole = isinstance(kernel, FreeKernel) and kernel.active_dims is None
        return training_set(X, y, num_inputs=kernel.num_inputs if whole else None)

    @abstractmethod
    def solve(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Float[Tensor, " n"], float]:
        """α and the bias, from the Gram matrix of K₂."""

    @abstractmethod
    def leave_one_out(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """For each row, the prediction of the machine trained on all the others."""

    def leave_one_out_losses(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """For each row, the error of that prediction."""
        return self.loss(y, self.leave_one_out(gram, y))

    def loss(self, y: Float[Tensor, " n"], predictions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """The error that leave-one-out averages: the squared residual, unless a machine says otherwise."""
        return (y - predictions) ** 2


def gram_matrix(kernel: Kernel, X: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
    """K₂ between all rows of X, outside autograd and in float64 whatever X is: solvers need a definite matrix."""
    with torch.no_grad():
        gram: Tensor = deepcopy(kernel).to(X.double())(X.double()).to_dense()
    return gram
