"""Many old rows: α for a few of them, fitted to all, against features, fewer rows, and α for each.

    python -m benchmarks pruning [--smoke] [--tables]

Old data is the objective upside down with noise. Length-scale and λ are chosen once, on 300 rows (in campaigns 100),
and are the same for all methods. Errors are held against the fit with an α for each row, variances of the kernel
against its sum over all pairs of rows; campaigns choose from a pool of 1,024 settings. Times are of the processor, on
one thread.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from benchmarks.comparison import LEAST_REGRET, mean_values, paired_ratio
from benchmarks.methods.by_name import BASELINE
from benchmarks.problems.functions import Function, function_named
from benchmarks.problems.kinds import old_data
from benchmarks.problems.pools import pool_of
from benchmarks.results import RESULTS, read_results
from benchmarks.runner import Study, run_all, run_in_turn
from benchmarks.tables import DOCS, markdown, marked, write_tables
from tunedprior import Optimizer, SearchConfig
from tunedprior.campaign import simulate
from tunedprior.kernels import FreeKernel, SquaredExponential
from tunedprior.machines import AlphaFit, FeatureFit, LeastSquares, PrunedLeastSquares, select
from tunedprior.machines.feature_ridge import FeatureMap, NormalEquations
from tunedprior.models.gaussian_process import StandardSurrogate
from tunedprior.models.surrogate import Surrogate
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import read_old_data
from tunedprior.source_data.training_set import MOST_ROWS_WITH_ALPHA, TrainingSet, draw_row_numbers
from tunedprior.space.encoding import Box
from tunedprior.space.search_space import Space
from tunedprior.weight_prior.pretraining import LAMBDAS
from tunedprior.weight_prior.prior import WeightPrior
from tunedprior.weight_prior.tuned_prior import TunedPrior

ROWS = (500, 1000, 2000, 5000)
#: Many features are needed for a rough response in two inputs, and for any in six, where campaigns take minutes.
PROBLEMS = ("eggholder", "Hartmann-6")
#: Where Algorithm 1 is known to help.
IN_CAMPAIGNS = ("Styblinski-Tang",)
EACH, FEATURES = "α for each row", "features"
PRUNED, PRUNED_MORE, RANDOM = "pruned to 200", "pruned to 100", "200 random rows"
# Rows that length-scale and λ are chosen on, for fits and for campaigns.
_CHOSEN_ON, _CHOSEN_ON_IN_CAMPAIGNS = 300, 100
_MOST_FEATURES = 2048
_HELD_OUT, _VARIANCES, _TOLD, _CANDIDATES = 1000, 20, 10, 256


@dataclass(frozen=True)
class FitJob:
    """A fit of so many old rows, and one suggestion with it."""

    problem: str
    rows: int
    method: str
    seed: int


@dataclass(frozen=True)
class CampaignJob:
    """A campaign with so many old rows; 0 for the standard process, which sees none."""

    problem: str
    rows: int
    method: str
    seed: int
    evaluations: int
    pool: int


Fit = AlphaFit | FeatureFit


def _fit_features(kernel: FreeKernel, lam: float, data: TrainingSet) -> Fit:
    features = FeatureMap.from_largest_features(kernel, data.points, _MOST_FEATURES)
    return NormalEquations.from_rows(features, data.points, data.response).solve(lam)


def _fit_random(kernel: FreeKernel, lam: float, data: TrainingSet) -> Fit:
    some = draw_row_numbers(len(data), 200, seed=1)
    return LeastSquares(lam).fit(kernel, data.points[some], data.response[some])


#: From the kernel, λ and all rows to a fit.
METHODS: dict[str, Callable[[FreeKernel, float, TrainingSet], Fit]] = {
    EACH: lambda kernel, lam, data: LeastSquares(lam).fit(kernel, data.points, data.response),
    PRUNED: lambda kernel, lam, data: PrunedLeastSquares(lam, most=200).fit(kernel, data.points, data.response),
    PRUNED_MORE: lambda kernel, lam, data: PrunedLeastSquares(lam, most=100).fit(kernel, data.points, data.response),
    FEATURES: _fit_features,
    RANDOM: _fit_random,
}
COMPARED = (PRUNED, FEATURES, RANDOM)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """What all methods share: old data as it is learnt from, in its box, and the kernel and λ."""

    function: Function
    box: Box
    data: TrainingSet
    kernel: FreeKernel
    lam: float

    def fit(self, method: str) -> Fit:
        """The method's fit."""
        with isolate_computation():
            return METHODS[method](self.kernel, self.lam, self.data)

    def make_surrogate(self, fit: Fit) -> Surrogate:
        """Algorithm 1's process on the fit."""
        shift, scale = self.data.shift, self.data.scale
        anchors = fit.anchors if isinstance(fit, AlphaFit) else self.data.points[:1]
        return TunedPrior(WeightPrior(fit, anchors, "", 0.0, self.box, 1.0, shift, scale))


