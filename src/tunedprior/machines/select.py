"""Choosing the kernel's parameter(s) and λ by leave-one-out error on the auxiliary data."""

from copy import deepcopy
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float64
from numpy import ndarray
from scipy.optimize import minimize
from torch import Tensor

from tunedprior.errors import InputError
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.linalg import cholesky
from tunedprior.machines.least_squares import LeastSquares, leave_one_out_residuals
from tunedprior.machines.machine import Machine, gram_matrix
from tunedprior.validation import Numbers

#: Where the kernel's parameter is looked for, with inputs in [-1, 1].
PARAMETER_BOUNDS = {"lengthscale": (0.05, 10.0), "scale": (0.01, 100.0), "offset": (0.01, 100.0)}
#: Where λ is looked for, with responses of order 1. A support vector machine caps |α| at 1/λ and
#: gains nothing from a larger cap, while its solver's time grows with it.
LAMBDA_BOUNDS = {"least squares": (1e-6, 10.0), "support vectors": (1e-3, 10.0)}
_COARSE = {"least squares": (13, 8), "support vectors": (7, 5)}
_GRADIENT_STARTS = 3
_ZOOMS = 2


@dataclass(frozen=True)
class Selection:
    """The machine and the kernel that leave-one-out chose, with their error."""

    machine: Machine
    kernel: FreeKernel
    error: float


@dataclass(frozen=True, order=True)
class _Score:
    """Leave-one-out error; ties (a classifier's error is a count) go to the better least-squares fit."""

    error: float
    tie_break: float


def select(
    machine: Machine,
    kernel: FreeKernel,
    X: Numbers,
    y: Numbers,
    *,
    ard: bool = False,
    seed: int = 0,
) -> Selection:
    """Argmin over λ and the kernel's parameter(s) of the leave-one-out error on (X, y).

    First a coarse grid (logarithmic, one parameter for all inputs). Then least squares descends the gradient of
    its closed-form error from the best grid points; support vector machines, whose error is a staircase, zoom
    into a finer grid. With `ard=True` every input gets a length-scale of its own, by gradient; for support vector
    machines their ratios come from the least-squares error, their overall size and λ from the machine's own.

    Args:
        machine: What to train; its λ is where nothing starts, only its kind and other settings count.
        kernel: What to train it on; likewise.
        X: Auxiliary points, `n x d`.
        y: Responses of order 1, or labels ±1.
        ard: One length-scale per input (`SquaredExponential` only).
        seed: Of the random restarts that ARD uses.
    """
    X, y = machine.check(kernel, X, y)
    X, y = X.double(), y.double()
    template = _template(kernel, X.shape[1], ard).to(X)
    if isinstance(machine, LeastSquares):
        return _select_by_gradient(machine, template, X, y, ard, seed)
    if ard:
        shape = _select_by_gradient(LeastSquares(machine.lam), template, X, y, ard, seed).kernel
        template.lengthscale = shape.lengthscale.detach() / shape.lengthscale.detach().log().mean().exp()
    return _select_by_zooming(machine, template, X, y)


def _template(kernel: FreeKernel, num_inputs: int, ard: bool) -> FreeKernel:
    if not ard:
        return deepcopy(kernel)
    if not isinstance(kernel, SquaredExponential):
        raise InputError(
            f"ard=True needs a kernel with one length-scale per input, SquaredExponential; got {type(kernel).__name__}."
        )
    return SquaredExponential(torch.ones(num_inputs), active_dims=kernel.active_dims)


def _with_parameter(template: FreeKernel, value: float) -> FreeKernel:
    """A copy with its tuned parameter at `value`, times what shape (ARD ratios) the template has."""
    kernel = deepcopy(template)
    if kernel.tuned_parameter is not None:
        current = getattr(kernel, kernel.tuned_parameter).detach()
        setattr(kernel, kernel.tuned_parameter, value * current / current.log().mean().exp())
    return kernel


def _parameter_grid(template: FreeKernel, points: int) -> Float64[ndarray, " k"]:
    if template.tuned_parameter is None:
        return np.ones(1)
    return np.geomspace(*PARAMETER_BOUNDS[template.tuned_parameter], points)


def _score(machine: Machine, gram: Float[Tensor, "n n"], y: Float[Tensor, " n"]) -> _Score:
    squares = LeastSquares(machine.lam)
    fallback = float(squares.loss(y, squares.leave_one_out(gram, y)).mean())
    if isinstance(machine, LeastSquares):
        return _Score(fallback, fallback)
    return _Score(float(machine.loss(y, machine.leave_one_out(gram, y)).mean()), fallback)


Candidate = tuple[_Score, float, float]  # score, kernel parameter, λ


