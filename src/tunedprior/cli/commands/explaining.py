"""The command `tunedprior explain`: the reasons for a suggestion."""

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, Name, build_bullet_list, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments, quote_word


@register_command("explain", panel="See")
def explain(
    campaign: Campaign,
    setting: Annotated[
        list[str], typer.Argument(help="A setting to explain, as name=value. Default: all open suggestions.")
    ] = [],
    trial: Annotated[int | None, typer.Option("--trial", help="Explain this trial alone.")] = None,
    candidates: Annotated[
        str | None, typer.Option("--candidates", help="The file that suggestions were chosen from.")
    ] = None,
    old_data: Annotated[
        bool, typer.Option("--old-data", help="Explain what was learnt from old data instead.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="All details: beliefs, old data, what plain optimisation would suggest.")
    ] = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Explain in short why each open suggestion was made, or what was learnt from old data."""
    from tunedprior.errors import InputError
    from tunedprior.history.trials import format_setting
    from tunedprior.workspace.places import open_campaign
    from tunedprior.workspace.sheets import parse_typed_pairs, parse_typed_setting

    opt = open_campaign(campaign, name, read_only=True)
    asked: list[Any] = [] if old_data else [trial] if trial is not None else list(opt.pending)
    if setting:
        if trial is not None:
            raise InputError("--trial names one setting, and name=value another. Give one of the two.")
        asked = [parse_typed_setting(parse_typed_pairs(setting, opt.space.names), opt.space.parameters)]
    shown: list[RenderableType] = []
    data: dict[str, Any] = {"suggestions": []}
    if old_data:
        taught = opt.explain()
        data["old_data"] = taught.to_dict()
        shown += [Text("What was learnt from old data", style="bold"), build_bullet_list(taught.sentences)]
    found = [opt.explain(one, candidates) for one in asked]
    data["suggestions"] = [why.to_dict() for why in found]
    sentences = [(why.sentences if everything else why.summary)[1:] for why in found]
    of_all = [one for one in sentences[0] if all(one in each for each in sentences)] if len(found) > 1 else []
    for why, said in zip(found, sentences, strict=True):
        number = "" if why.trial is None else f"Trial {why.trial}: "
        at = format_setting(why.setting)
        own = _drop_setting(why.sentences[0], why.trial, at)  # the line above has it
        new = [one for one in said if one not in of_all]
        shown += [Text(f"{number}{at}", style="bold"), build_bullet_list([own, *new])]
    if of_all:
        shown += [Text("Each of them", style="bold"), build_bullet_list(of_all)]
    if asked and not everything:
        options = {"--trial": trial, "--candidates": candidates}
        words = [format_campaign_arguments(campaign, name), *map(quote_word, setting)]
        words += [f"{option} {quote_word(str(value))}" for option, value in options.items() if value is not None]
        shown.append(Text(f"All details: tunedprior explain {' '.join(words)} --all"))
    if not asked and not old_data:
        shown.append(
            Text(
                "Nothing is open. Ask for a suggestion with: tunedprior suggest "
                f"{format_campaign_arguments(campaign, name)}"
            )
        )
    say(data, *shown)


def _drop_setting(sentence: str, trial: int | None, at: str) -> str:
    whole = at if trial is None else f"Trial {trial} ({at})"
    return f"It{sentence.removeprefix(whole)}" if sentence.startswith(whole) else sentence
