"""How trust moves over a run, with old data of several kinds, and draws from each belief about some old data.

    python -m benchmarks trust [--out DIR]

Stores what the pictures of docs/beliefs.md and the second of docs/ideas.md are drawn from (`make pictures`):
`trust.csv` has a row for each kind of old data and result, with the row of the pool that was tried; `held.csv` has old
data of one input and, on a grid, a column for each draw.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from gpytorch.kernels import Kernel
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from benchmarks.problems.functions import FUNCTIONS
from benchmarks.problems.kinds import SPACE, old_data
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, replace_file
from tunedprior import Optimizer
from tunedprior.beliefs import get_belief
from tunedprior.beliefs.registry import PriorCovariance
from tunedprior.campaign import simulate
from tunedprior.machines import AlphaFit
from tunedprior.numerics.linalg import cholesky
from tunedprior.numerics.stationary import Axes, compute_matern_and_slope, compute_squared_differences

NAME, SEED, STEPS, POOL = "Styblinski-Tang", 100, 20, 1024
GRID = torch.linspace(-1, 1, 161, dtype=torch.float64)[:, None]
#: Old data by the name of its kind; the picture of beliefs has all but the first.
KINDS = ("same", "flipped", "noisy flip", "shifted", "binary labels", "another function", "pure noise")
#: Beliefs of the average, in the order of their areas, and what is stored of each run.
_AREAS = {"aligned": "#9ecae1", "shape": "#fdd0a2", "uninformed": "0.92"}
_STORED = [*_AREAS, "trust"]
#: Beliefs in the order of their panels, which decides which draws each gets: those of the average come first.
HELD = (*_AREAS, "matched", "uncertain", "reweighted")
_OLD = "old data"
_DRAWS = ("#0072b2", "#009e73", "#56b4e9", "black")  # none like the old data's


def campaign(kind: str, steps: int) -> Optimizer:
    """An optimiser that was told the first settings and so many of its own."""
    function, pool = FUNCTIONS[NAME], _pool()
    optimizer = Optimizer(SPACE, old_data(kind, function, SEED), direction="maximize", seed=SEED)
    first = np.random.default_rng(SEED).choice(len(pool), size=function.num_inputs + 1, replace=False)
    begun = pool.iloc[first].to_dict("records")
    simulate(optimizer, function.respond, len(begun) + steps, first=begun, candidates=pool)
    return optimizer


def course(kind: str, optimizer: Optimizer) -> pd.DataFrame:
    """How probable each belief is and how far old data is trusted after each result, and which row was tried for it."""
    pool = _pool()
    told = pd.DataFrame([one.setting for one in optimizer.trials.told])[list(pool.columns)].to_numpy()
    rows = [int(((pool.to_numpy() - one) ** 2).sum(axis=1).argmin()) for one in told]
    found = optimizer.trust.history[_STORED].round(6).rename_axis("results").reset_index()
    return found.assign(kind=kind, row=pd.array([pd.NA, *rows], dtype="Int64"))[["kind", "results", "row", *_STORED]]


def told_again(kind: str, rows: Iterable[int]) -> Optimizer:
    """An optimiser that was told the results at these rows of the pool, without choosing anything."""
    function = FUNCTIONS[NAME]
    optimizer = Optimizer(SPACE, old_data(kind, function, SEED), direction="maximize", seed=SEED)
    for setting in _pool().iloc[list(rows)].to_dict("records"):
        optimizer.tell(setting, function.respond(setting))
    return optimizer


def _pool() -> pd.DataFrame:
    return pool_of(FUNCTIONS[NAME], POOL, SEED)


def draws(count: int = len(_DRAWS)) -> pd.DataFrame:
    """On a grid, old data of one input (where it was measured) and what each belief about it holds possible.

    The old data covers the left two thirds only. A belief with several versions gives each draw the next of them.
    """
    random = torch.Generator().manual_seed(2)
    settings = torch.linspace(-1, 0.3, 14, dtype=torch.float64)[:, None]
    response = torch.sin(6 * settings[:, 0]) + 0.8 * settings[:, 0]
    standardised = (response - response.mean()) / response.std(correction=0)
    fit = AlphaFit.fit_by_evidence(settings, standardised, torch.tensor([0.35]))
    found = pd.DataFrame(index=pd.Index(GRID[:, 0].numpy().round(6), name="setting"))
    for name in HELD:
        versions = get_belief(name).make_prior_covariances([fit], Axes.make_numeric(1))
        for number in range(count):
            covariance = _covariance(versions[number % len(versions)])
            root = cholesky(covariance / covariance.diagonal().mean() + 1e-9 * torch.eye(len(GRID)))
            noise = torch.randn(len(GRID), generator=random, dtype=torch.float64)
            found[f"{name} {number + 1}"] = (root @ noise).numpy()
    old = pd.Series(response.numpy(), settings[:, 0].numpy().round(6), name=_OLD)
    return pd.concat([old, found], axis=1).sort_index().rename_axis("setting").round(6)


def _covariance(version: PriorCovariance) -> torch.Tensor:
    """On the grid: of the version's kernel, or Matérn-5/2 with its length-scales."""
    if isinstance(version.covariance, Kernel):
        with torch.no_grad():
            return version.covariance.forward(GRID, GRID)
    return compute_matern_and_slope(version.covariance[None] ** -2, compute_squared_differences(GRID, GRID))[0][0]


