"""Trust in old data: the share of the response's variance that it explains, and the sign of the relation."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html import escape
from math import isnan
from operator import is_
from typing import Any, TypeGuard

import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tunedprior.goals.goals import Goals
from tunedprior.goals.objective import Objective
from tunedprior.goals.observations import Observations
from tunedprior.history.trials import Trial
from tunedprior.kernels.anchors import draw_box_sample
from tunedprior.kernels.sections import StackSection
from tunedprior.model_averaging.average import Average
from tunedprior.model_averaging.hypotheses import Hypotheses, Label
from tunedprior.model_averaging.weighing import Slopes, WeightedHypotheses, compute_slopes
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import UNNAMED
from tunedprior.weight_prior.sources import SourceData

_NOTHING = float("nan")
#: What makes up the rest of the variance of a response, where a relation to old data is held.
BEYOND, OPEN, NOISE, DOUBT = ("beyond", "open", "noise", "doubt")
_BOUND = 1e-6  # of the largest singular value of settings; a smaller one is that of an equation between them
_SETTINGS = 64  # of the search space, over which variances are taken; twice as many change trust by 0.003


@dataclass(frozen=True)
class Relation:
    """The posterior of the relation ρ·ĝ(x) + … of the objective to one old data set with the function ĝ.

    Attributes:
        explained: By belief, the share of the variance of a response that ρ·ĝ makes up, as far as old data determines
            ĝ; times the belief's probability. 0 for beliefs that are not there.
        slope: E[ρ | D], in the units of the objective over those of the old response; nan where no hypothesis has a ρ.
        positive: P(ρ > 0 | D); nan likewise.
        rest: The other shares of a response's variance if one of these beliefs holds: variation that the old response
            does not have (`BEYOND`), what is still `OPEN`, `NOISE`, and what old data itself leaves open (`DOUBT`).
    """

    explained: Mapping[str, float] = field(default_factory=dict)
    slope: float = _NOTHING
    positive: float = _NOTHING
    rest: Mapping[str, float] = field(default_factory=dict)

    @property
    def trust(self) -> float:
        """The share of the variance of a response that old data explains."""
        return sum(self.explained.values())


def estimate_relation(
    old: SourceData, average: Average, weighed: WeightedHypotheses, observations: Observations, sign: float
) -> Relation:
    """Estimate the relation of the objective to an old data set, over the hypotheses that have a ρ.

    Args:
        old: The old data set, one of those of the average.
        average: The model.
        weighed: Its hypotheses with their posterior probabilities.
        observations: The observations D.
        sign: The sign by which the model's response is turned back into the objective.
    """
    among, y = weighed.hypotheses, observations.y
    if not bool((y != y[0]).any()):  # equal responses bear nothing out
        return Relation(slope=0.0, positive=0.5)
    x = average.box.to_kernel_inputs(observations.X)
    slopes = compute_slopes(old, weighed, x, y)
    rows = slopes.rows
    if len(rows) == 0:
        return Relation()
    sample = old.some if _are_bound(old.some, average) else draw_space_sample(average, x)
    which = torch.tensor(among.fit_indices)[rows]
    elsewhere = torch.stack([fit(sample) for fit in old.fits])[which]
    weight, positive = weighed.weights[rows], slopes.positive if sign > 0 else 1 - slopes.positive
    # Readings of doubtful data have units of their own.
    unit = sign * observations.scale / torch.tensor(old.units, dtype=torch.float64)[which]
    parts = _compute_variance_shares(weighed, slopes, slopes.mean[:, None] * elsewhere, x, sample)
    reliable = _compute_reliability(among, rows, elsewhere, sample)
    shares = parts[0] * reliable
    average_of = weight / weight.sum()
    rest = dict(zip((BEYOND, OPEN, NOISE), (parts[1:] @ average_of).tolist(), strict=True))
    rest[DOUBT] = float(average_of @ (parts[0] * (1 - reliable)))
    explained: dict[str, float] = {}
    for row, part in zip(rows.tolist(), (weight * shares).tolist(), strict=True):
        belief = among.labels[row].belief
        explained[belief] = explained.get(belief, 0.0) + part
    return Relation(
        explained, float(weight @ (unit * slopes.mean) / weight.sum()), float(weight @ positive / weight.sum()), rest
    )


def draw_space_sample(average: Average, x: Float[Tensor, "n d"]) -> Float[Tensor, "m d"]:
    """Draw points over the search space, as kernel inputs: the box, or a part of it that holds the observed points x.

    Old data may reach far beyond the space. The average knows the width of the space, and infers its place from x:
    exactly if it is the whole box, and the better the further x are apart.
    """
    axes = average.hypotheses.axes
    sample = axes.to_kernel_inputs(draw_box_sample(len(axes), count=_SETTINGS))
    width = axes.unit.clamp_max(1.0).where(axes.is_number, 1.0)
    centre = ((x.amin(0) + x.amax(0)) / 2).clamp(width - 1, 1 - width)
    return centre + width * sample


def _are_bound(some: Float[Tensor, "m d"] | None, average: Average) -> TypeGuard[Float[Tensor, "m d"]]:
    """Whether settings satisfy a linear equation, such as parts that add up to 1, and so fill little of the box."""
    if some is None:
        return False
    numbers = some[:, average.hypotheses.axes.is_number]
    varying = numbers[:, numbers.std(0, correction=0) > 0]
    if varying.shape[1] < 2 or len(varying) <= varying.shape[1]:
        return False
    sizes = torch.linalg.svdvals(varying - varying.mean(0))
    return bool(sizes[-1] < _BOUND * sizes[0])


def _compute_variance_shares(
    weighed: WeightedHypotheses,
    slopes: Slopes,
    by_old: Float[Tensor, "k m"],
    x: Float[Tensor, "n d"],
    sample: Float[Tensor, "m d"],
) -> Float[Tensor, "4 k"]:
    """var b, var(m - b), v and noise over their sum, for each h: the first is the share of b = E[ρ | D]·ĝ.

    b and m - b, the rest of the posterior mean, vary over the sample. The posterior variance v, on average over the
    sample, and noise add to the variance of a response. Without v, two observations would count as explained by any
    curve through them.
    """
    processes = weighed.hypotheses.processes.take(slopes.rows)
    kernels = StackSection.from_stack(processes.kernels, x).evaluate(sample)
    cross = processes.mix_kernels(kernels.cross, dims=2)
    known = torch.linalg.solve_triangular(slopes.factor, cross.mT, upper=False).square().sum(-2)
    left = (processes.mix_kernels(kernels.variance, dims=1) - known).clamp_min(0.0).mean(-1)
    rest = ((cross @ slopes.solved).squeeze(-1) - by_old).var(-1, correction=0)
    part, amplitude = by_old.var(-1, correction=0), weighed.amplitude[slopes.rows]
    parts = torch.stack([part, rest, amplitude * left, amplitude * processes.noise])
    shares: Tensor = parts / (part + rest + amplitude * (left + processes.noise))
    return shares


def _compute_reliability(
    among: Hypotheses, rows: Int[Tensor, " k"], learnt: Float[Tensor, "k m"], sample: Float[Tensor, "m d"]
) -> Float[Tensor, " k"]:
    """var ĝ / (var ĝ + u) over the sample, for each h: the share of g that old data determines; u is its uncertainty.

    With a large u, ĝ may be chance, and smooth functions easily correlate by chance. The prior variance of the
    hypothesis that has the least beside ρ·g is constant + s (ĝ² + u), which gives u.
    """
    kinds = list(zip(among.labels, among.fit_indices, strict=True))
    slopes, purest = among.slopes.tolist(), dict[tuple[Label, int], int]()
    for row, kind in enumerate(kinds):
        if slopes[row] > slopes[purest.setdefault(kind, row)]:
            purest[kind] = row
    distinct, place = torch.tensor([purest[kinds[row]] for row in rows.tolist()]).unique(return_inverse=True)
    processes = among.processes.take(distinct)
    total = (processes.compute_variance(sample) - processes.constant) / among.slopes[distinct, None]
    left = (total[place] - learnt.square()).mean(-1).clamp_min(0.0)
    varies = learnt.var(-1, correction=0)
    found: Tensor = varies / (varies + left).clamp_min(1e-300)
    return found


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
        """A text for each old data set, and where the results came from."""
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
    """Describe the relation to one old data set after so many results; `expected` is the expected sign (0: either).

    Trust is a share of the whole variance; the sign is that of the explained part, if there is one. So where trust is
    small, the sign is said of that part alone.
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
        average: The model.
        objective: The response.
        goals: The goals of the campaign.
        trials: The results so far.
        steps: The state after the first 0, 1, 2, … of them.
        cache: The cache of the average (see `CachingSurrogate`).
    """

    average: Average
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
        average = self.average
        if not trials:
            nothing = {old.name: Relation() for old in average.sources}
            return _Step(
                _sum_probabilities(WeightedHypotheses.from_prior_probabilities(average.hypotheses)), nothing
            ), cache
        observations = self.goals.make_observations(self.objective, trials, average.box)
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
    """Make the tables of `Trust` from steps by number of results; the last one gives the present state."""
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
    """Say why a relation of this probability explains so little; empty if it explains enough."""
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
    """The state after some results: the probability of each belief, and the relation to each old data set."""

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


def _sum_probabilities(weighed: WeightedHypotheses) -> dict[tuple[str, str], float]:
    """The probability of each belief, by old data set and belief."""
    found: dict[tuple[str, str], float] = {}
    for label, weight in zip(weighed.hypotheses.labels, weighed.weights.tolist(), strict=True):
        found[label.old, label.belief] = found.get((label.old, label.belief), 0.0) + weight
    return found
