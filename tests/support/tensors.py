"""Settings of two inputs in other units than [-1, 1], old data of them, and BoTorch models made from both."""

import copy
from functools import cache

import torch
from botorch.fit import fit_gpytorch_mll
from gpytorch.mlls import ExactMarginalLogLikelihood

from support.builders import vector
from support.cases import table
from tunedprior.integrations.botorch import TunedPriorEnsemble, TunedPriorGP

BOUNDS = vector([[0.0, -1.0], [10.0, 1.0]])


def settings(count: int, seed: int) -> torch.Tensor:
    return BOUNDS[0] + (BOUNDS[1] - BOUNDS[0]) * table(count, 2, seed=seed, low=0.0, high=1.0)


def response(X: torch.Tensor) -> torch.Tensor:
    return (0.3 * X[..., :1]).sin() * (2 * X[..., 1:]).cos()


X_OLD, X, TEST = settings(30, seed=1), settings(6, seed=2), settings(40, seed=3)
#: Upside down, and in other units.
OLD = X_OLD, 1 - 3 * response(X_OLD)
Y = 100 + 20 * response(X)
OTHER = X[:, :1] + X[:, 1:]
_X, _Y = X, Y
TRUTH = 100 + 20 * response(TEST)


@cache
def default(make) -> TunedPriorGP | TunedPriorEnsemble:
    """Made and fitted once for all tests."""
    return make(seed=0)


def gp(fitted: bool = True, X: torch.Tensor = X, Y: torch.Tensor = Y, **options) -> TunedPriorGP:
    if fitted and X is _X and Y is _Y and not options:
        return copy.deepcopy(default(gp))
    model = TunedPriorGP(X, Y, **{"old": OLD, "bounds": BOUNDS} | options)
    if fitted:
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return model


def ensemble(X: torch.Tensor = X, Y: torch.Tensor = Y, **options) -> TunedPriorEnsemble:
    if X is _X and Y is _Y and not options:
        return copy.deepcopy(default(ensemble))
    return TunedPriorEnsemble(X, Y, **{"old": OLD, "bounds": BOUNDS} | options)


def mean_of(model, where: torch.Tensor = TEST) -> torch.Tensor:
    posterior = model.posterior(where)
    return getattr(posterior, "mixture_mean", posterior.mean).detach()


def error(model) -> float:
    return (mean_of(model) - TRUTH).square().mean().sqrt().item()


def same_predictions(first, second, rtol: float = 1e-6) -> None:
    for model in (first, second):
        model.eval()
    left, right = first.posterior(TEST), second.posterior(TEST)
    torch.testing.assert_close(left.mean, right.mean, rtol=rtol, atol=1e-6)
    torch.testing.assert_close(left.variance, right.variance, rtol=rtol, atol=1e-6)
