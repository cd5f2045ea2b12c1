"""Old data in a BoTorch loop: a process that knows last year's runs, next to BoTorch's own.

The old response has another unit and runs backwards, and the optimum has moved a little. Both loops begin with the same
two runs and take five more.

Run it with: python examples/botorch_loop.py
"""

import torch
from botorch.acquisition import qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from tunedprior.integrations.botorch import TunedPriorGP

bounds = torch.tensor([[20.0, 0.0], [80.0, 1.0]], dtype=torch.float64)  # a temperature and a concentration


def settings(count, seed):
    """Some settings all over the space."""
    sobol = torch.quasirandom.SobolEngine(2, scramble=True, seed=seed)
    return bounds[0] + (bounds[1] - bounds[0]) * sobol.draw(count, dtype=torch.float64)


def strength(X, best_temperature=57.0):
    """What is measured today."""
    temperature, concentration = X[:, :1], X[:, 1:]
    return 40 * torch.exp(-(((temperature - best_temperature) / 12) ** 2)) * torch.sin(3 * concentration)


X_old = settings(40, seed=1)
y_old = 7 - strength(X_old, best_temperature=54.0) / 3  # last year it was porosity that was measured


def informed(X, y):
    """A process that knows old data."""
    return TunedPriorGP(X, y, old=(X_old, y_old), bounds=bounds)


def uninformed(X, y):
    """BoTorch's default."""
    return SingleTaskGP(X, y, input_transform=Normalize(2, bounds=bounds))


for name, make in {"with old data": informed, "without": uninformed}.items():
    torch.manual_seed(0)
    X = settings(2, seed=2)
    y = strength(X)
    for _ in range(5):
        model = make(X, y)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        acquisition = qLogNoisyExpectedImprovement(model, X_baseline=X)
        new, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=64)
        X, y = torch.cat([X, new]), torch.cat([y, strength(new)])
    best = X[y.argmax()]
    print(f"{name:14} best after 7 runs: {float(y.max()):5.2f} of 40, at {best[0]:.1f} °C and {best[1]:.2f}")
