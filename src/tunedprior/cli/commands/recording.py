"""The commands `tunedprior record`, `amend` and `undo`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tunedprior.cli.output import AsJson, Campaign, ExitCode, Name, Note, Who, collect_warnings, say
from tunedprior.cli.registry import register_command
from tunedprior.workspace.shell_words import format_campaign_arguments, quote_word

BeyondLimits = Annotated[bool, typer.Option("--beyond-limits", help="Accept results beyond the limits of a response.")]
Failed = Annotated[bool, typer.Option("--failed", help="The run failed and gave no value.")]


@register_command("record", panel="Day by day")
def record(
    campaign: Campaign,
    results: Annotated[
        list[str], typer.Argument(help="The filled-in sheet of `suggest -o`, or name=value of one run.")
    ] = [],
    trial: Annotated[
        int | None, typer.Option("--trial", help="The trial number of the suggestion that was run.")
    ] = None,
    failed: Failed = False,
    note: Note = "",
    as_run: Annotated[
        bool,
        typer.Option("--as-run", help="Accept settings that differ much from the suggestion."),
    ] = False,
    own: Annotated[bool, typer.Option("--own", help="Rows without a trial number are runs of your own.")] = False,
    skip_recorded: Annotated[
        bool, typer.Option("--skip-recorded", help="Skip rows that are recorded already.")
    ] = False,
    beyond_limits: BeyondLimits = False,
    who: Who = "",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Record results: a filled-in sheet, or one run. A sheet with errors is refused as a whole."""
    from tunedprior.errors import InputError, OddResultWarning
    from tunedprior.history.trials import format_setting
    from tunedprior.workspace.places import open_campaign

    opt = open_campaign(campaign, name)
    is_file = len(results) == 1 and "=" not in Path(results[0]).name
    if is_file and (trial is not None or failed or note):
        raise InputError(
            "--trial, --failed and --note are for one run, typed as name=value; a file has columns for them."
        )
    given = results[0] if is_file else [_parse_run(opt, results, trial, failed, note)]
    with collect_warnings(OddResultWarning) as odd, nullcontext() if is_file else _reword_row_error():
        done = opt.record(
            given,
            as_run=as_run,
            skip_recorded=skip_recorded,
            own=own or not is_file,
            beyond_limits=beyond_limits,
            who=who,
        )
    best = None if opt.suggester.goals.has_front else opt.best
    rows = [
        {"trial": one.id, "state": one.state, "values": _get_values(one, opt), "setting": dict(one.setting)}
        for one in done.trials
    ]
    lines = [
        f"Recorded trial {one.id}: {format_setting(_get_values(one, opt)) or 'failed'} at {format_setting(one.setting)}"
        for one in done.trials
    ]
    lines += [f"Recorded already: {', '.join(map(str, done.skipped))}."] if done.skipped else []
    lines += [f"Still open: {', '.join(map(str, done.open))}."] if done.open else []
    lines += [f"Best so far: {best.value:.6g} (trial {best.id})."] if best is not None else []
    if odd:
        lines.append(_format_correction(opt, format_campaign_arguments(campaign, name), done.trials))
    say(
        {
            "recorded": rows,
            "skipped": done.skipped,
            "open": done.open,
            "best": None if best is None else {"trial": best.id, "value": best.value, "setting": best.setting},
        },
        *map(Text, lines),
    )
    if odd:
        raise typer.Exit(ExitCode.NOTICED)


