"""A multi-task Gaussian process over old sets and the new one: as BoTorch has it, and with correlations of any sign."""

from typing import Any

import torch
from botorch.models import MultiTaskGP
from botorch.models.model import Model
from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
from botorch.settings import validate_input_scaling
from gpytorch.constraints import GreaterThan, Interval
from gpytorch.kernels import Kernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import LogNormalPrior
from torch import Tensor

from benchmarks.peers.kinds.gaussian import GaussianPeer, standardised
from benchmarks.peers.tasks import Task
from tunedprior.models.gaussian_process import fit

_START = 0.9  # the correlation, but for its sign, that a search begins from
_FIRST_STEPS = 8
_MOST_STEPS = 200  # of a fit; unlimited, BoTorch's takes more than a thousand on old data without noise
_FULL = 0.99999  # a correlation that leaves half a per cent of the amplitude unexplained, and a matrix that is regular


class MultiTask(GaussianPeer):
    """cov(f_s(x), f_t(x')) = B_st k(x, x'), `MultiTaskGP` as it comes: B's entries are positive.

    Each task is standardised by itself, as BoTorch advises; the last one is new.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._old = [
            (self.rows(one.settings), standardised(torch.tensor(one.responses, dtype=torch.double))[:, None])
            for one in task.old.values()
        ]

    def fitted(self, inputs: Tensor, y: Tensor) -> tuple[Model, float]:
        """The process, for the new task; to be improved on is its best response, standardised."""
        y = standardised(y)
        return self.fitted_to([*self._old, (inputs, y)]), float(y.max())

    def fitted_to(self, tables: list[tuple[Tensor, Tensor]]) -> MultiTaskGP:
        """The process over tables of settings and standardised responses."""
        return fit(unfitted(tables), _MOST_STEPS)


class FreeSign(MultiTask):
    """`MultiTaskGP` with B of full rank: correlations lie anywhere between -1 and 1, without a prior on them.

    The likelihood may have a peak for either sign. Each old set's sign is the likelier one after a few steps with that
    set and the new one alone; the search over all parameters begins there.
    """

    def fitted_to(self, tables: list[tuple[Tensor, Tensor]]) -> MultiTaskGP:
        """The process over tables, after a decision about signs."""
        *old, new = tables
        signs = [self._sign(one, new) for one in old]
        begun = FullRank(torch.tensor([*signs, 1.0], dtype=torch.double) * _START**0.5)
        return fit(unfitted(tables, begun), _MOST_STEPS)

    def _sign(self, old: tuple[Tensor, Tensor], new: tuple[Tensor, Tensor]) -> float:
        likelihoods = {}
        for sign in (1.0, -1.0):
            begun = FullRank(torch.tensor([sign, 1.0], dtype=torch.double) * _START**0.5)
            likelihoods[sign] = _log_posterior(fit(unfitted([old, new], begun), _FIRST_STEPS))
        return max(likelihoods, key=likelihoods.get)


class FullRank(Kernel):
    """B = A R A with a diagonal A = diag(1, a_2, ...) and any correlation matrix R = L Lᵀ.

    L_ij = z_ij Π_{k<j} √(1 - z_ik²) for j < i, and z_ii = 1: z are partial correlations, each free in (-1, 1).

    Args:
        loadings: The search begins with R_ij = loadings_i loadings_j.
    """

    def __init__(self, loadings: Tensor) -> None:
        super().__init__(active_dims=None)
        begun = torch.outer(loadings, loadings).fill_diagonal_(1.0)
        self._places = torch.tril_indices(len(loadings), len(loadings), offset=-1)
        partial = _partial(torch.linalg.cholesky(begun))[tuple(self._places)]
        self.register_parameter("partial", torch.nn.Parameter(partial))
        self.register_parameter("amplitudes", torch.nn.Parameter(torch.ones(len(loadings) - 1, dtype=torch.double)))
        self.register_constraint("partial", Interval(-_FULL, _FULL, transform=None))
        self.register_constraint("amplitudes", GreaterThan(1e-2, transform=None))
        self.register_prior("amplitudes_prior", LogNormalPrior(0.0, 1.0), "amplitudes")

    @property
    def covariance(self) -> Tensor:
        """B."""
        amplitudes = torch.cat([torch.ones_like(self.amplitudes[:1]), self.amplitudes])
        partial = torch.eye(len(amplitudes)).to(amplitudes).index_put(tuple(self._places), self.partial)
        left = torch.cat([torch.ones_like(partial[:, :1]), (1 - partial.tril(-1) ** 2).sqrt().cumprod(1)[:, :-1]], 1)
        factor = amplitudes[:, None] * partial * left
        return factor @ factor.T

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **_params: Any) -> Tensor:
        """B at the tasks of x1 and x2."""
        first, second = x1[..., 0].long(), x2[..., 0].long()
        if diag:
            return self.covariance[first, second]
        return self.covariance[first[..., :, None], second[..., None, :]]


def unfitted(tables: list[tuple[Tensor, Tensor]], over_tasks: FullRank | None = None) -> MultiTaskGP:
    """A process over tables of settings and responses; predictions are of the last."""
    inputs = torch.cat([_with_task(rows, task) for task, (rows, _) in enumerate(tables)])
    y = torch.cat([responses for _, responses in tables])
    with validate_input_scaling(False):  # each task is standardised, and BoTorch would ask it of all together
        model = MultiTaskGP(inputs, y, task_feature=-1, output_tasks=[len(tables) - 1], outcome_transform=None)
    if over_tasks is not None:
        columns = inputs.shape[1] - 1
        over_inputs = get_covar_module_with_dim_scaled_prior(ard_num_dims=columns, active_dims=list(range(columns)))
        over_tasks.active_dims = torch.tensor([columns])
        model.covar_module = (over_inputs * over_tasks).to(y)
    return model


def _partial(factor: Tensor) -> Tensor:
    """z of a Cholesky factor L of a correlation matrix."""
    rest = 1 - torch.cat([torch.zeros_like(factor[:, :1]), (factor**2).cumsum(1)[:, :-1]], 1)
    return factor / rest.clamp_min(1e-12).sqrt()


def _log_posterior(model: MultiTaskGP) -> float:
    """What the fit maximised."""
    likelihood = ExactMarginalLogLikelihood(model.likelihood, model).train()
    with torch.no_grad():
        return float(likelihood(model(*model.train_inputs), model.train_targets, *model.train_inputs))


def _with_task(inputs: Tensor, task: int) -> Tensor:
    return torch.cat([inputs, torch.full_like(inputs[:, :1], float(task))], dim=1)
