"""Support vector machines, with a bias (libsvm) and without (the paper's duals, by a box-constrained solver)."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Float64, Int
from scipy.linalg import eigh
from scipy.optimize import lsq_linear, minimize
from torch import Tensor

from tunedprior.checks import Numbers, check_flag, check_labels
from tunedprior.errors import ConvergenceError, InputError
from tunedprior.machines.machine import Machine
from tunedprior.numerics.isolation import one_blas_thread

_PROXIMAL_STEPS = 50
# A small ridge converges in fewer steps; a larger one has the smaller rounding error.
_RELATIVE_RIDGES = (1e-9, 1e-6, 1e-3)
_AT_BOUND = 1e-12  # of the box: closer than this is rounding, and exact zeros are what makes α sparse


@one_blas_thread()
def solve_box_qp(
    quadratic: Float64[np.ndarray, "n n"],
    linear: Float64[np.ndarray, " n"],
    upper: float,
    start: Float64[np.ndarray, " n"] | None = None,
    tolerance: float = 1e-7,
) -> Float64[np.ndarray, " n"]:
    """argmin ½ βᵀQβ + cᵀβ subject to 0 ≤ β ≤ upper, for positive semi-definite Q.

    Two solvers of SciPy's, each strong where the other is weak: bounded-variable least squares, an active-set
    method that ill-conditioning does not slow, and L-BFGS-B, which wins when the box is tight or a good `start`
    is known.

    On one thread: these matrices are so small that synchronising threads costs more than the work.

    Raises `ConvergenceError` unless a unit projected-gradient step moves no β by more than
    `tolerance` (times the largest |c|, where that is above 1).
    """

    def compute_violation(beta: Float64[np.ndarray, " n"]) -> float:
        return float(np.abs(beta - np.clip(beta - (quadratic @ beta + linear), 0.0, upper)).max())

    allowed = tolerance * max(1.0, float(np.abs(linear).max()))
    if start is not None:
        beta = _solve_quasi_newton(quadratic, linear, upper, np.clip(start, 0.0, upper), iterations=200)
        if compute_violation(beta) <= allowed:
            return beta
    beta = np.zeros(len(linear))
    for ridge in _RELATIVE_RIDGES:
        beta = _solve_active_set(
            quadratic, linear, upper, beta, ridge, lambda found: compute_violation(found) <= 1e-3 * allowed
        )
        if compute_violation(beta) > allowed:
            beta = _solve_quasi_newton(quadratic, linear, upper, beta, iterations=20_000)
        if compute_violation(beta) <= allowed:
            return beta
    raise ConvergenceError(
        f"The support vector machine's optimality conditions should hold to {allowed:.1g}; the solver "
        f"stopped at {compute_violation(beta):.1g}. Raise λ, change the kernel's parameter, or use LeastSquares."
    )


def _solve_active_set(
    quadratic: Float64[np.ndarray, "n n"],
    linear: Float64[np.ndarray, " n"],
    upper: float,
    start: Float64[np.ndarray, " n"],
    relative_ridge: float,
    done: Callable[[Float64[np.ndarray, " n"]], bool],
) -> Float64[np.ndarray, " n"]:
    """The minimiser by bounded-variable least squares, in proximal steps that add ½ δ‖β - β_previous‖².

    Least squares needs a factor of Q, which may be singular; Q + δI has one. The minimiser sought is the fixed point of
    these steps; two or three suffice.
    """
    size = len(linear)
    ridge = relative_ridge * max(float(np.diag(quadratic).mean()), 1e-300)
    eigenvalues, vectors = eigh(quadratic)
    roots = np.sqrt(np.maximum(eigenvalues, 0.0) + ridge)  # rounding can leave Q a little indefinite
    factor = roots[:, None] * vectors.T
    beta = start
    for _ in range(_PROXIMAL_STEPS):
        right = vectors.T @ (ridge * beta - linear) / roots
        previous = beta
        # In units of `upper`, because lsq_linear's tolerances are absolute.
        solution = lsq_linear(factor * upper, right, (0.0, 1.0), method="bvls", tol=1e-15, max_iter=100 * size)
        beta = upper * np.where(solution.x < _AT_BOUND, 0.0, np.where(solution.x > 1 - _AT_BOUND, 1.0, solution.x))
        if done(beta) or np.array_equal(beta, previous):
            break
    return beta


def _solve_quasi_newton(
    quadratic: Float64[np.ndarray, "n n"],
    linear: Float64[np.ndarray, " n"],
    upper: float,
    start: Float64[np.ndarray, " n"],
    iterations: int,
) -> Float64[np.ndarray, " n"]:
    solution = minimize(
        lambda beta: (0.5 * beta @ quadratic @ beta + linear @ beta, quadratic @ beta + linear),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, upper)] * len(start),
        options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30},
    )
    return np.asarray(solution.x)


# libsvm stops when no pair of variables violates optimality by more than this; its default is 1e-3.
_LIBSVM_TOLERANCE = 1e-7
_LIBSVM_ITERATIONS = 1_000_000  # its default is no limit


@dataclass(frozen=True)
class _SupportVectorMachine(Machine):
    """The base of classifier and regressor: |α_j| ≤ 1/λ, and g does not depend on rows with α_j = 0."""

    bias: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "bias", check_flag(self.bias, "bias"))

    def solve(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[Float[Tensor, " n"], float]:
        """α and the bias, from the Gram matrix of K₂."""
        alpha, bias = self._solve(*_to_arrays(gram, y))
        return torch.as_tensor(alpha).to(y), bias

    def predict_loo(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """g₋ᵢ(x_i) for each row i, by exact refits without row i where it is a support vector.

        Dropping a row with α_i = 0 changes nothing, unless there is a bias that no free support vector determines.
        """
        K, targets = _to_arrays(gram, y)
        alpha, bias = self._solve(K, targets)
        pinned = not self.bias or ((alpha != 0) & (np.abs(alpha) < (1 - 1e-6) / self.lam)).any()
        rows = np.flatnonzero(alpha) if pinned else np.arange(len(targets))
        predictions = K @ alpha + bias
        predictions[rows] = self._predict_by_refits(K, targets, alpha, rows)
        return torch.as_tensor(predictions).to(y)

    def _predict_by_refits(
        self,
        K: Float64[np.ndarray, "n n"],
        y: Float64[np.ndarray, " n"],
        alpha: Float64[np.ndarray, " n"],
        rows: Int[np.ndarray, " r"],
    ) -> Float64[np.ndarray, " r"]:
        """g₋ᵢ(x_i) for the given rows i, each by a machine trained without row i."""
        predictions = np.empty(len(rows))
        for position, row in enumerate(rows):
            others = np.arange(len(y)) != row
            refit, bias = self._solve(K[np.ix_(others, others)], y[others], start=alpha[others])
            predictions[position] = K[row, others] @ refit + bias
        return predictions

    @abstractmethod
    def _solve(
        self,
        K: Float64[np.ndarray, "n n"],
        y: Float64[np.ndarray, " n"],
        start: Float64[np.ndarray, " n"] | None = None,
    ) -> tuple[Float64[np.ndarray, " n"], float]:
        """α and the bias; `start` is a warm start for α."""


@dataclass(frozen=True)
class SupportVectorClassifier(_SupportVectorMachine):
    """min ½ αᵀKα - Σ|α_i| subject to 0 ≤ y_i α_i ≤ 1/λ: hinge loss, labels ±1.

    With `bias=True` the model is g + b and the dual gains the constraint Σ α_i = 0.
    Leave-one-out error is the share of rows on the wrong side.
    """

    def check(self, kernel: Kernel, X: Numbers, y: Numbers) -> tuple[Float[Tensor, "n d"], Float[Tensor, " n"]]:
        """X and y as tensors; an `InputError` if the machine cannot be trained on them, as where y is not ±1."""
        X, y = super().check(kernel, X, y)
        return X, check_labels(y)

    def compute_loo_losses(self, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """1 for each row i where y_i g₋ᵢ(x_i) ≤ 0, else 0.

        Without a bias y_i g(x_i) - |α_i| K_ii ≤ y_i g₋ᵢ(x_i) ≤ y_i g(x_i) (Jaakkola and Haussler 1999): a row whose
        bounds have the same sign needs no refit.
        """
        if self.bias:
            return super().compute_loo_losses(gram, y)
        K, labels = _to_arrays(gram, y)
        alpha, _ = self._solve(K, labels)
        upper = labels * (K @ alpha)
        lower = upper - np.abs(alpha) * np.diag(K)
        undecided = np.flatnonzero((upper > 0) & (lower <= 0))
        wrong = upper <= 0
        wrong[undecided] = labels[undecided] * self._predict_by_refits(K, labels, alpha, undecided) <= 0
        return torch.as_tensor(wrong).to(y)

    def compute_loss(self, y: Float[Tensor, " n"], predictions: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
        """1 where the prediction has the wrong sign or is 0, else 0."""
        return (y * predictions <= 0).to(y)

    def _solve(
        self,
        K: Float64[np.ndarray, "n n"],
        y: Float64[np.ndarray, " n"],
        start: Float64[np.ndarray, " n"] | None = None,
    ) -> tuple[Float64[np.ndarray, " n"], float]:
        if not self.bias:
            beta = solve_box_qp(
                K * np.outer(y, y), -np.ones(len(y)), 1 / self.lam, None if start is None else y * start
            )
            return y * beta, 0.0
        if (y == y[0]).all():  # a leave-one-out refit may see one class only; g = ±1 costs nothing
            return np.zeros(len(y)), float(y[0])
        return _solve_libsvm("SVC", K, y, C=1 / self.lam)


@dataclass(frozen=True)
class SupportVectorRegressor(_SupportVectorMachine):
    """min ½ αᵀKα - yᵀα + ε Σ|α_i| subject to |α_i| ≤ 1/λ: loss max(0, |y - g| - ε).

    With `bias=True` the model is g + b and the dual gains the constraint Σ α_i = 0.
    """

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.epsilon, int | float) and 0 <= self.epsilon < float("inf")):
            raise InputError(f"epsilon must be 0 or more, in the units of y; got {self.epsilon!r}.")

    def _solve(
        self,
        K: Float64[np.ndarray, "n n"],
        y: Float64[np.ndarray, " n"],
        start: Float64[np.ndarray, " n"] | None = None,
    ) -> tuple[Float64[np.ndarray, " n"], float]:
        if self.bias:
            return _solve_libsvm("SVR", K, y, C=1 / self.lam, epsilon=self.epsilon)
        # |α| is smooth in its positive and negative parts: α = u - v with 0 ≤ u, v ≤ 1/λ.
        parts = solve_box_qp(
            np.block([[K, -K], [-K, K]]),
            np.concatenate([self.epsilon - y, self.epsilon + y]),
            1 / self.lam,
            None if start is None else np.concatenate([start.clip(min=0), (-start).clip(min=0)]),
        )
        return parts[: len(y)] - parts[len(y) :], 0.0


def _solve_libsvm(
    name: str, K: Float64[np.ndarray, "n n"], y: Float64[np.ndarray, " n"], **options: float
) -> tuple[Float64[np.ndarray, " n"], float]:
    # Only here: most users never train a support vector machine, and all would wait for the import.
    from sklearn import svm
    from sklearn.exceptions import ConvergenceWarning

    machine: Any = getattr(svm, name)(
        tol=_LIBSVM_TOLERANCE, kernel="precomputed", max_iter=_LIBSVM_ITERATIONS, **options
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            machine.fit(K, y)
    except ConvergenceWarning as warning:
        raise ConvergenceError(
            f"libsvm did not converge: {warning} Raise λ, or change the kernel's parameter."
        ) from None
    alpha = np.zeros(len(y))
    alpha[machine.support_] = machine.dual_coef_[0]
    return alpha, float(machine.intercept_[0])


def _to_arrays(
    gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]
) -> tuple[Float64[np.ndarray, "n n"], Float64[np.ndarray, " n"]]:
    if not torch.isfinite(gram).all():
        raise ConvergenceError("The Gram matrix overflows. Change the kernel's parameter, or scale the inputs.")
    return gram.detach().cpu().double().numpy(), y.detach().cpu().double().numpy()
