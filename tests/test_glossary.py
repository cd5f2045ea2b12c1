"""docs/glossary.csv: each word is there once, is in use, and leads to something that exists."""

import csv
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import typer

import tunedprior
from tunedprior.cli.app import app

ROOT = Path(__file__).parents[1]
GLOSSARY = ROOT / "docs" / "glossary.csv"
COLUMNS = 4


def read_entries() -> list[list[str]]:
    """The cells of every row of the list."""
    with GLOSSARY.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


ENTRIES = read_entries()
WORDS = [row[0] for row in ENTRIES]


def read_user_texts() -> str:
    """The README, all other documents, and the help of every command, in small letters."""
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.csv") if path != GLOSSARY),
    ]
    program: Any = typer.main.get_command(app)
    helps = [f"{command.help} {[getattr(one, 'help', '') for one in command.params]}" for command in _list_all(program)]
    return " ".join(" ".join([*(path.read_text("utf-8") for path in pages), *helps]).lower().split())


def _list_all(program: Any) -> list[Any]:
    return [program, *program.commands.values()]


def resolve(path: str) -> Any:
    """The module, class, function or attribute at a dotted path inside of the package."""
    found: Any = tunedprior
    for depth, name in enumerate(names := path.split(".")):
        if not hasattr(found, name):
            importlib.import_module(".".join(["tunedprior", *names[: depth + 1]]))
        found = getattr(found, name)
    return found


def test_every_row_is_whole() -> None:
    assert len(ENTRIES) > 40
    assert [row for row in ENTRIES if len(row) != COLUMNS or not all(row)] == []


def test_words_are_sorted_and_each_is_there_once() -> None:
    assert sorted(set(WORDS)) == WORDS


@pytest.mark.parametrize("path", sorted({path for row in ENTRIES for path in re.findall(r"`([^`]+)`", row[-1])}))
def test_what_it_names_in_the_code_exists(path: str) -> None:
    resolve(path)


def test_every_row_names_something_in_the_code() -> None:
    assert [row[0] for row in ENTRIES if not re.fullmatch(r"(`[\w.]+`(, )?)+", row[-1])] == []


def test_every_word_is_used() -> None:
    text = read_user_texts()
    assert [word for word in WORDS if not re.search(rf"\b{word}", text)] == []
