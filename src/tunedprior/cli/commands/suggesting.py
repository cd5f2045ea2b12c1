"""`tunedprior suggest` and `tunedprior cancel`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tunedprior.cli.arguments import Campaign, Force, Name, Who
from tunedprior.cli.output import AsJson, ExitCode, collect_warnings, say
from tunedprior.cli.tables import make_table
from tunedprior.desk.shell_words import format_campaign_arguments, quote_word


def suggest(
    campaign: Campaign,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many, to be run side by side.")] = 1,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write them to a .csv or .xlsx file, to be filled in.")
    ] = None,
    candidates: Annotated[
        Path | None, typer.Option("--candidates", help="A file with the settings to choose from.")
    ] = None,
    is_open: Annotated[
        bool, typer.Option("--open", help="Show those that were suggested and have no result yet, and no new one.")
    ] = False,
    force: Force = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Say what to try next."""
    from tunedprior.desk.places import open_campaign
    from tunedprior.desk.suggestion_sheets import make_suggestion_sheet
    from tunedprior.desk.written_tables import check_output_path, write_table
    from tunedprior.errors import ExhaustedWarning, InputError, TunedPriorError

    if output is not None:
        check_output_path(output, force)  # before anything is suggested
    opt = open_campaign(campaign, name, only_look=is_open)
    before = opt.pending
    size = opt.space.size
    if size is not None and count > size:
        raise InputError(f"{count} settings are asked for, and the space has {size} in all.")
    with collect_warnings(ExhaustedWarning) as exhausted:
        asked: list[Any] = list(before) if is_open else opt.ask(n=count, candidates=candidates)
    unwritten: Exception | None = None
    if output is not None:
        try:
            write_table(make_suggestion_sheet(asked, opt), output, force)
        except (OSError, TunedPriorError) as error:
            unwritten = error  # after what was suggested has been shown: it is in the campaign already
    rows = [{"trial": one.trial, **one} for one in asked]
    place = format_campaign_arguments(campaign, name)
    still = "" if is_open or not before else _describe_pending(len(before), place)
    done = f"Fill in {output.name}, then: tunedprior record {place} {quote_word(str(output))}" if output else ""
    if unwritten is not None:
        done = f"It could not be written into {output}: {unwritten} Try: tunedprior suggest {place} --open -o next.xlsx"
    by_hand = f"Then: tunedprior record {place} --trial {asked[0].trial} {quote_word(opt.target)}=…" if asked else ""
    say(
        {
            "suggestions": [{"trial": one.trial, "setting": dict(one)} for one in asked],
            "open": len(opt.pending),
            "file": None if output is None or unwritten is not None else str(output),
        },
        make_table(rows) if rows else "Nothing is open.",
        *(Text(line) for line in (still, done or by_hand) if line),
    )
    if exhausted or unwritten is not None:
        raise typer.Exit(ExitCode.NOTICED)


def cancel(
    campaign: Campaign,
    trials: Annotated[list[int], typer.Argument(help="The numbers of suggestions that will not be run.")],
    who: Who = "",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Set suggestions aside that will not be run."""
    from tunedprior.desk.places import open_campaign

    opt = open_campaign(campaign, name)
    opt.cancel(list(trials), who=who)
    say({"cancelled": trials}, f"Set aside: {', '.join(map(str, trials))}.")


def _describe_pending(count: int, place: str) -> str:
    what = "One earlier suggestion has" if count == 1 else f"{count} earlier suggestions have"
    return f"{what} no result yet (tunedprior suggest {place} --open)."