@cache
def _prepare(problem: str, rows: int, seed: int, chosen_on: int = _CHOSEN_ON) -> _Prepared:
    function = function_named(problem)
    space = Space.parse(function.space)
    table = read_old_data(old_data("noisy flip", function, seed, rows), space)
    box = Box.enclose(space, table.settings)
    data = TrainingSet.from_old_table(table, box, rows_with_alpha=rows).standardise()
    some = draw_row_numbers(len(data), chosen_on, seed)
    with isolate_computation():
        chosen = select(
            LeastSquares(1.0), SquaredExponential(), data.points[some], data.response[some], lam_bounds=LAMBDAS
        )
    return _Prepared(function, box, data, chosen.kernel.requires_grad_(False), chosen.machine.lam)


@lru_cache(maxsize=1)
def _measure_each(prepared: _Prepared) -> tuple[Tensor, Tensor, float, Tensor]:
    """Held-out points with their true responses, the error of the fit with an α for each row, and its variances."""
    x = np.random.default_rng(0).uniform(-1, 1, (_HELD_OUT, prepared.function.num_inputs))
    points = prepared.box.to_kernel_inputs(prepared.box.encode(pd.DataFrame(x, columns=list(prepared.function.space))))
    truth = (torch.as_tensor(1 - prepared.function(x)) - prepared.data.shift) / prepared.data.scale
    fit = prepared.fit(EACH)
    return points, truth, float((fit(points) - truth).square().mean()), _compute_variances(fit, points)


def _compute_variances(fit: Fit, points: Tensor) -> Tensor:
    """K^A₂(x, x) at the first points: by features, or as the sum over all pairs of anchors."""
    some = points[:_VARIANCES]
    if isinstance(fit, FeatureFit):
        return fit.weights.square() @ fit.feature_map.features.evaluate_all(fit.kernel.make_product(some)).square()
    with torch.no_grad():
        found: Tensor = fit.make_reweighted_kernel()(some, diag=True)
    return found


def measure_fit(job: FitJob) -> list[float]:
    """The squared error over that of α for each row, the variances' relative error, seconds of fit and suggestion."""
    prepared = _prepare(job.problem, job.rows, job.seed)
    points, truth, least, variances = _measure_each(prepared)
    started = time.process_time()
    fit = prepared.fit(job.method)
    fitted = time.process_time() - started
    error = float((fit(points) - truth).square().mean()) / least
    own = _compute_variances(fit, points)
    return [error, float((own - variances).abs().mean() / variances.mean()), fitted, _time_suggestion(prepared, fit)]


def _time_suggestion(prepared: _Prepared, fit: Fit) -> float:
    """Seconds from the last of ten results to the next setting of 256; nan where more than 500 rows have an α."""
    if isinstance(fit, AlphaFit) and len(fit.alpha) > MOST_ROWS_WITH_ALPHA:
        return float("nan")
    surrogate = prepared.make_surrogate(fit)
    pool = pool_of(prepared.function, _CANDIDATES, seed=0)
    optimizer = Optimizer(prepared.function.space, direction="maximize", search=SearchConfig(model=surrogate), seed=0)
    for setting in pool[:_TOLD].to_dict("records"):
        optimizer.tell(setting, prepared.function.respond(setting))
    optimizer.ask(candidates=pool)  # makes the kernel
    setting = pool.iloc[_TOLD].to_dict()
    optimizer.tell(setting, prepared.function.respond(setting))
    started = time.process_time()
    optimizer.ask(candidates=pool)
    return time.process_time() - started


def measure_regret(job: CampaignJob) -> list[float]:
    """Simple regret within the pool after each evaluation; the first settings are those of the seed."""
    function = function_named(job.problem)
    if job.method == BASELINE:
        surrogate: Surrogate = StandardSurrogate(Box.enclose(Space.parse(function.space)))
    else:
        prepared = _prepare(job.problem, job.rows, job.seed, _CHOSEN_ON_IN_CAMPAIGNS)
        surrogate = prepared.make_surrogate(prepared.fit(job.method))
    pool = pool_of(function, job.pool, job.seed)
    first = np.random.default_rng(job.seed).choice(len(pool), size=function.num_inputs + 1, replace=False)
    optimizer = Optimizer(function.space, direction="maximize", search=SearchConfig(model=surrogate), seed=job.seed)
    begun = pool.iloc[first].to_dict("records")
    best = float(function(pool.to_numpy()).max())
    found = simulate(optimizer, function.respond, job.evaluations, first=begun, candidates=pool)
    return [best - value for value in found]


_COMMAND = "python -m benchmarks pruning"
FITS = Study("pruning", FitJob, measure_fit, _COMMAND)
CAMPAIGNS = Study("pruning_campaigns", CampaignJob, measure_regret, _COMMAND)


