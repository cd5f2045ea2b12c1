"""The commands `tunedprior suggest`, `cancel` and `run`."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, ExitCode, Force, Name, Who, collect_warnings, make_table, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments, quote_word


@register_command("suggest", panel="Day by day")
def suggest(
    campaign: Campaign,
    count: Annotated[int, typer.Option("-n", "--count", min=1, help="How many suggestions (a batch).")] = 1,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Also write a sheet (.csv or .xlsx) to fill in results.")
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option("--candidates", help="A file with the settings to choose from. Default: the whole space."),
    ] = None,
    is_open: Annotated[
        bool, typer.Option("--open", help="Show open suggestions (no result yet) instead of making new ones.")
    ] = False,
    force: Force = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Suggest the next settings to try."""
    from tunedprior.errors import ExhaustedWarning, InputError, TunedPriorError
    from tunedprior.workspace.places import open_campaign
    from tunedprior.workspace.sheets import check_output_path, make_suggestion_sheet, write_table

    if output is not None:
        check_output_path(output, force)  # before anything is suggested
    opt = open_campaign(campaign, name, read_only=is_open)
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


@register_command("cancel", panel="Day by day")
def cancel(
    campaign: Campaign,
    trials: Annotated[list[int], typer.Argument(help="The trial numbers of the suggestions.")],
    who: Who = "",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Cancel suggestions that will not be run."""
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name)
    opt.cancel(list(trials), who=who)
    say({"cancelled": trials}, f"Cancelled: {', '.join(map(str, trials))}.")


def _describe_pending(count: int, place: str) -> str:
    what = "One earlier suggestion has" if count == 1 else f"{count} earlier suggestions have"
    return f"{what} no result yet (tunedprior suggest {place} --open)."


@register_command("run", panel="Files and programs")
def run(
    campaign: Campaign,
    function: Annotated[
        str, typer.Argument(help="module:function, which takes a setting (a dict) and returns the response.")
    ],
    trials: Annotated[int, typer.Option("--trials", min=1, help="Stop when the campaign has this many results.")],
    workers: Annotated[
        int, typer.Option("--workers", min=1, help="How many processes run the function in parallel.")
    ] = 1,
    open_too: Annotated[bool, typer.Option("--open", help="Run open suggestions first.")] = False,
    errors_fail: Annotated[
        bool, typer.Option("--errors-fail", help="Record an exception as a failed run and go on.")
    ] = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Run a campaign automatically, with a Python function that gives the response."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from tunedprior.workspace.places import open_campaign
    from tunedprior.workspace.runs import run_campaign

    columns = (TextColumn("results"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=trials)
        for done in run_campaign(campaign, name, function, trials, workers, open_too=open_too, errors_fail=errors_fail):
            progress.update(task, completed=done)
    opt = open_campaign(campaign, name)
    best = None if opt.suggester.goals.has_front else opt.best
    say(
        {
            "results": len(opt.trials),
            "failed": sum(one.failed for one in opt.trials.told),
            "best": None if best is None else {"trial": best.id, "value": best.value, "setting": best.setting},
        },
        Text(f"{len(opt.trials)} results. " + (f"Best: {best}" if best is not None else "")),
    )
