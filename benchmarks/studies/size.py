"""How large the package is, and how many of its files and functions one `ask` passes through.

    python -m benchmarks size [--out DIR]

Counts modules, statements (nodes of the syntax tree) and import statements of src/tunedprior, and how often anything
but the maker of the default model imports model averaging: all else asks for protocols. The traced `ask` is of a
campaign with the default model: 20 old rows, two parameters, five results. The table goes to docs/flow.md.
"""

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pandas as pd

import tunedprior
from benchmarks.results import RESULTS, replace_file
from benchmarks.tables import markdown
from tunedprior import Optimizer

ROOT = Path(tunedprior.__file__).parent


def read_trees() -> Iterator[ast.Module]:
    """The syntax tree of every module of the package."""
    yield from (ast.parse(path.read_text()) for path in sorted(ROOT.rglob("*.py")))


def count_source() -> dict[str, int]:
    """How many modules, statements and import statements there are."""
    trees = list(read_trees())
    nodes = [node for tree in trees for node in ast.walk(tree)]
    return {
        "modules": len(trees),
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "import statements": sum(isinstance(node, ast.Import | ast.ImportFrom) for node in nodes),
        "imports of model averaging elsewhere": sum(1 for _ in find_imports_of_averaging()),
    }


def find_imports_of_averaging() -> Iterator[str]:
    """Imports of model averaging outside its package and the module that makes the default model."""
    for path in sorted(ROOT.rglob("*.py")):
        if path.parent != ROOT / "model_averaging" and path != ROOT / "suggestion" / "priors.py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tunedprior.model_averaging"):
                    yield f"{path.relative_to(ROOT)}:{node.lineno}"


def make_campaign(results: int = 5) -> Optimizer:
    """A campaign with old data and some results, whose next `ask` needs the model."""
    draws = np.random.default_rng(0)
    old = pd.DataFrame(draws.uniform(size=(20, 2)), columns=["x1", "x2"])
    old["y"] = np.sin(3 * old["x1"]) + old["x2"]
    opt = Optimizer({"x1": (0.0, 1.0), "x2": (0.0, 1.0)}, old, direction="maximize", seed=0)
    for x1, x2 in draws.uniform(size=(results, 2)):
        opt.tell({"x1": x1, "x2": x2}, float(np.sin(3 * x1) + 0.8 * x2))
    return opt


def trace_ask(opt: Optimizer) -> set[CodeType]:
    """The functions of the package that one `ask` calls, in this thread."""
    called: set[CodeType] = set()

    def note_call(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note_call)
    try:
        opt.ask()
    finally:
        sys.setprofile(before)
    return {code for code in called if is_function_of_package(code)}


def is_function_of_package(code: CodeType) -> bool:
    """Whether it is a function of the package by name; special methods, lambdas and comprehensions do not count."""
    return Path(code.co_filename).is_relative_to(ROOT) and not code.co_name.startswith(("<", "__"))


def count_all() -> pd.DataFrame:
    """A row for each count."""
    called = trace_ask(make_campaign())
    counts = count_source() | {
        "files passed by one ask": len({code.co_filename for code in called}),
        "functions passed by one ask": len(called),
    }
    return pd.DataFrame({"count": counts.keys(), "value": counts.values()})


def table(found: pd.DataFrame) -> str:
    """The counts of `count_all`."""
    return markdown(found.assign(value=found["value"].map("{:,}".format)).set_index("count"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line's."""
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder of results, instead of the project's")
    parser.add_argument("--list", action="store_true", help="list the files and functions that the ask passes")


def main(arguments: argparse.Namespace) -> None:
    """Count, store and print."""
    if arguments.list:
        for code in sorted(trace_ask(make_campaign()), key=lambda code: (code.co_filename, code.co_firstlineno)):
            print(f"{Path(code.co_filename).relative_to(ROOT)} {code.co_qualname}")
    found = count_all()
    replace_file(arguments.out / "size.csv", found.to_csv(index=False))
    print(found.to_string(index=False))
