"""A multi-task Gaussian process over old and new: as BoTorch has it, and with task correlations of either sign."""

from copy import deepcopy
from dataclasses import dataclass, field

import torch
from botorch.models import MultiTaskGP
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.settings import validate_input_scaling
from gpytorch.kernels import IndexKernel
from torch import Tensor

from benchmarks.rivals.source import Rival
from tunedprior.models import fit
from tunedprior.surrogates import Observations

_OLD, _NEW = 0.0, 1.0


@dataclass(frozen=True, eq=False)
class MultiTask(Rival):
    """cov(f_s(x), f_t(x')) = B_st k(x, x'), B positive semi-definite; each task standardised by itself.

    BoTorch's default keeps B's entries positive and leans towards strong correlation. With `free_sign`, B = bbᵀ +
    diag(v) may be negative off its diagonal, and an old response that runs the other way can be used; the fit starts
    with the sign that the old data's process and D agree on, as it could hardly cross zero.

    Each fit starts where the last one ended, unless that sign has changed: but for one observation, the likelihood is
    the same.
    """

    free_sign: bool
    _last_fit: dict[float, dict[str, Tensor]] = field(default_factory=dict)

    def model(self, inputs: Tensor, observations: Observations) -> MultiTaskGP:
        """For the new task."""
        tasks = torch.cat([_with_task(self.source.inputs, _OLD), _with_task(inputs, _NEW)])
        y = torch.cat([self.source.standardised, observations.y])
        with validate_input_scaling(False):  # each task is standardised, and BoTorch would ask it of all together
            model = MultiTaskGP(tasks, y, task_feature=-1, output_tasks=[int(_NEW)], outcome_transform=None)
        sign = self._agreement(inputs, observations.y) if self.free_sign else 1.0
        if self.free_sign:
            columns = self.source.inputs.shape[1]
            over_inputs = get_covar_module_with_dim_scaled_prior(ard_num_dims=columns, active_dims=list(range(columns)))
            over_tasks = IndexKernel(num_tasks=2, rank=1, active_dims=[columns])
            over_tasks.initialize(covar_factor=torch.tensor([[0.8], [0.8 * sign]]))
            over_tasks.var = torch.full((2,), 0.36)
            model.covar_module = (over_inputs * over_tasks).to(y)
        if sign in self._last_fit:
            model.load_state_dict(self._last_fit[sign])
        fitted = fit(model)
        self._last_fit[sign] = deepcopy(fitted.state_dict())
        return fitted

    def _agreement(self, inputs: Tensor, y: Tensor) -> float:
        with torch.no_grad():
            expected = self.source.model.posterior(inputs).mean
        return 1.0 if float(((expected - expected.mean()) * y).sum()) >= 0 else -1.0


def _with_task(inputs: Tensor, task: float) -> Tensor:
    return torch.cat([inputs, torch.full_like(inputs[:, :1], task)], dim=1)
