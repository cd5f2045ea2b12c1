"""`tunedprior new`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from tunedprior.cli.arguments import Campaign
from tunedprior.cli.output import AsJson, Code, say
from tunedprior.cli.tables import facts
from tunedprior.desk.shell_words import campaign_words, quoted, shown_place

if TYPE_CHECKING:
    from tunedprior.problem.old_data_report import OldSetReport

_NAME = "campaign"


def new(
    campaign: Campaign,
    space: Annotated[Path, typer.Option("--space", help="The space file; `tunedprior space` drafts one.")],
    old: Annotated[
        list[str], typer.Option("--old", help="A file with old data; several times for several. Or NAME=FILE.")
    ] = [],
    maximize: Annotated[list[str], typer.Option("--maximize", help="A response of which more is better.")] = [],
    minimize: Annotated[list[str], typer.Option("--minimize", help="A response of which less is better.")] = [],
    target: Annotated[
        list[str], typer.Option("--target", help="A response and its best value: length=500, or length=480..520.")
    ] = [],
    requirement: Annotated[
        list[str], typer.Option("--requirement", help="What results must be: 'purity >= 0.95', or 'quality pass'.")
    ] = [],
    constraint: Annotated[
        list[str], typer.Option("--constraint", help="What settings must be: 'acid + salt <= 1'.")
    ] = [],
    log: Annotated[list[str], typer.Option("--log", help="A response above 0 to be taken by its logarithm.")] = [],
    limits: Annotated[
        list[str], typer.Option("--limits", help="What a response cannot be beyond: yield=0..100, or 'time >= 0'.")
    ] = [],
    relation: Annotated[
        str, typer.Option(help="What you know of the old response: same, opposite or unknown.")
    ] = "unknown",
    noise: Annotated[
        float | None, typer.Option("--noise", help="The standard deviation of repeats, where it is known.")
    ] = None,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Begin also if nothing can be learnt from a file of old data.")
    ] = False,
    name: Annotated[str, typer.Option("--name", help="What to call the campaign in the database.")] = _NAME,
    seed: Annotated[int, typer.Option(help="What makes suggestions repeatable.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Begin a campaign: learn from old data, and make the database that keeps it all.

    Exit code 3 if there are faults in old data; the campaign is begun all the same.
    """
    from tunedprior.audit.first_look import faults_of
    from tunedprior.audit.wording import blame
    from tunedprior.campaign.kept_campaign import KeptCampaign
    from tunedprior.campaign.optimizer import Optimizer
    from tunedprior.desk.beginnings import goals_of, limits_of, old_data_of, refuse_useless, requirements_of
    from tunedprior.desk.places import refuse_other_files, url_of
    from tunedprior.desk.space_file import read_space_file
    from tunedprior.errors import InputError
    from tunedprior.problem.goals import MINIMIZE
    from tunedprior.studies.opening import opened

    refuse_other_files(campaign, is_new=True)
    read = read_space_file(space)
    goals = goals_of(read.goals, maximize, minimize, target)
    is_there = "://" in campaign or Path(campaign).exists()
    if is_there and KeptCampaign.find(opened(url_of(campaign)), name) is not None:
        raise InputError(
            f"{shown_place(campaign)} holds the campaign {name!r} already. Go on with it, or begin another with --name "
            "or in another file."
        )
    options: dict[str, Any] = {"target": next(iter(goals)), "direction": next(iter(goals.values())), "log": bool(log)}
    if len(goals) > 1:
        options = {"objectives": goals, "log": log}
    elif set(log) - set(goals):
        raise InputError(f"--log must name a response ({next(iter(goals))}); got {', '.join(log)}.")
    options["limits"] = {**read.limits, **limits_of(limits)}
    sets = old_data_of(old)
    if sets and not anyway:
        refuse_useless(sets, read.parameters, read.constraints, options)
    files = sets or {}
    required = {**read.requirements, **requirements_of(requirement)}
    # Before the campaign is there: whoever stops it now has begun nothing.
    faults = {
        which: [blame(one) for one in faults_of(path, read.space, goals, required)] for which, path in files.items()
    }
    begun = Optimizer(
        read.parameters,
        sets,
        seed=seed,
        requirements=required or None,
        constraints=[*read.constraints, *constraint],
        relation=relation,
        noise_std=noise,
        storage=url_of(campaign),
        name=name,
        **options,
    )
    report = begun.old_data_report
    first, goal = next(iter(goals.items()))
    look = f"--space {quoted(str(space))}" + ("" if list(read.goals) == [first] else f" --target {quoted(first)}")
    look += " --minimize" if goal == MINIMIZE and read.goals.get(first) != goal else ""
    for one in report.sets:
        _note(one, faults[one.name], f"tunedprior audit {quoted(files[one.name])} {look}")
    say(
        {
            "campaign": shown_place(campaign),
            "name": name,
            "space": list(begun.space.names),
            "goal": begun.suggester.aims.in_words(),
            "old_data": [
                {"name": one.name, "rows": one.rows, "used": one.used, "faults": faults[one.name]}
                for one in report.sets
            ],
        },
        facts(
            {
                "campaign": f"{shown_place(campaign)} ({name})",
                "space": ", ".join(begun.space.names),
                "goal": begun.suggester.aims.in_words(),
                "old data": "\n".join(f"{one.name}: {one.used:,} of {one.rows:,} rows used" for one in report.sets)
                or "none",
            }
        ),
        Text(f"Next: tunedprior suggest {campaign_words(campaign, None if name == _NAME else name)}", style="bold"),
    )
    if any(faults.values()):
        raise typer.Exit(Code.NOTICED)


def _note(report: "OldSetReport", faults: list[str], audit: str) -> None:
    """Point to the audit where old data has faults, or rows that are not learnt from."""
    from tunedprior.checks import listed, warn
    from tunedprior.errors import OldDataWarning

    left_out = report.rows - report.used
    if faults:
        said = f"{report.name} seems to have faults, and is learnt from as it is: {listed(dict.fromkeys(faults))}."
        warn(f"{said} What to do: {audit}, then begin again in another file.", OldDataWarning)
    elif left_out:
        warn(f"{report.name}: {left_out:,} of {report.rows:,} rows were left out. Why: {audit}", OldDataWarning)
