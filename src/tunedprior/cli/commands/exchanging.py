"""`tunedprior export` and `tunedprior import`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tunedprior.cli.arguments import Campaign, Force, Name
from tunedprior.cli.output import AsJson, say
from tunedprior.desk.shell_words import format_campaign_arguments, format_campaign_place, quote_word


def export(
    campaign: Campaign,
    output: Annotated[Path, typer.Option("-o", "--output", help="A .csv or .xlsx file.")],
    force: Force = False,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Write all trials into a table: told, open and set aside."""
    from tunedprior.desk.places import open_campaign
    from tunedprior.desk.written_tables import check_output_path, write_table

    check_output_path(output, force)
    table = open_campaign(campaign, name, only_look=True).history
    write_table(table, output, force)
    say({"file": str(output), "trials": len(table)}, Text(f"{len(table)} trials written to {output}."))


def import_history(
    campaign: Campaign,
    history: Annotated[Path, typer.Argument(help="What `export` wrote, also with results filled in.")],
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Take over all trials of another campaign into one that was told nothing yet."""
    from tunedprior.desk.places import open_campaign
    from tunedprior.errors import InputError

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