@dataclass(frozen=True)
class Size:
    """How much is run."""

    rows: tuple[int, ...]
    problems: tuple[str, ...]
    in_campaigns: tuple[str, ...]
    fit_seeds: range
    seeds: range
    evaluations: int
    pool: int

    def list_fits(self) -> list[FitJob]:
        """Every method on every problem, in the order that shares what is prepared."""
        return [
            FitJob(problem, rows, method, seed)
            for problem in self.problems
            for rows in self.rows
            for seed in self.fit_seeds
            for method in METHODS
        ]

    def list_campaigns(self) -> list[CampaignJob]:
        """Every campaign; those of the standard process have no old rows."""
        each = [
            (problem, rows, method, seed)
            for problem in self.in_campaigns
            for seed in self.seeds
            for rows, methods in ((0, (BASELINE,)), *((rows, COMPARED) for rows in self.rows))
            for method in methods
        ]
        return [CampaignJob(*one, self.evaluations, self.pool) for one in each]


FULL = Size(ROWS, PROBLEMS, IN_CAMPAIGNS, range(2), range(8), 25, 1024)
SMOKE = Size((60,), PROBLEMS[:1], IN_CAMPAIGNS, range(1), range(1), 5, 32)

#: What a fit's curve has, step by step.
_ERROR, _VARIANCES_ERROR, _FIT, _SUGGESTION = range(1, 5)


def make_tables(fits: pd.DataFrame, campaigns: pd.DataFrame) -> Mapping[str, str]:
    """Errors of fits, times, and regrets of campaigns over those of the standard process."""
    return {
        "pruning": markdown(_tabulate_errors(fits)),
        "pruning times": markdown(_tabulate_times(fits)),
        "pruning campaigns": markdown(_tabulate_regrets(campaigns)),
    }


def _take_medians(fits: pd.DataFrame, step: int) -> "pd.Series[float]":
    return fits[fits["step"] == step].groupby(["problem", "rows", "method"])["value"].median()


def _list_cases(results: pd.DataFrame) -> list[tuple[str, int]]:
    return sorted(set(results[["problem", "rows"]].itertuples(index=False, name=None)))


def _tabulate_errors(fits: pd.DataFrame) -> pd.DataFrame:
    """The median squared error over that of α for each row, and in brackets the variances' median relative error."""
    errors, variances = _take_medians(fits, _ERROR), _take_medians(fits, _VARIANCES_ERROR)
    found = {
        f"{problem}, {rows:,}": {
            method: f"{errors[problem, rows, method]:.2f} ({variances[problem, rows, method]:.2g})"
            for method in METHODS
            if method != EACH
        }
        for problem, rows in _list_cases(fits)
    }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("old rows")


def _tabulate_times(fits: pd.DataFrame) -> pd.DataFrame:
    """The median times of a fit and of a suggestion; a dash where that was left out."""
    both = _take_medians(fits, _FIT), _take_medians(fits, _SUGGESTION)
    found = {
        f"{problem}, {rows:,}": {
            method: ", ".join(_format_time(times[problem, rows, method]) for times in both) for method in METHODS
        }
        for problem, rows in _list_cases(fits)
    }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("old rows")


def _format_time(seconds: float) -> str:
    if np.isnan(seconds):
        return "–"
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _tabulate_regrets(campaigns: pd.DataFrame) -> pd.DataFrame:
    """Mean regret after the first settings over the standard process's, with 95 % of a bootstrap over seeds."""
    found = {}
    for problem, rows in _list_cases(campaigns[campaigns["rows"] > 0]):
        some = campaigns[campaigns["problem"] == problem]
        regrets = mean_values(some, ("rows", "method"), after=function_named(problem).num_inputs + 1)
        base = regrets.loc[[(0, BASELINE)]].to_numpy()
        found[f"{problem}, {rows:,}"] = {
            method: marked(paired_ratio(regrets.loc[[(rows, method)]].to_numpy(), base, LEAST_REGRET))
            for method in COMPARED
        }
    return pd.DataFrame.from_dict(found, orient="index").rename_axis("old rows")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--smoke", action="store_true", help="one problem, one seed, few rows, in a temporary folder")
    parser.add_argument("--tables", action="store_true", help="run nothing; tables of all that is stored")


def main(arguments: argparse.Namespace) -> None:
    """Run what is missing, store it, and write the tables."""
    size, folder, docs = FULL, RESULTS, DOCS
    if arguments.smoke:
        size, folder = SMOKE, Path(tempfile.mkdtemp(prefix="tunedprior-"))
        docs = folder
    if arguments.tables:
        fits, campaigns = read_results(FITS.name), read_results(CAMPAIGNS.name)
    else:
        torch.set_num_threads(1)
        fits = run_in_turn(FITS, size.list_fits(), folder)
        campaigns = run_all(CAMPAIGNS, size.list_campaigns(), folder)
    written = make_tables(fits, campaigns)
    write_tables(docs / "algorithm1.md", written)
    print("\n\n".join(written.values()))
