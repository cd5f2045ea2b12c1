"""Names, categories and notes that would steer the terminal, or that rich would take for markup."""

import json
import re

import pytest
from rich.text import Text

from tunedprior.cli import output
from tunedprior.cli.output import PlainConsole, complain, make_table

SPACE = r"""
parameters:
  "[red]heat": 20 to 90 step 5
  "flow\x1b[2J": 0 to 1
  gas: ["air\x1b]0;owned\x07", "[bold]argon[/bold] :smile:", "ev\u202Eil"]
goals:
  "yield\x1b[1A": maximize
"""
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture
def hostile(shell):
    (shell.folder / "space.yaml").write_text(SPACE)
    return shell


def test_nothing_steers_the_terminal(hostile) -> None:
    said = [hostile("new", "a.db", "--space", "space.yaml"), hostile("suggest", "a.db", "-n", "3", "-o", "next.csv")]
    words = ["--note", "\x1b[31mred\x9b2J", "yield\x1b[1A=1"]
    said += [hostile("record", "a.db", "--trial", "1", *words), hostile("status", "a.db"), hostile("best", "a.db")]
    said += [hostile("status", "no\x1b[2Jsuch.db", code=2), hostile("record", "a.db", "x\x1b[2J=3", code=2)]
    for one in said:
        assert not STEERING.search(one), one
    together = "".join(said)
    assert "[red]heat" in together
    assert "flow\\x1b[2J" in together
    for kind in ("[bold]argon[/bold] :smile:", "air\\x1b]0;owned", "ev\\u202eil"):
        assert kind in together


def test_json_holds_no_such_sign_either(hostile) -> None:
    hostile("new", "a.db", "--space", "space.yaml")
    hostile("suggest", "a.db", "-n", "3")
    text = hostile("status", "a.db", "--json")
    assert not STEERING.search(text)
    found = {one["setting"]["gas"] for one in json.loads(text)["open"]}
    assert found <= {"air\x1b]0;owned\x07", "[bold]argon[/bold] :smile:", "ev\u202eil"}


def test_a_table_is_drawn_around_what_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    PlainConsole().print(make_table([{"name\x1b[5m": "two\nlines\x1b[2J"}]))
    PlainConsole().print(Text("alone\x1b[2J"))
    PlainConsole().print("[red]as it is[/red]")
    said = capsys.readouterr().out
    assert not STEERING.search(said)
    assert "[red]as it is[/red]" in said
    assert "lines\\x1b[2J" in said
    assert "alone\\x1b[2J" in said


def test_an_error_is_printed_as_it_is(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(output._speaking, "json", False)
    complain("There is no [bold]file[/] 'a\x1b[2J' :smile:", "InputError")
    assert capsys.readouterr().err == "Error: There is no [bold]file[/] 'a\\x1b[2J' :smile:\n"
