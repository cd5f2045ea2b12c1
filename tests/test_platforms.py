"""What would fail on another system, as far as one can tell on this: encodings, names of files, calls, consoles."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunedprior
from tunedprior import Optimizer
from tunedprior.errors import InputError
from tunedprior.workspace.places import resolve_database_url
from tunedprior.workspace.shell_words import quote_word

ROOT = Path(__file__).parents[1]
SOURCE = Path(tunedprior.__file__).parent
#: Modules and calls that Windows lacks.
UNIX_MODULES = {"fcntl", "grp", "posix", "pwd", "resource", "termios", "tty", "pty"}
UNIX_CALLS = {"fork", "getuid", "geteuid", "getpgid", "killpg", "setsid", "SIGKILL", "SIGHUP", "SIGUSR1", "mkfifo"}
#: Names that are devices on Windows, with any ending.
DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))}
OPENING = {"open", "read_text", "write_text"}
NO_TEXT = ("os", "archive", "tarfile")  # what these open is bytes


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))


def lacks_encoding(call: ast.Call) -> bool:
    """Whether a call opens a file as text, in whatever encoding the system has."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if name not in OPENING or (name == "open" and isinstance(owner, ast.Name) and owner.id in NO_TEXT):
        return False
    if isinstance(call.func, ast.Name) and name != "open":
        return False  # a function of ours, which reads text that is there
    is_binary = any(isinstance(one, ast.Constant) and "b" in str(one.value) for one in call.args)
    return not is_binary and all(one.arg != "encoding" for one in call.keywords)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open(path)", True),
        ("path.open('w', newline='')", True),
        ("path.read_text()", True),
        ("path.open('rb')", False),
        ("path.write_text(text, encoding='utf-8')", False),
    ],
)
def test_an_opening_without_an_encoding_is_noticed(code: str, expected: bool) -> None:
    call = ast.parse(code, mode="eval").body
    assert isinstance(call, ast.Call)
    assert lacks_encoding(call) == expected


def test_every_text_file_is_opened_in_a_named_encoding() -> None:
    sources = [*SOURCE.rglob("*.py"), *(ROOT / "tools" / "release").glob("*.py")]
    assert [f"{path}:{call.lineno}" for path in sources for call in calls(path) if lacks_encoding(call)] == []


def test_nothing_is_used_that_windows_lacks() -> None:
    """But for imports that may fail, with another way where they do."""
    found = []
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        guarded = [
            one
            for node in ast.walk(tree)
            if isinstance(node, ast.Try)
            and any(isinstance(by.type, ast.Name) and by.type.id == "ImportError" for by in node.handlers)
            for one in node.body
        ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and node not in guarded:
                found += [one.name for one in node.names if one.name in UNIX_MODULES]
            if isinstance(node, ast.ImportFrom) and node.module in UNIX_MODULES:
                found.append(node.module)
            if isinstance(node, ast.Attribute) and node.attr in UNIX_CALLS:
                found.append(f"{path.name}:{node.lineno} {node.attr}")
    assert found == []


def test_every_file_can_have_its_name_on_every_system() -> None:
    folders = ("src", "docs", "examples", "tests", "tools", "benchmarks", "optunahub")
    paths = [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*")]
    paths = [path for path in paths if "__pycache__" not in path.parts]
    assert len(paths) > 500
    assert [path for path in paths if set(str(path)) & set('<>:"|?*\\') or path.name.endswith((".", " "))] == []
    assert [path for path in paths if any(part.split(".")[0].lower() in DEVICES for part in path.parts)] == []
    assert [path for path in paths if len(str(path)) > 150] == []  # Windows has room for 260, with the clone's folder
    assert [name for name, count in Counter(str(path).lower() for path in paths).items() if count > 1] == []


# Both commands in one process, which would end after the first.
SUGGESTING = """
import os, sys
from tunedprior.cli.program import main

os._exit = lambda code: print("exit", code)
for option in ([], ["--json"]):
    sys.argv = ["tunedprior", "suggest", "a.db", "--open", *option]
    try:
        main()
    except SystemExit:
        pass
"""


def test_a_console_that_lacks_letters_gets_their_numbers(tmp_path: Path) -> None:
    encoding = "cp1252"  # Windows, in western Europe
    url = resolve_database_url(str(tmp_path / "a.db"))
    Optimizer({"λ": (0.0, 1.0), "Größe": [1, 2]}, direction="maximize", storage=url, name="a", seed=0).ask()
    done = subprocess.run(
        [sys.executable, "-c", SUGGESTING],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "PYTHONPATH": str(SOURCE.parent)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    words, _, told = done.stdout.decode(encoding).partition("exit 0\n")
    assert r"\u03bb" in words
    told, _, rest = told.partition("exit 0")
    assert rest.strip() == ""
    assert set(json.loads(told)["suggestions"][0]["setting"]) == {"λ", "Größe"}


def test_commands_are_quoted_as_the_systems_shell_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert quote_word("my lab.db") == "'my lab.db'"
    monkeypatch.setattr("tunedprior.workspace.shell_words.os.name", "nt")
    assert quote_word("my lab.db") == '"my lab.db"'
    assert quote_word(r"C:\lab\a.db") == r"C:\lab\a.db"


@pytest.mark.parametrize("name", ["a b.db", "a#b.db", "a%20b.db", "größe λ.db", "100%.db"])
def test_a_campaign_lies_in_the_file_that_was_named(tmp_path: Path, name: str) -> None:
    Optimizer(
        {"x": (0.0, 1.0)}, direction="maximize", storage=resolve_database_url(str(tmp_path / name)), name="a", seed=0
    )
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_name_that_an_address_cannot_have_is_refused() -> None:
    with pytest.raises(InputError, match="Choose other names"):
        resolve_database_url("a{b}.db")
