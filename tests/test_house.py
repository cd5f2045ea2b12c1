"""The rules of the house, by reading the source: what lies where, what it is called, and who may use what."""

import ast
import inspect
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tunedprior
from support.verbs import NAMES_OF_OTHERS, NOUNS, VERBS
from tunedprior.beliefs import list_beliefs

ROOT = Path(tunedprior.__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
SOURCES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
TESTS = Path(__file__).parent

MOST_MODULES_AT_THE_ROOT = 5
# Modules of ours that one file imports.
MOST_IMPORTS = 34
# Of a function, without its signature and docstring; inner functions count.
MOST_STATEMENTS, MOST_LINES = 45, 65
# Private names of others that may be used: of PyTorch, GPyTorch, BoTorch and Optuna where there is no public way, and
# of a class's own instances other than self.
MOST_PRIVATE_USES = 14


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own(value: ast.expr) -> bool:
    """self, cls and super() may be asked for anything."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def private_uses() -> Iterator[str]:
    """Where a private name of something else is used or imported."""
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr) and not own(node.value):
                yield f"{path}:{node.lineno} {ast.unparse(node)}"
            if isinstance(node, ast.ImportFrom):
                yield from (f"{path}:{node.lineno} import {one.name}" for one in node.names if is_private(one.name))


def test_the_root_holds_few_modules() -> None:
    at_the_root = [path for path in SOURCES if "/" not in path and path != "__init__.py"]
    assert len(at_the_root) <= MOST_MODULES_AT_THE_ROOT, at_the_root


def functions() -> Iterator[tuple[str, Function]]:
    """Every function, methods and inner ones too, with the file it is in."""
    for path, tree in SOURCES.items():
        yield from ((path, node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def is_value(function: Function) -> bool:
    """Whether it is read like an attribute, so that its name is a noun."""
    decorators = {ast.unparse(one).rsplit(".", maxsplit=1)[-1] for one in function.decorator_list}
    return bool(decorators & {"property", "cached_property", "setter"})


def begins_with_a_verb(name: str) -> bool:
    return name.strip("_").split("_")[0] in VERBS


def test_functions_are_verbs() -> None:
    named = {
        function.name
        for _, function in functions()
        if not is_value(function) and not function.name.startswith("__") and not begins_with_a_verb(function.name)
    }
    assert sorted(named - set(NAMES_OF_OTHERS) - set(NOUNS)) == [], "no verb: a new one goes into support/verbs.py"
    assert sorted({*NAMES_OF_OTHERS, *NOUNS} - named) == [], "these are no exceptions any more"


@pytest.mark.parametrize("name", ["decoded", "_shown", "taught", "reached_far", "encoding", "rows"])
def test_participles_and_nouns_are_no_verbs(name: str) -> None:
    assert not begins_with_a_verb(name)


def test_no_class_name_occurs_twice() -> None:
    names = Counter(node.name for tree in SOURCES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert {name: count for name, count in names.items() if count > 1} == {}


CLASSES = {node.name: node for tree in SOURCES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
# "name: text" or "name (type): text" or "one, other: text", which begins an entry of a docstring's section.
ENTRY = re.compile(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: \([^)]*\))?:(?: |$)")


def parse_entries(docstring: str, section: str) -> list[str]:
    """The names that a section such as "Args" or "Attributes" of a docstring describes; other lines as they are."""
    lines = iter(docstring.splitlines())
    head = next((line for line in lines if line.strip() == f"{section}:"), None)
    if head is None:
        return []
    found, outer, inner = [], count_indent(head), None
    for line in lines:
        if not line.strip() or count_indent(line) <= outer:
            break
        inner = count_indent(line) if inner is None else inner
        if count_indent(line) == inner:
            entry = ENTRY.match(line.strip())
            found += [one.strip("* ") for one in entry[1].split(",")] if entry else [line.strip()]
    return found


def count_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def list_parameters(function: Function) -> set[str]:
    all_of_it = function.args
    several = [one for one in (all_of_it.vararg, all_of_it.kwarg) if one is not None]
    return {one.arg for one in [*all_of_it.posonlyargs, *all_of_it.args, *all_of_it.kwonlyargs, *several]}


def list_attributes(defined: ast.ClassDef) -> set[str]:
    """Fields, properties, arguments of __init__ and whatever is set on self, with those of base classes of ours."""
    found = set()
    for node in defined.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            found |= {one.id for one in targets if isinstance(one, ast.Name)}
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if is_value(node):
                found.add(node.name)
            if node.name == "__init__":
                found |= list_parameters(node)
            found |= {
                one.attr
                for one in ast.walk(node)
                if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store) and own(one.value)
            }
    for base in defined.bases:
        name = ast.unparse(base).split("[")[0].rsplit(".", maxsplit=1)[-1]
        found |= list_attributes(CLASSES[name]) if name in CLASSES else set()
    return found


def test_docstrings_describe_what_is_there() -> None:
    """A name under "Args" is a parameter, one under "Attributes" an attribute."""
    wrong = []
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef | Function):
                known = list_attributes(node) if isinstance(node, ast.ClassDef) else list_parameters(node)
                docstring = ast.get_docstring(node) or ""
                entries = [*parse_entries(docstring, "Args"), *parse_entries(docstring, "Attributes")]
                wrong += [f"{path}:{node.lineno} {node.name}: {entry}" for entry in entries if entry not in known]
    assert wrong == []


# How docstrings begin, and what entries consist of, that cannot be understood without their neighbours.
RIDDLE = re.compile(r"(The same|What (came|is told|was told)|As above)\b")
PRONOUN = re.compile(r"(It|They|Them|Whose|Which|Where|When|That|As above)\.")


def test_docstrings_stand_alone() -> None:
    """None begins with "The same", and no entry under "Args" or "Attributes" is a mere pronoun."""
    riddles = []
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function):
                lines = (ast.get_docstring(node) or "").splitlines()
                entries = [line.strip().partition(": ")[2] for line in lines if ENTRY.match(line.strip())]
                riddles += [f"{path}: {line}" for line in lines[:1] if RIDDLE.match(line)]
                riddles += [f"{path}: {entry}" for entry in entries if PRONOUN.match(entry)]
    assert riddles == []


def test_entries_of_docstrings_are_found() -> None:
    docstring = """Sum.

    Args:
        first, second: Numbers:
            any.
        *rest (int): More.

    Attributes:
        total: The sum.
    """
    assert parse_entries(docstring, "Args") == ["first", "second", "rest"]
    assert parse_entries(docstring, "Attributes") == ["total"]
    assert parse_entries(docstring, "Returns") == []


def test_files_import_few_modules() -> None:
    imported = {
        path: {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and is_ours(node.module)}
        for path, tree in SOURCES.items()
    }
    assert {path: len(modules) for path, modules in imported.items() if len(modules) > MOST_IMPORTS} == {}


def test_functions_are_short() -> None:
    long = []
    for path, function in functions():
        body = function.body[1:] if ast.get_docstring(function) else function.body
        statements = sum(isinstance(node, ast.stmt) for one in body for node in ast.walk(one))
        lines = (function.end_lineno or 0) - body[0].lineno + 1 if body else 0
        if statements > MOST_STATEMENTS or lines > MOST_LINES:
            long.append(f"{path}:{function.lineno} {function.name}: {statements} statements, {lines} lines")
    assert long == []


def is_ours(module: str | None) -> bool:
    return module is not None and module.startswith("tunedprior.")


def test_few_places_use_private_names_of_others() -> None:
    found = list(private_uses())
    assert len(found) <= MOST_PRIVATE_USES, "\n".join(found)


def test_no_module_shares_its_name_with_what_it_defines() -> None:
    """`from package import name` must mean one thing."""
    shared = [
        path
        for path, tree in SOURCES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not is_private(node.name)
        and node.name in (Path(path).stem, Path(path).parent.name if path.endswith("__init__.py") else None)
    ]
    assert shared == []


def test_warnings_go_through_one_function() -> None:
    """`checks.warn` names the line of the user's code; `warnings.warn` would name ours."""
    found = []
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            by_module = (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and (node.value.id, node.attr) in (("warnings", "warn"), ("warnings", "warn_explicit"))
            )
            by_name = isinstance(node, ast.ImportFrom) and node.module == "warnings"
            if by_module or (by_name and any(one.name in ("warn", "warn_explicit") for one in node.names)):
                found.append(path)
    assert found == ["checks.py"]


def test_every_belief_has_a_file_of_its_own() -> None:
    modules = Counter(type(one).__module__ for one in list_beliefs())
    assert set(modules.values()) == {1}
    for one in list_beliefs():
        path = Path(inspect.getfile(type(one)))
        assert path.parent == ROOT / "beliefs"
        registered = [
            node.name
            for node in SOURCES[f"beliefs/{path.name}"].body
            if isinstance(node, ast.ClassDef)
            and any(isinstance(by, ast.Name) and by.id == "register" for by in node.decorator_list)
        ]
        assert registered == [type(one).__name__]


def test_tests_mirror_the_source() -> None:
    packages = {path.parent.relative_to(ROOT) for path in ROOT.rglob("__init__.py")}
    others = {Path("benchmarks"), Path("nets"), Path("browser")}
    assert {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - others == packages


def test_modules_are_read_for_examples_where_they_have_some(tmp_path: Path) -> None:
    """pytest would import every module, and BayBE with one of them, to find that there are none."""
    ignores = runpy.run_path(str(TESTS.parent / "src" / "conftest.py"))["pytest_ignore_collect"]
    (tmp_path / "with.py").write_text('"""\n>>> 1\n1\n"""\n', encoding="utf-8")
    (tmp_path / "without.py").write_text('"""None."""\n', encoding="utf-8")
    assert [path.name for path in sorted(tmp_path.iterdir()) if ignores(path)] == ["without.py"]
    assert not ignores(tmp_path)
