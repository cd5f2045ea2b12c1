"""The commands `tunedprior report`, `export` and `import`."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, Force, Name, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments, format_campaign_place, quote_word


@register_command("report", panel="See")
def report(
    campaign: Campaign,
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file to write.")] = Path("report.html"),
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    shadow: Annotated[
        int,
        typer.Option(
            min=0, help="For how many of the latest suggestions to show what plain optimisation would suggest."
        ),
    ] = 12,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write a report, one HTML page that works offline: state, next suggestions and why, pictures, all data."""
    from tunedprior.report import report_html
    from tunedprior.report.making import refuse_other_pages
    from tunedprior.tables import write_atomically
    from tunedprior.workspace.places import open_campaign

    refuse_other_pages(output)
    opt = open_campaign(campaign, name, read_only=True)
    page = report_html(opt, shadow=shadow, bar=sys.stderr.isatty() and not as_json)
    write_atomically(output, page.encode())
    say({"report": str(output), "bytes": len(page.encode())}, Text(f"Wrote {output}."))
    if show:
        typer.launch(str(output.absolute()))


@register_command("export", panel="Files and programs")
def export(
    campaign: Campaign,
    output: Annotated[Path, typer.Option("-o", "--output", help="The .csv or .xlsx file to write.")],
    force: Force = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Export all trials as a table: results, open, cancelled and withdrawn."""
    from tunedprior.workspace.places import open_campaign
    from tunedprior.workspace.sheets import check_output_path, write_table

    check_output_path(output, force)
    table = open_campaign(campaign, name, read_only=True).history
    write_table(table, output, force)
    say({"file": str(output), "trials": len(table)}, Text(f"{len(table)} trials written to {output}."))


@register_command("import", panel="Files and programs")
def import_history(
    campaign: Campaign,
    history: Annotated[Path, typer.Argument(help="A table that `export` wrote.")],
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Import all trials of another campaign into a new one without results."""
    from tunedprior.errors import InputError
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name)
    if opt.trials.trials:
        raise InputError(
            f"{format_campaign_place(campaign)} holds trials already, and a history is taken over as a whole. "
            "Results go in "
            f"with: tunedprior record {format_campaign_arguments(campaign, name)} {quote_word(str(history))}"
        )
    opt.resume(history)
    told, pending = len(opt.trials), len(opt.trials.pending)
    say({"results": told, "open": pending}, Text(f"{told} results and {pending} open suggestions taken over."))
