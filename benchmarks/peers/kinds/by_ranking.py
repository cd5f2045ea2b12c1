"""RGPE (Feurer et al.): a weighted sum of a process for each old set and one for the new, by how well each ranks."""

import torch
from botorch.models import SingleTaskGP
from botorch.models.model import Model
from torch import Tensor

from benchmarks.methods.rivals.ranking_ensemble import WeightedSum, leave_one_out, misranked
from benchmarks.methods.rivals.source import gaussian_process
from benchmarks.peers.kinds.gaussian import GaussianPeer, standardised
from benchmarks.peers.tasks import Task
from tunedprior.numerics.linalg import cholesky

_SAMPLES = 256
_FEWEST = 3  # with fewer results there is no ranking to speak of, and all processes count alike
_TOLERATED = 0.95  # an old process is dropped when its median loss is beyond this quantile of the new one's


class Ranking(GaussianPeer):
    """f = Σ_k w_k f_k, w_k = P(process k misranks the fewest pairs of new results); leave-one-out for the new process.

    Old processes are fitted once, each to responses standardised by themselves. The weighted sum has units of its own,
    so what is to be improved on is the largest of its means at settings that were tried.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._old = [
            gaussian_process(
                self.rows(one.settings), standardised(torch.tensor(one.responses, dtype=torch.double))[:, None]
            )
            for one in task.old.values()
        ]

    def fitted(self, inputs: Tensor, y: Tensor) -> tuple[Model, float]:
        """The ensemble."""
        y = standardised(y)
        new = gaussian_process(inputs, y)
        generator = torch.Generator().manual_seed(self.task.seed)
        ensemble = WeightedSum([*self._old, new], weights(self._old, new, inputs, y, generator))
        with torch.no_grad():
            return ensemble, float(ensemble.posterior(inputs).mean.max())


def weights(
    old: list[SingleTaskGP], new: SingleTaskGP, inputs: Tensor, y: Tensor, generator: torch.Generator
) -> Tensor:
    """Of the old processes and, last, of the new one: the share of draws in which each loses least; ties are shared."""
    count = len(old) + 1
    if len(y) < _FEWEST:
        return torch.full((count,), 1 / count).to(y)
    normal = torch.randn(count, _SAMPLES, len(y), generator=generator, dtype=y.dtype)
    with torch.no_grad():
        losses = [_loss(model, inputs, y, normal[place]) for place, model in enumerate(old)]
        mean, std = leave_one_out(new)
        # A left-out draw is ranked against the other results as they were measured.
        losses.append(misranked((mean + std * normal[-1])[:, :, None], y.T[None], y))
    table = torch.stack(losses)
    dropped = table[:-1].median(1).values > table[-1].quantile(_TOLERATED)
    table[:-1][dropped] = torch.inf
    least = (table == table.min(0).values).to(y)
    return (least / least.sum(0)).mean(1)


def _loss(model: SingleTaskGP, inputs: Tensor, y: Tensor, normal: Tensor) -> Tensor:
    """Pairs that an old process misranks, one count for each joint draw."""
    expected = model.posterior(inputs).distribution
    jitter = 1e-8 * expected.variance.mean() * torch.eye(len(y)).to(y)
    draws = expected.mean + normal @ cholesky(expected.covariance_matrix + jitter).T
    return misranked(draws[:, :, None], draws[:, None, :], y)
