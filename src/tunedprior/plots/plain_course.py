"""The shadow over a campaign: what plain optimisation would have suggested in place of each suggestion."""

from collections.abc import Iterable

from tunedprior.campaign.fitted import FittedModels
from tunedprior.numerics.isolation import silence_warnings
from tunedprior.plots.standing import Snapshot
from tunedprior.problem.space import Setting

_TITLE = "what plain optimisation would have suggested"


def has_baseline(standing: Snapshot) -> bool:
    """Whether old data makes a difference to suggestions: without any, they are the plain ones."""
    suggester = standing.suggester
    models = (suggester.surrogate, *suggester.other_surrogates.values())
    return any(getattr(one, "sources", True) for one in models)


def replay_baselines(standing: Snapshot, most: int, progress: bool = False) -> dict[int, Setting]:
    """For the latest suggestions, by their position among the results, what plain optimisation would have suggested.

    It sees the results that were told before, as the real campaign did; of its own suggestions none was ever run.

    Args:
        standing: The campaign.
        most: Of how many suggestions, the latest ones.
        progress: Whether to show a progress bar.
    """
    told, known = standing.history.told, standing.baseline_suggestions
    asked = [position for position, trial in enumerate(told) if trial.is_suggestion][-most:] if most else []
    missing = [one for one in asked if one not in known or known[one][0] != told[:one]]
    plain = standing.suggester.drop_old_data()
    fitted: FittedModels | None = None
    for position in _show_progress(missing, progress):
        history = standing.history.keep_first(position)
        with silence_warnings(""):  # that nothing is left to suggest was said when the real one was made
            if not plain.is_designing(history, []):
                fitted = plain.fit(history, standing.seed, fitted)
            setting = plain.suggest(history, [], standing.seed, None, fitted)
        known[position] = told[:position], setting
    return {position: known[position][1] for position in asked}


def _show_progress(positions: list[int], progress: bool) -> Iterable[int]:
    from tqdm import tqdm

    found: Iterable[int] = tqdm(positions, desc=_TITLE, disable=not progress, leave=False)
    return found
