"""The state of a campaign in a few lines, as text and as HTML."""

from html import escape

from tunedprior.checks import format_list
from tunedprior.goals.goals import Goals
from tunedprior.history.trials import History, format_setting
from tunedprior.source_data.matching import UNNAMED
from tunedprior.suggestion.config import TransferConfig
from tunedprior.suggestion.suggester import Suggester
from tunedprior.weight_prior.sources import SourceSurrogate

_MOST_NAMED, _MOST_COUNTED = 12, 1_000_000  # parameters that are described, and settings that are counted


def summarise_campaign(
    suggester: Suggester, history: History, transfer: TransferConfig, has_own_model: bool
) -> dict[str, str]:
    """The state of a campaign in a few lines, by topic."""
    space = suggester.space
    each = [f"{one.name} ({one.format_domain()})" for one in space.parameters]
    count = f"; {space.size:,} settings" if space.size is not None and space.size <= _MOST_COUNTED else ""
    failed = sum(trial.failed for trial in history.told)
    goals = suggester.goals
    lines = {
        "space": format_list(each, _MOST_NAMED) + count,
        "constraints": "; ".join(map(str, space.constraints)),
        "goal": goals.describe(),
        "results": f"{len(history)}" + (f", {failed} of them failed" if failed else ""),
        "best": _describe_best(goals, history),
        "far worse": _describe_far_worse(suggester, history),
        "open": _format_trials(history.pending),
        "cancelled or withdrawn": _format_trials(history.set_aside),
        "prior": _describe_prior(suggester, transfer, has_own_model),
    }
    return {about: said for about, said in lines.items() if said}


def _describe_best(goals: Goals, history: History) -> str:
    if goals.has_front:
        front = goals.find_front(history.told)
        return f"{_format_trials(tuple(front))} on the Pareto front" if front else "none yet"
    best = goals.find_best(history.told)
    if best is None:
        return "none yet" + (" that meets the requirements" if goals.requirements and len(history) else "")
    told = ", ".join(f"{name} {value:.6g}" for name, value in best.more.items())
    return f"{best.value:.6g}{f' ({told})' if told else ''} at {format_setting(best.setting)} (trial {best.label})"


def _describe_far_worse(suggester: Suggester, history: History) -> str:
    found = suggester.goals.find_far_worse(history.told, suggester.surrogate.box)
    each = [
        f"{name if len(suggester.goals.responses) > 1 else ''} {_format_trials(tuple(one))}"
        for name, one in found.items()
    ]
    return f"{'; '.join(each).strip()}, which models take as merely worse" if each else ""


def render_summary_text(about: str, lines: dict[str, str]) -> str:
    """One line of text for each topic."""
    return "\n".join([f"<{about}", *(f"  {name}: {said}" for name, said in lines.items())]) + ">"


def render_summary_html(about: str, lines: dict[str, str]) -> str:
    """An HTML table of the topics, with all user text escaped."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in lines.items())
    return f"<table><caption>{escape(about)}</caption>{rows}</table>"


def _format_trials(trials: tuple[object, ...]) -> str:
    numbers = [str(getattr(trial, "id", "")) for trial in trials]
    return f"{len(numbers)} (trial{'s' if len(numbers) > 1 else ''} {format_list(numbers)})" if numbers else ""


def _describe_prior(suggester: Suggester, transfer: TransferConfig, has_own_model: bool) -> str:
    if has_own_model:
        return f"the model {type(suggester.surrogate).__name__}"
    if not transfer.sources:
        return f"{transfer.prior}, without old data"
    names = format_list(one.name for one in transfer.sources)
    surrogate = suggester.surrogate
    unused = ", which is not used" if isinstance(surrogate, SourceSurrogate) and not surrogate.sources else ""
    which = UNNAMED if names == UNNAMED else f"{UNNAMED}: {names}"
    return f"{transfer.prior}, with {which}{unused}"
