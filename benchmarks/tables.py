"""Tables in Markdown, written into the documents between marks, so that they can be made again and compared."""

import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from benchmarks.comparison import Estimate

DOCS = Path(__file__).parent.parent / "docs"
#: Pages, and where the tables are that a page has no marks for.
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


def with_appendix(path: Path) -> list[Path]:
    """A page, and its appendix if it has one."""
    return [path, *([path.with_name(APPENDICES[path.name])] if path.name in APPENDICES else [])]


def write_tables(path: Path, tables: Mapping[str, str]) -> None:
    """Each table between its marks, in the page or its appendix; one without marks is added to the last of these."""
    files = with_appendix(path)
    texts = [file.read_text(encoding="utf-8") if file.exists() else "" for file in files]
    for name, table in tables.items():
        block = f"<!-- table: {name} -->\n{table}\n<!-- end -->"
        found = re.compile(rf"<!-- table: {re.escape(name)} -->\n.*?<!-- end -->", re.DOTALL)
        if any(map(found.search, texts)):
            texts = [found.sub(lambda _match, block=block: block, text) for text in texts]
        else:
            texts[-1] += f"\n{block}\n"
    for file, text in zip(files, texts, strict=True):
        if text:
            file.write_text(text, encoding="utf-8")


def read_with_appendix(path: Path) -> str:
    """The text of a page, and that of its appendix after it."""
    return "\n".join(file.read_text(encoding="utf-8") for file in with_appendix(path) if file.exists())
