"""What each belief means, as draws from it, and how trust moves over a run, with old data of several kinds.

    python -m benchmarks trust [--out DIR]

The figures of docs/beliefs.md.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from benchmarks.figures import draw_beliefs_held, draw_trust
from benchmarks.functions import FUNCTIONS
from benchmarks.old_data import SPACE, old_data
from benchmarks.paper import DOCS, pool_of
from tunedprior import Optimizer
from tunedprior.linalg import cholesky
from tunedprior.old_fits import BELIEFS, OldFit

NAME, SEED, STEPS, POOL = "Styblinski-Tang", 100, 20, 1024
GRID = torch.linspace(-1, 1, 161, dtype=torch.float64)[:, None]
#: What is drawn: old data by the name of its kind.
DRAWN = ("flipped", "noisy flip", "shifted", "binary labels", "another function", "pure noise")


def campaign(kind: str, steps: int = STEPS) -> Optimizer:
    """An optimiser that was told the first settings and so many of its own."""
    function = FUNCTIONS[NAME]
    pool = pool_of(function, POOL, SEED)
    optimizer = Optimizer(SPACE, old_data(kind, function, SEED), seed=SEED)
    first = np.random.default_rng(SEED).choice(len(pool), size=function.num_inputs + 1, replace=False)
    chosen = pool.iloc[first]
    optimizer.tell(chosen, function(chosen.to_numpy()))
    for _ in range(steps):
        setting = optimizer.ask(candidates=pool)
        optimizer.tell(setting, float(function(np.array(list(setting.values())))))
    return optimizer


def draws(count: int = 4) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Old settings and responses of one input, and on a grid what each belief about them holds possible.

    The old data covers the left two thirds only.
    """
    random = torch.Generator().manual_seed(0)
    settings = torch.linspace(-1, 0.3, 14, dtype=torch.float64)[:, None]
    response = torch.sin(6 * settings[:, 0]) + 0.8 * settings[:, 0]
    reading = OldFit.at(settings, (response - response.mean()) / response.std(correction=0), torch.tensor([0.35]))
    kernels = {belief: reading.belief(belief) for belief in BELIEFS} | {"uninformed": reading.kernel}
    found = {}
    for name, kernel in kernels.items():
        with torch.no_grad():
            covariance = kernel.forward(GRID, GRID)
        covariance = covariance / covariance.diagonal().mean() + 1e-9 * torch.eye(len(GRID))
        found[name] = cholesky(covariance) @ torch.randn(len(GRID), count, generator=random, dtype=torch.float64)
    return settings, response, found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, help="where the figure goes, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run the campaigns and draw them, and the beliefs."""
    figures = (DOCS if arguments.out is None else arguments.out) / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    histories = {}
    for kind in DRAWN:
        trust = campaign(kind).trust
        histories[kind] = trust.history
        print(f"{kind} old data\n{trust}\n")
    draw_trust(histories, figures / "trust")
    draw_beliefs_held(GRID, *draws(), figures / "held")
