"""`tunedprior run`."""

from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.arguments import Campaign, Name
from tunedprior.cli.output import AsJson, say


def run(
    campaign: Campaign,
    function: Annotated[str, typer.Argument(help="module:function, from a setting (a dict) to its response.")],
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many results the campaign is to have in all.")],
    workers: Annotated[int, typer.Option("--workers", min=1, help="How many processes run the function.")] = 1,
    open_too: Annotated[bool, typer.Option("--open", help="First run the suggestions that are open.")] = False,
    errors_fail: Annotated[
        bool, typer.Option("--errors-fail", help="An error is a failed run, and not the end.")
    ] = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Run a campaign with a function that can be called."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from tunedprior.desk.campaign_runs import run_campaign
    from tunedprior.desk.places import open_campaign

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
