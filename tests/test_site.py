"""The documentation as a site: what its pages may not have and what they must, and that what they show can be typed."""

import ast
import importlib
import json
import re
import shlex
from pathlib import Path
from typing import Any

import griffe
import pytest
import typer
import yaml

import tunedprior
from tools.docsite import docstring_examples, site_pages
from tunedprior.cli.app import app
from tunedprior.workspace.space_file import parse_space_text

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [
    DOCS.parent / "README.md",
    *sorted((DOCS / "howto").glob("*.md")),
    *(DOCS / name for name in ("start_lab.md", "when_not.md", "faq.md", "commands.md", "space_file.md")),
]
#: Modules whose public names the reference has.
DESCRIBED = ("tunedprior", "tunedprior.plots", "tunedprior.audit", "tunedprior.report", "tunedprior.kernels")
INTEGRATIONS = ("ax", "baybe", "botorch", "dask", "optuna", "sklearn", "workers")


def described() -> set[str]:
    text = "\n".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    return set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))


def test_a_page_that_loads_something_from_elsewhere_is_noticed() -> None:
    page = '<link rel="stylesheet" href="a.css"><a href="https://optuna.org">Optuna</a><img src="x.png" alt="A line">'
    assert site_pages.faults(page) == []
    for spoiled in (
        '<script src="https://unpkg.com/x"></script>',
        '<link rel="stylesheet" href="//fonts.googleapis.com/css">',
        '<img src="http://shields.io/x.svg" alt="A badge">',
        "<style>@import 'https://fonts.example/a.css';</style>",
        '<img src="x.png">',
    ):
        assert len(site_pages.faults(page + spoiled)) == 1, spoiled


def test_a_term_that_the_search_does_not_find_is_noticed() -> None:
    entries = [{"title": term.upper(), "text": ""} for term in site_pages.SEARCHED]
    assert site_pages.unfound(json.dumps({"docs": entries})) == []
    assert site_pages.unfound(json.dumps({"docs": entries[1:]})) == ["transfer learning"]


class _Page:
    """As much of a page of MkDocs as the hook looks at."""

    def __init__(self, uri: str) -> None:
        self.file = type("File", (), {"src_uri": uri})


def shown(uri: str, markdown: str) -> str:
    page: Any = _Page(uri)
    return site_pages.on_page_markdown(markdown, page)


def test_documents_are_shown_as_people_read_them() -> None:
    session = "```python\n>>> f(x)  # doctest: +ELLIPSIS\n1...\n\n```"
    document = f"{session}\n```yaml space.yaml\na: 1\n```\n<!-- a remark -->\n| a |"
    assert (
        shown("asking.md", document) == '```pycon\n>>> f(x)\n1...\n```\n```yaml title="space.yaml"\na: 1\n```\n\n| a |'
    )
    assert shown("asking.md", "| **0.62** (0.41–0.75) |") == "| **0.62** (0.41\u2060–\u20600.75) |"
    console = shown("asking.md", "```console\n$ tunedprior best c.db\nBest measured\nAll of it.\n```")
    assert console.splitlines()[1:4] == ["$ tunedprior best c.db", "Best measured …", "All of it."]
    drawn = shown("asking.md", "```console\n$ tunedprior best c.db\n┃ yield ┃\n│     4 │\n```")
    assert drawn == "``` { .console .drawn }\n$ tunedprior best c.db\n┃ yield ┃\n│     4 │\n```"


def test_links_lead_where_they_do_beside_the_code() -> None:
    assert shown("howto/noise.md", "[a](../asking.md#noise)") == "[a](../asking.md#noise)"
    assert shown("howto/noise.md", "[asking.md](../asking.md)") == "[Asking and telling](../asking.md)"
    assert shown("index.md", "[a](../CONTRIBUTING.md)") == "[a](contributing.md)"
    assert shown("contributing.md", "[a](docs/flow.md)") == "[a](flow.md)"
    assert shown("index.md", "[a](../examples/reactor)") == "[a](repository/examples/reactor.md)"
    assert shown("index.md", "[a](../examples/notebooks/x.ipynb)") == "[a](notebooks/x.md)"
    assert list(site_pages.outside("[a](../examples/01_xor.py), [b](asking.md)", "index.md")) == ["examples/01_xor.py"]


def test_sessions_in_docstrings_are_code() -> None:
    docstring = (
        "Adds.\n\n    >>> add(1, 2)  # doctest: +SKIP\n    3\n\n    >>> add(\n    ...     0, 0)\n    0\n\nNo more."
    )
    inside = "    ```pycon\n    >>> add(1, 2)\n    3\n\n    >>> add(\n    ...     0, 0)\n    0\n    ```"
    assert docstring_examples.fenced(docstring) == f"Adds.\n\n{inside}\n\nNo more."


def test_defaults_are_shown_as_values() -> None:
    campaign = "tunedprior.campaign.optimizer"
    assert docstring_examples.shown_value(campaign, "UNNAMED") == "'campaign'"
    assert docstring_examples.shown_value("tunedprior.integrations.botorch", "AlignedBelief.name") == "'aligned'"
    assert docstring_examples.shown_value(campaign, "None") == "None"
    assert docstring_examples.shown_value(campaign, "NO_SUCH_NAME") == "NO_SUCH_NAME"


def list_members_shown() -> dict[str, list[str] | bool | None]:
    """Every entry of the reference with the members that it shows; None for all public ones."""
    text = "\n".join(path.read_text("utf-8") for path in (DOCS / "api").glob("*.md"))
    entries = re.findall(r"^::: tunedprior\.(\S+)\n((?:    .*\n)*)", text, re.MULTILINE)
    return {name: (yaml.safe_load(options) or {}).get("options", {}).get("members") for name, options in entries}


