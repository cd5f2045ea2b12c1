"""Trust in old data: the share of a response's variance that it explains, the beliefs behind it, and its history."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from math import isnan
from operator import is_
from typing import Any

import pandas as pd
import torch

from tunedprior.average.surrogate import Average
from tunedprior.average.weighing import WeightedHypotheses
from tunedprior.insight.relation import BEYOND, DOUBT, NOISE, OPEN, Relation, estimate_relation
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.problem.aims import Goals
from tunedprior.problem.objective import Objective
from tunedprior.problem.old_data import UNNAMED
from tunedprior.problem.trials import Trial

# Trust that is shown as more than 0 %; below which the old response says next to nothing; and above which most.
_SHOWN, _LITTLE, _HALF = 0.005, 0.1, 0.5
#: The probability of a sign from which on it is told; below it counts as open.
LIKELY = 0.8
# The probability of a sign above which it counts against what the user said.
_SURE = 0.9
# By how much the probability of a relation exceeds what it explains, where the difference is to be told.
_GAP = 0.5
_REST = {
    BEYOND: "varies in ways that the old response does not",
    OPEN: "is still open after so few results",
    NOISE: "is noise",
    DOUBT: "is what old data itself leaves open",
}


@dataclass(frozen=True, eq=False, repr=False)
class Trust:
    """How much of the response's variance old data accounts for, and which beliefs about it that rests on.

    Attributes:
        beliefs: For each old data set and belief: `probability`, that of the belief given the observations, and
            `trust`, the part of the set's trust that rests on it (0 for beliefs that hold no relation to the old
            response, such as "shape" and "uninformed").
        relations: For each old data set: `trust`, the share of the variance of a response, over the search space, that
            the old response accounts for, from 0 to 1, with noise and whatever is still open as part of the rest;
            `slope`, by how much the objective rises when the old response rises by 1, both in their own units;
            `positive`, the probability that they rise together rather than against each other, if they go together at
            all. Without observations
            trust is 0, and the other two are nan; equal observations leave trust and slope at 0.
        history: The same after 0, 1, 2, … observations: a column for the probability of each belief, then trust, slope
            and sign.
        expected: For each old data set whose relation the user knows, +1 if the response should rise with the old one,
            -1 if it should fall.
        gaps: For each old data set to which a relation is probable that explains little, a sentence that says why.
        where_from: Which results were at settings that old data chose alone, and how they compare; empty if none was.
    """

    beliefs: pd.DataFrame
    relations: pd.DataFrame
    history: pd.DataFrame
    expected: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)
    where_from: str = ""

    @property
    def sentences(self) -> list[str]:
        """What the figures come to, a text for each old data set; and where the results came from."""
        count = int(self.history.index[-1])
        rows = self.relations[["old data", "trust", "slope", "positive"]].to_numpy()
        said = [
            f"{_describe_trust(name, *numbers, count, self.expected.get(name, 0))} {self.gaps.get(name, '')}".strip()
            for name, numbers in ((name, (trust, slope, positive)) for name, trust, slope, positive in rows)
        ]
        return [*said, self.where_from] if self.where_from else said

    def __str__(self) -> str:
        said = "\n".join(self.sentences)
        tables = (self.beliefs.round(3).to_string(index=False), self.relations.round(3).to_string(index=False))
        return "\n\n".join((said, *tables))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        tables = (self.beliefs.round(3).to_html(index=False), self.relations.round(3).to_html(index=False))
        return said + "".join(tables)


def _describe_trust(name: str, trust: float, slope: float, positive: float, count: int, expected: int) -> str:
    """A sentence or two about one old data set, after so many results; a slope of this sign (0: either) is expected.

    Trust is a share of everything, and the sign is that of the part which goes with the old response, if there is one:
    so the second is said of that part alone where it is small.
    """
    about = name.capitalize() if name.startswith(UNNAMED) else f"Old data {name!r}"
    if count == 0:
        return f"{about}: nothing was told yet, so nothing is known of what it explains."
    after = f"after {count} result{'s' if count != 1 else ''}"
    if slope == 0:
        return f"{about}: nothing is known of what it explains {after}{' that are all equal' if count > 1 else ''}."
    if isnan(slope):
        none = "no relation between the two is seen"
        return f"{about} explains {_format_percent(trust)} of the response's variance {after}; {none}."
    way, sure = ("rises", positive) if positive >= 0.5 else ("falls", 1 - positive)
    by = float(f"{abs(slope):.2g}")  # 1200 and not 1.2e+03
    against = ", against the relation that was given" if sure > _SURE and expected * (positive - 0.5) < 0 else ""
    only = "only " if _SHOWN < trust < _LITTLE else ""
    explains = f"{about} explains {only}{_format_percent(trust)} of the response's variance {after}"
    if trust < _LITTLE:
        if sure < LIKELY:
            return f"{explains}. If the response goes with it at all, it is open which way."
        # The sign is that of a relation that need not be there, which is what makes both numbers true at once.
        return (
            f"{explains}. If the response goes with it at all, it most likely {way} with it ({_format_percent(sure)})."
        )
    if trust < _HALF:
        if sure < LIKELY:
            return f"{explains}. As far as the response goes with it, it is open which way."
        moves = f"it {way} by {by:g} for each unit of it ({_format_percent(sure)} sure of the sign)"
        return f"{explains}. As far as the response goes with it, {moves}{against}."
    if sure < LIKELY:
        open_ = "it is open whether the response rises or falls with it"
        return f"{explains}, but in ways that contradict each other: {open_}."
    return (
        f"{explains}; the response {way} by {by:g} for each unit of it ({_format_percent(sure)} sure of the "
        f"sign){against}."
    )


def _format_percent(share: float) -> str:
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True, eq=False)
class TrustHistory:
    """Trust after each result so far; another result adds one step, and no step is computed twice.

    Attributes:
        average: Whose.
        objective: What is wanted of the response.
        aims: What the campaign is after, with it.
        trials: The results so far.
        steps: What was made of the first 0, 1, 2, … of them.
        cache: Of the average (see `CachingSurrogate`).
    """

    average: Average
    objective: Objective
    aims: Goals
    trials: tuple[Trial, ...] = ()
    steps: "tuple[_Step, ...]" = ()
    cache: Any = None

    def extend_to(self, trials: tuple[Trial, ...]) -> "TrustHistory":
        """Trust after these results, going on from the present steps where they begin with the same results."""
        same = len(trials) >= len(self.trials) and all(map(is_, trials, self.trials))
        steps, cache = (list(self.steps), self.cache) if same else ([], None)
        for count in range(len(steps), len(trials) + 1):
            step, cache = self._compute_step(trials[:count], cache)
            steps.append(step)
        return replace(self, trials=trials, steps=tuple(steps), cache=cache)

    def compute_trust_after(self, trials: tuple[Trial, ...]) -> Trust:
        """Trust after all of these results, with no other step in its history: much faster, where none is at hand."""
        if len(trials) == len(self.trials) and self.steps and all(map(is_, trials, self.trials)):
            return self.trust
        step, _ = self._compute_step(trials, None)
        return _build_trust(self, {len(trials): step})

    def _compute_step(self, trials: tuple[Trial, ...], cache: Any) -> "tuple[_Step, Any]":
        average = self.average
        if not trials:
            nothing = {old.name: Relation() for old in average.sources}
            return _Step(
                _sum_probabilities(WeightedHypotheses.from_prior_probabilities(average.hypotheses)), nothing
            ), cache
        observations = self.aims.make_observations(self.objective, trials, average.box)
        weighed, cache = average.weigh(observations, cache)
        with isolate_computation(), torch.no_grad():
            relations = {
                old.name: estimate_relation(old, average, weighed, observations, self.objective.sign)
                for old in average.sources
            }
        return _Step(_sum_probabilities(weighed), relations), cache

    @property
    def trust(self) -> Trust:
        """The steps as the tables of `Trust`."""
        return _build_trust(self, dict(enumerate(self.steps)))


def _build_trust(so_far: TrustHistory, steps: "Mapping[int, _Step]") -> Trust:
    """Steps, by the number of results, as the tables of `Trust`; the last counts."""
    last = list(steps.values())[-1]
    relations = pd.DataFrame(
        [(name, one.trust, one.slope, one.positive) for name, one in last.relations.items()],
        columns=["old data", "trust", "slope", "positive"],
    )
    rows = [{"observations": float(count)} | step.make_row() for count, step in steps.items()]
    history = pd.DataFrame(rows).astype({"observations": int}).set_index("observations")
    expected = {old.name: int(so_far.objective.sign * old.sign) for old in so_far.average.sources if old.sign}
    gaps = {name: _describe_gap(one, last.compute_probability(name)) for name, one in last.relations.items()}
    return Trust(last.beliefs, relations, history, expected, {name: said for name, said in gaps.items() if said})


def _describe_gap(relation: Relation, probability: float) -> str:
    """Why a relation of this probability explains so little; empty if it does not."""
    if not relation.rest or probability - relation.trust < _GAP:
        return ""
    names = " or ".join(repr(belief) for belief in relation.explained)
    largest = max(relation.rest, key=lambda kind: relation.rest[kind])
    return (
        f"The belief {names} has a probability of {_format_percent(probability)}: that the response is some "
        "multiple of the "
        "old one, large or small, and a remainder. It is no share of what is explained: "
        f"{_format_percent(relation.rest[largest])} of the variance {_REST[largest]}."
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """After some results: the probability of each belief, and the relation to each old data set."""

    probabilities: dict[tuple[str, str], float]
    relations: dict[str, Relation]

    @property
    def beliefs(self) -> pd.DataFrame:
        """The table of `Trust`."""
        rows = []
        for (old, belief), probability in self.probabilities.items():
            explained = self.relations[old].explained if old else {}
            rows.append((old, belief, probability, explained.get(belief, 0.0)))
        return pd.DataFrame(rows, columns=["old data", "belief", "probability", "trust"])

    def compute_probability(self, old: str) -> float:
        """That there is a relation to the response of an old data set."""
        return sum(self.probabilities.get((old, belief), 0.0) for belief in self.relations[old].explained)

    def make_row(self) -> dict[str, float]:
        """One row of `Trust.history`: a number for the probability of each belief; trust, slope and sign."""
        several = len(self.relations) > 1
        found = {
            f"{old}: {belief}" if several and old else belief: share
            for (old, belief), share in self.probabilities.items()
        }
        for name, one in self.relations.items():
            before = f"{name}: " if several else ""
            found |= {
                f"{before}trust": one.trust,
                f"{before}slope": one.slope,
                f"{before}positive": one.positive,
            }
        return found


def _sum_probabilities(weighed: WeightedHypotheses) -> dict[tuple[str, str], float]:
    """Of each belief, by old data set and belief."""
    found: dict[tuple[str, str], float] = {}
    for label, weight in zip(weighed.hypotheses.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] = found.get((label.old, label.belief), 0.0) + weight
    return found
