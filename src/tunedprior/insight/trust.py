"""Posterior probabilities of the beliefs about old data, and the slope of the objective on the old response."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import isnan
from operator import is_
from typing import Any

import pandas as pd
import torch

from tunedprior.average.surrogate import Average
from tunedprior.average.weighing import Weighed
from tunedprior.numerics.isolation import computing
from tunedprior.problem.objective import Objective
from tunedprior.problem.observations import Observations
from tunedprior.problem.trials import Trial

# Trust above and below which a sentence says that old data is trusted, or is not borne out.
_TRUSTED, _DOUBTED = 0.8, 0.25
# Hypotheses with less than this share of their belief's weight change no digit that is shown.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Trust:
    """Posterior probabilities of the beliefs about old data, and the relation of the objective to it.

    Attributes:
        beliefs: The probability of each belief, given the observations, by old data set and belief.
        relations: For each old data set: `trust`, the probability of all that is built on it (about half, if it neither
            helps nor hurts); `slope`, by how much the objective rises when the old response rises by 1, both in their
            own units; `positive`, the probability that they rise together rather than against each other. The last two
            are those of "aligned", the one belief that speaks of them, and nan until there are observations.
        history: The same after 0, 1, 2, … observations: a column for each belief, and each slope and sign.
    """

    beliefs: pd.DataFrame
    relations: pd.DataFrame
    history: pd.DataFrame

    @property
    def sentences(self) -> list[str]:
        """What the figures come to, a sentence for each old data set."""
        count = len(self.history) - 1
        rows = self.relations[["old data", "trust", "slope", "positive"]].to_numpy()
        return [_in_words(name, trust, slope, positive, count) for name, trust, slope, positive in rows]

    def __str__(self) -> str:
        said = "\n".join(self.sentences)
        tables = (self.beliefs.round(3).to_string(index=False), self.relations.round(3).to_string(index=False))
        return "\n\n".join((said, *tables))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        tables = (self.beliefs.round(3).to_html(index=False), self.relations.round(3).to_html(index=False))
        return said + "".join(tables)


def _in_words(name: str, trust: float, slope: float, positive: float, count: int) -> str:
    """A sentence about one old data set, after so many results."""
    if isnan(slope):
        return f"{name}: nothing was told yet, so nothing is known of how far it can be trusted."
    after = f"after {count} result{'s' if count != 1 else ''}"
    if trust >= _TRUSTED:
        way = "rises" if positive >= 0.5 else "falls"
        sure = max(positive, 1 - positive)
        said = "is trusted" if sure >= _TRUSTED else "is trusted for its shape"
        return f"{name} {said} ({trust:.0%}) {after}: the response {way} with the old one ({sure:.0%} sure)."
    if trust <= _DOUBTED:
        return f"{name} is not borne out ({trust:.0%}) {after}: suggestions hardly depend on it."
    return f"{name} may help or not: undecided {after} (trust {trust:.0%}; near one half it neither helps nor hurts)."


@dataclass(frozen=True, eq=False)
class TrustSoFar:
    """Trust after each result so far; another result adds one step, and no step is computed twice.

    Attributes:
        average: Whose.
        objective: What is wanted of the response.
        trials: The results so far.
        steps: What was made of the first 0, 1, 2, … of them.
        cache: Of the average (see `CachingSurrogate`).
    """

    average: Average
    objective: Objective
    trials: tuple[Trial, ...] = ()
    steps: "tuple[_Step, ...]" = ()
    cache: Any = None

    def after(self, trials: tuple[Trial, ...]) -> "TrustSoFar":
        """Trust after these results, going on from the present steps where they begin with the same results."""
        same = len(trials) >= len(self.trials) and all(map(is_, trials, self.trials))
        steps, cache = (list(self.steps), self.cache) if same else ([], None)
        for count in range(len(steps), len(trials) + 1):
            step, cache = self._step(trials[:count], cache)
            steps.append(step)
        return replace(self, trials=trials, steps=tuple(steps), cache=cache)

    def _step(self, trials: tuple[Trial, ...], cache: Any) -> "tuple[_Step, Any]":
        average = self.average
        names = [old.name for old in average.known]
        if not trials:
            nothing = float("nan"), float("nan")
            return _Step(_by_belief(Weighed.beforehand(average.hypotheses)), dict.fromkeys(names, nothing)), cache
        observations = self.objective.observations(trials, average.box)
        weighed, cache = average.weigh(observations, cache)
        with computing(), torch.no_grad():
            slopes = {name: _slope(average, weighed, observations, name, self.objective.sign) for name in names}
        return _Step(_by_belief(weighed), slopes), cache

    @property
    def trust(self) -> Trust:
        """The steps as the tables of `Trust`."""
        names, last = [old.name for old in self.average.known], self.steps[-1]
        relations = pd.DataFrame(
            [
                (name, last.beliefs.loc[last.beliefs["old data"] == name, "trust"].sum(), *last.slopes[name])
                for name in names
            ],
            columns=["old data", "trust", "slope", "positive"],
        )
        rows = [{"observations": float(count)} | step.row(names) for count, step in enumerate(self.steps)]
        history = pd.DataFrame(rows).astype({"observations": int}).set_index("observations")
        return Trust(last.beliefs, relations, history)


@dataclass(frozen=True, eq=False)
class _Step:
    """After some results: the probability of each belief; for each old data set E[ρ | D] and P(ρ > 0 | D)."""

    beliefs: pd.DataFrame
    slopes: dict[str, tuple[float, float]]

    def row(self, names: Sequence[str]) -> dict[str, float]:
        """One row of `Trust.history`: a number for each belief, slope and sign."""
        found = {
            belief if len(names) == 1 or not old else f"{old}: {belief}": share
            for old, belief, share in self.beliefs.itertuples(index=False)
        }
        for name, (slope, positive) in self.slopes.items():
            before = "" if len(names) == 1 else f"{name}: "
            found |= {f"{before}slope": slope, f"{before}positive": positive}
        return found


def _by_belief(weighed: Weighed) -> pd.DataFrame:
    table = pd.DataFrame(
        {
            "old data": [label.old for label in weighed.hypotheses.labels],
            "belief": [label.belief for label in weighed.hypotheses.labels],
            "trust": weighed.weights.numpy(),
        }
    )
    return table.groupby(["old data", "belief"], sort=False)["trust"].sum().reset_index()


def _slope(
    average: Average, weighed: Weighed, observations: Observations, name: str, sign: float
) -> tuple[float, float]:
    """E[ρ | D] and P(ρ > 0 | D), where the objective is ρ·ĝ(x) + …, over the hypotheses that hold it to be so.

    With ρ ~ N(0, a·s) a priori, and covariance a·R of the observations: ρ | D ~ N(s ĝᵀR⁻¹y, a (s - s² ĝᵀR⁻¹ĝ)).
    """
    among = weighed.hypotheses
    old = next(old for old in average.known if old.name == name)
    x, y = average.box.inputs(observations.codes), observations.y
    of_it = torch.tensor([label.old == name for label in among.labels]) & (among.slopes > 0)
    rows = (of_it & (weighed.weights >= _LEAST_SHARE * (weighed.weights * of_it).sum())).nonzero().flatten()
    if len(rows) == 0:
        return float("nan"), float("nan")
    every = torch.stack([reading(x) for reading in old.readings])
    expected = every[torch.tensor(among.readings)[rows], :, None]
    factor = weighed.factor(rows)
    solved = torch.cholesky_solve(torch.cat([expected, y.expand(len(rows), *y.shape)], dim=-1), factor)
    with_itself, with_y = (expected.mT @ solved)[:, 0].unbind(-1)
    share, weight = among.slopes[rows], weighed.weights[rows]
    slope = share * with_y
    deviation = (weighed.amplitude[rows] * (share - share**2 * with_itself)).clamp_min(1e-300).sqrt()
    positive = torch.special.ndtr(sign * slope / deviation)
    # Readings of doubtful data have units of their own.
    unit = sign * observations.scale / torch.tensor(old.units, dtype=torch.float64)[torch.tensor(among.readings)[rows]]
    return float(weight @ (unit * slope) / weight.sum()), float(weight @ positive / weight.sum())
