"""What one function taught that was learnt: all that is looked at, and the sentences it comes to."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from tunedprior.checks import listed
from tunedprior.lessons.carriers import Carrier
from tunedprior.lessons.effects import LITTLE, Effect, effect_of
from tunedprior.lessons.monomials import Monomial
from tunedprior.lessons.sensitivity import Sensitivity
from tunedprior.lessons.shown import percent, short
from tunedprior.problem.old_data import UNNAMED
from tunedprior.problem.trials import in_words

# How many inputs, pairs, features and rows a sentence names.
_INPUTS_SAID, _PAIRS_SAID, _FEATURES_SAID, _ROWS_SAID = 5, 2, 4, 3
# A standard deviation, in that of the old responses, below which nothing was learnt.
_FLAT = 0.02


@dataclass(frozen=True, eq=False)
class Lesson:
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
    found: Sensitivity
    unit: float
    monomials: Sequence[Monomial] = ()
    carriers: Sequence[Carrier] = ()
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
        return [effect_of(self.found, number) for number in range(len(self.found.domain.sides))]

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Two inputs each, and the share of the variance that is theirs together alone; the largest first."""
        sides, shares = self.found.domain.sides, self.found.pairs.tolist()
        each = [(sides[i].name, sides[j].name, shares[i][j]) for i, j in combinations(range(len(sides)), 2)]
        return sorted(each, key=lambda one: -one[2])

    def place(self, carrier: Carrier) -> str:
        """Where an old row stands."""
        return self.places[carrier.number] if self.places else f"setting {carrier.number + 1}"

    @property
    def is_flat(self) -> bool:
        """Whether nothing was learnt."""
        return self.found.variance <= (_FLAT * self.unit) ** 2

    @property
    def sentences(self) -> list[str]:
        """What it comes to."""
        about = self.old.capitalize() if self.old.startswith(UNNAMED) else f"Old data {self.old!r}"
        if not self.old:
            about = f"The model, after {self.results} result{'s' if self.results != 1 else ''},"
        if self.is_flat:
            return [f"{about} {'taught' if self.old else 'expects'} next to nothing: {self.response} is flat."]
        said = [f"{about} {'taught' if self.old else 'has it'} that {self._importance()}."]
        said += [*self._ways(), *self._interactions()]
        if self.absent:
            said.append(f"It says nothing of {listed(self.absent)}, which it lacks.")
        return [*said, *self._features(), *self._rows()] if self.old else said

    def _ranked(self) -> list[int]:
        total = self.found.first if self.found.domain.is_bound else self.found.total
        return total.argsort(descending=True, stable=True).tolist()

    def _importance(self) -> str:
        sides, first, total = self.found.domain.sides, self.found.first.tolist(), self.found.total.tolist()
        if self.found.domain.is_bound:
            most = [i for i in self._ranked() if first[i] >= LITTLE][:_INPUTS_SAID]
            each = [f"{sides[i].name} ({percent(first[i])})" for i in most]
            if not most:
                return f"{self.response} depends on no input by itself"
            return (
                f"{self.response} goes most with {listed(each)}, in shares of its variance. Inputs are bound by "
                "constraints: a share is what an input says with all that moves along with it, and shares overlap"
            )
        most = [i for i in self._ranked() if total[i] >= LITTLE][:_INPUTS_SAID]
        each = [f"{sides[i].name} ({_alone_and_all(first[i], total[i])})" for i in most]
        return f"{self.response} depends most on {listed(each)}, in shares of its variance"

    def _ways(self) -> list[str]:
        effects, sides = self.effects, self.found.domain.sides
        most = [i for i in self._ranked() if effects[i].way != "little effect"][:_INPUTS_SAID]
        said = [effects[i].in_words(sides[i].name, self.response) for i in most]
        little = [sides[i].name for i, one in enumerate(effects) if one.way == "little effect"]
        little = [name for name in little if name not in self.absent]
        if little:
            said.append(f"{listed(little)} {'has' if len(little) == 1 else 'have'} little effect")
        return [
            f"{one[0].upper()}{one[1:]}." if one.startswith(("the old ", "which way ")) else f"{one}." for one in said
        ]

    def _interactions(self) -> list[str]:
        strong = [one for one in self.pairs if one[2] >= LITTLE][:_PAIRS_SAID]
        if strong:
            each = [f"{one} and {other} ({percent(share)} of the variance)" for one, other, share in strong]
            return [f"Beyond what each does by itself, these act together: {'; '.join(each)}."]
        if len(self.found.domain.sides) - len(self.absent) > 1:
            return ["Inputs act nearly independently of each other."]
        return []

    def _features(self) -> list[str]:
        if not self.monomials:
            return []
        each = [f"{one.name} ({percent(one.share)})" for one in self.monomials[:_FEATURES_SAID]]
        return [
            f"The features with the largest learnt weights are {listed(each)}, in shares of the prior variance they "
            "get; a number in them counts from the middle of its range, a choice as +1 and all others as -1."
        ]

    def _rows(self) -> list[str]:
        if not self.carriers:
            return [self.why_no_rows] if self.why_no_rows else []
        each = [
            f"{self.place(one)} ({in_words(one.setting)}{_measured(one.response)}; {short(one.influence)})"
            for one in self.carriers[:_ROWS_SAID]
        ]
        figure = "by how much what is expected would change on average without that row"
        if not self.by_ridge:
            figure = "how much that row itself adds to or takes from what is expected, on average"
        return [f"What it taught rests most on {'; '.join(each)}. The last figure is {figure}."]


def _alone_and_all(first: float, total: float) -> str:
    if total - first < LITTLE:
        return percent(total)
    return f"{percent(first)} by itself, {percent(total)} with others"


def _measured(response: float) -> str:
    return "" if isnan(response) else f": {short(response)}"
