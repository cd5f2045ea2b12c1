"""What plain optimisation would have suggested instead."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

from tunedprior.campaign.suggester import Suggester
from tunedprior.problem.space import Setting
from tunedprior.problem.trials import History, Trial, collect_settings


@dataclass(frozen=True)
class BaselineSuggestion:
    """What plain optimisation would have suggested instead.

    Attributes:
        setting: Its suggestion.
        distance: How far from it the real one is: 0 for the same, 1 from one corner of the space to the opposite one.
    """

    setting: Setting
    distance: float


def suggest_baseline(
    suggester: Suggester,
    history: History,
    trial: Trial,
    seed: int,
    candidates: Any = None,
) -> BaselineSuggestion:
    """The shadow of a pending trial: with all that was told, and what was already pending when it was asked for."""
    before = history.pending[: history.pending.index(trial)]
    instead = suggester.drop_old_data().suggest(history, collect_settings(before), seed, candidates)
    box = suggester.own_box
    here, there = box.to_kernel_inputs(box.encode([trial.setting, instead]))
    return BaselineSuggestion(instead, float((here - there).norm() / (2 * sqrt(len(here)))))
