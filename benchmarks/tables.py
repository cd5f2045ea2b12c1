"""Tables in Markdown."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from benchmarks.comparison import Estimate

DOCS = Path(__file__).parent.parent / "docs"
#: Pages, and the pages of their other tables.
APPENDICES = {
    "field.md": "tables_field.md",
    "transfer.md": "tables_transfer.md",
    "experiments.md": "tables_experiments.md",
    "performance.md": "tables_speed.md",
    "reliability.md": "tables_reliability.md",
}


def markdown(table: pd.DataFrame) -> str:
    """The table's cells as they are, the index first, under the index's name.

    `DataFrame.to_markdown` would take a package more, and pad every cell to the width of its column: a changed number
    would change all lines.
    """
    rows = [[str(table.index.name), *table.columns], ["---"] * (1 + len(table.columns))]
    rows += [list(row) for row in table.itertuples(name=None)]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def with_interval(value: Estimate) -> str:
    """A number and its interval."""
    return f"{value.middle:.2f} ({value.low:.2f}–{value.high:.2f})"


def marked(value: Estimate) -> str:
    """In bold where the whole interval is better than the baseline, slanted where it is worse."""
    sure = value.low < value.high  # one seed has no interval
    mark = "**" if sure and value.high < 1 else "*" if sure and value.low > 1 else ""
    return f"{mark}{value.middle:.2f}{mark} ({value.low:.2f}–{value.high:.2f})"


def median_and_quartiles(found: pd.Series, form: str = ".3f") -> str:
    """Of a row of `comparison.quartiles`."""
    return f"{found[0.5]:{form}} ({found[0.25]:{form}}–{found[0.75]:{form}})"


def write_tables(path: Path, tables: Mapping[str, str]) -> None:
    """The tables of results that went elsewhere (`--out`), into a file beside them.

    Those of the project's own results are made when the site is built (`benchmarks.site_tables`): nothing is written.
    """
    if path.parent != DOCS:
        file = path.with_name(APPENDICES.get(path.name, path.name))
        known = file.read_text(encoding="utf-8") if file.exists() else ""
        for name, table in tables.items():
            block = f"<!-- table: {name} -->\n{table}\n<!-- end -->\n"
            old = re.compile(rf"<!-- table: {re.escape(name)} -->\n.*?<!-- end -->\n", re.DOTALL)
            known = old.sub(lambda _match, block=block: block, known) if old.search(known) else f"{known}\n{block}"
        file.write_text(known, encoding="utf-8")
