"""Ratios, medians and intervals from the stored results alone.

Nothing of `benchmarks` is imported: what the reports compute, the tests of documents compute a second time.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"

PAPER = ("Hölder table", "Himmelblau", "Ackley", "Styblinski-Tang", "eggholder", "Rastrigin")
SHIFTED = ("Ackley (shifted)", "Rastrigin (shifted)")
FAILURES = ("Levi N.13", "Easom")
MORE = ("Branin", "six-hump camel", "Hartmann-3", "Hartmann-6")
CHOSE_THE_FLOOR = ("Ackley", "Styblinski-Tang", "Himmelblau")
KIND_FUNCTIONS = ("Hölder table", "Himmelblau", "Styblinski-Tang", "Ackley (shifted)")
KINDS = (
    "flipped", "same", "noisy flip", "shifted", "squared", "binary labels", "another function", "pure noise",
)  # fmt: skip
STANDARD, TUNED, AVERAGE, RIVAL = "standard-EI", "TP-EI-BO", "average-EI", "MTGP-EI (free sign)"
#: On these pairs the numbers of the prior were chosen,
CHOSEN_PAIRS = (
    "lig_PI_GOPI", "lig_GOPI_GOQ", "storm_solo_coloc", "storm_c1_c3_lat", "storm_c1thr_c3lat_flip", "liquid_water_dce",
    "photo_nodup", "gpuconv_A100_MI250X", "gpupnpoly_2080Ti_3090", "dirarylation_90_120", "reizman_1_2",
    "taskset_irnn_lstmavg",
)  # fmt: skip
#: and these chose nothing.
CHECKED_PAIRS = (
    "lig_PI_GOQ", "storm_coloc_wc_rs", "liquid_toluene_dce", "liquid7_hep_thf500", "oer_3496_3851", "reizman_1_4",
    "reizman_3_4", "baumgartner_aniline_benzamide", "arylhal_iodotr_iodo4", "gpudedisp_A100_A4000", "taskset_vrnn_gru",
)  # fmt: skip
PAIRS = CHOSEN_PAIRS + CHECKED_PAIRS
OWN_START, SOBOL_START, PLAIN = "average-EI (own start)", "average-EI (Sobol start)", "plain-EI"
RIVALS = (RIVAL, "RGPE-EI", "MTGP-EI (BoTorch)")

#: Evaluations that all methods share, and that do not count, in each study.
_SHARED = {"functions": 3, "as_printed": 3, "reweighted": 3, "fibre": 6}
#: Regrets below this count as this.
LEAST = 1e-3
_RESAMPLES = 20_000
# A report's interval comes from 2,000 resamples: its ends are quantiles of some other chance than 2.5 %, by five
# standard deviations at most: there are thousands of cells.
_CHANCE, _ERROR = 0.025, 5 * (0.025 * 0.975 / 2000) ** 0.5


@dataclass(frozen=True)
class Estimate:
    """A number, and what it would be on resampled seeds."""

    middle: float
    draws: np.ndarray

    @property
    def low(self) -> tuple[float, float]:
        """Between these is the lower end of a 95 % interval that was made with 2,000 resamples."""
        return tuple(np.quantile(self.draws, [_CHANCE - _ERROR, _CHANCE + _ERROR]).tolist())

    @property
    def high(self) -> tuple[float, float]:
        """And between these its upper end."""
        return tuple(np.quantile(self.draws, [1 - _CHANCE - _ERROR, 1 - _CHANCE + _ERROR]).tolist())


def is_stored(study: str, methods: Collection[str] = (), problems: Collection[str] = ()) -> bool:
    """Whether there are results of a study, and of these methods on all of these problems."""
    if not (RESULTS / f"{study}_runs.csv").exists():
        return False
    found = set(runs(study)[["problem", "method"]].itertuples(index=False, name=None))
    return all((problem, method) in found for problem in problems for method in methods)


@cache
def runs(study: str) -> pd.DataFrame:
    """One row for each campaign of a study."""
    return pd.read_csv(RESULTS / f"{study}_runs.csv", keep_default_na=False, na_values=[""])


@cache
def curves(study: str) -> pd.DataFrame:
    """One row for each campaign and step."""
    return runs(study).merge(pd.read_csv(RESULTS / f"{study}.csv"), on="run")


@cache
def speed(part: str) -> list[dict[str, Any]]:
    """The rows of one part of what `speed` measured."""
    return json.loads((RESULTS / "speed.json").read_text())["parts"][part]["rows"]


@cache
def _means(study: str, step: int | None = None) -> dict[tuple[str, str, str], dict[int, float]]:
    """The mean regret of each campaign (or that after one step), by problem, kind and method, then by seed."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    table = curves(study)
    table = table[table["step"] > _SHARED.get(study, 0)] if step is None else table[table["step"] == step]
    for (problem, kind, method, seed), value in table.groupby(["problem", "kind", "method", "seed"])["value"]:
        found.setdefault((problem, kind, method), {})[int(seed)] = float(value.sum() / len(value))
    return found


@cache
def _resampled(count: int) -> np.ndarray:
    """How often each of so many seeds is drawn, over their number."""
    draws = np.random.default_rng(20).integers(count, size=(_RESAMPLES, count))
    return np.stack([(draws == seed).mean(axis=1) for seed in range(count)], axis=1)