@register_command("amend", panel="Day by day")
def amend(
    campaign: Campaign,
    trial: Annotated[int, typer.Argument(help="The trial number.")],
    values: Annotated[list[str], typer.Argument(help="The right values, as name=value.")] = [],
    failed: Failed = False,
    note: Note = "",
    beyond_limits: BeyondLimits = False,
    who: Who = "",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Correct a recorded result. Values that are not named stay."""
    from tunedprior.errors import InputError, OddResultWarning
    from tunedprior.history.table import STATES
    from tunedprior.history.trials import FAILED, format_setting
    from tunedprior.workspace.places import open_campaign
    from tunedprior.workspace.sheets import parse_typed_pairs, parse_typed_setting

    opt = open_campaign(campaign, name)
    responses = {one.name: one for one in opt.suggester.goals.responses}
    given = parse_typed_pairs(values, [*opt.space.names, *responses])
    if not (given or failed or note):
        raise InputError(f"Say what is right, as name=value: {', '.join([*responses, *opt.space.names])}; or --note.")
    setting = parse_typed_setting(given, [one for one in opt.space.parameters if one.name in given])
    told: Any = {one: given[one] for one in responses if one in given}
    words = [not responses[one].labels and STATES.get(cell.casefold()) for one, cell in told.items()]
    if words and all(word == FAILED for word in words):
        told, failed = {}, True  # the word stands where the value would, as in a sheet
    told = {one: cell if responses[one].labels else _parse_response(one, cell) for one, cell in told.items()}
    numbers = {one: float(cell) for one, cell in told.items() if not responses[one].labels}
    beyond = [said for one, value in numbers.items() if (said := responses[one].describe_limit_violation(value))]
    if beyond and not beyond_limits:
        raise InputError(f"{' and '.join(beyond)}. Correct it, or say that it was measured so (--beyond-limits).")
    if len(responses) == 1:
        told = next(iter(told.values()), None)
    with collect_warnings(OddResultWarning) as odd:
        opt.amend(
            trial,
            told or None if len(responses) > 1 else told,
            failed=failed,
            setting=setting or None,
            note=note or None,
            who=who,
        )
    right = opt.trials.get_result(trial)
    lines = [
        f"Trial {trial} is now: {format_setting(_get_values(right, opt)) or 'failed'} at "
        f"{format_setting(right.setting)}"
    ]
    lines += [_format_correction(opt, format_campaign_arguments(campaign, name), [right])] if odd else []
    say(
        {"trial": trial, "state": right.state, "values": _get_values(right, opt), "setting": right.setting},
        *map(Text, lines),
    )
    if odd:
        raise typer.Exit(ExitCode.NOTICED)


def _parse_response(name: str, cell: str) -> float:
    """The number that was typed as a response."""
    from tunedprior.errors import InputError
    from tunedprior.history.cells import parse_result

    try:
        return parse_result(cell, choices="a number, or failed")
    except InputError as error:
        raise InputError(f"{name} {error}.") from error


@register_command("undo", panel="Day by day")
def undo(
    campaign: Campaign,
    trial: Annotated[
        int | None, typer.Option("--trial", help="Take back the result of this trial, with its corrections.")
    ] = None,
    count: Annotated[
        int, typer.Option("-n", "--count", min=1, help="How many changes to take back, the latest first.")
    ] = 1,
    who: Who = "",
    name: Name = None,
    as_json: AsJson = False,
) -> None:
    """Take back the latest change: a result (its suggestion is open again), a correction or a cancellation."""
    from tunedprior.errors import InputError
    from tunedprior.storage.journal import AMEND, CANCEL, RECORD, WITHDRAW
    from tunedprior.workspace.places import open_campaign

    nouns = {AMEND: "correction", WITHDRAW: "withdrawal", CANCEL: "cancellation"}
    opt = open_campaign(campaign, name)
    if trial is not None and count > 1:
        raise InputError("--trial names one result, and -n counts from the last. Give one of the two.")
    if count > max(1, opt.undo_count):
        raise InputError(f"{count} entries are to be taken back, and there are {opt.undo_count}.")
    undone = [opt.undo(trial, who=who) for _ in range(count)]
    lines = []
    for one in undone:
        what = "" if one.action == RECORD else f"the {nouns[one.action]} of "
        told = "" if one.action == CANCEL else f", {_describe_result(one.trial, opt)}"
        now = f" It is again {_describe_result(one.now, opt)}." if one.action in (AMEND, WITHDRAW) else ""
        reopened = "" if one.reopened_suggestion is None else " Its suggestion is open again."
        lines.append(f"Taken back: {what}trial {one.trial.id}{told}.{now}{reopened}")
    rest = undone[-1].together
    if rest:
        place = format_campaign_arguments(campaign, name)
        them = f"{rest} more were" if rest > 1 else "One more was"
        lines.append(f"{them} entered together with it. To take back all: tunedprior undo {place} -n {rest}")
    rows = [
        {
            "trial": one.trial.id,
            "action": one.action,
            "values": _get_values(one.trial, opt),
            "open_again": None if one.reopened_suggestion is None else one.reopened_suggestion.trial,
        }
        for one in undone
    ]
    say({"taken_back": rows, "entered_together": rest}, *map(Text, lines))


def _describe_result(trial: Any, opt: Any) -> str:
    """A result, where it was measured, and what was noted, in words."""
    from tunedprior.history.trials import format_setting

    note = f" ({trial.note})" if trial.note else ""
    return f"{format_setting(_get_values(trial, opt)) or 'failed'} at {format_setting(trial.setting)}{note}"


@contextmanager
def _reword_row_error() -> Iterator[None]:
    """Say what is wrong with the one run that was typed, and not with the first row of a table."""
    from tunedprior.errors import InputError

    try:
        yield
    except InputError as error:
        _, row, after = str(error).partition("\n  row 0: ")
        if not row:
            raise
        raise InputError(f"The run cannot be taken, and nothing was recorded: {after}.") from error


def _parse_run(opt: Any, pairs: list[str], trial: int | None, failed: bool, note: str) -> dict[str, Any]:
    """One run as a row of a table of results."""
    from tunedprior.checks import format_list
    from tunedprior.errors import InputError
    from tunedprior.history.table import HistoryColumns
    from tunedprior.workspace.sheets import parse_typed_pairs

    columns = HistoryColumns.from_space(opt.space, opt.suggester.goals)
    row: dict[str, Any] = dict(
        parse_typed_pairs(pairs, [*columns.parameters, columns.response, *columns.others.values()])
    )
    responses = [columns.response, *columns.others.values()]
    if not failed and not any(name in row for name in responses):
        which = " or ".join(f"{name}=…" for name in responses)
        raise InputError(f"Say what came of it: {which}, or --failed; or give the file that holds the results.")
    missing = [name for name in columns.parameters if name not in row]
    if trial is None and missing:
        raise InputError(
            f"Say what {format_list(missing)} {'is' if len(missing) == 1 else 'are'} too, as name=value; or which "
            f"suggestion was run, with --trial (open: {format_list(one.id for one in opt.trials.pending) or 'none'})."
        )
    if trial is not None:
        row[columns.trial] = trial
    if failed:
        row[columns.state] = "failed"
    if note:
        row[columns.note] = note
    return row


def _format_correction(opt: Any, place: str, trials: Sequence[Any]) -> str:
    """The command that corrects one of these results."""
    number = trials[0].id if len(trials) == 1 else "TRIAL"
    which = quote_word(opt.target) if len(opt.suggester.goals.responses) == 1 else "RESPONSE"
    return f"If that was a slip: tunedprior amend {place} {number} {which}=…"


def _get_values(trial: Any, opt: Any) -> dict[str, float]:
    told = {opt.target: trial.value, **trial.more}
    return {name: value for name, value in told.items() if value == value}