def list_types(shown: griffe.Object, members: list[str] | bool | None) -> set[str]:
    """The names of types of this package in what an entry of the reference shows."""
    if shown.is_class:
        wanted = [] if members is False else members or [name for name in shown.members if not name.startswith("_")]
        return set().union(
            *(list_types(shown.all_members[one], None) for one in ["__init__", *wanted] if one in shown.all_members)
        )
    if shown.is_alias:
        return list_types(shown.final_target, None)
    parts = (
        [one.annotation for one in (*getattr(shown, "parameters", ()), shown)]
        if shown.is_function
        else [shown.annotation]
    )
    names = [
        one
        for part in parts
        if isinstance(part, griffe.Expr)
        for one in part.iterate()
        if isinstance(one, griffe.ExprName)
    ]
    return {one.canonical_path for one in names if one.canonical_path.startswith("tunedprior.")}


def test_the_reference_explains_every_type_in_a_signature() -> None:
    package = griffe.load("tunedprior", search_paths=[SOURCE.parent], resolve_aliases=True)
    entries = {
        name: package[name].final_target if package[name].is_alias else package[name] for name in list_members_shown()
    }
    types = set().union(*(list_types(entries[name], members) for name, members in list_members_shown().items()))
    table = "".join((DOCS / "api" / name).read_text("utf-8") for name in ("types.csv", "types.md"))
    explained = {one.name for one in entries.values()} | set(re.findall(r"`(\w+)`", table))
    assert sorted(one for one in types if one.rpartition(".")[2] not in explained) == []


def test_a_notebook_becomes_a_page_with_all_its_words_and_code() -> None:
    path = next((DOCS.parent / site_pages.NOTEBOOKS).glob("*.ipynb"))
    page = site_pages.as_markdown(path)
    cells = json.loads(path.read_text())["cells"]
    assert page.count("```python\n") == sum(cell["cell_type"] == "code" for cell in cells)
    assert f"{path.name})" in page.split("```python")[0]  # where to get it comes first


@pytest.mark.parametrize("module", DESCRIBED)
def test_the_reference_has_every_public_name(module: str) -> None:
    assert {f"{module}.{name}" for name in importlib.import_module(module).__all__} <= described()


def test_the_reference_has_every_integration() -> None:
    named = {name.split(".")[2] for name in described() if name.startswith("tunedprior.integrations.")}
    assert named == set(INTEGRATIONS)
    source = Path(tunedprior.__file__).parent / "integrations"
    assert all((source / f"{name}.py").exists() or (source / name).is_dir() for name in named)


def commands() -> list[str]:
    """Every command of the program that these pages show, in blocks and in sentences."""
    found = set()
    for page in PAGES:
        text = page.read_text()
        found |= set(re.findall(r"^(?:\$ )?(tunedprior [^#\n]+?)\s*(?:#.*)?$", text, re.MULTILINE))
        found |= {" ".join(one.split()) for one in re.findall(r"`(tunedprior [a-z]+ [^`]+)`", text)}
    return sorted(
        one for one in found if "COMMAND" not in one and "…" not in one and not one.startswith("tunedprior --")
    )


def test_every_command_that_is_shown_is_understood() -> None:
    program: Any = typer.main.get_command(app)
    shown = commands()
    assert len(shown) > 20
    for command in shown:
        _, name, *words = shlex.split(command)
        program.commands[name].make_context(name, words)  # refuses options that are not there


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", DOCS / "start_install.md"])
def test_who_installs_is_told_of_an_environment_and_of_pytorch_for_cpus_first(page: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = next(block for block in blocks if "pip install" in block).splitlines()
    made, activated, pytorch, installed = (
        next(number for number, line in enumerate(lines) if re.match(wanted, line))
        for wanted in (
            r"python3 -m venv \.venv",
            r"source \.venv/bin/activate",
            r"pip install torch --index-url https://download\.pytorch\.org/whl/cpu",
            r'pip install "?\.',
        )
    )
    assert made < activated < pytorch < installed
    assert ".venv\\Scripts\\activate" in page.read_text("utf-8")


def test_every_space_file_that_is_shown_is_understood() -> None:
    files = [
        (page.name, text)
        for page in PAGES
        for text in re.findall(r"```yaml[^\n]*\n(.*?)```", page.read_text(), re.DOTALL)
    ]
    assert len(files) >= 3
    for name, text in files:
        assert parse_space_text(text, name).space.names


SOURCE = Path(tunedprior.__file__).parent


def list_names(module: str) -> set[str]:
    """What can be imported from a module, by reading it: some need packages that are not installed."""
    path = SOURCE.parent / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    imported = {one.asname or one.name for node in nodes if isinstance(node, ast.ImportFrom) for one in node.names}
    return defined | assigned | imported | {one.stem for one in path.glob("*")}


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_what_documents_name_in_the_code_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    named = re.findall(r"`((\w+)/[\w/]+\.py)`", text)
    assert [path for path, package in named if package in packages and not (SOURCE / path).exists()] == []
    blocks = "\n".join(re.findall(r"^```python(?: \S+)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    for module, names in re.findall(r"^(?:>>> )?from (tunedprior[\w.]*) import ([\w, ]+)$", blocks, re.MULTILINE):
        assert {name.strip() for name in names.split(",")} <= list_names(module), module