def ratio(
    study: str,
    problems: Sequence[str],
    kind: str,
    method: str,
    *,
    to: str = STANDARD,
    to_kind: str | None = None,
    seeds: Collection[int] | None = None,
    step: int | None = None,
    to_study: str | None = None,
) -> Estimate:
    """Mean regret over another method's: the geometric mean over problems, on the seeds that both were run with.

    The standard process sees no old data, and was run with the first kind alone. With `step` it is the regret after
    that step alone. The other method's runs may be those of another study.
    """
    of_base = to_kind or ("flipped" if to == STANDARD and kind != "measured" else kind)
    means, others = _means(study, step), _means(to_study or study, step)
    rows = [(means[name, kind, method], others[name, of_base, to]) for name in problems]
    shared = sorted(set.intersection(*(set(one) for row in rows for one in row)) & set(seeds or range(1000)))
    middle, draws = 0.0, np.zeros(_RESAMPLES)
    for own, base in rows:
        ours, theirs = np.array([own[seed] for seed in shared]), np.array([base[seed] for seed in shared])
        middle += np.log(max(ours.mean(), LEAST) / max(theirs.mean(), LEAST)) / len(rows)
        again = [np.maximum(_resampled(len(shared)) @ values, LEAST) for values in (ours, theirs)]
        draws += np.log(again[0] / again[1]) / len(rows)
    return Estimate(float(np.exp(middle)), np.exp(draws))


def over_problems(ratios: Sequence[float]) -> Estimate:
    """The geometric mean of ratios, and what it would be on resampled problems."""
    logs = np.log(ratios)
    draws = np.random.default_rng(22).choice(logs, size=(_RESAMPLES, len(logs))).mean(axis=1)
    return Estimate(float(np.exp(logs.mean())), np.exp(draws))


def fibre_ratio(method: str) -> Estimate:
    """The mean distance of the best fibre from the target, over the standard process's."""
    table = curves("fibre")
    table = table[table["step"] > _SHARED["fibre"]].assign(miss=lambda one: np.sqrt(one["value"]))
    ours, theirs = (
        table[table["method"] == name].groupby("seed")["miss"].mean().to_numpy() for name in (method, STANDARD)
    )
    weights = _resampled(len(ours))
    return Estimate(float(ours.mean() / theirs.mean()), (weights @ ours) / (weights @ theirs))


def model_losses(goals: Collection[str], problems: Collection[str], model: str) -> np.ndarray:
    """The loss at the end of each campaign: a row for each goal and problem, a column for each seed."""
    found = curves("models")
    rows = found[found["goal"].isin(goals) & found["problem"].isin(problems) & (found["model"] == model)]
    last = rows.sort_values("step", kind="stable").groupby(["goal", "problem", "seed"])["value"].last()
    return last.unstack("seed").to_numpy()


def model_loss(goal: str, problems: Collection[str], model: str) -> Estimate:
    """The mean over problems and seeds."""
    rows = model_losses([goal], problems, model)
    return Estimate(float(rows.mean()), _resampled(rows.shape[1]) @ rows.mean(axis=0))


def model_ratio(goals: Collection[str], problems: Collection[str], model: str, to: str) -> Estimate:
    """The geometric mean over goals and problems of the mean loss over another's."""
    both = [model_losses(goals, problems, name) for name in (model, to)]
    middle = np.log([np.maximum(rows.mean(axis=1), LEAST) for rows in both])
    draws = np.log([np.maximum(_resampled(rows.shape[1]) @ rows.T, LEAST) for rows in both])
    return Estimate(float(np.exp((middle[0] - middle[1]).mean())), np.exp((draws[0] - draws[1]).mean(axis=1)))


def median(values: np.ndarray) -> Estimate:
    """Of a sample."""
    draws = np.random.default_rng(21).integers(len(values), size=(_RESAMPLES, len(values)))
    return Estimate(float(np.median(values)), np.median(values[draws], axis=1))


def floor_ratio(problem: str, floor: float) -> Estimate:
    """Mean regret with a least λ over that without old data."""
    table = curves("lambda_floor")
    table = table[table["problem"] == problem]
    with_old = table[table["floor"] == floor].groupby("seed")["value"].mean().to_numpy()
    without = table[table["floor"].isna()].groupby("seed")["value"].mean().to_numpy()
    weights = _resampled(len(with_old))
    return Estimate(float(with_old.mean() / without.mean()), (weights @ with_old) / (weights @ without))


def knowledge_ratio(problem: str, known: str, to: str) -> Estimate:
    """Mean regret on a pair with what people know over that with something else."""
    table = curves("knowledge")
    means = table[table["problem"] == problem].groupby(["knowledge", "seed"])["value"].mean().unstack("seed")
    own, base = (means.loc[one].to_numpy() for one in (known, to))
    weights = _resampled(len(own))
    draws = [np.maximum(weights @ values, LEAST) for values in (own, base)]
    return Estimate(max(own.mean(), LEAST) / max(base.mean(), LEAST), draws[0] / draws[1])


def demo(prior: str, with_old: bool) -> pd.DataFrame:
    """The demonstration's campaigns: a row for each seed and trial."""
    table = pd.read_csv(RESULTS / "demo.csv")
    return table[(table["prior"] == prior) & (table["old"] == ("with device A's records" if with_old else "without"))]


def hours(*studies: str) -> float:
    """How long all campaigns took, on two cores."""
    return sum(runs(study)["seconds"].sum() for study in studies) / 2 / 3600
