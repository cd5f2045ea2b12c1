"""Explain what was learnt from old data, in sentences and tables: the answer of `explain()`.

It describes the effect of each input (rises, falls, which category is highest), interactions, features and rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from html import escape
from itertools import combinations
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch

from tunedprior.checks import format_list
from tunedprior.explain.influential_rows import (
    InfluentialRow,
    Monomial,
    are_withheld,
    rank_influential_rows,
    rank_monomials,
)
from tunedprior.explain.sensitivity import Domain, Sensitivity, compute_sensitivity
from tunedprior.history.trials import format_setting
from tunedprior.machines import LeastSquares
from tunedprior.numerics.isolation import isolate_computation
from tunedprior.source_data.matching import UNNAMED

if TYPE_CHECKING:
    from tunedprior.weight_prior.prior import WeightPrior

# Columns of numbers from 0 to 1, of which small ones do not matter.
_SHARES = ("first", "total", "share", "share below", "probability", "distance")


class Explanation:
    """Mixin: text, HTML and a plain dict, from `sentences` and `tables`."""

    #: What there is to say, in plain words.
    sentences: list[str]

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by topic."""
        raise NotImplementedError

    @property
    def printed_sentences(self) -> list[str]:
        """The sentences that are printed above the tables."""
        return self.sentences

    @property
    def printed_tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables that are worth printing."""
        return self.tables

    def __str__(self) -> str:
        shown = [
            f"{title}:\n{_format_table(one).to_string(index=False)}"
            for title, one in self.printed_tables.items()
            if len(one)
        ]
        return "\n\n".join(["\n".join(self.printed_sentences), *shown])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.printed_sentences)
        tables = [
            f"<h4>{escape(title)}</h4>{_format_table(one).to_html(index=False, escape=True)}"
            for title, one in self.printed_tables.items()
            if len(one)
        ]
        return said + "".join(tables)

    def to_dict(self) -> dict[str, Any]:
        """Sentences and tables as JSON values: lists of records, None for what is not known."""
        tables = {title: [to_json_value(row) for row in one.to_dict("records")] for title, one in self.tables.items()}
        return {"sentences": list(self.sentences), **tables}


def to_json_value(value: Any) -> Any:
    """Convert a value to JSON types: numbers, text, True, False, None, lists and dicts of these."""
    if isinstance(value, Mapping):
        return {str(name): to_json_value(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json_value(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def format_percent(share: float) -> str:
    """Format a share as 34 %, under 1 %, or over 99 %."""
    if 0 < share < 0.005:
        return "under 1 %"
    return "over 99 %" if 0.995 <= share < 1 else f"{100 * share:.0f} %"


def format_value(value: Any) -> str:
    """Format a value with few digits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    text = f"{value:.3g}"
    return f"{float(text):.0f}" if "e+" in text and abs(value) < 1e9 else text


def format_source_name(old: str) -> str:
    """Format the name of an old data set as the beginning of a sentence."""
    return old.capitalize() if old.startswith(UNNAMED) else f"Old data {old!r}"


def _format_table(table: pd.DataFrame) -> pd.DataFrame:
    shown = table.copy()
    for name in shown.columns:
        if pd.api.types.is_float_dtype(shown[name]):
            form = ".3f" if name in _SHARES else ".4g"
            shown[name] = [("" if pd.isna(value) else f"{value:{form}}") for value in shown[name]]
        else:
            shown[name] = shown[name].map(lambda value: format_value(value) if isinstance(value, float) else value)
    return shown


#: The share of the variance below which an input has little effect.
LITTLE = 0.02
# What goes the other way counts from this share of the curve's range on.
_WIGGLE = 0.1


@dataclass(frozen=True)
class Effect:
    """The effect of one input on the response, averaged over all others.

    Attributes:
        way: For a number "rises", "falls", "rises then falls", "falls then rises" or "goes up and down"; for a category
            "differs"; for either "little effect", or "depends on others" if nearly all effect is in interactions.
        low: The least expected response along it.
        high: The largest expected response.
        lowest: The value with the least expected response.
        highest: The value with the largest expected response.
    """

    way: str
    low: float
    high: float
    lowest: Any
    highest: Any

    def describe(self, name: str, response: str) -> str:
        """Describe the effect as a clause without a full stop, with the input and the response by these names."""
        low, high = format_value(self.low), format_value(self.high)
        lowest, highest = format_value(self.lowest), format_value(self.highest)
        match self.way:
            case "rises":
                return f"{response} rises with {name} (from {low} to {high})"
            case "falls":
                return f"{response} falls with {name} (from {high} to {low})"
            case "rises then falls":
                return f"{response} rises with {name} up to about {highest}, then falls (between {low} and {high})"
            case "falls then rises":
                return f"{response} falls with {name} down to about {lowest}, then rises (between {low} and {high})"
            case "differs":
                return f"{response} is highest with {name} = {highest} ({high}) and lowest with {lowest} ({low})"
            case "depends on others":
                return f"which way {response} goes with {name} depends on other inputs"
            case "little effect":
                return f"{name} has little effect"
        return f"{response} goes up and down with {name} (between {low} and {high})"


