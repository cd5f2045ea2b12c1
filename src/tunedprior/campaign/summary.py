"""An optimiser in a few lines, for people: in a terminal, and in a notebook."""

from html import escape

from tunedprior.average.surrogate import Average
from tunedprior.campaign.sources import MadeWith
from tunedprior.campaign.suggester import Suggester
from tunedprior.checks import listed
from tunedprior.problem.trials import History, in_words


def summarised(suggester: Suggester, history: History, made: MadeWith) -> dict[str, str]:
    """What there is to say, by what it is about."""
    space, objective = suggester.space, suggester.objective
    count = "any number of" if space.size is None else f"{space.size:,}"
    failed = sum(trial.failed for trial in history.told)
    best = objective.best(history.told)
    lines = {
        "space": f"{listed(space.names)} ({count} settings)",
        "constraints": "; ".join(map(str, space.constraints)),
        "goal": f"{objective.direction} {objective.target}",
        "told": f"{len(history)} results" + (f", {failed} of them failed runs" if failed else ""),
        "best": "none yet" if best is None else f"{best.value:.6g} at {in_words(best.setting)} (trial {best.id})",
        "pending": _trials(history.pending),
        "set aside": _trials(history.set_aside),
        "prior": _prior(suggester, made),
    }
    return {about: said for about, said in lines.items() if said}


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
