from pathlib import Path

import pytest

from support.errors import raises
from tunedprior.errors import InputError
from tunedprior.goals.goal import Target
from tunedprior.workspace.space_file import parse_space_text, read_space_file

WHOLE = """\
# what may be set
parameters:
  heat: 20 to 90 step 5
  flow: 0.1 to 10 log
  dose: 0.1 to 10 log digits 3
  acid: 0 to 1
  salt: 0.0 to 1.0
  gas: [air, argon, no]
  time: [5, 10, 30.5]
goals:
  yield: maximize
  length: target 480 to 520
limits:
  yield: 0 to 100
  length: ">= 0"
requirements:
  purity: ">= 0.95"
constraints:
  - acid + salt <= 1
"""


def test_everything_a_file_may_say() -> None:
    read = parse_space_text(WHOLE, "space.yaml")
    assert read.parameters == {
        "heat": (20, 90, 5),
        "flow": (0.1, 10, "log"),
        "dose": (0.1, 10, "log", 3),
        "acid": (0, 1),
        "salt": (0.0, 1.0),
        "gas": ["air", "argon", "no"],  # which YAML would take for False
        "time": [5, 10, 30.5],
    }
    assert read.goals == {"yield": "maximize", "length": Target(480.0, 520.0)}
    assert read.requirements == {"purity": ">= 0.95"}
    assert read.limits == {"yield": (0.0, 100.0), "length": ">= 0"}
    assert [str(one) for one in read.space.constraints] == ["acid + salt <= 1"]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("parameters:\n  heat: 20-90\n", ("line 2", "heat", "range")),
        ("parameters:\n  heat: 0,5 to 1,5\n", ("line 2", "decimal points")),
        ("parameters:\n  heat: {low: 1}\n", ("line 2", "heat", "range")),
        ("parameters:\n  heat: 1 to 2\n  heat: 3 to 4\n", ("line 3", "'heat'", "twice")),
        ("parameters:\n  a: 1 to 2\n\tb: 3 to 4\n", ("line 3",)),
        ("heat: 20 to 90\n", ("'heat'", "parameters, goals")),
        ("goals: {y: maximize}\n", ("no 'parameters'",)),
        ("", ("line 1", "parts")),
        ("parameters: [1, 2]\n", ("line 1", "names", "colon")),
        ("parameters:\n  a: 1 to 2\ngoals:\n  y: best\n", ("line 4", "y", "maximize")),
        ("parameters:\n  a: 1 to 2\nlimits:\n  y: below 3\n", ("line 4", "limits", "'y'", "'below 3'")),
    ],
)
def test_what_cannot_be_understood_is_named_with_its_line(text: str, facts: tuple[str, ...]) -> None:
    with raises(InputError, *facts):
        parse_space_text(text, "space.yaml")


def test_a_file_that_is_not_there(tmp_path) -> None:
    with pytest.raises(InputError, match=r"tunedprior space old\.csv -o none\.yaml"):
        read_space_file(tmp_path / "none.yaml")


def test_a_file_of_another_encoding(tmp_path) -> None:
    path = tmp_path / "space.yaml"
    path.write_bytes("parameters:\n  Wärme: 1 to 2\n".encode("latin-1"))
    with pytest.raises(InputError, match="UTF-8"):
        read_space_file(path)
    path.write_bytes("parameters:\n  Wärme: 1 to 2\n".encode("utf-8-sig"))
    assert read_space_file(path).parameters == {"Wärme": (1, 2)}


@pytest.mark.parametrize(
    "text",
    [
        "parameters: " + "[" * 3000,
        "parameters:\n  a: &a 0 to 1\n  b: *a\n",
        "parameters:\n  a: !!python/object/apply:os.system [true]\n",
        "parameters:\n  ? [a, b]\n  : 0 to 1\n",
        f"parameters:\n  a: 0 to {'9' * 5000}\n",
        "parameters:\n  a: 0 to 1e999\n",
        "parameters:\n  a: 0 to 1\x07\n",
    ],
    ids=["deep", "alias", "tag", "key", "digits", "infinite", "control"],
)
def test_what_no_space_file_holds_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "space.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"^space\.yaml"):
        read_space_file(path)
