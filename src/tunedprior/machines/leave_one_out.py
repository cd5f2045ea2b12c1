"""Leave-one-out: the error of a machine at each row of old data, when trained on all others."""

from gpytorch.kernels import Kernel

from tunedprior.checks import Numbers, refuse_other_types
from tunedprior.machines.machine import Machine, compute_gram_matrix


def compute_loo_error(machine: Machine, kernel: Kernel, X: Numbers, y: Numbers) -> float:
    """(1/n) Σ_i E(y_i, g₋ᵢ(x_i)), where g₋ᵢ was trained without row i.

    E is the squared residual for regressors and 0 or 1 (right or wrong side) for classifiers. In closed form
    for least squares, by exact refits for support vector machines.
    """
    refuse_other_types(machine, Machine, "machine", "one of tunedprior.machines, such as LeastSquares(1.0)")
    X, y = machine.check(kernel, X, y)
    return float(machine.compute_loo_losses(compute_gram_matrix(kernel, X), y.double()).mean())