def _scored_grid(
    machine: Machine,
    template: FreeKernel,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    parameters: Float64[ndarray, " k"],
    lams: Float64[ndarray, " l"],
) -> list[Candidate]:
    """Every combination, best first; ties in the order smooth before rough."""
    scored = []
    for parameter in parameters[::-1]:
        gram = gram_matrix(_with_parameter(template, parameter), X)
        scored += [(_score(replace(machine, lam=lam), gram, y), parameter, lam) for lam in lams[::-1]]
    return sorted(scored, key=lambda candidate: candidate[0])


def _select_by_zooming(
    machine: Machine, template: FreeKernel, X: Float[Tensor, "n d"], y: Float[Tensor, " n"]
) -> Selection:
    bounds, (parameter_points, lam_points) = LAMBDA_BOUNDS["support vectors"], _COARSE["support vectors"]
    parameters, lams = _parameter_grid(template, parameter_points), np.geomspace(*bounds, lam_points)
    best = _scored_grid(machine, template, X, y, parameters, lams)[0]
    for _ in range(_ZOOMS):
        parameters = _between_neighbours(best[1], parameters)
        lams = _between_neighbours(best[2], lams)
        best = min(best, _scored_grid(machine, template, X, y, parameters, lams)[0], key=lambda found: found[0])
    score, parameter, lam = best
    return Selection(replace(machine, lam=lam), _with_parameter(template, parameter), score.error)


def _between_neighbours(centre: float, grid: Float64[ndarray, " k"]) -> Float64[ndarray, " j"]:
    """The centre and the (geometric) half-way points to its neighbours in the grid, within the grid."""
    if len(grid) == 1:
        return grid
    step = np.sqrt(grid[1] / grid[0])
    return np.unique(np.clip([centre / step, centre, centre * step], grid[0], grid[-1]))


def _select_by_gradient(
    machine: LeastSquares,
    template: FreeKernel,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    ard: bool,
    seed: int,
) -> Selection:
    bounds, (parameter_points, lam_points) = LAMBDA_BOUNDS["least squares"], _COARSE["least squares"]
    parameters, lams = _parameter_grid(template, parameter_points), np.geomspace(*bounds, lam_points)
    grid = _scored_grid(machine, template, X, y, parameters, lams)
    score, parameter, lam = grid[0]
    best = Selection(replace(machine, lam=lam), _with_parameter(template, parameter), score.error)
    random = np.random.default_rng(seed)
    for _, parameter, lam in grid[:_GRADIENT_STARTS]:
        start = _with_parameter(template, parameter)
        starts = [start]
        if ard:  # equal length-scales are a saddle whenever inputs could swap roles
            scattered = deepcopy(start)
            lengthscale = start.lengthscale.detach()
            factors = np.exp(0.5 * random.standard_normal(lengthscale.shape))
            scattered.lengthscale = (lengthscale * torch.as_tensor(factors)).clamp(*PARAMETER_BOUNDS["lengthscale"])
            starts.append(scattered)
        for kernel in starts:
            found = _descend(kernel, lam, X, y)
            best = min(best, found, key=lambda selection: selection.error)
    return best


def _descend(kernel: FreeKernel, lam: float, X: Float[Tensor, "n d"], y: Float[Tensor, " n"]) -> Selection:
    """L-BFGS-B on the closed-form leave-one-out error over the kernel's raw parameter(s) and log λ."""
    kernel = deepcopy(kernel)
    raw: Tensor | None = None
    bounds: list[tuple[float, float]] = []
    if kernel.tuned_parameter is not None:
        name = f"raw_{kernel.tuned_parameter}"
        raw = getattr(kernel, name)
        edges = torch.tensor(PARAMETER_BOUNDS[kernel.tuned_parameter]).to(raw)
        low, high = getattr(kernel, f"{name}_constraint").inverse_transform(edges).tolist()
        bounds = [(low, high)] * raw.numel()
    log_lam = torch.tensor(np.log(lam), requires_grad=True)
    bounds.append(tuple(np.log(LAMBDA_BOUNDS["least squares"]).tolist()))
    variables = [log_lam] if raw is None else [raw, log_lam]

    def put(theta: Float64[ndarray, " k"]) -> None:
        values = torch.as_tensor(theta)
        with torch.no_grad():
            log_lam.copy_(values[-1])
            if raw is not None:
                raw.copy_(values[:-1].view_as(raw))

    def error_and_gradient(theta: Float64[ndarray, " k"]) -> tuple[float, Float64[ndarray, " k"]]:
        put(theta)
        gram = kernel(X).to_dense() + log_lam.exp() * torch.eye(len(X)).to(X)
        error = (leave_one_out_residuals(cholesky(gram), y) ** 2).mean()
        gradients = torch.autograd.grad(error, variables)
        return error.item(), torch.cat([gradient.flatten() for gradient in gradients]).numpy()

    start = torch.cat([variable.detach().flatten() for variable in variables]).numpy().copy()
    found = minimize(error_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200})
    put(found.x)
    return Selection(LeastSquares(float(log_lam.detach().exp())), kernel, float(found.fun))
