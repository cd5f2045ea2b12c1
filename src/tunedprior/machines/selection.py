"""Selection of the kernel's parameter(s) and λ by leave-one-out error on old data."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from gpytorch.kernels import Kernel
from jaxtyping import Float, Float64
from scipy.optimize import minimize
from torch import Tensor

from tunedprior.checks import Numbers, check_positive, format_value, refuse_other_types
from tunedprior.errors import ConvergenceError, FactorisationError, InputError
from tunedprior.kernels import FreeKernel
from tunedprior.kernels.free_kernel import LengthscaleKernel
from tunedprior.machines.machine import LeastSquares, Machine, compute_gram_matrix, compute_loo_residuals
from tunedprior.numerics.linalg import cholesky

#: Search interval of the kernel's parameter, for inputs in [-1, 1].
PARAMETER_BOUNDS = {"lengthscale": (0.05, 10.0), "scale": (0.01, 100.0), "offset": (0.01, 100.0)}
#: Search interval of λ, for responses of order 1.
LEAST_SQUARES_LAMBDAS = (1e-6, 10.0)
SUPPORT_VECTOR_LAMBDAS = (1e-3, 10.0)
# Points of the coarse grid: of the kernel's parameter, and of λ.
_LEAST_SQUARES_GRID = (13, 8)
_SUPPORT_VECTOR_GRID = (7, 5)
_GRADIENT_STARTS = 3
_ZOOMS = 2


@dataclass(frozen=True)
class Selection:
    """The machine (with its λ) and the kernel of least leave-one-out error, and that error."""

    machine: Machine
    kernel: FreeKernel
    error: float


def refuse_other_bounds(lam_bounds: Any) -> None:
    """Raise an `InputError` unless these are two positive numbers, the lower one first."""
    if not isinstance(lam_bounds, Sequence | np.ndarray) or isinstance(lam_bounds, str) or len(lam_bounds) != 2:
        raise InputError(f"lam_bounds must be (low, high), such as (0.01, 10.0); got {format_value(lam_bounds)}.")
    low, high = (check_positive(bound, "Each of lam_bounds") for bound in lam_bounds)
    if low > high:
        raise InputError(f"lam_bounds must be (low, high), the lower one first; got {format_value(lam_bounds)}.")


def select(
    machine: Machine,
    kernel: Kernel,
    X: Numbers,
    y: Numbers,
    *,
    ard: bool = False,
    lam_bounds: tuple[float, float] | None = None,
    seed: int = 0,
) -> Selection:
    """argmin over λ and the kernel's parameter(s) of the leave-one-out error on (X, y).

    First a coarse grid (logarithmic, one parameter for all inputs). Then least squares descends the gradient of
    its closed-form error from the best grid points; support vector machines, whose error is not smooth, zoom
    into a finer grid. With `ard=True` every input gets a length-scale of its own, by gradient; for support vector
    machines their ratios come from the least-squares error, their overall size and λ from the machine's own.

    Args:
        machine: The machine to train. Its λ is ignored, its other settings are kept.
        kernel: The kernel to train it with. The size of its tuned parameter is ignored; ARD ratios are kept, unless
            `ard` selects them too.
        X: Old settings, `n x d`.
        y: Responses of order 1, or labels ±1.
        ard: One length-scale per input (kernels with length-scales only).
        lam_bounds: Search interval of λ. Default: 1e-6 to 10 for least squares, 1e-3 to 10 for support vector machines,
            which gain nothing from a looser cap on |α| and take longer to train.
        seed: The seed of the random restarts for ARD.
    """
    if not isinstance(kernel, FreeKernel):
        raise InputError(f"select needs a kernel of tunedprior.kernels; got {type(kernel).__name__}.")
    refuse_other_types(machine, Machine, "machine", "one of tunedprior.machines, such as LeastSquares(1.0)")
    if lam_bounds is not None:
        refuse_other_bounds(lam_bounds)
    X, y = machine.check(kernel, X, y)
    like = X
    X, y = X.detach().cpu().double(), y.detach().cpu().double()
    template = _make_template(kernel, X, ard)
    if isinstance(machine, LeastSquares):
        found = _select_by_gradient(template, X, y, ard, lam_bounds or LEAST_SQUARES_LAMBDAS, seed)
        found = replace(found, machine=replace(machine, lam=found.machine.lam))  # as of `machine`, such as pruned
    else:
        if ard:
            shape = _select_by_gradient(template, X, y, ard, lam_bounds or LEAST_SQUARES_LAMBDAS, seed).kernel
            template.lengthscale = shape.lengthscale.detach()
        found = _select_by_zooming(machine, template, X, y, lam_bounds or SUPPORT_VECTOR_LAMBDAS)
    if not np.isfinite(found.error):
        raise ConvergenceError(
            f"{type(machine).__name__} could not be trained with {type(kernel).__name__} at any parameter tried. "
            "Check the scale of the inputs (they should lie in [-1, 1]) and of the responses (of order 1)."
        )
    return replace(found, kernel=found.kernel.to(like))


def _make_template(kernel: FreeKernel, X: Float[Tensor, "n d"], ard: bool) -> FreeKernel:
    if not ard:
        copied: FreeKernel = deepcopy(kernel).to(X)
        return copied
    if not isinstance(kernel, LengthscaleKernel):
        raise InputError(
            "ard=True needs a kernel with length-scales, SquaredExponential or StationarySquaredExponential; got "
            f"{type(kernel).__name__}."
        )
    low, high = _get_parameter_bounds(kernel)
    spread: FreeKernel = type(kernel)(
        torch.full((kernel.select_columns(X).shape[1],), float(np.sqrt(low * high))),
        active_dims=kernel.active_dims,
        lengthscale_constraint=kernel.raw_lengthscale_constraint,
        lengthscale_prior=getattr(kernel, "lengthscale_prior", None),
    ).to(X)
    return spread


def _get_parameter_bounds(kernel: FreeKernel) -> tuple[float, float]:
    """Search interval of the tuned parameter: `PARAMETER_BOUNDS`, inside the kernel's own constraint."""
    low, high = PARAMETER_BOUNDS[str(kernel.tuned_parameter)]
    constraint = getattr(kernel, f"raw_{kernel.tuned_parameter}_constraint")
    edge = 1 + 1e-6  # a constraint is open, its transform infinite at the end
    return max(low, float(constraint.lower_bound) * edge), min(high, float(constraint.upper_bound) / edge)


