"""The command `tunedprior audit`: check old data before it is used."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tunedprior.cli.output import AsJson, ExitCode, say
from tunedprior.cli.registry import register_command

if TYPE_CHECKING:
    from tunedprior.audit import Audit

_MOST_ROWS = 12  # rejected rows that are listed


@register_command("audit", panel="Begin")
def audit(
    old: Annotated[str, typer.Argument(help="The file with old data: CSV, Excel or Parquet.", show_default=False)],
    space: Annotated[Path, typer.Option("--space", help="The space file (`tunedprior space` drafts one).")],
    target: Annotated[
        str | None, typer.Option("--target", help="The column of the response. Default: the goal in the space file.")
    ] = None,
    maximize: Annotated[
        bool | None, typer.Option("--maximize/--minimize", help="Which way is better. Default: as in the space file.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Skip the simulated campaigns on old data.")] = False,
    seed: Annotated[int, typer.Option(help="Random seed of the simulated campaigns.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Check old data before you use it: faults, coverage of the search space, and whether transfer can help.

    The exit code is 3 if there are faults.
    """
    from tunedprior.audit import run_audit
    from tunedprior.errors import InputError
    from tunedprior.workspace.space_file import read_space_file

    read = read_space_file(space)
    if target is None and len(read.goals) > 1:
        raise InputError(f"{space} has several goals ({', '.join(read.goals)}). Say which with --target.")
    target = target if target is not None else next(iter(read.goals), "y")
    direction = read.goals.get(target, "maximize")
    if maximize is not None:
        direction = "maximize" if maximize else "minimize"
    others = [name for name in (*read.goals, *read.requirements) if name != target]
    with _show_progress(not as_json) as advance:
        found = run_audit(
            old, read.space, target, direction, others=others, rehearse=not quick, seed=seed, advance=advance
        )
    found = replace(found, files=(old, str(space)), is_in_file=read.goals.get(target) == direction)
    say(found.to_dict(), *_render_audit(found))
    raise typer.Exit(ExitCode.NOTICED if found.faults else ExitCode.FINE)


@contextmanager
def _show_progress(wanted: bool) -> Iterator[Callable[[str], object]]:
    """A bar on stderr, which goes when it is done."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from tunedprior.audit.auditing import STEPS

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not wanted) as bar:
        task = bar.add_task("reading", total=STEPS)

        def advance(doing: str) -> None:
            bar.update(task, advance=1, description=doing)

        yield advance


def _render_audit(found: "Audit") -> Iterator[RenderableType]:
    """The audit for people."""
    for name, sentences in found.sections.items():
        if name == "Faults":
            yield _build_fault_table(found)
            continue
        if name in ("Verdict", "Next"):
            yield Text.assemble((f"\n{name}: ", "bold"), " ".join(sentences))
            continue
        yield Text(f"\n{name}", style="bold")
        for sentence in sentences:
            yield Text(sentence)
        if name == "What was read" and found.ranges:
            yield _build_range_table(found)


def _build_fault_table(found: "Audit") -> Table:
    table = Table(title="\nFaults", title_justify="left", title_style="bold red", show_lines=True)
    for name in ("fault", "what was found", "what to do"):
        table.add_column(name, overflow="fold")
    for one in found.faults:
        table.add_row(Text(one.kind, style="red"), Text(one.text), Text(one.remedy))
    return table


def _build_range_table(found: "Audit") -> Table:
    table = Table(title="Old data and search space", title_justify="left", title_style="italic")
    for name in ("input", "in old data", "values", "in the space"):
        table.add_column(name, overflow="fold", justify="right" if name == "values" else "left")
    blamed = {name for one in found.faults for name in one.columns}
    for one in found.ranges:
        style = "red" if one.name in blamed else ""
        old = "(no such column)" if one.old is None else _format_span(one.old)
        count = "" if one.distinct is None else f"{one.distinct:,}"
        table.add_row(Text(one.name, style=style), Text(old, style=style), count, Text(_format_span(one.space)))
    return table


def _format_span(ends: tuple[object, ...]) -> str:
    if len(ends) == 2 and all(isinstance(one, float) for one in ends):
        return f"{ends[0]:g} to {ends[1]:g}"
    more = f", … ({len(ends)})" if len(ends) > _MOST_ROWS else ""
    return ", ".join(map(str, ends[:_MOST_ROWS])) + more