def classify_effect(found: Sensitivity, number: int) -> Effect:
    """Classify the effect of one side of the domain."""
    side, curve = found.domain.sides[number], found.curves[number]
    lowest, highest = int(curve.argmin()), int(curve.argmax())
    low, high = float(curve[lowest]), float(curve[highest])
    ends = low, high, side.values[lowest], side.values[highest]
    first, total = float(found.first[number]), float(found.total[number])
    if max(first, total if total == total else 0.0) < LITTLE:
        return Effect("little effect", *ends)
    if first < LITTLE:
        return Effect("depends on others", *ends)
    if side.is_category:
        return Effect("differs", *ends)
    order = torch.argsort(side.grid, stable=True)
    return Effect(_classify_curve(curve[order].tolist(), _WIGGLE * (high - low)), *ends)


def _classify_curve(curve: list[float], slight: float) -> str:
    """Describe how a curve goes, such as "rises then falls"; moves of less than `slight` do not count."""
    turns: list[int] = []
    low = high = curve[0]
    for value in curve[1:]:
        now = turns[-1] if turns else 0
        high = max(high, value) if now >= 0 else high
        low = min(low, value) if now <= 0 else low
        if now != 1 and value - low > slight:
            turns.append(1)
            high = value
        elif now != -1 and high - value > slight:
            turns.append(-1)
            low = value
    words = {1: "rises", -1: "falls"}
    if len(turns) in (1, 2):
        return " then ".join(words[turn] for turn in turns)
    return "goes up and down"


# How many inputs, pairs, features and rows a sentence names.
_INPUTS_SAID, _PAIRS_SAID, _FEATURES_SAID, _ROWS_SAID = 5, 2, 4, 3
# A standard deviation, in that of the old responses, below which nothing was learnt.
_FLAT = 0.02


