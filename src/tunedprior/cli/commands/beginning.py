"""The command `tunedprior new`: begin a campaign."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, ExitCode, build_fact_list, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments, format_campaign_place, quote_word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tunedprior.campaign.optimizer import Optimizer
    from tunedprior.goals.goal import Goal
    from tunedprior.source_data.rows import SourceReport

_NAME = "campaign"


@register_command("new", panel="Begin")
def begin_campaign(
    campaign: Campaign,
    space: Annotated[Path, typer.Option("--space", help="The space file (`tunedprior space` drafts one).")],
    old: Annotated[
        list[str],
        typer.Option("--old", metavar="FILE", help="A file with old data, or NAME=FILE. Repeat for several sets."),
    ] = [],
    maximize: Annotated[list[str], typer.Option("--maximize", metavar="RESPONSE", help="Maximise this response.")] = [],
    minimize: Annotated[list[str], typer.Option("--minimize", metavar="RESPONSE", help="Minimise this response.")] = [],
    target: Annotated[
        list[str],
        typer.Option("--target", help="Bring a response to a value or range: length=500, or length=480..520."),
    ] = [],
    requirement: Annotated[
        list[str], typer.Option("--requirement", help="What a result must meet: 'purity >= 0.95', or 'quality pass'.")
    ] = [],
    constraint: Annotated[
        list[str], typer.Option("--constraint", help="What a setting must satisfy: 'acid + salt <= 1'.")
    ] = [],
    log: Annotated[
        list[str], typer.Option("--log", metavar="RESPONSE", help="Model the logarithm of this response (above 0).")
    ] = [],
    limits: Annotated[
        list[str], typer.Option("--limits", help="Physical limits of a response: yield=0..100, or 'time >= 0'.")
    ] = [],
    relation: Annotated[
        str, typer.Option(help="Does the new response run the same way as the old one: same, opposite or unknown.")
    ] = "unknown",
    noise: Annotated[
        float | None, typer.Option("--noise", help="Standard deviation of repeated results, if known.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Begin even if old data teaches nothing, or lacks most parameters.")
    ] = False,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="The campaign's name in the database.")] = _NAME,
    seed: Annotated[int | None, typer.Option(help="Random seed. Default: drawn and recorded.")] = None,
    as_json: AsJson = False,
) -> None:
    """Begin a campaign: learn from old data and create the file that keeps everything.

    The exit code is 3 if old data has faults; the campaign begins all the same.
    """
    from tunedprior.audit.auditing import find_faults, format_fault
    from tunedprior.campaign.optimizer import Optimizer
    from tunedprior.checks import format_list, suggest_name
    from tunedprior.errors import InputError
    from tunedprior.goals.goals import Goals
    from tunedprior.workspace.beginnings import (
        collect_goals,
        parse_limit_options,
        parse_old_data_options,
        parse_requirement_options,
        refuse_useless_old_data,
    )
    from tunedprior.workspace.places import check_campaign_file, resolve_database_url
    from tunedprior.workspace.space_file import read_space_file

    check_campaign_file(campaign, is_new=True)
    read = read_space_file(space)
    goals = collect_goals(read.goals, maximize, minimize, target)
    _refuse_existing(campaign, name)
    if set(log) - set(goals):
        raise InputError(
            f"--log must name a response ({format_list(goals)}); got {format_list(log)}.{suggest_name(log, goals)}"
        )
    options: dict[str, Any] = {"log": log, "limits": {**read.limits, **parse_limit_options(limits)}}
    sets = parse_old_data_options(old)
    if sets and not anyway:
        refuse_useless_old_data(sets, read.parameters, read.constraints, Goals.parse(objectives=goals, **options))
    files = sets or {}
    required = {**read.requirements, **parse_requirement_options(requirement)}
    # Before the campaign is there: whoever stops it now has begun nothing.
    faults = {
        which: [format_fault(one) for one in find_faults(path, read.space, goals, required)]
        for which, path in files.items()
    }
    begun = Optimizer(
        read.parameters,
        sets,
        objectives=Goals.parse(objectives=goals, requirements=required or None, noise_std=noise, **options),
        seed=seed,
        constraints=[*read.constraints, *constraint],
        relation=relation,
        storage=resolve_database_url(campaign),
        name=name,
    )
    audit_options = _format_audit_options(space, read.goals, goals)
    for one in begun.old_data_report.sets:
        _warn_of_faults(one, faults[one.name], f"tunedprior audit {quote_word(files[one.name])} {audit_options}")
    _say_summary(begun, campaign, name, faults)
    if any(faults.values()):
        raise typer.Exit(ExitCode.NOTICED)


def _refuse_existing(campaign: str, name: str) -> None:
    """An `InputError` if the database holds a campaign of this name."""
    from tunedprior.errors import InputError
    from tunedprior.storage.databases import open_storage
    from tunedprior.storage.stored_campaign import StoredCampaign
    from tunedprior.workspace.places import resolve_database_url

    is_there = "://" in campaign or Path(campaign).exists()
    if is_there and StoredCampaign.find(open_storage(resolve_database_url(campaign)), name) is not None:
        raise InputError(
            f"{format_campaign_place(campaign)} holds the campaign {name!r} already. Go on with it, or begin "
            "another with --name or in another file."
        )


def _format_audit_options(space: Path, written: "Mapping[str, Goal]", goals: "Mapping[str, Goal]") -> str:
    """The options with which `tunedprior audit` looks at old data for the first of these goals.

    Args:
        space: The space file.
        written: The goals in the space file.
        goals: All goals of the campaign.
    """
    from tunedprior.goals.goal import MINIMIZE

    first, goal = next(iter(goals.items()))
    target = "" if list(written) == [first] else f" --target {quote_word(first)}"
    minimize = " --minimize" if goal == MINIMIZE and written.get(first) != goal else ""
    return f"--space {quote_word(str(space))}{target}{minimize}"


def _say_summary(begun: "Optimizer", campaign: str, name: str, faults: "Mapping[str, list[str]]") -> None:
    """Show the campaign, what is learnt from old data, and the next command."""
    sets = begun.old_data_report.sets
    say(
        {
            "campaign": format_campaign_place(campaign),
            "name": name,
            "space": list(begun.space.names),
            "goal": begun.suggester.goals.describe(),
            "old_data": [
                {"name": one.name, "rows": one.rows, "used": one.used, "faults": faults[one.name]} for one in sets
            ],
        },
        build_fact_list(
            {
                "campaign": f"{format_campaign_place(campaign)} ({name})",
                "space": ", ".join(begun.space.names),
                "goal": begun.suggester.goals.describe(),
                "old data": "\n".join(f"{one.name}: {one.used:,} of {one.rows:,} rows used" for one in sets) or "none",
            }
        ),
        Text(
            f"Next: tunedprior suggest {format_campaign_arguments(campaign, None if name == _NAME else name)}",
            style="bold",
        ),
    )


def _warn_of_faults(report: "SourceReport", faults: list[str], audit: str) -> None:
    """Point to the audit where old data has faults, or rows that are not learnt from."""
    from tunedprior.checks import format_list, warn
    from tunedprior.errors import OldDataWarning

    left_out = report.rows - report.used
    if faults:
        said = f"{report.name} seems to have faults, and is learnt from as it is: {format_list(dict.fromkeys(faults))}."
        warn(f"{said} What to do: {audit}, then begin again in another file.", OldDataWarning)
    elif left_out:
        warn(f"{report.name}: {left_out:,} of {report.rows:,} rows were left out. Why: {audit}", OldDataWarning)
