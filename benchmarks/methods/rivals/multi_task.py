"""A multi-task Gaussian process over old and new: as BoTorch has it, and with task correlations of either sign."""

from dataclasses import dataclass
from typing import Any

import torch
from botorch.models import MultiTaskGP
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.settings import validate_input_scaling
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from benchmarks.methods.rivals.source import Rival
from tunedprior.goals.observations import Observations
from tunedprior.models.gaussian_process import fit

_OLD, _NEW = 0.0, 1.0
_STARTS = (-0.9, 0.9)
_FIRST_STEPS = 8
_FULL = 0.99999  # a correlation that leaves half a per cent of the amplitude unexplained, and a matrix that is regular


@dataclass(frozen=True, eq=False)
class MultiTask(Rival):
    """cov(f_s(x), f_t(x')) = B_st k(x, x'), B positive semi-definite; each task standardised by itself.

    BoTorch's default keeps B's entries positive and leans towards strong correlation. With `free_sign` the correlation
    lies anywhere between -1 and 1, so that an old response that runs the other way can be used. The likelihood may have
    a peak on either side of zero; which one to climb is settled after a few steps from each side.
    """

    free_sign: bool

    def model(self, inputs: Tensor, observations: Observations) -> MultiTaskGP:
        """For the new task; with a free sign the search begins on either side of zero, and goes on with the better."""
        if not self.free_sign:
            return fit(self._unfitted(inputs, observations))
        begun = [fit(self._unfitted(inputs, observations, start), _FIRST_STEPS) for start in _STARTS]
        return fit(max(begun, key=_log_posterior))

    def _unfitted(self, inputs: Tensor, observations: Observations, correlation: float | None = None) -> MultiTaskGP:
        tasks = torch.cat([_with_task(self.source.inputs, _OLD), _with_task(inputs, _NEW)])
        y = torch.cat([self.source.standardised, observations.y])
        with validate_input_scaling(False):  # each task is standardised, and BoTorch would ask it of all together
            model = MultiTaskGP(tasks, y, task_feature=-1, output_tasks=[int(_NEW)], outcome_transform=None)
        if correlation is not None:
            columns = inputs.shape[1]
            over_inputs = get_covar_module_with_dim_scaled_prior(ard_num_dims=columns, active_dims=list(range(columns)))
            model.covar_module = (over_inputs * TwoTasks(correlation, active_dims=[columns])).to(y)
        return model


class TwoTasks(Kernel):
    """B = [[1, ρa], [ρa, a²]] with -1 < ρ < 1: how the old task (0) and the new one (1) go together."""

    def __init__(self, correlation: float, active_dims: list[int]) -> None:
        super().__init__(active_dims=active_dims)
        self.register_parameter("correlation", torch.nn.Parameter(torch.tensor(correlation)))
        self.register_parameter("amplitude", torch.nn.Parameter(torch.tensor(1.0)))
        self.register_constraint("correlation", Interval(-_FULL, _FULL, transform=None))
        self.register_constraint("amplitude", GreaterThan(1e-2, transform=None))
        self.register_prior("amplitude_prior", LogNormalPrior(0.0, 1.0), "amplitude")

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_params: Any) -> Tensor:
        """B at the tasks of x1 and x2."""
        left = x1 if diag else x1[..., :, None, :]
        right = x2 if diag else x2[..., None, :, :]
        first, second = left[..., 0], right[..., 0]
        scale = torch.where(first == _NEW, self.amplitude, 1.0) * torch.where(second == _NEW, self.amplitude, 1.0)
        return scale * torch.where(first == second, 1.0, self.correlation)


def _log_posterior(model: MultiTaskGP) -> float:
    """What the fit maximised."""
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model).train()
    with torch.no_grad():
        value = float(likelihood(model(*model.train_inputs), model.train_targets, *model.train_inputs))
    model.eval()
    return value


def _with_task(inputs: Tensor, task: float) -> Tensor:
    return torch.cat([inputs, torch.full_like(inputs[:, :1], task)], dim=1)