@dataclass(frozen=True, eq=False)
class FunctionSummary:
    """The summary of one function: ĝ of an old data set, or the model of all results.

    Attributes:
        old: The name of the old data set; "" for the model.
        response: The name of the response in sentences.
        target: The response's name.
        sensitivity: Its Sobol indices.
        unit: The standard deviation of the responses it was learnt from.
        monomials: Its features, the largest first.
        influential_rows: The old settings with the largest influence on it, the largest first; empty where none can be
            named.
        places: The place of each of them in its source, by number; empty if that is not known.
        why_no_rows: A sentence on why there are none.
        absent: Inputs that the old data does not have.
        by_ridge: Whether it is a least-squares fit, for which the effect of leaving out a row is known.
        results: The number of results that the model was fitted to; 0 for old data.
        dead_share: The share of the box in which the re-weighted kernel's variance is below a thousandth of its mean.
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
    dead_share: float = 0.0

    @property
    def source(self) -> str:
        """Its name in tables."""
        return self.old or "the model of all results"

    @property
    def effects(self) -> list[Effect]:
        """The effect of each side of the domain."""
        return [classify_effect(self.sensitivity, number) for number in range(len(self.sensitivity.domain.sides))]

    @property
    def pairs(self) -> list[tuple[str, str, float]]:
        """Pairs of inputs with the share of the variance of their interaction, the largest first."""
        sides, shares = self.sensitivity.domain.sides, self.sensitivity.pairs.tolist()
        each = [(sides[i].name, sides[j].name, shares[i][j]) for i, j in combinations(range(len(sides)), 2)]
        return sorted(each, key=lambda one: -one[2])

    def get_place(self, row: InfluentialRow) -> str:
        """The place of an old row in its source."""
        return self.places[row.number] if self.places else f"setting {row.number + 1}"

    @property
    def is_flat(self) -> bool:
        """Whether the function is constant."""
        return self.sensitivity.variance <= (_FLAT * self.unit) ** 2

    @property
    def sentences(self) -> list[str]:
        """The summary in sentences."""
        model = f"The model, after {self.results} result{'s' if self.results != 1 else ''},"
        about = format_source_name(self.old) if self.old else model
        if self.is_flat:
            return [f"{about} {'taught' if self.old else 'expects'} next to nothing: {self.response} is flat."]
        said = [f"{about} {'taught' if self.old else 'has it'} that {self._describe_importance()}."]
        said += [*self._describe_effects(), *self._describe_interactions()]
        if self.absent:
            said.append(f"It says nothing of {format_list(self.absent)}, which it lacks.")
        if not self.old:
            return said
        return [*said, *self._describe_features(), *describe_dead_share(self.dead_share), *self._describe_rows()]

    def _rank_inputs(self) -> list[int]:
        total = self.sensitivity.first if self.sensitivity.domain.is_bound else self.sensitivity.total
        return total.argsort(descending=True, stable=True).tolist()

    def _describe_importance(self) -> str:
        sides, first, total = self.sensitivity.domain.sides, self.sensitivity.first, self.sensitivity.total
        if not self.sensitivity.domain.is_bound:
            most = [i for i in self._rank_inputs() if total[i] >= LITTLE][:_INPUTS_SAID]
            each = [f"{sides[i].name} ({_format_shares(float(first[i]), float(total[i]))})" for i in most]
            return f"{self.response} depends most on {format_list(each)}, in shares of its variance"
        most = [i for i in self._rank_inputs() if first[i] >= LITTLE][:_INPUTS_SAID]
        if not most:
            return f"{self.response} depends on no input by itself"
        each = [f"{sides[i].name} ({format_percent(float(first[i]))})" for i in most]
        return (
            f"{self.response} goes most with {format_list(each)}, in shares of its variance. Inputs are bound by "
            "constraints: a share is what an input says with all that moves along with it, and shares overlap"
        )

    def _describe_effects(self) -> list[str]:
        effects, sides = self.effects, self.sensitivity.domain.sides
        most = [i for i in self._rank_inputs() if effects[i].way != "little effect"][:_INPUTS_SAID]
        said = [effects[i].describe(sides[i].name, self.response) for i in most]
        little = [side.name for side, one in zip(sides, effects, strict=True) if one.way == "little effect"]
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
            f"{self.get_place(one)} ({format_setting(one.setting)}"
            f"{'' if isnan(one.response) else f': {format_value(one.response)}'}; {format_value(one.influence)})"
            for one in self.influential_rows[:_ROWS_SAID]
        ]
        figure = "by how much what is expected would change on average without that row"
        if not self.by_ridge:
            figure = "how much that row itself adds to or takes from what is expected, on average"
        return [f"What it taught rests most on {'; '.join(each)}. The last figure is {figure}."]


# From this share of the box on, a campaign is likely to suffer from it.
LARGE_DEAD_SHARE = 0.1


def describe_dead_share(share: float) -> list[str]:
    """Say in how much of the box the re-weighted kernel has next to no variance; nothing where it has it everywhere."""
    if share == 0:
        return []
    return [
        f"In {format_percent(share)} of the box the prior variance learnt from it is below a thousandth of its mean: "
        "there the model expects nothing to change, and learns next to nothing."
    ]


def _format_shares(first: float, total: float) -> str:
    if total - first < LITTLE:
        return format_percent(total)
    return f"{format_percent(first)} by itself, {format_percent(total)} with others"


# Rows and features that the tables hold for each old data set.
_MOST_ROWS, _MOST_FEATURES = 10, 10
_LEAST_SHARE = 0.005  # of interactions that are shown

_INPUTS = ["old data", "response", "input", "first", "total", "effect", "low", "high", "lowest at", "highest at"]
_CURVES = ["old data", "response", "input", "value", "expected"]
_PAIRS = ["old data", "response", "input", "other", "share"]
_FEATURES = ["old data", "response", "feature", "weight", "share"]
_ROWS = ["old data", "response", "row", "setting", "measured", "influence"]


@dataclass(frozen=True, eq=False, repr=False)
class PriorExplanation(Explanation):
    """What was learnt from old data, in the columns' own names and units.

    In all tables `old data` is the name of the old data set, or "the model of all results", and `response` is the
    response. A response on a logarithmic scale is analysed by its logarithm.

    Attributes:
        inputs: For each input: `first` and `total`, the Sobol indices of the function over the search space (shares of
            its variance: by itself, and with others too); `effect`, such as "rises" or "rises then falls"; `low` and
            `high`, the least and the largest expected response along it, averaged over all else; `lowest at` and
            `highest at`. Where constraints link inputs, `first` includes all that varies along with the input, and
            `total` is nan.
        effects: The expected response along each input, averaged over all else: a curve by `value` and `expected`.
        interactions: For each two inputs, the `share` of the variance that they explain together and neither explains
            by itself (second-order Sobol indices); the largest first.
        features: The paper's view: monomials of the inputs, with their learnt `weight`, and their `share` of the prior
            variance by the Theorem.
        rows: The most influential old settings: the row's place, its `setting`, the `measured` response, and
            `influence`, the change of the expected response if the row were left out (root mean square over the space).
        sentences: The explanation in sentences.
        dead_share: The share of the box in which the re-weighted kernel's variance is below a thousandth of its mean;
            of several old data sets the largest.
    """

    inputs: pd.DataFrame
    effects: pd.DataFrame
    interactions: pd.DataFrame
    features: pd.DataFrame
    rows: pd.DataFrame
    sentences: list[str]
    dead_share: float = 0.0

    @classmethod
    def from_summaries(cls, summaries: Sequence[FunctionSummary], notes: Sequence[str] = ()) -> "PriorExplanation":
        """Join the tables of all summaries; notes come before their sentences."""
        each = [((one.source, one.target), one, one.sensitivity) for one in summaries]
        inputs = [
            (*head, side.name, first, total, *astuple(effect))
            for head, one, found in each
            for side, first, total, effect in zip(
                found.domain.sides, found.first.tolist(), found.total.tolist(), one.effects, strict=True
            )
        ]
        curves = [
            (*head, side.name, value, expected)
            for head, _, found in each
            for side, curve in zip(found.domain.sides, found.curves, strict=True)
            for value, expected in zip(side.values, curve.tolist(), strict=True)
        ]
        pairs = [(*head, *pair) for head, one, _ in each for pair in one.pairs]
        features = [(*head, *feature) for head, one, _ in each for feature in one.monomials[:_MOST_FEATURES]]
        rows = [
            (*head, one.get_place(row), format_setting(row.setting), row.response, row.influence)
            for head, one, _ in each
            for row in one.influential_rows[:_MOST_ROWS]
        ]
        return cls(
            pd.DataFrame(inputs, columns=_INPUTS),
            pd.DataFrame(curves, columns=_CURVES),
            pd.DataFrame(pairs, columns=_PAIRS),
            pd.DataFrame(features, columns=_FEATURES),
            pd.DataFrame(rows, columns=_ROWS),
            [*notes, *(sentence for one in summaries for sentence in one.sentences)],
            max((one.dead_share for one in summaries), default=0.0),
        )

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by topic; curves are for pictures, and so only in `to_dict`."""
        return {
            "inputs": self.inputs,
            "interactions": self.interactions,
            "features": self.features,
            "rows": self.rows,
        }

    @property
    def printed_tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables without negligible interactions."""
        return {**self.tables, "interactions": self.interactions[self.interactions["share"] >= _LEAST_SHARE]}

    def to_dict(self) -> dict[str, Any]:
        """Sentences and tables as JSON values: lists of records, None for what is not known."""
        effects = [to_json_value(row) for row in self.effects.to_dict("records")]
        return {**super().to_dict(), "effects": effects, "dead_share": self.dead_share}


#: Why no row is named.
LEFT_OUT = "The rows that it was learnt from were left out when it was saved."
TOO_MANY_ROWS = "It was learnt from so many rows that none has a coefficient of its own, so none is named."


def summarise_weight_prior(
    prior: "WeightPrior", domain: Domain, old: str = UNNAMED, target: str = "response"
) -> FunctionSummary:
    """Summarise the function of a weight prior for the response `target` over a domain."""
    unit, by_ridge = prior.response_scale, prior.machine == LeastSquares.__name__
    with isolate_computation():
        found = compute_sensitivity(prior.predict_response, domain)
        rows = rank_influential_rows(
            [(prior.fit, 1.0)],
            prior.to_kernel_inputs(domain.sample),
            prior.box,
            shift=prior.response_shift,
            unit=unit,
            reach=prior.reach,
            by_ridge=by_ridge,
        )
        return FunctionSummary(
            old,
            f"the old {target}",
            target,
            found,
            unit,
            rank_monomials(prior.fit, prior.box, prior.reach),
            [] if are_withheld(prior.row_places) else rows,
            prior.row_places if len(prior.row_places) == len(rows) else (),
            LEFT_OUT if are_withheld(prior.row_places) else TOO_MANY_ROWS,
            by_ridge=by_ridge,
            dead_share=prior.dead_share,
        )
