"""What GP-UCB's regret bounds are with kernels that old data made.

    python -m benchmarks regret-bounds [--smoke | --tables] [--out DIR]

Settings D are a Sobol pool of the box. Every kernel is divided by its mean variance over D, and the objective f has
mean 0 and variance 1 there. With κ = max K(x, x), noise variance σ² and C₁ = 8κ/log(1 + κ/σ²),

    R_T ≤ √(C₁ T β_T γ_T) + 2Tη,    γ_T = max_{|S| = T} ½ log det(I + K_S/σ²)   (a setting may be in S again),

with probability 1 - δ. Bayesian: f is a draw of the process, η = 0, β_T = 2 log(|D| T² π²/(6δ)). Agnostic:
√β_T = ‖h‖ + η√T/σ + √(2γ_T + 2 log(1/δ)) for every h in the RKHS with |f - h| ≤ η on D; the ridge fit of f that makes
the bound least is taken. docs/regret.md has the sources.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from gpytorch.kernels import Kernel
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FormatStrFormatter, NullLocator

from benchmarks.comparison import paired_ratio
from benchmarks.problems.functions import FUNCTIONS, Function
from benchmarks.problems.kinds import old_data
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all
from benchmarks.studies.storing import add_storing, places
from benchmarks.tables import markdown, marked, write_tables
from tunedprior import pretrain
from tunedprior.beliefs import AlignedKernel, FixedReweightedKernel
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.machines import AlphaFit
from tunedprior.models.gaussian_process import UnitDiagonal

NAMES = ("Styblinski-Tang", "Hölder table", "Ackley (shifted)")
#: What old data is on the half of the box with x0 < 0, and on the other half.
OLD_DATA = {
    "right": ("same", "same"),
    "half another function": ("same", "another function"),
    "half noise": ("same", "pure noise"),
    "another function": ("another function", "another function"),
    "pure noise": ("pure noise", "pure noise"),
}
RIGHT = next(iter(OLD_DATA))
TRIALS, POOL, SEEDS = 50, 512, 10
NOISE_VARIANCE, DELTA = 0.01, 0.1
#: A greedy set has at least this share of the largest information gain, as that is monotone and submodular.
GREEDY_SHARE = 1 - np.exp(-1)
#: Ridges of the fits of f, as shares of the largest eigenvalue of K.
_RIDGES = np.geomspace(1e-10, 1e2, 121)


@dataclass(frozen=True)
class Prior:
    """A kernel that old data makes.

    Attributes:
        make_kernel: Makes it, of what a machine learnt from old data.
        base: Makes the free kernel that the machine learns with; its parameter and λ are chosen by leave-one-out error.
    """

    make_kernel: Callable[[AlphaFit], Kernel]
    base: Callable[[], FreeKernel] = SquaredExponential


def make_exact_reweighted(fit: AlphaFit) -> FixedReweightedKernel:
    """K^A₂ as the sum over all pairs of old rows."""
    return FixedReweightedKernel(fit.kernel, fit.anchors, fit.alpha, by_features=False)


PLAIN = "plain"
#: The kernels by name. Sums over old rows are exact: a feature that is left out might be what f needs.
PRIORS = {
    PLAIN: Prior(lambda fit: fit.kernel),
    "re-weighted": Prior(make_exact_reweighted),
    "unit diagonal": Prior(lambda fit: UnitDiagonal(make_exact_reweighted(fit))),
    "aligned": Prior(lambda fit: AlignedKernel(fit.kernel, fit.anchors, fit.alpha, fit.lam, by_features=False)),
}


@dataclass(frozen=True)
class BoundJob:
    """A kernel made of old data of this kind, and the objective it is meant for."""

    problem: str
    kind: str
    prior: str
    seed: int
    pool: int = POOL


@dataclass(frozen=True)
class Terms:
    """What the bounds after T trials depend on.

    Attributes:
        gain: γ_T, or what it is at most.
        largest: κ.
        norm: ‖h‖.
        miss: η.
    """

    gain: float
    largest: float
    norm: float = 0.0
    miss: float = 0.0

    @property
    def size(self) -> float:
        """√(C₁ γ_T)."""
        return float(np.sqrt(8 * self.largest / np.log1p(self.largest / NOISE_VARIANCE) * self.gain))

    @property
    def width(self) -> float:
        """√β_T of the agnostic bound."""
        charged = self.norm + self.miss * np.sqrt(TRIALS / NOISE_VARIANCE)
        return float(charged + np.sqrt(2 * self.gain + 2 * np.log(1 / DELTA)))

    @property
    def agnostic(self) -> float:
        """R_T/T at most, for f itself."""
        return self.size * self.width / np.sqrt(TRIALS) + 2 * self.miss

    def bayesian(self, settings: int) -> float:
        """R_T/T at most, for a draw of the process on so many settings."""
        beta = 2 * np.log(settings * TRIALS**2 * np.pi**2 / (6 * DELTA))
        return float(self.size * np.sqrt(beta / TRIALS))


def find_greedy_gains(covariance: np.ndarray, trials: int, noise_variance: float) -> np.ndarray:
    """½ log det(I + K_S/σ²) of greedy sets S of 1, …, T settings: each adds the one of largest posterior variance."""
    variance, known, gains = covariance.diagonal().copy(), np.zeros((trials, len(covariance))), []
    for trial in range(trials):
        chosen = int(variance.argmax())
        gains.append(np.log1p(max(variance[chosen], 0.0) / noise_variance) / 2)
        left = covariance[chosen] - known[:trial, chosen] @ known[:trial]
        known[trial] = left / np.sqrt(variance[chosen] + noise_variance)
        variance = variance - known[trial] ** 2
    return np.cumsum(gains)


def fit_by_ridges(covariance: np.ndarray, f: np.ndarray) -> list[tuple[float, float]]:
    """‖h‖ and max |f - h| of h = K(K + µI)⁻¹f for each ridge µ, then of h = 0."""
    values, vectors = np.linalg.eigh(covariance)
    values = values.clip(min=0.0)
    projected, found = vectors.T @ f, [(0.0, float(np.abs(f).max()))]
    for ridge in _RIDGES * values[-1]:
        shrunk = projected / (values + ridge)
        found.append((float(np.sqrt(values @ shrunk**2)), float(np.abs(vectors @ (ridge * shrunk)).max())))
    return found[1:] + found[:1]


def make_old_data(kind: str, function: Function, seed: int) -> pd.DataFrame:
    """Old data of the kind: one response on the half with x0 < 0, and one on the other, at the same settings."""
    left, right = (old_data(one, function, seed) for one in OLD_DATA[kind])
    return left.assign(y=left["y"].where(left["x0"] < 0, right["y"]))


def make_covariance(prior: Prior, old: pd.DataFrame, function: Function, pool: np.ndarray) -> np.ndarray:
    """The kernel on the pool, over its mean variance there."""
    learnt = pretrain(old, function.space, kernel=prior.base())
    assert isinstance(learnt.fit, AlphaFit)  # there are few rows
    with torch.no_grad():
        inputs = learnt.reach * torch.tensor(pool)  # the box of rows and space is [-1, 1] in each input
        covariance = prior.make_kernel(learnt.fit)(inputs).to_dense().double().numpy()
    symmetric: np.ndarray = (covariance + covariance.T) / 2
    return symmetric / symmetric.diagonal().mean()


def measure(job: BoundJob) -> list[float]:
    """κ, ‖h‖ and η, then the greedy information gain after each trial."""
    function = FUNCTIONS[job.problem]
    pool = pool_of(function, job.pool, job.seed).to_numpy()
    covariance = make_covariance(PRIORS[job.prior], make_old_data(job.kind, function, job.seed), function, pool)
    f = function(pool)
    gains = find_greedy_gains(covariance, TRIALS, NOISE_VARIANCE)
    gain, largest = gains[-1] / GREEDY_SHARE, float(covariance.diagonal().max())
    fits = fit_by_ridges(covariance, (f - f.mean()) / f.std())
    norm, miss = min(fits, key=lambda fit: Terms(gain, largest, *fit).agnostic)
    return [largest, norm, miss, *gains.tolist()]


STUDY = Study("regret_bounds", BoundJob, measure, "python -m benchmarks regret-bounds")
#: What a cell of the table has, in this order.
MEASURED: tuple[Callable[[Terms], float], ...] = (
    lambda terms: terms.gain,
    lambda terms: terms.bayesian(POOL),
    lambda terms: terms.agnostic,
)


def read_terms(results: pd.DataFrame) -> "pd.Series[Terms]":
    """The `Terms` of every job, by problem, kind, prior and seed."""
    steps = results.pivot(index=["problem", "kind", "prior", "seed"], columns="step", values="value")
    found = [Terms(row[3 + TRIALS] / GREEDY_SHARE, row[1], row[2], row[3]) for _, row in steps.iterrows()]
    return pd.Series(found, index=steps.index)


def tables(results: pd.DataFrame) -> dict[str, str]:
    """γ_T, the Bayesian and the agnostic bound, over those of the plain kernel with right old data.

    Geometric means over functions; in bold where 95 % of a bootstrap over seeds is below 1, slanted where it is above.
    """
    terms = read_terms(results)
    problems = [name for name in NAMES if name in set(results["problem"])]

    def compare(kind: str, prior: str, measured: Callable[[Terms], float]) -> str:
        own, base = (
            np.array([[measured(one) for one in terms.loc[name, which, form]] for name in problems])
            for which, form in ((kind, prior), (RIGHT, PLAIN))
        )
        return marked(paired_ratio(own, base, least=0.0)).split(" ")[0]

    cells = {
        prior: [", ".join(compare(kind, prior, measured) for measured in MEASURED) for kind in OLD_DATA]
        for prior in PRIORS
    }
    return {"regret bounds": markdown(pd.DataFrame(cells, index=pd.Index(OLD_DATA, name="old data")))}


_COLOURS = dict(zip(OLD_DATA, ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00"), strict=True))


def draw_bounds(results: pd.DataFrame) -> Figure:
    """A panel for each kernel: √(C₁γ_T) and √β_T over those of the plain kernel with right old data."""
    terms = read_terms(results)
    shown = [name for name in PRIORS if name != PLAIN]
    figure = Figure(figsize=(3.4 * len(shown), 4.4), layout="constrained")
    panels = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    for prior, axes in zip(shown, panels, strict=True):
        for kind, colour in _COLOURS.items():
            own = terms.xs((kind, prior), level=("kind", "prior"))
            base = terms.xs((RIGHT, PLAIN), level=("kind", "prior")).loc[own.index]
            points = np.array([(a.size / b.size, a.width / b.width) for a, b in zip(own, base, strict=True)])
            axes.plot(*points.T, "o", color=colour, markersize=3.5, alpha=0.45, markeredgewidth=0)
            middle = np.exp(np.log(points).mean(axis=0))
            axes.plot(*middle, "D", color=colour, markersize=9, markeredgecolor="white", label=kind)
        axes.set(xscale="log", yscale="log", xlim=(0.3, 15), ylim=(0.09, 15))
        axes.set_xlabel("√(C₁γ_T): what there is to learn")
        axes.set_title(f"{prior} kernel", loc="left", fontsize=11)
        axes.axline((0.1, 10), (10, 0.1), color="0.4", linewidth=1, zorder=0, label="bound of the plain kernel")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(FixedLocator([0.1, 0.2, 0.5, 1, 2, 5, 10, 20]))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter(FormatStrFormatter("%g"))
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("√β_T: how badly the objective fits")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    add_storing(parser, "one function, one seed, 64 settings, nothing stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the table."""
    names, seeds, pool = (NAMES[:1], 1, 64) if arguments.smoke else (NAMES, SEEDS, POOL)
    jobs = [
        BoundJob(name, kind, prior, seed, pool)
        for name in names
        for seed in range(seeds)
        for kind in OLD_DATA
        for prior in PRIORS
    ]
    results, docs = places(arguments)
    found = tables(read_results(STUDY.name, results or RESULTS) if arguments.tables else run_all(STUDY, jobs, results))
    print(found["regret bounds"])
    if not arguments.smoke:
        write_tables(docs / "regret.md", found)
