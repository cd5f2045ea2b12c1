"""An optimiser in a few lines, for people: in a terminal, and in a notebook."""

from html import escape

from tunedprior.average.surrogate import Average
from tunedprior.campaign.sources import MadeWith
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed
from tunedprior.problem.aims import Aims
from tunedprior.problem.trials import History, in_words

_MOST_NAMED, _MOST_COUNTED = 12, 1_000_000  # parameters that are described, and settings that are counted


def summarised(suggester: Suggester, history: History, made: MadeWith) -> dict[str, str]:
    """What there is to say, by what it is about."""
    space = suggester.space
    each = [f"{one.name} ({one.in_words()})" for one in space.parameters]
    count = f"; {space.size:,} settings" if space.size is not None and space.size <= _MOST_COUNTED else ""
    failed = sum(trial.failed for trial in history.told)
    aims = suggester.aims
    lines = {
        "space": listed(each, _MOST_NAMED) + count,
        "constraints": "; ".join(map(str, space.constraints)),
        "goal": aims.in_words(),
        "told": f"{len(history)} results" + (f", {failed} of them failed runs" if failed else ""),
        "best": _best(aims, history),
        "far worse": _far_worse(suggester, history),
        "pending": _trials(history.pending),
        "set aside": _trials(history.set_aside),
        "prior": _prior(suggester, made),
    }
    return {about: said for about, said in lines.items() if said}


def _best(aims: Aims, history: History) -> str:
    if aims.has_front:
        front = aims.front(history.told)
        return f"{_trials(tuple(front))} with the best trade-offs" if front else "none yet"
    best = aims.best(history.told)
    if best is None:
        return "none yet" + (" that meets what is required" if aims.requirements and len(history) else "")
    told = ", ".join(f"{name} {value:.6g}" for name, value in best.more.items())
    return f"{best.value:.6g}{f' ({told})' if told else ''} at {in_words(best.setting)} (trial {best.id})"


def _far_worse(suggester: Suggester, history: History) -> str:
    found = suggester.aims.far_worse(history.told, suggester.surrogate.box)
    each = [f"{name if len(suggester.aims.responses) > 1 else ''} {_trials(tuple(one))}" for name, one in found.items()]
    return f"{'; '.join(each).strip()}, which models take as merely worse" if each else ""


def as_text(about: str, lines: dict[str, str]) -> str:
    """One line for each."""
    return "\n".join([f"<{about}", *(f"  {name}: {said}" for name, said in lines.items())]) + ">"


def as_html(about: str, lines: dict[str, str]) -> str:
    """A table, whatever the user's names hold."""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(said)}</td></tr>" for name, said in lines.items())
    return f"<table><caption>{escape(about)}</caption>{rows}</table>"


def _trials(trials: tuple[object, ...]) -> str:
    numbers = [str(getattr(trial, "id", "")) for trial in trials]
    return f"{len(numbers)} (trial{'s' if len(numbers) > 1 else ''} {listed(numbers)})" if numbers else ""


def _prior(suggester: Suggester, made: MadeWith) -> str:
    if "model" in made.objects or "suggester" in made.objects:
        return f"the model {type(suggester.surrogate).__name__}"
    if not made.old:
        return f"{made.prior}, without old data"
    names = listed(one.name for one in made.old)
    surrogate = suggester.surrogate
    unused = ", which is not used" if isinstance(surrogate, Average) and not surrogate.known else ""
    return f"{made.prior}, with {names}{unused}"