def _copy_with_parameter(template: FreeKernel, value: float) -> FreeKernel:
    """A copy of the template whose tuned parameter has `value` as its geometric mean, and the template's ARD ratios."""
    kernel = deepcopy(template)
    if kernel.tuned_parameter is not None:
        current = getattr(kernel, kernel.tuned_parameter).detach()
        shaped = value * current / current.log().mean().exp()
        setattr(kernel, kernel.tuned_parameter, shaped.clamp(*_get_parameter_bounds(kernel)))
    return kernel


def _make_parameter_grid(template: FreeKernel, points: int) -> Float64[np.ndarray, " k"]:
    if template.tuned_parameter is None:
        return np.ones(1)
    return np.geomspace(*_get_parameter_bounds(template), points)


def _compute_score(machine: Machine, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> tuple[float, float]:
    """The machine's leave-one-out error, and that of least squares; infinite where it cannot be trained.

    That must not end the search. Ties (a classifier's error is a count) go to the better least-squares fit.
    """
    try:
        squares = float(LeastSquares(machine.lam).compute_loo_losses(gram, y).mean())
        own = squares if isinstance(machine, LeastSquares) else float(machine.compute_loo_losses(gram, y).mean())
    except (FactorisationError, ConvergenceError):
        own = squares = np.inf
    return (own, squares) if np.isfinite(own) and np.isfinite(squares) else (np.inf, np.inf)


Candidate = tuple[tuple[float, float], float, float]  # score, kernel parameter, λ


def _score_grid(
    machine: Machine,
    template: FreeKernel,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    parameters: Float64[np.ndarray, " k"],
    lams: Float64[np.ndarray, " l"],
) -> list[Candidate]:
    """Every combination of parameter and λ with its score, best first; larger parameter and λ first in a tie."""
    scored = []
    for parameter in parameters[::-1]:
        gram = compute_gram_matrix(_copy_with_parameter(template, parameter), X)
        scored += [(_compute_score(replace(machine, lam=lam), gram, y), parameter, lam) for lam in lams[::-1]]
    return sorted(scored, key=lambda candidate: candidate[0])


def _select_by_zooming(
    machine: Machine,
    template: FreeKernel,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    lam_bounds: tuple[float, float],
) -> Selection:
    parameter_points, lam_points = _SUPPORT_VECTOR_GRID
    parameters, lams = _make_parameter_grid(template, parameter_points), np.geomspace(*lam_bounds, lam_points)
    best = _score_grid(machine, template, X, y, parameters, lams)[0]
    for _ in range(_ZOOMS):
        parameters = _refine_grid(best[1], parameters)
        lams = _refine_grid(best[2], lams)
        best = min(best, _score_grid(machine, template, X, y, parameters, lams)[0], key=lambda found: found[0])
    score, parameter, lam = best
    return Selection(replace(machine, lam=lam), _copy_with_parameter(template, parameter), score[0])


def _refine_grid(centre: float, grid: Float64[np.ndarray, " k"]) -> Float64[np.ndarray, " j"]:
    """The centre and the (geometric) half-way points to its neighbours in the grid, within the grid."""
    if len(grid) == 1:
        return grid
    step = np.sqrt(grid[1] / grid[0])
    return np.unique(np.clip([centre / step, centre, centre * step], grid[0], grid[-1]))


def _select_by_gradient(
    template: FreeKernel,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    ard: bool,
    lam_bounds: tuple[float, float],
    seed: int,
) -> Selection:
    parameter_points, lam_points = _LEAST_SQUARES_GRID
    parameters, lams = _make_parameter_grid(template, parameter_points), np.geomspace(*lam_bounds, lam_points)
    grid = _score_grid(LeastSquares(1.0), template, X, y, parameters, lams)
    score, parameter, lam = grid[0]
    best = Selection(LeastSquares(lam), _copy_with_parameter(template, parameter), score[0])
    random = np.random.default_rng(seed)
    for _, parameter, lam in grid[:_GRADIENT_STARTS]:
        start = _copy_with_parameter(template, parameter)
        starts = [start]
        if ard:  # equal length-scales are a saddle whenever inputs could swap roles
            scattered = deepcopy(start)
            lengthscale = start.lengthscale.detach()
            factors = np.exp(0.5 * random.standard_normal(lengthscale.shape))
            scattered.lengthscale = (lengthscale * torch.as_tensor(factors)).clamp(*_get_parameter_bounds(start))
            starts.append(scattered)
        for kernel in starts:
            found = _descend(kernel, lam, lam_bounds, X, y)
            best = min(best, found, key=lambda selection: selection.error)
    return best


def _descend(
    kernel: FreeKernel,
    lam: float,
    lam_bounds: tuple[float, float],
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
) -> Selection:
    """L-BFGS-B on the closed-form leave-one-out error over the kernel's raw parameter(s) and log λ."""
    kernel = deepcopy(kernel)
    raw: Tensor | None = None
    bounds: list[tuple[float, float]] = []
    if kernel.tuned_parameter is not None:
        name = f"raw_{kernel.tuned_parameter}"
        raw = getattr(kernel, name)
        edges = torch.tensor(_get_parameter_bounds(kernel)).to(raw)
        low, high = getattr(kernel, f"{name}_constraint").inverse_transform(edges).tolist()
        bounds = [(low, high)] * raw.numel()
    log_lam = torch.tensor(np.log(lam), requires_grad=True)
    bounds.append(tuple(np.log(lam_bounds).tolist()))
    variables = [log_lam] if raw is None else [raw, log_lam]

    def set_variables(theta: Float64[np.ndarray, " k"]) -> None:
        values = torch.as_tensor(theta)
        with torch.no_grad():
            log_lam.copy_(values[-1])
            if raw is not None:
                raw.copy_(values[:-1].view_as(raw))

    def evaluate_error_and_gradient(theta: Float64[np.ndarray, " k"]) -> tuple[float, Float64[np.ndarray, " k"]]:
        set_variables(theta)
        gram = kernel(X).to_dense() + log_lam.exp() * torch.eye(len(X)).to(X)
        error = (compute_loo_residuals(cholesky(gram), y) ** 2).mean()
        gradients = torch.autograd.grad(error, variables)
        return error.item(), torch.cat([gradient.flatten() for gradient in gradients]).numpy()

    start = torch.cat([variable.detach().flatten() for variable in variables]).numpy().copy()
    try:
        found = minimize(
            evaluate_error_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}
        )
    except FactorisationError:  # a step overflowed: the result of the grid stands
        return Selection(LeastSquares(lam), kernel, np.inf)
    set_variables(found.x)
    error = float(found.fun) if np.isfinite(found.fun) else np.inf
    return Selection(LeastSquares(float(log_lam.detach().exp())), kernel, error)
