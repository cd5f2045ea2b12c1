"""The commands `tunedprior status`, `best`, `front`, `trust` and `journal`, which show a campaign unchanged."""

from math import floor, log10
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, Name, build_fact_list, make_table, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments


@register_command("status", panel="See")
def show_status(campaign: Campaign, name: Name = None, as_json: AsJson = False) -> None:
    """Show the state of the campaign: results, best so far, open suggestions."""
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name, read_only=True)
    history = opt.trials
    rows = [{"trial": one.id, **one.setting} for one in history.pending]
    say(
        {
            **opt.summary,
            "id": opt.id,
            "results": len(history),
            "failed": sum(one.failed for one in history.told),
            "open": [{"trial": one.id, "setting": one.setting} for one in history.pending],
            "set_aside": [{"trial": one.id, "state": one.state, "note": one.note} for one in history.set_aside],
        },
        build_fact_list({**opt.summary, "id": opt.id}),
        *([make_table(rows, "Open suggestions")] if rows else []),
    )


@register_command("best", panel="See")
def show_best(campaign: Campaign, name: Name = None, as_json: AsJson = False) -> None:
    """Show the best result and the recommended setting (by the model)."""
    from tunedprior.errors import InputError
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name, read_only=True)
    place = format_campaign_arguments(campaign, name)
    if opt.suggester.goals.has_front:
        raise InputError(f"There are several objectives, so there is no single best. See: tunedprior front {place}")
    found = opt.best
    if found is None:
        raise InputError(f"There is no result yet that counts as best. See: tunedprior status {place}")
    use = opt.recommend()
    say(
        {
            "best": {"trial": found.id, "value": found.value, "setting": found.setting, "more": found.more},
            "recommended": {"setting": use.setting, "mean": use.mean, "low": use.low, "high": use.high},
        },
        make_table([{"trial": found.id, **found.setting, opt.target: found.value, **found.more}], "Best result"),
        make_table(
            [{**use.setting, **_format_prediction(opt.target, use.mean, use.low, use.high)}],
            "Recommended setting (by the model, with a 95 % interval)",
        ),
    )


@register_command("front", panel="See")
def show_front(campaign: Campaign, name: Name = None, as_json: AsJson = False) -> None:
    """Show the Pareto front: results that no other beats in all objectives."""
    from tunedprior.history.table import HistoryColumns
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name, read_only=True)
    columns = HistoryColumns.from_space(opt.space, opt.suggester.goals)
    shown = [columns.trial, *columns.parameters, columns.response, *columns.others.values()]
    rows: list[dict[str, Any]] = [{str(key): row[key] for key in shown} for row in opt.front.to_dict("records")]
    say({"front": rows}, make_table(rows) if rows else "No result meets the requirements yet.")


@register_command("trust", panel="See")
def show_trust(campaign: Campaign, name: Name = None, as_json: AsJson = False) -> None:
    """Show trust: the share of the response's variance that old data explains, and the sign of the relation."""
    from tunedprior.workspace.places import open_campaign

    found = open_campaign(campaign, name, read_only=True).trust
    each = found if isinstance(found, dict) else {"": found}
    data: dict[str, Any] = {}
    shown: list[RenderableType] = []
    for response, one in each.items():
        relations = one.relations.to_dict("records")
        data[response or "trust"] = {"sentences": one.sentences, "relations": relations}
        shown += [Text(response, style="bold")] if response else []
        shown += map(Text, one.sentences)
        shown.append(make_table([_format_relation(row) for row in relations]))
    say(data, *shown)


@register_command("journal", panel="See")
def show_journal(
    campaign: Campaign,
    trial: Annotated[int | None, typer.Option("--trial", help="Only changes of this trial.")] = None,
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Show every change with its time and person, in order."""
    from tunedprior.errors import InputError
    from tunedprior.history.trials import format_setting
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name, read_only=True)
    found = [row for row in opt.journal.to_dict("records") if trial is None or row["trial"] == trial]
    if trial is not None and not found:
        raise InputError(f"There is no entry of a trial {trial} in the journal.")
    known = [None if row["time"] != row["time"] else row["time"].to_pydatetime() for row in found]
    rows = [
        {
            "entry": row["sequence"],
            "when": "" if time is None else f"{time.astimezone():%Y-%m-%d %H:%M:%S %Z}",
            "who": row["who"],
            "what": row["action"],
            "trial": row["trial"],
            "before": format_setting(row["before"]),
            "after": format_setting(row["after"]),
        }
        for row, time in zip(found, known, strict=True)
    ]
    data = [{**row, "time": None if time is None else time.isoformat()} for row, time in zip(found, known, strict=True)]
    say({"journal": data}, make_table(rows) if rows else "Nothing was suggested or recorded yet.")


def _format_prediction(name: str, mean: float, low: float, high: float) -> dict[str, float]:
    """A prediction with no more digits than its uncertainty leaves a meaning."""
    spread = max(abs(high - low), 1e-300)
    digits = 2 - floor(log10(spread))
    rounded = [float(round(one, digits)) if abs(digits) < 300 else one for one in (mean, low, high)]
    return dict(zip((f"{name} predicted", "low", "high"), rounded, strict=True))


def _format_relation(row: dict[Any, Any]) -> dict[str, Any]:
    """A row of what old data explains, as people read it."""

    def round_number(number: float) -> float | None:
        return None if number != number else float(f"{number:.3g}")

    return {
        "old data": row["old data"],
        "share of variance": "" if row["trust"] != row["trust"] else f"{100 * row['trust']:.0f} %",
        "sign (probability)": _format_direction(row["positive"]),
        "slope": round_number(row["slope"]),
    }


def _format_direction(positive: float) -> str:
    """Which way the new response runs with the old one, by the probability that both rise together.

    >>> (
    ...     _format_direction(0.89),
    ...     _format_direction(0.02),
    ...     _format_direction(0.6),
    ...     _format_direction(float("nan")),
    ...     _format_direction(1.0),
    ... )
    ('same (89 %)', 'opposite (98 %)', 'open', '', 'same (over 99 %)')
    """
    from tunedprior.explain.source_explanation import format_percent
    from tunedprior.explain.trust import LIKELY

    if positive != positive:
        return ""
    way, sure = ("same", positive) if positive > 0.5 else ("opposite", 1 - positive)
    return "open" if sure < LIKELY else f"{way} ({format_percent(min(sure, 0.999))})"
