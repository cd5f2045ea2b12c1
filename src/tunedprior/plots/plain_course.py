"""The shadow over a campaign: what plain optimisation would have suggested in place of each suggestion."""

from collections.abc import Iterable

from tunedprior.campaign.fitted import Fitted
from tunedprior.numerics.isolation import quietly
from tunedprior.plots.standing import Standing
from tunedprior.problem.space import Setting

_TITLE = "what plain optimisation would have suggested"


def has_shadow(standing: Standing) -> bool:
    """Whether old data makes a difference to suggestions: without any, they are the plain ones."""
    suggester = standing.suggester
    models = (suggester.surrogate, *suggester.others.values())
    return any(getattr(one, "known", True) for one in models)


def plain_suggestions(standing: Standing, most: int, progress: bool = False) -> dict[int, Setting]:
    """For the latest suggestions, by their position among the results, what plain optimisation would have suggested.

    It sees the results that were told before, as the real campaign did; of its own suggestions none was ever run.

    Args:
        standing: The campaign.
        most: Of how many suggestions, the latest ones.
        progress: Whether to show a progress bar.
    """
    told, known = standing.history.told, standing.plain_suggestions
    asked = [position for position, trial in enumerate(told) if trial.asked][-most:] if most else []
    missing = [one for one in asked if one not in known or known[one][0] != told[:one]]
    plain = standing.suggester.plain()
    fitted: Fitted | None = None
    for position in _shown(missing, progress):
        history = standing.history.up_to(position)
        with quietly(""):  # that nothing is left to suggest was said when the real one was made
            if not plain.is_designing(history, []):
                fitted = plain.fit(history, standing.seed, fitted)
            setting = plain.suggest(history, [], standing.seed, None, fitted)
        known[position] = told[:position], setting
    return {position: known[position][1] for position in asked}


def _shown(positions: list[int], progress: bool) -> Iterable[int]:
    from tqdm import tqdm

    found: Iterable[int] = tqdm(positions, desc=_TITLE, disable=not progress, leave=False)
    return found
