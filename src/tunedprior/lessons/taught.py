"""What old data taught, as tables and sentences: the answer of `explain()`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tunedprior.lessons.lesson import FunctionSummary
from tunedprior.lessons.shown import Explanation, to_json_value
from tunedprior.problem.trials import format_setting

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
    """What was learnt, in the columns' own names and units.

    In all tables `old data` is the name of the old data set, or "the model of all results" for what is expected by now,
    and `response` is the response. A response on a logarithmic scale is looked at by its logarithm.

    Attributes:
        inputs: For each input: `first` and `total`, the Sobol indices of what was learnt over the search space (shares
            of its variance: by itself, and with others too); `effect`, such as "rises" or "rises then falls"; `low` and
            `high`, the least and the most that is expected along it, all else averaged; `lowest at` and `highest at`.
            Where constraints bind inputs, `first` is the share that goes with the input and all that moves along with
            it, and `total` is nan.
        effects: What is expected along each input, all else averaged: a curve by `value` and `expected`.
        interactions: For each two inputs, the `share` of the variance that they account for together and neither does
            by itself (second-order Sobol indices); the largest first.
        features: The paper's view: monomials of the inputs, with their learnt `weight`, and their `share` of the prior
            variance that the Theorem gives them.
        rows: The old settings that carry it: where the row stands, its `setting`, what was `measured`, and `influence`,
            by how much what is expected would change without it (root mean square over the space).
        sentences: What it comes to.
    """

    inputs: pd.DataFrame
    effects: pd.DataFrame
    interactions: pd.DataFrame
    features: pd.DataFrame
    rows: pd.DataFrame
    sentences: list[str]

    @classmethod
    def from_summaries(cls, lessons: Sequence[FunctionSummary], notes: Sequence[str] = ()) -> "PriorExplanation":
        """The tables of all lessons, one below the other; notes come before their sentences."""
        inputs: list[list[Any]] = []
        curves: list[list[Any]] = []
        pairs: list[list[Any]] = []
        features: list[list[Any]] = []
        rows: list[list[Any]] = []
        for one in lessons:
            head, found = [one.source, one.target], one.sensitivity
            for number, (side, effect) in enumerate(zip(found.domain.sides, one.effects, strict=True)):
                ends = [effect.low, effect.high, effect.lowest, effect.highest]
                shares = [float(found.first[number]), float(found.total[number])]
                inputs.append([*head, side.name, *shares, effect.way, *ends])
                both = zip(side.values, found.curves[number].tolist(), strict=True)
                curves += [[*head, side.name, value, expected] for value, expected in both]
            pairs += [[*head, *pair] for pair in one.pairs]
            features += [[*head, *feature] for feature in one.monomials[:_MOST_FEATURES]]
            for carrier in one.influential_rows[:_MOST_ROWS]:
                place = one.get_place(carrier)
                rows.append([*head, place, format_setting(carrier.setting), carrier.response, carrier.influence])
        said = [sentence for one in lessons for sentence in one.sentences]
        return cls(
            pd.DataFrame(inputs, columns=_INPUTS),
            pd.DataFrame(curves, columns=_CURVES),
            pd.DataFrame(pairs, columns=_PAIRS),
            pd.DataFrame(features, columns=_FEATURES),
            pd.DataFrame(rows, columns=_ROWS),
            [*notes, *said],
        )

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by what they are about; curves are for pictures, and so only in `to_dict`."""
        return {
            "inputs": self.inputs,
            "interactions": self.interactions,
            "features": self.features,
            "rows": self.rows,
        }

    @property
    def printed_tables(self) -> Mapping[str, pd.DataFrame]:
        """The same, without interactions that are next to nothing."""
        return {**self.tables, "interactions": self.interactions[self.interactions["share"] >= _LEAST_SHARE]}

    def to_dict(self) -> dict[str, Any]:
        """Sentences and tables as JSON has them: lists of records, None for what is not known."""
        return {**super().to_dict(), "effects": [to_json_value(row) for row in self.effects.to_dict("records")]}
