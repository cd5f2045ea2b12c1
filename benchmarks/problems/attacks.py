"""Attempts to find the rows of old data in a file that says what was learnt from it.

Each is given the file alone and the number of rows, which is more than it says, and returns as many guesses. They use
no more than the function g, its kernel and the variance that is left open, as anybody could who loads the file.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from tunedprior import WeightPrior
from tunedprior.beliefs import get_belief


def fine_grid(num_inputs: int, count: int = 600) -> Tensor:
    """Points among which rows are looked for."""
    if num_inputs == 1:
        return torch.linspace(-1, 1, count, dtype=torch.float64)[:, None]
    return 2 * torch.quasirandom.SobolEngine(num_inputs, scramble=True, seed=5).draw(count, dtype=torch.float64) - 1


def stored_points(prior: WeightPrior, count: int) -> Tensor:
    """The points that the file holds, those with the largest coefficients first."""
    return prior.anchors[prior.alpha.abs().argsort(descending=True)[:count]]


def best_known_places(prior: WeightPrior, count: int) -> Tensor:
    """Where least is left open, one after the other, each apart from those before."""
    grid = fine_grid(prior.anchors.shape[1])
    with torch.no_grad():
        kernel = get_belief("aligned").make_kernel(prior.fit)
        left = kernel(grid, diag=True) - prior.fit(grid).square()
    return _apart(grid, -left, count)


def extremes(prior: WeightPrior, count: int) -> Tensor:
    """Where g bends most: bumps of short length-scales sit at rows."""
    step = 0.02
    grid = (1 - step) * fine_grid(prior.anchors.shape[1])
    bend = torch.zeros(len(grid), dtype=torch.float64)
    for column in range(grid.shape[1]):
        shift = torch.zeros(grid.shape[1], dtype=torch.float64)
        shift[column] = step
        bend += prior.fit(grid + shift) + prior.fit(grid - shift) - 2 * prior.fit(grid)
    return _apart(grid, bend.abs(), count)


def matching_pursuit(prior: WeightPrior, count: int) -> Tensor:
    """g as a sum of as many kernels at unknown points as there are rows: the point that explains most, then the next.

    Its size is measured as the kernel measures it, in which a sum over rows is as sharp as it can be.
    """
    grid = fine_grid(prior.anchors.shape[1])
    with torch.no_grad():
        gram = prior.base(grid).to_dense()
    values, chosen = prior.fit(grid), list[int]()
    residual = values.clone()
    for _ in range(count):
        score = residual.abs() / gram.diagonal().sqrt()
        score[chosen] = -1.0
        chosen.append(int(score.argmax()))
        own = gram[chosen][:, chosen] + 1e-9 * torch.eye(len(chosen), dtype=torch.float64)
        residual = values - gram[:, chosen] @ torch.linalg.solve(own, values[chosen])
    return grid[chosen]


ATTACKS: dict[str, Callable[[WeightPrior, int], Tensor]] = {
    "stored points": stored_points,
    "best known places": best_known_places,
    "extremes": extremes,
    "matching pursuit": matching_pursuit,
}


def chance(guesses: Tensor, rows: Tensor, others: int = 400) -> float:
    """The share of other data sets, drawn as the rows were, that the guesses come as close to: small for a success.

    Closeness is the mean, over the rows, of the distance to the nearest guess. Rows are drawn evenly from the box, so a
    guess that is no better than the knowledge of the box gives anything from 0 to 1, each value as likely as any other.
    """
    random = np.random.default_rng(0)
    elsewhere = [_distance(guesses, torch.as_tensor(random.uniform(-1, 1, tuple(rows.shape)))) for _ in range(others)]
    return float(np.mean(np.array(elsewhere) <= _distance(guesses, rows)))


def _distance(guesses: Tensor, rows: Tensor) -> float:
    return float(torch.cdist(rows, guesses).amin(1).mean())


def _apart(grid: Tensor, score: Tensor, count: int) -> Tensor:
    """The points of the largest scores, each at least a little away from those before."""
    least = 0.5 * (2.0 ** grid.shape[1] / count) ** (1 / grid.shape[1])
    left, chosen = score.clone(), list[int]()
    while len(chosen) < count and bool((left > -torch.inf).any()):
        chosen.append(int(left.argmax()))
        near = (grid - grid[chosen[-1]]).norm(dim=1) < least
        left[near] = -torch.inf
    return grid[chosen]