def draw_trust(stored: pd.DataFrame) -> Figure:
    """A panel for each kind of old data: how probable each belief is after each result, and trust as a line."""
    histories = {kind: some.set_index("results") for kind, some in stored.groupby("kind", sort=False)}
    shown = {kind: history for kind, history in histories.items() if kind != KINDS[0]}
    figure, panels = plt.subplots(
        (len(shown) + 1) // 2, 2, figsize=(5.2, 6.6), sharey=True, squeeze=False, layout="constrained"
    )
    for (kind, history), axes in zip(shown.items(), panels.flat, strict=False):
        areas = [history[belief] for belief in _AREAS]
        axes.stackplot(history.index, *areas, labels=list(_AREAS), colors=list(_AREAS.values()))
        axes.plot(history.index, history["trust"], label="trust", color="#d55e00", linewidth=2.4)
        axes.set_title(kind, loc="left", fontsize=11)
        axes.set(xlim=(0, history.index.max()), ylim=(0, 1))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in panels[-1]:
        axes.set_xlabel("results")
    figure.supylabel("probability (areas), trust (line)", fontsize=10)
    labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(*labels, loc="outside lower center", ncols=2, frameon=False)
    return figure


def draw_beliefs_held(stored: pd.DataFrame) -> Figure:
    """The old data, then a panel for each belief about it: objectives that it holds possible."""
    found = stored.set_index("setting")
    old = found[_OLD].dropna()
    figure, panels = plt.subplots(4, 2, figsize=(5.2, 7.2), layout="constrained")
    panels[0, 0].plot(old.index, old, "o", color="#d55e00", markersize=4)
    panels[0, 0].set_title("the old data", loc="left", fontsize=11)
    panels[0, 1].set_axis_off()
    panels[0, 1].text(0, 0.5, "Next: the default's\nthree beliefs. Then: those\nthat can be used instead.", va="center")
    places = panels.flat[2:]
    for name, axes in zip(HELD, places, strict=True):
        columns = [column for column in found.columns if column.split(" ")[0] == name]
        for column, colour in zip(columns, _DRAWS, strict=True):
            line = found[column].dropna()
            axes.plot(line.index, line, linewidth=1.4, color=colour)
        axes.set_title(name, loc="left", fontsize=11)
        axes.axvspan(old.index.min(), old.index.max(), color="#d55e00", alpha=0.08, linewidth=0)
    for axes in (panels[0, 0], *places):
        axes.set(yticks=[], xlim=(-1.05, 1.05), xticks=[-1, 0, 1], xlabel="setting")
    for axes in panels[:, 0]:
        axes.set_ylabel("response")
    return figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, default=RESULTS, help="where results go, instead of into the project")


def main(arguments: argparse.Namespace) -> None:
    """Run the campaigns and draw from the beliefs, and store both."""
    courses = []
    for kind in KINDS:
        optimizer = campaign(kind, STEPS)
        courses.append(course(kind, optimizer))
        print(f"{kind} old data\n{optimizer.trust}\n")
    replace_file(arguments.out / "trust.csv", pd.concat(courses).to_csv(index=False))
    replace_file(arguments.out / "held.csv", draws().reset_index().to_csv(index=False))
    print(f"Results are in {arguments.out}; `make pictures` draws them.")
