"""The demonstration behind `make demo`: design a fibre on device B, with device A's records at hand.

As in the paper, device B can be run at 155 settings, and the aim is a median length of 500 µm. Unlike in the paper,
everything here is a simulation (see `benchmarks/problems/fibre.py`).
"""

import argparse
import time
import warnings
from functools import partial
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator
from scipy.stats import spearmanr
from tqdm import tqdm

from benchmarks.problems.fibre import TARGET_LENGTH, fibre_length, lengths, space, squared_miss, tables
from benchmarks.results import replace_file
from tunedprior import Optimizer, Target, TransferConfig, WeightPrior, pretrain
from tunedprior.campaign import simulate
from tunedprior.space.search_space import Setting


def made(prior: str, known: pd.DataFrame | WeightPrior | None, seed: int) -> Optimizer:
    """What is asked: the average for the length itself, the paper's algorithm for the squared distance."""
    if prior == "average":
        return Optimizer(space("B"), known, direction=Target(TARGET_LENGTH), target="length", seed=seed)
    return Optimizer(space("B"), known, direction="minimize", seed=seed, transfer=TransferConfig(prior=prior))


def response_of(optimizer: Optimizer, setting: Setting) -> float:
    """What an experiment on device B gives, as the optimiser takes it."""
    length = fibre_length(setting, "B")
    return length if optimizer.target == "length" else squared_miss(length)


def miss_of(optimizer: Optimizer, response: float) -> float:
    """How far from the target that is, in µm."""
    return abs(response - TARGET_LENGTH) if optimizer.target == "length" else response**0.5


def campaign(optimizer: Optimizer, settings: pd.DataFrame, trials: int, bar: tqdm) -> list[float]:
    """How far the best fibre so far is from the target, in µm, after each trial."""

    def show(optimizer: Optimizer) -> None:
        bar.set_postfix_str(f"best is {miss_of(optimizer, optimizer.best.value):.1f} µm off")
        bar.update()

    respond = partial(response_of, optimizer)
    return [miss_of(optimizer, best) for best in simulate(optimizer, respond, trials, candidates=settings, after=show)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument(
        "--prior", choices=("average", "reweighted"), default="average", help="what to make of old data"
    )
    parser.add_argument("--trials", type=int, default=20, help="experiments on device B, for each way and repeat")
    parser.add_argument("--repeats", type=int, default=8, help="campaigns with different seeds")
    parser.add_argument("--picture", type=Path, default=Path("demo.png"))
    parser.add_argument(
        "--store", type=Path, metavar="CSV", help="keep every campaign's distances, in place of this prior's"
    )


def main(arguments: argparse.Namespace) -> None:
    """Run the campaigns, print what they found, and draw how they went."""
    # Old data is thin in places by design; what matters is printed.
    warnings.simplefilter("ignore")
    started = time.perf_counter()

    print("SIMULATION: short polymer fibres, wanted length 500 µm. Physics invented, device speeds from the paper.")
    old, new = tables(seed=0)
    if arguments.prior == "average":  # the same records, with the length itself
        old = lengths("A", len(old), seed=0)
    print(f"There are {len(old)} records of device A (prior: {arguments.prior}).")
    if arguments.prior == "reweighted":  # once for all campaigns
        old = pretrain(old, space("B"), direction="minimize")
    settings = new.drop(columns="y")

    misses: dict[str, list[list[float]]] = {"with device A's records": [], "without": []}
    ranks: dict[str, list[float]] = {name: [] for name in misses}
    best = None
    with tqdm(total=2 * arguments.repeats * arguments.trials, unit="experiment") as bar:
        for seed in range(arguments.repeats):
            for name, known in (("with device A's records", old), ("without", None)):
                bar.set_description(name)
                optimizer = made(arguments.prior, known, seed)
                misses[name].append(campaign(optimizer, settings, arguments.trials, bar))
                ranks[name].append(rank_correlation(optimizer, settings))
                if known is not None and (best is None or misses[name][-1][-1] < best[0]):
                    best = misses[name][-1][-1], optimizer.best.setting

    print("\nBest settings for device B (simulated):")
    for name, value in best[1].items():
        print(f"  {name:24s} {value:10.4g}")
    print(f"  {'fibre length':24s} {fibre_length(best[1], 'B'):10.4g} µm (wanted {TARGET_LENGTH:g})")
    print(f"\nMean distance from the target over {arguments.repeats} campaigns, µm:")
    steps = sorted({5, 10, 15, arguments.trials} & set(range(1, arguments.trials + 1)))
    print("  after trial".ljust(28) + "".join(f"{step:>9d}" for step in steps))
    for name, curves in misses.items():
        means = np.mean(curves, axis=0)
        print(f"  {name:26s}" + "".join(f"{means[step - 1]:9.1f}" for step in steps))
    print("\nRank correlation of the final models' predictions with the truth, over all 155 settings:")
    for name, values in ranks.items():
        print(f"  {name:26s}{np.mean(values):9.2f}")
    draw(misses, arguments.picture)
    if arguments.store is not None:
        store(arguments.store, arguments.prior, misses, ranks)
    print(f"\nPicture: {arguments.picture}   ({time.perf_counter() - started:.0f} s)")


def store(path: Path, prior: str, misses: dict[str, list[list[float]]], ranks: dict[str, list[float]]) -> None:
    """A row for each campaign and trial; what the file holds of other priors stays."""
    rows = [
        {"prior": prior, "old": name, "seed": seed, "trial": trial, "distance": f"{miss:.9g}", "rank": f"{rank:.9g}"}
        for name, curves in misses.items()
        for seed, (curve, rank) in enumerate(zip(curves, ranks[name], strict=True))
        for trial, miss in enumerate(curve, start=1)
    ]
    known = pd.read_csv(path, dtype=str).query("prior != @prior") if path.exists() else pd.DataFrame()
    replace_file(path, pd.concat([known, pd.DataFrame(rows)]).to_csv(index=False))


def rank_correlation(optimizer: Optimizer, settings: pd.DataFrame) -> float:
    """How well the model's predictions rank all of device B's settings, tried or not."""
    truth = [squared_miss(fibre_length(setting, "B")) for setting in settings.to_dict("records")]
    expected = optimizer.predict(settings)["mean"]
    if optimizer.target == "length":
        expected = squared_miss(expected)
    return float(spearmanr(expected, truth).statistic)


def draw(misses: dict[str, list[list[float]]], path: Path) -> None:
    """Convergence: every campaign thin, their mean thick."""
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    for (name, curves), colour in zip(misses.items(), ("black", "tab:orange"), strict=True):
        trials = np.arange(1, len(curves[0]) + 1)
        for curve in curves:
            axes.plot(trials, curve, color=colour, alpha=0.25, linewidth=1)
        axes.plot(trials, np.mean(curves, axis=0), color=colour, linewidth=2.5, label=name)
    axes.set(xlabel="experiment on device B", ylabel="best fibre's distance from 500 µm", yscale="log")
    axes.set_title("Short polymer fibres (simulation)", loc="left")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
