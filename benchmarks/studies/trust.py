"""What each belief means, as draws from it, and how trust moves over a run, with old data of several kinds.

    python -m benchmarks trust [--out DIR]

The figures of docs/beliefs.md.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import SPACE, old_data
from benchmarks.problems.pools import pool_of
from benchmarks.studies.trust_figures import draw_beliefs_held, draw_trust
from benchmarks.tables import DOCS
from tunedprior import Optimizer
from tunedprior.beliefs import KernelBelief, beliefs
from tunedprior.campaign import simulate
from tunedprior.machines import AlphaFit
from tunedprior.numerics.linalg import cholesky

NAME, SEED, STEPS, POOL = "Styblinski-Tang", 100, 20, 1024
GRID = torch.linspace(-1, 1, 161, dtype=torch.float64)[:, None]
#: What is drawn: old data by the name of its kind.
DRAWN = ("flipped", "noisy flip", "shifted", "binary labels", "another function", "pure noise")
#: Beliefs in the order of their panels, which decides which draws each gets.
HELD = ("aligned", "matched", "uncertain", "reweighted")


def campaign(kind: str, steps: int) -> Optimizer:
    """An optimiser that was told the first settings and so many of its own."""
    function = FUNCTIONS[NAME]
    pool = pool_of(function, POOL, SEED)
    optimizer = Optimizer(SPACE, old_data(kind, function, SEED), seed=SEED)
    first = np.random.default_rng(SEED).choice(len(pool), size=function.num_inputs + 1, replace=False)
    begun = pool.iloc[first].to_dict("records")
    simulate(optimizer, function.respond, len(begun) + steps, first=begun, candidates=pool)
    return optimizer


def draws(count: int = 4) -> tuple[torch.Tensor, torch.Tensor, dict[str, torch.Tensor]]:
    """Old settings and responses of one input, and on a grid what each belief about them holds possible.

    The old data covers the left two thirds only.
    """
    random = torch.Generator().manual_seed(0)
    settings = torch.linspace(-1, 0.3, 14, dtype=torch.float64)[:, None]
    response = torch.sin(6 * settings[:, 0]) + 0.8 * settings[:, 0]
    standardised = (response - response.mean()) / response.std(correction=0)
    fit = AlphaFit.by_evidence(settings, standardised, torch.tensor([0.35]))
    kernels = {one.name: one.kernel(fit) for one in beliefs() if isinstance(one, KernelBelief)}
    kernels = {name: kernels[name] for name in HELD} | {"uninformed": fit.kernel}
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
        trust = campaign(kind, STEPS).trust
        histories[kind] = trust.history
        print(f"{kind} old data\n{trust}\n")
    draw_trust(histories, figures / "trust")
    draw_beliefs_held(GRID, *draws(), figures / "held")
