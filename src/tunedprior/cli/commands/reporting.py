"""`tunedprior report`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.arguments import Campaign, Name
from tunedprior.cli.output import AsJson, say


def report(
    campaign: Campaign,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    show: Annotated[bool, typer.Option("--open", help="Show the page in a browser.")] = False,
    shadow: Annotated[
        int,
        typer.Option(min=0, help="For how many of the latest suggestions to show what plain optimisation would do."),
    ] = 12,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write the campaign as one page that needs no network: what is known, what to run next and why, all the data."""
    from tunedprior.desk.places import open_campaign
    from tunedprior.files import write_atomically
    from tunedprior.report import report_html
    from tunedprior.report.files import refuse_other_pages

    refuse_other_pages(output)
    opt = open_campaign(campaign, name, only_look=True)
    page = report_html(opt, shadow=shadow, bar=sys.stderr.isatty() and not as_json)
    write_atomically(output, page.encode())
    say({"report": str(output), "bytes": len(page.encode())}, Text(f"Wrote {output}."))
    if show:
        typer.launch(str(output.absolute()))
