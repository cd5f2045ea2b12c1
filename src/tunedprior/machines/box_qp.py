"""Box-constrained quadratic programmes: the dual of every support vector machine without a bias."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float64
from numpy import ndarray
from scipy.linalg import eigh
from scipy.optimize import lsq_linear, minimize

from tunedprior.errors import ConvergenceError
from tunedprior.numerics.isolation import one_blas_thread

_PROXIMAL_STEPS = 50
# A small ridge converges in fewer steps; a larger one has the smaller rounding error.
_RELATIVE_RIDGES = (1e-9, 1e-6, 1e-3)
_AT_BOUND = 1e-12  # of the box: closer than this is rounding, and exact zeros are what makes α sparse


@one_blas_thread()
def solve_box_qp(
    quadratic: Float64[ndarray, "n n"],
    linear: Float64[ndarray, " n"],
    upper: float,
    start: Float64[ndarray, " n"] | None = None,
    tolerance: float = 1e-7,
) -> Float64[ndarray, " n"]:
    """argmin ½ βᵀQβ + cᵀβ subject to 0 ≤ β ≤ upper, for positive semi-definite Q.

    Two solvers of SciPy's, each strong where the other is weak: bounded-variable least squares, an active-set
    method that ill-conditioning does not slow, and L-BFGS-B, which wins when the box is tight or a good `start`
    is known.

    On one thread: these matrices are so small that synchronising threads costs more than the work.

    Raises `ConvergenceError` unless a unit projected-gradient step moves no β by more than
    `tolerance` (times the largest |c|, where that is above 1).
    """

    def compute_violation(beta: Float64[ndarray, " n"]) -> float:
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
    quadratic: Float64[ndarray, "n n"],
    linear: Float64[ndarray, " n"],
    upper: float,
    start: Float64[ndarray, " n"],
    relative_ridge: float,
    done: Callable[[Float64[ndarray, " n"]], bool],
) -> Float64[ndarray, " n"]:
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
    quadratic: Float64[ndarray, "n n"],
    linear: Float64[ndarray, " n"],
    upper: float,
    start: Float64[ndarray, " n"],
    iterations: int,
) -> Float64[ndarray, " n"]:
    solution = minimize(
        lambda beta: (0.5 * beta @ quadratic @ beta + linear @ beta, quadratic @ beta + linear),
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, upper)] * len(start),
        options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 0.0, "gtol": 1e-11, "maxcor": 30},
    )
    return np.asarray(solution.x)
