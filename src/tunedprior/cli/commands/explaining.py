"""`tunedprior explain`."""

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from tunedprior.cli.arguments import Campaign, Name
from tunedprior.cli.output import AsJson, say
from tunedprior.cli.tables import bullets
from tunedprior.desk.shell_words import campaign_words


def explain(
    campaign: Campaign,
    setting: Annotated[list[str], typer.Argument(help="A setting, as name=value, instead of open suggestions.")] = [],
    trial: Annotated[int | None, typer.Option("--trial", help="Only this suggestion or result.")] = None,
    candidates: Annotated[
        str | None, typer.Option("--candidates", help="The file that suggestions were chosen from.")
    ] = None,
    old_data: Annotated[
        bool, typer.Option("--old-data", help="Say what the old data taught, instead of why something is suggested.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Say all: what it rests on, and what plain optimisation would have done.")
    ] = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Say why each open suggestion was made, in short, or what the old data taught."""
    from tunedprior.desk.places import reached
    from tunedprior.desk.typed_values import typed
    from tunedprior.problem.cells import as_value_of
    from tunedprior.problem.trials import in_words

    opt = reached(campaign, name, only_look=True)
    asked: list[Any] = [] if old_data else [trial] if trial is not None else list(opt.pending)
    if setting:
        cells = typed(setting, opt.space.names)
        asked = [{one.name: as_value_of(one, cells.get(one.name)) for one in opt.space.parameters}]
    shown: list[RenderableType] = []
    data: dict[str, Any] = {"suggestions": []}
    if old_data:
        taught = opt.explain()
        data["old_data"] = taught.to_dict()
        shown += [Text("What the old data taught", style="bold"), bullets(taught.sentences)]
    said: set[str] = set()
    for one in asked:
        why = opt.explain(one, candidates)
        data["suggestions"].append(why.to_dict())
        number = "" if why.trial is None else f"Trial {why.trial}: "
        at = in_words(why.setting)
        origin, *others = why.sentences if everything else why.summary
        new = [sentence for sentence in others if sentence not in said]  # what holds for all is said once
        own = _without_setting(origin, why.trial, at)  # the line above has it
        shown += [Text(f"{number}{at}", style="bold"), bullets([own, *new])]
        said |= set(new)
    if asked and not everything:
        words = " ".join([campaign_words(campaign, name), *([f"--trial {trial}"] if trial is not None else [])])
        shown.append(Text(f"All of it: tunedprior explain {words} --all"))
    if not asked and not old_data:
        shown.append(
            Text(f"Nothing is open. Ask for a suggestion with: tunedprior suggest {campaign_words(campaign, name)}")
        )
    say(data, *shown)


def _without_setting(sentence: str, trial: int | None, at: str) -> str:
    whole = at if trial is None else f"Trial {trial} ({at})"
    return f"It{sentence.removeprefix(whole)}" if sentence.startswith(whole) else sentence
