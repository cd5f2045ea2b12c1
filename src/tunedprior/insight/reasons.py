"""Why a setting: what is expected of it, what it may gain, what that rests on, and what else could be done."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tunedprior.lessons.shown import Explanation, to_json_value
from tunedprior.problem.space import Setting

#: Who chose a setting: old data (the first ones), the design that ignores it, the model, or nobody here.
OLD_DATA, DESIGN, MODEL, NOBODY = ("old data", "design", "model", "")


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Explanation):
    """Why this setting.

    Attributes:
        setting: It.
        trial: The number of its trial; None if it is none.
        origin: What chose it: "old data" (one of the first settings), "design", "model"; "" if it was not suggested.
        expected: For each response `mean`, and `low` and `high`, a 95 % interval for it; `measured_low` and
            `measured_high`, the same for a measurement, which has noise too; `best`, the best of it so far.
        gain: The expected gain on the best so far, in units of the (first) response, or of the preference; nan where
            there is none: no result yet, or several objectives without weights.
        probability_better: That it is better than the best so far; of several objectives, that no result so far is at
            least as good in all of them. nan likewise.
        probability: That a run works and meets all that is required; 1 if nothing is and nothing failed.
        beliefs: For each response, old data set and belief: the `probability` of the belief by now, and the `expected`
            response here if it holds.
        old_data: For each response and old data set: what it expects here, and the share of settings at which it
            expects less.
        alternatives: This setting and what plain optimisation would have suggested, with what is expected of each.
        nearest: The nearest results, with their distance: 0 for the same, 1 from corner to opposite corner.
        sentences: What it comes to.
        summary: The few of them that people want to know first: what chose it, what is expected, what it may gain.
    """

    setting: Setting
    trial: int | None
    origin: str
    expected: pd.DataFrame
    gain: float
    probability_better: float
    probability: float
    beliefs: pd.DataFrame
    old_data: pd.DataFrame
    alternatives: pd.DataFrame
    nearest: pd.DataFrame
    sentences: list[str]
    summary: list[str]

    @property
    def printed_sentences(self) -> list[str]:
        """What is printed above the tables."""
        return self.summary

    @property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables, by what they are about."""
        return {
            "expected": self.expected,
            "beliefs": self.beliefs,
            "old data": self.old_data,
            "alternatives": self.alternatives,
            "nearest": self.nearest,
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON has it: tables as lists of records, None for what is not known."""
        numbers = {
            "setting": self.setting,
            "trial": self.trial,
            "origin": self.origin,
            "gain": self.gain,
            "probability better": self.probability_better,
            "probability": self.probability,
            "summary": self.summary,
        }
        return {**to_json_value(numbers), **super().to_dict()}
