"""Test whether old data can help: simulate short campaigns on one half of it, with and without the other half."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy import ndarray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

from tunedprior.campaign.loop import simulate
from tunedprior.campaign.optimizer import Optimizer
from tunedprior.goals.goal import Goal, Target
from tunedprior.source_data.matching import OldTable
from tunedprior.space.parameters import Categorical, Parameter
from tunedprior.space.search_space import Setting, Space

#: Trials of a campaign, and how often it is begun anew.
TRIALS, REPEATS = 8, 5
_MOST_ROWS = 80  # in either half
_LEAST_ROWS = 10
_DRAWS = 200
_RESPONSE = "response"


@dataclass(frozen=True)
class Rehearsal:
    """Simulated campaigns on the settings of one half of old data, with and without the other half as old data.

    Attributes:
        trials: How many settings each campaign tried.
        repeats: How many campaigns there were of each kind.
        with_old: Mean simple regret after each trial with old data: 0 is the best setting of that half, 1 its worst.
        without: Simple regret after each trial without old data.
        at_random: Simple regret after each trial for settings drawn at random.
        better: The number of campaigns whose mean simple regret was smaller with old data.
    """

    trials: int
    repeats: int
    with_old: tuple[float, ...]
    without: tuple[float, ...]
    at_random: tuple[float, ...]
    better: int

    @property
    def ratio(self) -> float:
        """Mean simple regret with old data over that without."""
        return float(np.mean(self.with_old)) / max(float(np.mean(self.without)), 1e-12)

    @property
    def trials_to_match(self) -> int | None:
        """After how many trials the campaign with old data equals the final result without; None if never."""
        return next((k for k, missed in enumerate(self.with_old, 1) if missed <= self.without[-1] + 1e-12), None)


def run_rehearsal(
    old: OldTable, space: Space, direction: Goal, seed: int, advance: Callable[[], object] = lambda: None
) -> Rehearsal | None:
    """Run the simulated campaigns; None for too few settings or a constant response.

    Args:
        old: What was read.
        space: What may be set; the campaigns are among old settings.
        direction: Which way is better, or a target.
        seed: Of the halves.
        advance: Called after each campaign.
    """
    names = [one.name for one in space.parameters if one.name not in old.absent]
    table = old.settings[names].assign(**{_RESPONSE: old.response})
    every: pd.DataFrame = table.groupby(names, sort=False, dropna=False)[_RESPONSE].mean().reset_index()
    if len(every) < 2 * _LEAST_ROWS or np.ptp(every[_RESPONSE]) == 0:
        return None
    described = {one.name: _make_distribution(one, every) for one in space.parameters if one.name in names}
    here = {name: one for name, one in described.items() if one is not None}
    if not here:
        return None
    curves: dict[str, list[Float64[ndarray, " t"]]] = {"with": [], "without": [], "random": []}
    for repeat in range(REPEATS):
        rng = np.random.default_rng([seed, repeat])
        order = rng.permutation(len(every))
        half = min(len(every) // 2, _MOST_ROWS)
        first, pool = (every.iloc[rows].reset_index(drop=True) for rows in (order[:half], order[half : 2 * half]))
        responses = pool[_RESPONSE].to_numpy(dtype=np.float64)
        scale = _RegretScale.from_responses(responses, direction)
        if scale.best == scale.worst or np.ptp(first[_RESPONSE]) == 0:
            continue
        for kind, old_half in (("with", first), ("without", None)):
            curves[kind].append(scale.compute_regret(_run_campaign(here, old_half, pool, direction, repeat)))
            advance()
        draws = np.array([rng.permutation(scale.compute_regret(responses))[:TRIALS] for _ in range(_DRAWS)])
        curves["random"].append(np.minimum.accumulate(draws, axis=1).mean(0))
    if not curves["with"]:
        return None
    trials = min(len(one) for some in curves.values() for one in some)
    mean = {name: tuple(np.mean([one[:trials] for one in some], axis=0).tolist()) for name, some in curves.items()}
    better = sum(bool(one.mean() < other.mean()) for one, other in zip(curves["with"], curves["without"], strict=True))
    return Rehearsal(trials, len(curves["with"]), mean["with"], mean["without"], mean["random"], better)


def _make_distribution(one: Parameter, table: pd.DataFrame) -> BaseDistribution | None:
    """Make the distribution that old values span; None for a constant column."""
    column = table[one.name]
    if column.nunique(dropna=False) < 2:
        return None
    if isinstance(one, Categorical):
        return CategoricalDistribution(list(dict.fromkeys(map(str, column))))
    return FloatDistribution(float(column.min()), float(column.max()), log=one.log)


@dataclass(frozen=True, eq=False)
class _RegretScale:
    """The scale of simple regret: 0 at the best of some responses, 1 at the worst."""

    direction: Goal
    best: float
    worst: float

    @classmethod
    def from_responses(cls, response: Float64[ndarray, " n"], direction: Goal) -> "_RegretScale":
        distances = _compute_distances(response, direction)
        return cls(direction, float(distances.min()), float(distances.max()))

    def compute_regret(self, response: Float64[ndarray, " n"]) -> Float64[ndarray, " n"]:
        """For each response."""
        return (_compute_distances(response, self.direction) - self.best) / (self.worst - self.best)


def _compute_distances(response: Float64[ndarray, " n"], direction: Goal) -> Float64[ndarray, " n"]:
    if isinstance(direction, Target):
        return np.maximum(np.maximum(direction.low - response, response - direction.upper), 0.0)
    return -response if direction == "maximize" else response


def _run_campaign(
    space: Mapping[str, BaseDistribution], first: pd.DataFrame | None, pool: pd.DataFrame, direction: Goal, seed: int
) -> Float64[ndarray, " t"]:
    """The best response after each trial among the settings of the pool."""
    names = list(space)
    pool = _select_columns(pool, space).drop_duplicates(names).reset_index(drop=True)
    responses = dict(zip(pool[names].itertuples(index=False, name=None), pool[_RESPONSE], strict=True))

    def respond(setting: Setting) -> float:
        return float(responses[tuple(setting[name] for name in names)])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what old data is like is said elsewhere
        old = None if first is None else _select_columns(first, space)
        optimizer = Optimizer(dict(space), old, direction, seed=seed, target=_RESPONSE)
        return np.array(simulate(optimizer, respond, min(TRIALS, len(pool)), candidates=pool[names]))


def _select_columns(table: pd.DataFrame, space: Mapping[str, BaseDistribution]) -> pd.DataFrame:
    """The settings and the response alone, categories as text."""
    columns = {
        name: table[name].map(str) if isinstance(one, CategoricalDistribution) else table[name].astype(float)
        for name, one in space.items()
    }
    return pd.DataFrame({**columns, _RESPONSE: table[_RESPONSE]})
