"""Every table of the documents that is made with the site: of stored results, and of lists.

A page has a mark, `<!-- table: NAME -->`, in a line of its own. The site puts the table there when it is built, so no
table is older than its results.

To add one: let a function make Markdown from stored results, name it in `_MADE`, and put its mark into the page.
"""

import csv
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import pandas as pd

from benchmarks.results import RESULTS, read_results
from benchmarks.studies import (
    as_printed,
    batches,
    beliefs,
    diverging,
    dual,
    experiment1,
    flat,
    knowledge,
    mistakes,
    models,
    paper,
    pruning,
    readers,
    recovery,
    regret_bounds,
    reweighted,
    sharing,
    size,
    slips,
    storing,
)
from benchmarks.studies.audits import command as audits
from benchmarks.studies.audits.tables import audit_tables
from benchmarks.studies.belief_tables import all_belief_tables
from benchmarks.studies.durability import command as durability
from benchmarks.studies.field import command as field
from benchmarks.studies.goals import command as goals
from benchmarks.studies.goals.tables import goal_tables
from benchmarks.studies.hostile import command as hostile
from benchmarks.studies.paper_tables import fibre_tables, function_tables
from benchmarks.studies.scale import command as scale
from benchmarks.studies.scale.tables import scale_tables
from benchmarks.studies.shell import command as shell
from benchmarks.studies.speed.report import speed_tables
from benchmarks.studies.workers import command as workers
from benchmarks.studies.workers.tables import worker_tables
from benchmarks.tables import APPENDICES, DOCS, markdown
from tools.release.licences import licence_tables
from tunedprior.cli import commands
from tunedprior.cli.registry import list_commands
from tunedprior.discovery import import_modules

_LIST = re.compile(r"^<!-- list: (\S+) -->$", re.MULTILINE)
_MARK = re.compile(r"^<!-- table: (.*?) -->$", re.MULTILINE)


def _commands() -> str:
    """Every command with the first sentence of its help."""
    import_modules(commands.__name__)
    told = {f"`{one.name}`": (one.function.__doc__ or "").strip().splitlines()[0] for one in list_commands()}
    return markdown(pd.DataFrame({"what it does": told}).rename_axis(index="command"))


def _packages() -> str:
    """The packages in the order of the import contract, each with the first sentence of its docstring."""
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next(one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    names = [name for layer in layers[::-1] for name in layer.split(" : ")[::-1]]
    told = [import_module(f"tunedprior.{name}").__doc__ or "" for name in names]
    rows = pd.DataFrame({"what it is": [text.splitlines()[0] for text in told]}, index=[f"`{name}`" for name in names])
    return markdown(rows.rename_axis(index="package"))


#: By page (an appendix has those of its page): functions that make tables by name, of all that is stored.
_MADE: dict[str, tuple[Callable[[], Mapping[str, str]], ...]] = {
    "algorithm1.md": (
        lambda: pruning.make_tables(read_results(pruning.FITS.name), read_results(pruning.CAMPAIGNS.name)),
    ),
    "commands.md": (
        lambda: {"commands": _commands()},
        lambda: shell.tables_of(storing.stored_parts(shell.STUDIES, RESULTS)),
    ),
    "experiments.md": (
        lambda: function_tables(read_results("functions"), paper.FIRST_CHOSEN),
        lambda: fibre_tables(read_results("fibre"), simulated=True),
        lambda: as_printed.tables(read_results("as_printed")),
        lambda: experiment1.tables(experiment1.stored_results()),
        lambda: reweighted.function_tables(reweighted.read_with_rivals(read_results("reweighted"))),
        lambda: reweighted.corpus_tables(read_results("reweighted_corpus")),
    ),
    "field.md": (lambda: field.all_tables(RESULTS),),
    "flow.md": (lambda: {"size": size.table(pd.read_csv(RESULTS / "size.csv")), "packages": _packages()},),
    "licences.md": (licence_tables,),
    "performance.md": (
        lambda: speed_tables(json.loads((RESULTS / "speed.json").read_text(encoding="utf-8"))["parts"]),
        lambda: scale_tables(storing.stored_parts(scale.STUDIES, RESULTS)),
    ),
    "regret.md": (lambda: regret_bounds.tables(read_results("regret_bounds")),),
    "reliability.md": (
        lambda: mistakes.tables(read_results("mistakes")),
        lambda: dual.tables(read_results("dual")),
        lambda: flat.tables(read_results("flat")),
        lambda: batches.tables(read_results("batches")),
        lambda: {"slips": slips.table(read_results("slips"))},
        lambda: {"diverging": diverging.table(read_results("diverging"))},
        lambda: {"ordinary": diverging.ordinary_table(read_results("ordinary"))},
        lambda: {"readers": readers.table(read_results("readers"))},
        lambda: hostile.tables_of(storing.stored_parts(hostile.STUDIES, RESULTS)),
        lambda: durability.tables_of(storing.stored_parts(durability.STUDIES, RESULTS)),
    ),
    "tables_audit.md": (lambda: audit_tables(read_results(audits.CLEAN), read_results(audits.SPOILED)),),
    "tables_goals.md": (
        lambda: goal_tables(*goals.stored_parts(RESULTS)),
        lambda: models.tables(read_results("models")),
    ),
    "tables_sharing.md": (
        lambda: recovery.tables(read_results("recovery")),
        lambda: sharing.tables(read_results("sharing")),
    ),
    "tables_workers.md": (lambda: worker_tables(storing.stored_parts(workers.STUDIES, RESULTS)),),
    "tutorial_knowledge.md": (lambda: knowledge.tables(read_results("knowledge")),),
    "transfer.md": (lambda: all_belief_tables(beliefs.stored_parts(RESULTS)),),
}
_PAGE_OF = {appendix: page for page, appendix in APPENDICES.items()}


@cache
def tables_of(page: str) -> dict[str, str]:
    """Tables by name, for a page of docs/ by its name there; none for a page without marks."""
    made = _MADE.get(_PAGE_OF.get(page, page), ())
    return {name: table for make in made for name, table in make().items()}


def filled(text: str, page: str) -> str:
    """The text with each table after its mark, and each list of docs/ (CSV, beside the page) as a table.

    Raises:
        KeyError: There is a mark, and nothing makes its table.
    """

    def table(mark: re.Match[str]) -> str:
        if mark[1] not in tables_of(page):
            raise KeyError(f"docs/{page} has a mark for {mark[1]!r}; benchmarks/site_tables.py makes no such table.")
        return f"{mark[0]}\n{tables_of(page)[mark[1]]}\n<!-- end -->"

    def listed(mark: re.Match[str]) -> str:
        with ((DOCS / page).parent / mark[1]).open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        lines = "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))
        return f"{mark[0]}\n{lines}\n<!-- end -->"

    return _LIST.sub(listed, _MARK.sub(table, text))


def read_filled(path: Path) -> str:
    """A page as the site has it, and its appendix after it."""
    files = [path, *([path.with_name(APPENDICES[path.name])] if path.name in APPENDICES else [])]
    return "\n".join(filled(file.read_text(encoding="utf-8"), file.relative_to(DOCS).as_posix()) for file in files)
