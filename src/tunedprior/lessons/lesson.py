"""What one function taught that was learnt: all that is looked at, and the sentences it comes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from tunedprior.checks import format_list
from tunedprior.lessons.carriers import InfluentialRow
from tunedprior.lessons.effects import LITTLE, Effect, classify_effect
from tunedprior.lessons.monomials import Monomial
from tunedprior.lessons.sensitivity import Sensitivity
from tunedprior.lessons.shown import format_percent, format_value
from tunedprior.problem.old_data import UNNAMED
from tunedprior.problem.trials import format_setting

# How many inputs, pairs, features and rows a sentence names.
_INPUTS_SAID, _PAIRS_SAID, _FEATURES_SAID, _ROWS_SAID = 5, 2, 4, 3
# A standard deviation, in that of the old responses, below which nothing was learnt.
_FLAT = 0.02


@dataclass(frozen=True, eq=False)
class FunctionSummary:
    """What is known of one function: ĝ of an old data set, or the model of everything told so far.

    Attributes:
        old: The name of the old data set; "" for the model.
        response: What the response is called in sentences.
        target: The response's name.
        found: Which inputs it depends on.
        unit: The standard deviation of the responses it was learnt from.
        monomials: Its features, the largest first.
        carriers: The old settings that carry it, the most influential first; empty where there are none to name.
        places: Where each of them stands in its source, by their numbers; empty if that is not known.
        why_no_rows: A sentence on why there are none.
        absent: Inputs of which the old data says nothing.
        by_ridge: Whether it is a least-squares fit, for which it is known what a row's absence would change.
        results: How many results the model rests on; 0 for old data.
    """

    old: str
    response: str
    target: str
    sensitivity: Sensitivity
    unit: float
    monomials: Sequence[Monomial] = ()
    influential_rows: Sequence[InfluentialRow] = ()
    places: Sequence[str] = ()
    why_no_rows: str = ""
    absent: Sequence[str] = ()
    by_ridge: bool = True
    results: int = 0

    @property
    def source(self) -> str:
        """What the table calls it."""
        return self.old or "the model of all results"

    @property
    def effects(self) -> list[Effect]:
        """What each side of the domain does."""
        return [classify_effect(self.sensitivity, number) for number in range(len(self.sensitivity.domain.sides))]

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Two inputs each, and the share of the variance that is theirs together alone; the largest first."""
        sides, shares = self.sensitivity.domain.sides, self.sensitivity.pairs.tolist()
        each = [(sides[i].name, sides[j].name, shares[i][j]) for i, j in combinations(range(len(sides)), 2)]
        return sorted(each, key=lambda one: -one[2])

    def get_place(self, carrier: InfluentialRow) -> str:
        """Where an old row stands."""
        return self.places[carrier.number] if self.places else f"setting {carrier.number + 1}"

    @property
    def is_flat(self) -> bool:
        """Whether nothing was learnt."""
        return self.sensitivity.variance <= (_FLAT * self.unit) ** 2

    @property
    def sentences(self) -> list[str]:
        """What it comes to."""
        about = self.old.capitalize() if self.old.startswith(UNNAMED) else f"Old data {self.old!r}"
        if not self.old:
            about = f"The model, after {self.results} result{'s' if self.results != 1 else ''},"
        if self.is_flat:
            return [f"{about} {'taught' if self.old else 'expects'} next to nothing: {self.response} is flat."]
        said = [f"{about} {'taught' if self.old else 'has it'} that {self._describe_importance()}."]
        said += [*self._describe_effects(), *self._describe_interactions()]
        if self.absent:
            said.append(f"It says nothing of {format_list(self.absent)}, which it lacks.")
        return [*said, *self._describe_features(), *self._describe_rows()] if self.old else said

    def _rank_inputs(self) -> list[int]:
        total = self.sensitivity.first if self.sensitivity.domain.is_bound else self.sensitivity.total
        return total.argsort(descending=True, stable=True).tolist()

    def _describe_importance(self) -> str:
        sides, first, total = (
            self.sensitivity.domain.sides,
            self.sensitivity.first.tolist(),
            self.sensitivity.total.tolist(),
        )
        if self.sensitivity.domain.is_bound:
            most = [i for i in self._rank_inputs() if first[i] >= LITTLE][:_INPUTS_SAID]
            each = [f"{sides[i].name} ({format_percent(first[i])})" for i in most]
            if not most:
                return f"{self.response} depends on no input by itself"
            return (
                f"{self.response} goes most with {format_list(each)}, in shares of its variance. Inputs are bound by "
                "constraints: a share is what an input says with all that moves along with it, and shares overlap"
            )
        most = [i for i in self._rank_inputs() if total[i] >= LITTLE][:_INPUTS_SAID]
        each = [f"{sides[i].name} ({_format_shares(first[i], total[i])})" for i in most]
        return f"{self.response} depends most on {format_list(each)}, in shares of its variance"

    def _describe_effects(self) -> list[str]:
        effects, sides = self.effects, self.sensitivity.domain.sides
        most = [i for i in self._rank_inputs() if effects[i].way != "little effect"][:_INPUTS_SAID]
        said = [effects[i].describe(sides[i].name, self.response) for i in most]
        little = [sides[i].name for i, one in enumerate(effects) if one.way == "little effect"]
        little = [name for name in little if name not in self.absent]
        if little:
            said.append(f"{format_list(little)} {'has' if len(little) == 1 else 'have'} little effect")
        return [
            f"{one[0].upper()}{one[1:]}." if one.startswith(("the old ", "which way ")) else f"{one}." for one in said
        ]

    def _describe_interactions(self) -> list[str]:
        strong = [one for one in self.pairs if one[2] >= LITTLE][:_PAIRS_SAID]
        if strong:
            each = [f"{one} and {other} ({format_percent(share)} of the variance)" for one, other, share in strong]
            return [f"Beyond what each does by itself, these act together: {'; '.join(each)}."]
        if len(self.sensitivity.domain.sides) - len(self.absent) > 1:
            return ["Inputs act nearly independently of each other."]
        return []

    def _describe_features(self) -> list[str]:
        if not self.monomials:
            return []
        each = [f"{one.name} ({format_percent(one.share)})" for one in self.monomials[:_FEATURES_SAID]]
        return [
            f"The features with the largest learnt weights are {format_list(each)}, in shares of the prior "
            "variance they "
            "get; a number in them counts from the middle of its range, a choice as +1 and all others as -1."
        ]

    def _describe_rows(self) -> list[str]:
        if not self.influential_rows:
            return [self.why_no_rows] if self.why_no_rows else []
        each = [
            f"{self.get_place(one)} ({format_setting(one.setting)}{_format_measurement(one.response)}; "
            f"{format_value(one.influence)})"
            for one in self.influential_rows[:_ROWS_SAID]
        ]
        figure = "by how much what is expected would change on average without that row"
        if not self.by_ridge:
            figure = "how much that row itself adds to or takes from what is expected, on average"
        return [f"What it taught rests most on {'; '.join(each)}. The last figure is {figure}."]


def _format_shares(first: float, total: float) -> str:
    if total - first < LITTLE:
        return format_percent(total)
    return f"{format_percent(first)} by itself, {format_percent(total)} with others"


def _format_measurement(response: float) -> str:
    return "" if isnan(response) else f": {format_value(response)}"
