"""Pages have marks, and the site has the tables: all that are made, each once."""

import re

import pytest

from benchmarks.site_tables import _MADE, filled, tables_of
from benchmarks.tables import APPENDICES, DOCS
from tunedprior.cli.registry import list_commands

_MARK = re.compile(r"^<!-- table: (.*?) -->$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", _MADE)
def test_every_table_has_one_mark_and_every_mark_a_table(page: str) -> None:
    files = [DOCS / name for name in (page, APPENDICES.get(page)) if name is not None]
    marks = [mark for file in files for mark in _MARK.findall(file.read_text("utf-8"))]
    assert sorted(marks) == sorted(tables_of(page))


def test_marks_are_in_pages_that_have_tables() -> None:
    known = {*_MADE, *(appendix for page, appendix in APPENDICES.items() if page in _MADE)}
    assert {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md") if _MARK.search(file.read_text())} <= known


def test_a_table_stands_after_its_mark() -> None:
    text = filled("before\n\n<!-- table: size -->\n\nafter", "flow.md")
    assert text == f"before\n\n<!-- table: size -->\n{tables_of('flow.md')['size']}\n<!-- end -->\n\nafter"
    with pytest.raises(KeyError, match="makes no such table"):
        filled("<!-- table: nothing -->", "flow.md")


def test_a_list_becomes_a_table() -> None:
    head, rule, first = filled("<!-- list: glossary.csv -->", "glossary.md").splitlines()[1:4]
    assert head == "| word | term of the field | meaning here | in the code |"
    assert rule == "| --- | --- | --- | --- |"
    assert first.startswith("| acquisition function | acquisition function | ")


def test_every_list_is_shown() -> None:
    shown = {
        (file.parent / name).relative_to(DOCS)
        for file in DOCS.rglob("*.md")
        for name in re.findall(r"^<!-- list: (\S+) -->$", file.read_text("utf-8"), re.MULTILINE)
    }
    assert shown == {file.relative_to(DOCS) for file in DOCS.rglob("*.csv")}


def test_the_table_of_commands_has_all() -> None:
    lines = tables_of("commands.md")["commands"].splitlines()
    assert lines[2].startswith("| `space` | Draft a space file")
    assert len(lines) - 2 == len(list_commands())
