"""What a suggestion is compared with: Optuna's GPSampler and BoTorch's MultiTaskGP, in the midst of a campaign too."""

import warnings
from collections.abc import Callable

import optuna
import pandas as pd
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MultiTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

from benchmarks.problems.functions import Function
from benchmarks.studies.speed.data import Told


def gp_sampler(function: Function, told: Told, seed: int) -> Callable[[], object]:
    """Optuna's, without old data; it was asked before, so that it has its kernel's parameters to start from."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {name: optuna.distributions.FloatDistribution(*ends) for name, ends in function.space.items()}
    trials = [optuna.create_trial(params=setting, distributions=space, value=response) for setting, response in told]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sampler = optuna.samplers.GPSampler(seed=seed, n_startup_trials=1)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        study.add_trials(trials[:-1])
        study.ask(space)

    def step() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study.add_trial(trials[-1])
            return study.ask(space)

    return step


def multi_task(told: Told, old: pd.DataFrame) -> Callable[[], object]:
    """BoTorch's multi-task process, fitted to old rows and observations, and log EI maximised."""
    new = torch.tensor([list(setting.values()) for setting, _ in told], dtype=torch.float64)
    y = torch.tensor([response for _, response in told], dtype=torch.float64)
    before = torch.as_tensor(old.to_numpy())
    tables = [torch.nn.functional.pad((x + 1) / 2, (0, 1), value=task) for task, x in ((0, before[:, :-1]), (1, new))]
    responses = torch.cat([(z - z.mean()) / z.std() for z in (before[:, -1], y)])[:, None]
    bounds = torch.tensor([[0.0], [1.0]], dtype=torch.float64).expand(2, new.shape[1])

    def step() -> torch.Tensor:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MultiTaskGP(torch.cat(tables), responses, task_feature=-1, output_tasks=[1])
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
            acquisition = LogExpectedImprovement(model, best_f=responses[len(before) :].max())
            return optimize_acqf(acquisition, bounds, q=1, num_restarts=8, raw_samples=256)[0]

    return step
