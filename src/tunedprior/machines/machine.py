"""Machines that learn coefficients α from old data, ridge regression (LS-SVM) first, and their leave-one-out errors.

A fit is a function g with a coefficient for each row (`AlphaFit`) or for each feature (`FeatureFit`).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float
from torch import Tensor

from tunedprior.checks import Numbers, check_positive, check_table, refuse_other_types, warn
from tunedprior.errors import VanishingKernelWarning
from tunedprior.kernels import FreeKernel, ReweightedKernel, SquaredExponential
from tunedprior.kernels.free_kernel import LengthscaleKernel
from tunedprior.numerics.linalg import cholesky, compute_profile_log_evidence, solve_posdef
from tunedprior.source_data.training_set import check_distinct_rows, check_varied_rows

#: The grid on which λ maximises the marginal likelihood, for responses of variance 1.
LAMBDAS = np.geomspace(1e-4, 3.0, 20)


@runtime_checkable
class Fit(Protocol):
    """g, a fit of old data with one kernel and one λ: an `AlphaFit` of few rows, or a `FeatureFit` of any number."""

    @property
    def kernel(self) -> Kernel:
        """The kernel K₂ that g was learnt with."""
        ...

    @property
    def lam(self) -> float:
        """The regularisation λ that g was learnt with."""
        ...

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
        """g at each row of x."""
        ...


@dataclass(frozen=True, eq=False)
class AnchorPosterior:
    """k(x)ᵀMk(x'), the part of K₂(x, x') that all old rows explain, where only some rows, the anchors, have an α.

    k(x) is K₂ between the anchors and x. Of a fit with an α for every row M is (K_A + λI)⁻¹.

    Attributes:
        inverse_root: R with RᵀR = M, `a x a`.
        signal: s_f², the prior variance of the weights of g.
    """

    inverse_root: Float[Tensor, "a a"]
    signal: float


@dataclass(frozen=True, eq=False)
class AlphaFit:
    """g(x) = Σ_j α_j K₂(a_j, x) + b: the dual form, with a coefficient α_j for each old row.

    Attributes:
        kernel: K₂.
        anchors: The old settings a_j, `a x d`.
        alpha: The coefficients α_j, `a`.
        lam: λ, the regularisation that α was learnt with.
        bias: b; 0 for machines without one.
        posterior: What all rows say of g, where the anchors are only some of them; None: the anchors are all rows.
    """

    kernel: Kernel
    anchors: Float[Tensor, "a d"]
    alpha: Float[Tensor, " a"]
    lam: float
    bias: float = 0.0
    posterior: AnchorPosterior | None = None

    @classmethod
    def fit_by_evidence(
        cls, anchors: Float[Tensor, "a d"], y: Float[Tensor, " a"], lengthscale: Float[Tensor, " d"]
    ) -> "AlphaFit":
        """Ridge regression with these length-scales; λ maximises the marginal likelihood (profiled amplitude)."""
        kernel = SquaredExponential(lengthscale.double()).requires_grad_(False)
        gram = kernel(anchors).to_dense()
        values, vectors = torch.linalg.eigh(gram)
        projected = (vectors.mT @ y).square()

        def compute_evidence(lam: float) -> float:
            spectrum = values.clamp_min(0) + lam
            return compute_profile_log_evidence(
                float(spectrum.log().sum()), float((projected / spectrum).sum()), len(y)
            )

        lam = float(max(LAMBDAS, key=compute_evidence))
        alpha = solve_posdef(gram + lam * torch.eye(len(y)).to(y), y[:, None])[:, 0]
        return cls(kernel, anchors, alpha, lam)

    def __call__(self, x: Numbers) -> Float[Tensor, " n"]:
        """g at each row of x."""
        x = check_table(x, "Points", num_inputs=self.anchors.shape[1]).to(self.anchors)
        with torch.no_grad():
            cross: Tensor = self.kernel(x, self.anchors).to_dense()
        return cross.to(self.alpha) @ self.alpha + self.bias

    def to_arrays(self) -> dict[str, Tensor]:
        """The fit as tensors to be saved, for `from_arrays`."""
        found = {"anchors": self.anchors, "alpha": self.alpha}
        if self.posterior is not None:
            found["inverse_root"] = self.posterior.inverse_root
            found["signal"] = torch.tensor([self.posterior.signal], dtype=torch.float64)
        return found

    @classmethod
    def from_arrays(cls, kernel: Kernel, lam: float, arrays: Mapping[str, Tensor], bias: float = 0.0) -> "AlphaFit":
        """Restore the fit from the tensors of `to_arrays`."""
        root = arrays.get("inverse_root")
        posterior = None if root is None else AnchorPosterior(root, float(arrays["signal"]))
        return cls(kernel, arrays["anchors"], arrays["alpha"], lam, bias, posterior)

    def make_reweighted_kernel(self) -> ReweightedKernel:
        """K^A_m, the kernel re-weighted with α (the Theorem); the bias plays no part."""
        return ReweightedKernel(deepcopy(self.kernel), self.anchors, self.alpha)


def get_lengthscales(fit: Fit, num_inputs: int) -> Float[Tensor, " d"] | None:
    """The length-scales of the fit's kernel, one for each of `num_inputs` inputs; None if it has none."""
    if not isinstance(fit.kernel, LengthscaleKernel):
        return None
    lengthscale: Tensor = fit.kernel.lengthscale.detach().flatten().double()
    return lengthscale.expand(num_inputs)


@dataclass(frozen=True)
class Machine(ABC):
    """min over w of ½‖w‖² + (1/λ) Σ_i E(y_i, g(x_i)), solved in the dual for α.

    Args:
        lam: λ > 0: large values smooth, small ones fit closely.
    """

    lam: float

    #: Whether several rows may have the same settings; they are averaged before, otherwise.
    allows_repeats: ClassVar[bool] = False

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
        check_rows = check_varied_rows if self.allows_repeats else check_distinct_rows
        return check_rows(X, y, num_inputs=kernel.num_inputs if whole else None)

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


def compute_loo_error(machine: Machine, kernel: Kernel, X: Numbers, y: Numbers) -> float:
    """(1/n) Σ_i E(y_i, g₋ᵢ(x_i)), where g₋ᵢ was trained without row i.

    E is the squared residual for regressors and 0 or 1 (right or wrong side) for classifiers. In closed form
    for least squares, by exact refits for support vector machines.
    """
    refuse_other_types(machine, Machine, "machine", "one of tunedprior.machines, such as LeastSquares(1.0)")
    X, y = machine.check(kernel, X, y)
    return float(machine.compute_loo_losses(compute_gram_matrix(kernel, X), y.double()).mean())
