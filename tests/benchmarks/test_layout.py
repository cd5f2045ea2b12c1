"""How the benchmarks are laid out: imports run one way, names mean one thing, and there is one loop of ask and tell."""

import ast
from pathlib import Path

import benchmarks

ROOT = Path(benchmarks.__file__).parent
SOURCES = {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py"))}
#: Each may import what stands before it.
LAYERS = (
    "problems", "methods", "peers", "results", "runner", "comparison", "tables", "figures", "studies", "site_tables",
    "__main__",
)  # fmt: skip
#: What measures a single `ask`, or another optimiser's.
ASKS_ITSELF = {
    "methods/choosers/gp_sampler.py",
    "methods/choosers/ours.py",
    "studies/batches.py",
    "studies/durability/faults.py",
    "studies/durability/threads.py",
    "studies/durability/writers.py",
    "studies/hostile/attribute_cases.py",
    "studies/hostile/sqlite_cases.py",
    "studies/ideas.py",
    "studies/models.py",
    "studies/pruning.py",
    "studies/readers.py",
    "studies/size.py",
    "studies/speed/data.py",
    "studies/speed/batch_script.py",
    "studies/speed/other_optimisers.py",
    "studies/workers/at_once.py",
    "studies/workers/one_trial.py",
}


def layer_of(module: str) -> str:
    return module.split("/")[0].removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """The layers that a module imports from."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "benchmarks":
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("benchmarks."):
            found.add(node.module.split(".")[1])
    return found


def test_imports_run_one_way() -> None:
    for path, tree in SOURCES.items():
        if path != "__init__.py":
            later = set(LAYERS[LAYERS.index(layer_of(path)) + 1 :])
            assert not imported(tree) & later, path


def test_no_module_shares_its_name_with_what_it_defines() -> None:
    for path, tree in SOURCES.items():
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
        assert Path(path).stem not in names, path


def test_there_is_one_loop_of_asking_and_telling() -> None:
    for path, tree in SOURCES.items():
        asked = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "ask"]
        assert not asked or path in ASKS_ITSELF or path.startswith("peers/kinds/"), (path, asked)


def test_no_file_is_long() -> None:
    assert len(SOURCES) > 40
    assert {path for path in SOURCES if len((ROOT / path).read_text().splitlines()) > 600} == set()
