"""Trust in old data: the share of the response's variance that it explains, and the sign of the relation."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from math import isnan
from operator import is_
from typing import Any

import pandas as pd

from tunedprior.explain.source_explanation import format_source_name
from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.history.trials import Trial
from tunedprior.weight_prior.sources import (
    BEYOND,
    DOUBT,
    NOISE,
    OPEN,
    BeliefProbabilities,
    BeliefWeighingSurrogate,
    Relation,
)

_NOTHING = float("nan")
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
    """The share of the response's variance that old data explains, and the beliefs that this rests on.

    Attributes:
        beliefs: For each old data set and belief: `probability`, that of the belief given the observations, and
            `trust`, the part of the set's trust that comes from it (0 for beliefs without a relation to the old
            response, such as "shape" and "uninformed").
        relations: For each old data set: `trust`, the share of the variance of a response over the search space that
            the old response explains, from 0 to 1, with noise and uncertainty in the rest; `slope`, by how much the
            objective rises when the old response rises by 1, both in their own units; `positive`, the probability that
            they rise together, if they are related. Without observations trust is 0, and the other two are nan; equal
            observations leave trust and slope at 0.
        history: These numbers after 0, 1, 2, … observations: a column for the probability of each belief, then trust,
            slope and sign.
        expected: For each old data set whose relation the user knows, +1 if the response should rise with the old one,
            -1 if it should fall.
        gaps: For each old data set with a probable relation that explains little, a sentence that says why.
        where_from: Which results were at settings from old data alone, and how they compare; empty if none was.
    """

    beliefs: pd.DataFrame
    relations: pd.DataFrame
    history: pd.DataFrame
    expected: Mapping[str, int] = field(default_factory=dict)
    gaps: Mapping[str, str] = field(default_factory=dict)
    where_from: str = ""

    @property
    def sentences(self) -> list[str]:
        """A text for each old data set; then one on results at settings from old data alone, if there are any."""
        count = int(self.history.index[-1])
        rows = self.relations[["old data", "trust", "slope", "positive"]].to_numpy()
        said = [
            _describe_trust(name, trust, slope, positive, count, self.expected.get(name, 0))
            + (f" {self.gaps[name]}" if name in self.gaps else "")
            for name, trust, slope, positive in rows
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
    """Describe the relation to one old data set after so many results; `expected` is the expected sign (0: either).

    Trust is a share of the whole variance; the sign is that of the explained part, if there is one. So where trust is
    small, the sign is said of that part alone.
    """
    about = format_source_name(name)
    if count == 0:
        return f"{about}: there is no result yet, so nothing is known of what it explains."
    after = f"after {count} result{'s' if count != 1 else ''}"
    if slope == 0:
        return f"{about}: nothing is known of what it explains {after}{' that are all equal' if count > 1 else ''}."
    if isnan(slope):
        return f"{about} explains {_format_percent(trust)} of the response's variance {after}. No relation is seen."
    way, sure = ("rises", positive) if positive >= 0.5 else ("falls", 1 - positive)
    by = float(f"{abs(slope):.2g}")  # 1200 and not 1.2e+03
    moves = f"the response {way} by {by:g} per unit of the old one"
    against = ", against the relation that was given" if sure > _SURE and expected * (positive - 0.5) < 0 else ""
    only = "only " if _SHOWN < trust < _LITTLE else ""
    explains = f"{about} explains {only}{_format_percent(trust)} of the response's variance (posterior mean) {after}."
    if trust < _LITTLE:
        if sure < LIKELY:
            return f"{explains} If the two are related at all, the sign of the relation is open."
        # The sign is that of a relation that need not be there, which is what makes both numbers true at once.
        return (
            f"{explains} If the two are related at all, the response most likely {way} with the old one "
            f"({_format_percent(sure)})."
        )
    if trust < _HALF:
        if sure < LIKELY:
            return f"{explains} The sign of the relation is open."
        return f"{explains} As far as they are related, {moves} ({_format_percent(sure)} sure of the sign){against}."
    if sure < LIKELY:
        return f"{explains} The sign of the relation is open: hypotheses of either sign fit."
    return f"{explains} {moves.capitalize()} ({_format_percent(sure)} sure of the sign){against}."


def _format_percent(share: float) -> str:
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True, eq=False)
class TrustHistory:
    """Trust after each result so far; another result adds one step, and no step is computed twice.

    Attributes:
        surrogate: The model.
        objective: The response.
        goals: The goals of the campaign.
        trials: The results so far.
        steps: The state after the first 0, 1, 2, … of them.
        cache: The cache of the surrogate (see `CachingSurrogate`).
    """

    surrogate: BeliefWeighingSurrogate
    objective: Objective
    goals: Goals
    trials: tuple[Trial, ...] = ()
    steps: "tuple[_Step, ...]" = ()
    cache: Any = None

    def extend_to(self, trials: tuple[Trial, ...]) -> "TrustHistory":
        """Extend the history to these results, from the present steps if it begins with the same results."""
        same = len(trials) >= len(self.trials) and all(map(is_, trials, self.trials))
        steps, cache = (list(self.steps), self.cache) if same else ([], None)
        for count in range(len(steps), len(trials) + 1):
            step, cache = self._compute_step(trials[:count], cache)
            steps.append(step)
        return replace(self, trials=trials, steps=tuple(steps), cache=cache)

    def compute_trust_after(self, trials: tuple[Trial, ...]) -> Trust:
        """Trust after all of these results, without the steps before: much faster."""
        if len(trials) == len(self.trials) and self.steps and all(map(is_, trials, self.trials)):
            return self.trust
        step, _ = self._compute_step(trials, None)
        return _build_trust(self, {len(trials): step})

    def _compute_step(self, trials: tuple[Trial, ...], cache: Any) -> "tuple[_Step, Any]":
        observations = self.goals.make_observations(self.objective, trials, self.surrogate.box) if trials else None
        probabilities, relations, cache = self.surrogate.estimate_relations(observations, self.objective.sign, cache)
        return _Step(probabilities, relations), cache

    @property
    def trust(self) -> Trust:
        """The steps as the tables of `Trust`."""
        return _build_trust(self, dict(enumerate(self.steps)))


def _build_trust(so_far: TrustHistory, steps: "Mapping[int, _Step]") -> Trust:
    """Make the tables of `Trust` from steps by number of results; the last one gives the present state."""
    last = list(steps.values())[-1]
    relations = pd.DataFrame(
        [(name, one.trust, one.slope, one.positive) for name, one in last.relations.items()],
        columns=["old data", "trust", "slope", "positive"],
    )
    rows = [{"observations": float(count)} | step.make_row() for count, step in steps.items()]
    history = pd.DataFrame(rows).astype({"observations": int}).set_index("observations")
    expected = {old.name: int(so_far.objective.sign * old.sign) for old in so_far.surrogate.sources if old.sign}
    gaps = {name: _describe_gap(one, last.compute_probability(name)) for name, one in last.relations.items()}
    return Trust(last.beliefs, relations, history, expected, {name: said for name, said in gaps.items() if said})


def _describe_gap(relation: Relation, probability: float) -> str:
    """Say why a relation of this probability explains so little; empty if it explains enough."""
    if not relation.rest or probability - relation.trust < _GAP:
        return ""
    names = " or ".join(repr(belief) for belief in relation.explained)
    largest = max(relation.rest, key=lambda kind: relation.rest[kind])
    return (
        f"The belief {names} (the response is a multiple of the old one, large or small, plus a remainder) has a "
        f"posterior probability of {_format_percent(probability)}. That is no share of the variance: "
        f"{_format_percent(relation.rest[largest])} of it {_REST[largest]}."
    )


@dataclass(frozen=True, eq=False)
class _Step:
    """The state after some results: the probability of each belief, and the relation to each old data set."""

    probabilities: BeliefProbabilities
    relations: dict[str, Relation]

    @property
    def beliefs(self) -> pd.DataFrame:
        """The table of `Trust`."""
        rows = [
            (old, belief, probability, self.relations[old].explained.get(belief, 0.0) if old else 0.0)
            for (old, belief), probability in self.probabilities.items()
        ]
        return pd.DataFrame(rows, columns=["old data", "belief", "probability", "trust"])

    def compute_probability(self, old: str) -> float:
        """The probability that there is a relation to the response of an old data set."""
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
